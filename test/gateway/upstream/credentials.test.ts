// When is a credential exchanged, how often, and what is reported of it? With a clock that the test turns, and a service that does what the
// test says.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { exchangeResponseSchema } from '../../../core/contract/exchange.ts';
import { judgeAnswers, parseAddressRules } from '../../../core/egress/address-rules.ts';
import type { Caller } from '../../../gateway/request/caller.ts';
import { Secret } from '../../../gateway/table/secret.ts';
import { buildTableView, type TableView } from '../../../gateway/table/view.ts';
import type { Credential, Given, Lease } from '../../../gateway/upstream/credential.ts';
import { Credentials } from '../../../gateway/upstream/credentials.ts';
import { askService } from '../../../gateway/upstream/identity/ask-service.ts';
import { ExchangeError } from '../../../gateway/upstream/identity/exchange-error.ts';
import { HostClocks } from '../../../gateway/upstream/identity/host-clocks.ts';
import { UpstreamPools } from '../../../gateway/upstream/pools.ts';
import { bearer, RenewedCredential } from '../../../gateway/upstream/renewed-credential.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { keyEntry, tableOf } from '../rig.ts';
import { cloudType, rowWith } from './imaginary-cloud.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

function viewOf(keys: number): TableView {
  const values = Array.from({ length: keys }, (_, at) => [`k${at}`, `value-of-the-key-${at}`]);
  const target = {
    baseUrl: 'https://models.cloud.example',
    provider: 'team/cloud',
    keys: Object.fromEntries(values),
    providerEntry: { type: cloudType },
  };
  return buildTableView(tableOf([target]));
}

/** A gateway without requests: its credentials alone. */
function scene(lifetimeMs = hour, keys = 1, isPerCaller = false) {
  const clock = makeFakeClock();
  const service = {
    asked: 0,
    running: 0,
    runningMax: 0,
    lifetimeMs,
    failure: undefined as Error | undefined,
  };
  const exchange = async (): Promise<Given> => {
    service.asked += 1;
    service.runningMax = Math.max(service.runningMax, ++service.running);
    const token = new Secret(`token-number-${service.asked}`);
    await new Promise((resolve) => setImmediate(resolve));
    service.running -= 1;
    if (service.failure) throw service.failure;
    return bearer(token, service.lifetimeMs, 'gateway@cloud.example');
  };
  const sessions = isPerCaller
    ? { nameOf: ({ key }: Caller) => key.id, exchangeFor: () => exchange }
    : undefined;
  const seats = rowWith({
    credentialFor: (provider, endpoint, means) =>
      means.renewed(provider, endpoint, exchange, undefined, sessions),
  });
  const noPool = (): never => {
    throw new Error('no connection is needed');
  };
  const pools = { tokenPool: noPool, platformPool: noPool };
  const credentials = new Credentials({ clock, pools, seats, environment: {} });
  const view = viewOf(keys);
  const [provider] = view.providers.values();
  const [endpoint] = provider?.endpoints ?? [];
  if (!provider || !endpoint) throw new Error('the table has a provider with a key');
  credentials.adopt(view);
  const given = credentials.of(provider, endpoint);
  const credentialOf = (id: string): Credential =>
    'forCaller' in given ? given.forCaller({ key: keyEntry(id, id), namespace: 'team' }) : given;
  /** What began at this moment comes to its end. */
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    ...{ clock, service, credentials, settle, credentialOf },
    credential: credentialOf('team/app'),
    pass: async (ms: number, stepMs: number, look?: () => void): Promise<void> => {
      for (let passed = 0; passed < ms; passed += stepMs) {
        clock.advance(stepMs);
        await settle();
        look?.();
      }
    },
  };
}

const tokenOf = (lease: Lease | undefined): string | undefined => lease?.headers[1];
const away = new ExchangeError(
  'sts.example did not answer within 10 s. Check that it can be reached.',
  false,
);
const refused = new ExchangeError('The role does not trust this identity. Let it.', true);
const noHeader = (): undefined => undefined;
const stateIn = (credentials: Credentials) => credentials.report().map(({ state }) => state);

