// Has each caller a session of its own where an upstream knows callers apart, exchanged when it is needed and before it ends?

import { beforeEach, expect, test } from 'vitest';
import type { Caller } from '../../../gateway/request/caller.ts';
import { CallerCredentials } from '../../../gateway/upstream/caller-credentials.ts';
import type { CallerSessions, ExchangeCredential } from '../../../gateway/upstream/credential.ts';
import { RenewedCredential } from '../../../gateway/upstream/renewed-credential.ts';
import { keyEntry } from '../rig.ts';

const lifetimeMs = 3_600_000;
let nowMs: number;
let exchanged: string[];
let isAway: boolean;
let own: RenewedCredential;
let credential: CallerCredentials;

const callerOf = (id: string): Caller => ({ key: keyEntry(id, id), namespace: id.replace(/\/.*/, '') });

beforeEach(() => {
  nowMs = Date.UTC(2026, 10, 28);
  exchanged = [];
  isAway = false;
  const exchangeAs = (name: string) => async () => {
    exchanged.push(name);
    if (isAway) throw new Error('away');
    return { headers: ['x-as', name], lifetimeMs };
  };
  const open = (exchange: ExchangeCredential) => new RenewedCredential(exchange, () => nowMs);
  const sessions: CallerSessions = {
    nameOf: ({ key, namespace }) => (namespace === 'home' ? undefined : key.id),
    exchangeFor: ({ key }) => exchangeAs(key.id),
  };
  own = open(exchangeAs('own'));
  const renewAhead = (session: RenewedCredential): void => {
    session.renew().catch(() => {});
  };
  credential = new CallerCredentials({ own, sessions, open, renewAhead, nowMs: () => nowMs });
});

async function signedInAs(id: string): Promise<string | undefined> {
  const session = credential.forCaller(callerOf(id));
  return (session.lease ?? (await session.renew())).headers[1];
}

test('each caller has its own session; a caller without a name uses the Provider’s', async () => {
  await own.renew();
  const seen = await Promise.all(['a/one', 'b/one', 'home/one'].map(signedInAs));
  expect(seen).toEqual(['a/one', 'b/one', 'own']);
  expect(await signedInAs('a/one')).toBe('a/one');
  expect(exchanged).toEqual(['own', 'a/one', 'b/one']);
});

test('a session is renewed by a call in its last minutes, which does not wait for that, and serves while the service is away', async () => {
  await signedInAs('a/one');
  nowMs += lifetimeMs - 5 * 60_000;
  isAway = true;
  for (let call = 0; call < 100; call++) expect(await signedInAs('a/one')).toBe('a/one');
  expect(exchanged).toEqual(['a/one', 'a/one']);
  isAway = false;
  nowMs += 60_000;
  await credential.forCaller(callerOf('a/one')).renew();
  expect(exchanged).toHaveLength(3);
  nowMs += 30 * 60_000;
  expect(credential.forCaller(callerOf('a/one')).lease?.endsAtMs).toBeGreaterThan(nowMs);
  expect(exchanged).toHaveLength(3);
});

test('an unused credential is not renewed', async () => {
  await Promise.all(['a/one', 'b/one'].map(signedInAs));
  nowMs += 10 * lifetimeMs;
  expect(exchanged).toEqual(['a/one', 'b/one']);
});

test('of ten thousand sessions the oldest makes room for another, and can be had again', async () => {
  const ids = Array.from({ length: 10_001 }, (_, at) => `a/${at}`);
  for (const id of ids) credential.forCaller(callerOf(id));
  expect(credential.forCaller(callerOf('a/10000'))).toBe(credential.forCaller(callerOf('a/10000')));
  exchanged = [];
  expect(await signedInAs('a/0')).toBe('a/0');
  expect(exchanged).toEqual(['a/0']);
});