describe('a credential that is exchanged', () => {
  test('is ready before the first request, and its identity is reported', async () => {
    const { credential, credentials, settle } = scene();
    expect([credential.lease, credentials.report()]).toEqual([undefined, []]);
    await settle();
    expect(tokenOf(credential.lease)).toBe('Bearer token-number-1');
    expect(credentials.report()).toEqual([
      { provider: 'team/cloud', key: 'k0', state: 'valid', identity: 'gateway@cloud.example' },
    ]);
  });

  test('is exchanged at most eight at a time, if a table names many', async () => {
    const { service, credentials, settle } = scene(hour, 50);
    for (let turn = 0; turn < 10; turn += 1) await settle();
    expect([service.asked, service.runningMax, credentials.report().length]).toEqual([50, 8, 50]);
  });

  test('is renewed at most eight at a time, if many callers have sessions of their own', async () => {
    const { clock, service, credentialOf, settle } = scene(hour, 1, true);
    const callers = Array.from({ length: 20 }, (_, at) => `team/app-${at}`);
    await Promise.all(callers.map((id) => credentialOf(id).renew()));
    await settle();
    service.runningMax = 0;
    clock.advance(55 * minute);
    for (let round = 0; round < 4; round += 1) {
      for (const id of callers) expect(credentialOf(id).lease).toBeDefined();
      await settle();
    }
    // The Provider's own twice, and each session twice.
    expect([service.asked, service.runningMax]).toEqual([42, 8]);
  });

  test('is renewed before its end, also without requests', async () => {
    const { credential, clock, service, pass } = scene(hour);
    await pass(5 * hour, minute, () => expect(credential.lease?.endsAtMs).toBeGreaterThan(clock.wallMs()));
    expect(service.asked).toBeGreaterThan(5);
    expect(service.asked).toBeLessThan(8);
  });

  test('cloud 7: of five seconds works for three times five seconds', async () => {
    const { credential, clock, service, pass, settle } = scene(5 * second);
    await settle();
    await pass(15 * second, 100, () => expect(credential.lease?.endsAtMs).toBeGreaterThan(clock.wallMs()));
    expect(service.asked).toBeLessThan(8);
  });

  test('cloud 10: is not requested again and again while the service returns the same one until shortly before its end', async () => {
    const { clock, service, pass } = scene();
    const endsAtMs = hour;
    await pass(hour - 5 * minute, 10 * second, () => {
      service.lifetimeMs = endsAtMs - clock.wallMs();
    });
    expect(service.asked).toBeLessThan(5);
  });

  test('that ends at once is requested once a second', async () => {
    const { service, pass } = scene(1);
    await pass(10 * second, 100);
    expect(service.asked).toBeLessThan(12);
  });

  test('works through an outage of the service of five minutes, whenever it begins', async () => {
    for (const from of [20, 30, 40, 44, 49]) {
      const { credential, credentials, clock, service, pass } = scene(hour);
      const look = (): void => {
        expect(credential.lease?.endsAtMs).toBeGreaterThan(clock.wallMs());
        expect(stateIn(credentials)).toEqual(['valid']);
      };
      await pass(from * minute, minute, look);
      service.failure = away;
      await pass(5 * minute, second, look);
      service.failure = undefined;
      await pass(20 * minute, 10 * second, look);
    }
  });

  test('is requested with growing pauses during an outage of the service, and not by requests', async () => {
    const { credential, credentials, service, pass, settle } = scene(minute);
    await settle();
    service.failure = away;
    await pass(10 * minute, second, () => {
      credential.renew().catch(() => {});
    });
    expect(service.asked).toBeGreaterThan(10);
    expect(service.asked).toBeLessThan(30);
    expect(credentials.report()).toMatchObject([{ state: 'failed', message: away.message }]);
    await expect(credential.renew()).rejects.toThrow(away);
    service.failure = undefined;
    await pass(minute, second);
    expect(stateIn(credentials)).toEqual(['valid']);
    expect(credential.lease).toBeDefined();
  });

  test('that the service refuses is reported at once, though the earlier one works to its end', async () => {
    const { credential, credentials, clock, service, pass } = scene(hour);
    await pass(minute, minute);
    service.failure = refused;
    const { revision } = credentials;
    await pass(55 * minute, minute);
    expect(credentials.report()).toEqual([
      {
        ...{ provider: 'team/cloud', key: 'k0', state: 'failed', identity: 'gateway@cloud.example' },
        message: refused.message,
      },
    ]);
    expect(credentials.revision).toBe(revision + 1);
    expect(credential.lease?.endsAtMs).toBeGreaterThan(clock.wallMs());
  });

  test('whose exchange fails by an internal error is reported without its message', async () => {
    const { credentials, service, pass, settle } = scene(10 * second);
    service.failure = new Error('secret-access-key-of-somebody');
    await settle();
    await pass(minute, second);
    expect(credentials.report()).toMatchObject([
      {
        state: 'failed',
        message: 'the gateway could not exchange it. Report this as a fault of Penstock.',
      },
    ]);
  });

  test('that gets 401 is renewed once a second, for all requests together', async () => {
    const { credential, service, settle, clock } = scene();
    await settle();
    const { lease } = credential;
    if (!lease) throw new Error('it has been exchanged');
    expect([403, 429, 500].map((status) => credential.refuse?.(lease, status, noHeader))).toEqual([
      ...[undefined, undefined, undefined],
    ]);
    const renewals = [1, 2, 3].map(() => credential.refuse?.(lease, 401, noHeader));
    const leases = await Promise.all(renewals);
    expect(leases.map(tokenOf)).toEqual(Array.from({ length: 3 }, () => 'Bearer token-number-2'));
    const { lease: next } = credential;
    if (!next) throw new Error('it has been renewed');
    expect(credential.refuse?.(next, 401, noHeader)).toBe(undefined);
    expect(credential.refuse?.(lease, 401, noHeader)).toBe(next);
    clock.advance(second);
    expect(tokenOf(await credential.refuse?.(next, 401, noHeader))).toBe('Bearer token-number-3');
    expect(service.asked).toBe(3);
  });

  test('that gets 401 serves other requests until a new one has arrived', async () => {
    const { credential, service, settle } = scene();
    await settle();
    const { lease } = credential;
    if (!lease) throw new Error('it has been exchanged');
    service.failure = away;
    const renewal = credential.refuse?.(lease, 401, noHeader);
    expect(credential.lease).toBe(lease);
    await expect(renewal).rejects.toThrow(away);
    expect(credential.lease).toBe(lease);
  });

  test('that always gets 401 is exchanged with growing pauses, and at once again after five minutes without a 401', async () => {
    const { credential, service, pass, settle } = scene(12 * hour);
    await settle();
    const refuse = () => credential.lease && credential.refuse?.(credential.lease, 401, noHeader);
    await pass(hour, second, refuse);
    expect(service.asked).toBeGreaterThan(15);
    expect(service.asked).toBeLessThan(25);
    await pass(5 * minute, minute);
    const asked = service.asked;
    await pass(2 * second, second, refuse);
    await settle();
    expect(service.asked).toBe(asked + 2);
  });

  test('that ends before its request arrives is renewed, though another was refused just now', async () => {
    let nowMs = hour;
    let lifetimeMs = hour;
    const exchange = async (): Promise<Given> => bearer(new Secret('token'), lifetimeMs);
    const credential = new RenewedCredential(exchange, () => nowMs);
    const first = await credential.renew();
    lifetimeMs = 500;
    const brief = await credential.refuse(first, 401, noHeader);
    if (!brief) throw new Error('it has been renewed');
    nowMs += 450;
    expect(await credential.refuse(brief, 401, noHeader)).toBe(credential.lease);
    expect(credential.lease).not.toBe(brief);
  });

  test('ends after its lifetime, counted from the request for it', async () => {
    let nowMs = 0;
    const exchange = async (): Promise<Given> => {
      nowMs += 2 * second;
      return bearer(new Secret('slow-token'), 4 * second);
    };
    const { endsAtMs } = await new RenewedCredential(exchange, () => nowMs).renew();
    expect(endsAtMs).toBeLessThan(4 * second);
  });

  test('is exchanged and renewed though the clock is set back after a failure or a refusal', async () => {
    let [nowMs, asked] = [hour, 0];
    let failure: Error | undefined = away;
    const exchange = async (): Promise<Given> => {
      asked += 1;
      if (failure) throw failure;
      return bearer(new Secret('token'), 12 * hour);
    };
    const credential = new RenewedCredential(exchange, () => nowMs);
    await expect(credential.renew()).rejects.toThrow(away);
    failure = undefined;
    await expect(credential.renew()).rejects.toThrow(away);
    nowMs -= 10 * minute;
    const lease = await credential.renew();
    const next = await credential.refuse(lease, 401, noHeader);
    if (!next) throw new Error('it has been renewed');
    nowMs -= 10 * minute;
    await credential.refuse(next, 401, noHeader);
    expect(asked).toBe(4);
  });

  test('is reported with the complete remedy if the address of its service is not open', () => {
    const name = 'sts.dualstack.eu-central-1.cloud-of-a-partition.example';
    const host = { kind: 'name', name, isInternal: false } as const;
    const denied = judgeAnswers(parseAddressRules([]), 'platform-of-models', host, [
      'fd00:ec2:1:2:3:4:5:253',
    ]);
    if (denied.kind !== 'denied') throw new Error('a private address is open to nobody');
    const { message } = new ExchangeError(`${name}:443: not allowed. ${denied.sentence}`, false);
    expect(message).toMatch(/ask the platform team to add it to spec\.egress\.allow of a TenantPolicy\.$/);
    expect(
      exchangeResponseSchema.shape.credentials.parse([{ provider: 'a/b', state: 'failed', message }]),
    ).toEqual([{ provider: 'a/b', state: 'failed', message }]);
  });

  test('is reported with a remedy if its service does not answer', async () => {
    await using service = new AsyncDisposableStack();
    const server = createServer((request) => request.socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    service.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const pools = new UpstreamPools();
    service.defer(() => pools.close());
    await expect(
      askService(pools.platformPool(url.origin), url, { method: 'GET', headers: {} }),
    ).rejects.toThrow(/ broke the connection.*\. Check that gateways can reach the service\.$/);
  });

  test('is forgotten with the table that named it, and no timer is left', async () => {
    const { credentials, clock, settle, service } = scene();
    await settle();
    credentials.adopt(viewOf(1));
    await settle();
    expect([service.asked, clock.pending().length]).toEqual([1, 1]);
    credentials.adopt(buildTableView(tableOf([])));
    expect([credentials.report(), clock.pending()]).toEqual([[], []]);
  });
});

describe('the clock of a host', () => {
  const noon = Date.UTC(2026, 10, 27, 12);

  test('is learned from its answers, for that host alone, and forgotten when ours is right', () => {
    const clocks = new HostClocks();
    const date = (ms: number): string => new Date(noon + ms).toUTCString();
    expect(clocks.learn('a.example', date(10 * minute), noon)).toBe(true);
    // Others were signed before that was learnt.
    expect(clocks.learn('a.example', date(10 * minute), noon)).toBe(true);
    expect([clocks.offsetMs('a.example'), clocks.offsetMs('b.example')]).toEqual([10 * minute, 0]);
    expect(clocks.learn('a.example', date(second), noon)).toBe(true);
    expect(clocks.learn('a.example', date(second), noon)).toBe(false);
    expect(clocks.offsetMs('a.example')).toBe(second);
  });

  test.each([undefined, '', 'yesterday'])('is not learnt from the date %j', (date) => {
    expect(new HostClocks().learn('a.example', date, noon)).toBe(false);
  });

  test('is not learned from a date of another day, since all signatures would fail then', () => {
    const clocks = new HostClocks();
    const date = new Date(noon + 10 * minute).toUTCString();
    expect(clocks.learn('a.example', date, noon)).toBe(true);
    for (const absurd of ['Fri, 31 Dec 9999 23:59:59 GMT', 'Sat, 01 Jan 275000 00:00:00 GMT'])
      expect(clocks.learn('a.example', absurd, noon)).toBe(false);
    expect(clocks.offsetMs('a.example')).toBe(10 * minute);
  });

  test('is kept for a thousand hosts', () => {
    const clocks = new HostClocks();
    const date = new Date(noon + hour).toUTCString();
    for (let at = 0; at <= 1_000; at += 1) clocks.learn(`${at}.example`, date, noon);
    expect([clocks.offsetMs('0.example'), clocks.offsetMs('1.example')]).toEqual([0, hour]);
  });
});
