// What does a cooldown cover? Exactly what the upstream refused: one request, one model of a key, or all that its account has.

import { afterEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import type { RoutingTable } from '../../core/contract/routing-table.ts';
import type { GatewayOptions } from '../../gateway/process/options.ts';
import { keyEntry, type Rig, type RigTarget, startRig, tableOf } from '../gateway/rig.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { type Behaviour, type Call, type Script, startWall, type Wall } from '../support/wall.ts';
import { type AskOptions, ask, errorOf, type Seen } from './ask.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function wallThat(script: Script): Promise<Wall> {
  const wall = await startWall(script);
  closers.push(() => wall.close());
  return wall;
}

const otherKey = `psk_${'o'.repeat(49)}`;

/** The models `m` and `n`, with the one key of one Provider; called by two tenants. */
function sharedTable(baseUrl: string, more: Partial<RigTarget> = {}): RoutingTable {
  const target = (upstreamModel: string): RigTarget => ({
    ...{ baseUrl, upstreamModel, provider: 'platform/shared', keys: { only: 'KEY-ONLY' } },
    ...more,
  });
  const table = tableOf([target('large')]);
  const other = tableOf([target('small')]);
  const routesOf = (namespace: string) =>
    [...table.routes, ...other.routes].map((route, at) => {
      const model = at === 0 ? 'm' : 'n';
      return { ...route, id: `${namespace}/${model}`, model, ownedBy: namespace };
    });
  return {
    ...table,
    routes: [...routesOf('team'), ...routesOf('other')],
    keys: [...table.keys, keyEntry(otherKey, 'other/key')],
  };
}

async function rigOf(table: RoutingTable, options: Partial<GatewayOptions> = {}) {
  const clock = { ...makeFakeClock(1_000_000), wallMs: () => 1_767_225_600_000 };
  const rig = await startRig(table, { clock, random: () => 0, ...options });
  closers.push(() => {
    // Its clock stops: a drain would wait for ever.
    rig.gateway.hurry();
    return rig.close();
  });
  return { rig, clock };
}

const asOther = (options: AskOptions = {}): AskOptions => ({
  ...options,
  headers: { authorization: `Bearer ${otherKey}` },
});
const small = { more: { model: 'n' } };

const refused = (
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Behaviour => ({
  ...{ type: 'status', status: code, headers },
  error: { type: 'rate_limit_error', message },
});

const longContext = 'Extra usage is required for long context requests.';
const overLimit = (tokens: string): string =>
  `This request would exceed your organization's rate limit of ${tokens} input tokens per minute (org: 1-2, model: large). For details, refer to: https://docs.claude.com/en/api/rate-limits.`;
const noQuota =
  'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. \n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0, model: large\nPlease retry in 45.5s.';
const afford = (tokens: number): string =>
  `This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford ${tokens}. To increase, visit https://a.example`;

describe('a refusal of one request', () => {
  test.each<[string, number, string, number]>([
    ['a long context that the plan does not have', 429, longContext, 413],
    ['more input than the limit of a minute', 429, overLimit('2'), 413],
    ['more than the rest of the credit, down to two digits', 402, afford(99), 413],
    ['more than the rest of the credit, down to one digit', 402, afford(3), 413],
    [
      'more than the limit of a minute, with 413',
      413,
      'Request too large for model `large` in organization `org_1` on tokens per minute (TPM): Limit 6000, Requested 14368',
      413,
    ],
    ['a model that the plan does not have', 429, noQuota, 404],
  ])(
    'with %s cools nothing down, and its sender gets the error %#',
    async (_name, code, message, reported) => {
      const wall = await wallThat([refused(code, message, { 'retry-after': '20' }), { type: 'answer' }]);
      const { rig } = await rigOf(sharedTable(wall.baseUrl));
      const seen = await ask(rig);
      expect([seen.status, seen.headers['x-should-retry']]).toEqual([reported, 'false']);
      // Whose account it is, is none of its business.
      expect(errorOf(seen)?.message).not.toContain('org');
      expect((await ask(rig)).status).toBe(200);
      expect((await ask(rig, small)).status).toBe(200);
      expect(wall.calls).toHaveLength(3);
    },
  );

  test.each([
    ['a long context', refused(429, longContext)],
    [
      'too large for the account, with 413',
      refused(413, 'Request too large for model `large` in organization `org_1`'),
    ],
    ['a model without quota', refused(429, noQuota)],
  ])('with %s is tried at another target', async (_name, fault) => {
    const [first, second] = [await wallThat(fault), await wallThat({ type: 'answer' })];
    const { rig } = await rigOf(tableOf([first, second].map(({ baseUrl }) => ({ baseUrl }))));
    expect((await ask(rig)).status).toBe(200);
    expect(second.calls).toHaveLength(1);
  });

  test('that is below the limit it names is a rate limit, with the wait of the upstream', async () => {
    const wall = await wallThat(refused(429, overLimit('30,000'), { 'retry-after': '20' }));
    const { rig, clock } = await rigOf(sharedTable(wall.baseUrl));
    const seen = await ask(rig);
    expect([seen.status, seen.headers['retry-after']]).toEqual([429, '20']);
    clock.advance(17_000);
    expect((await ask(rig)).headers['retry-after']).toBe('3');
    expect(wall.calls).toHaveLength(1);
  });

  test('with 429 for a busy server is an overload, not a limit of the key', async () => {
    const busy = refused(429, 'The engine is currently overloaded, please try again later');
    const [first, second] = [await wallThat(busy), await wallThat({ type: 'answer' })];
    const { rig } = await rigOf(tableOf([first, second].map(({ baseUrl }) => ({ baseUrl }))));
    for (let n = 0; n < 2; n++) expect((await ask(rig)).status).toBe(200);
    expect(first.calls, 'it is asked again').toHaveLength(2);
  });
});

describe('a rate limit', () => {
  const limited = refused(429, 'Rate limit reached for large on tokens per min (TPM)', {
    'retry-after': '21',
  });
  /** By upstream model. */
  const byModel = (faults: Readonly<Record<string, Behaviour>>) => (call: Call) =>
    faults[modelOf(call)] ?? ({ type: 'answer' } as const);

  test('of one model leaves the other models of its key in use', async () => {
    const wall = await wallThat(byModel({ large: limited }));
    const { rig, clock } = await rigOf(sharedTable(wall.baseUrl));
    expect((await ask(rig)).status).toBe(429);
    expect((await ask(rig, small)).status).toBe(200);
    expect((await ask(rig, asOther(small))).status).toBe(200);
    clock.advance(18_000);
    expect([(await ask(rig)).status, wall.calls.map(modelOf)]).toEqual([429, ['large', 'small', 'small']]);
  });

  test('of a second model within the first cooldown counts for the whole account', async () => {
    const wall = await wallThat(byModel({ large: limited, small: limited }));
    const table = sharedTable(wall.baseUrl);
    const [route] = tableOf([
      {
        baseUrl: wall.baseUrl,
        upstreamModel: 'third',
        provider: 'platform/shared',
        keys: { only: 'KEY-ONLY' },
      },
    ]).routes;
    if (!route) throw new Error('there is no route');
    const { rig } = await rigOf({
      ...table,
      routes: [...table.routes, { ...route, id: 'team/t', model: 't' }],
    });
    const third = { more: { model: 't' } };
    expect([(await ask(rig)).status, (await ask(rig, third)).status]).toEqual([429, 200]);
    expect([(await ask(rig, small)).status, (await ask(rig, third)).status]).toEqual([429, 429]);
    expect(wall.calls.map(modelOf)).toEqual(['large', 'third', 'small']);
  });

  test.each([
    [
      'names the account',
      refused(429, "This request would exceed your account's rate limit. Please try again later."),
    ],
    [
      'names the organization',
      refused(
        429,
        'Your account org-1<ak-2> request reached max organization concurrency: 1, please try again after 1 seconds',
      ),
    ],
    [
      'names the usage of a subscription',
      refused(
        429,
        'you (name) have reached your weekly usage limit, upgrade for higher limits: https://a.example',
      ),
    ],
    [
      'says that the credit is used up',
      refused(
        429,
        'Your team 1-2 has either used all available credits or reached its monthly spending limit. To continue',
      ),
    ],
    ['says that the balance is', refused(402, 'Insufficient Balance')],
    ['refuses the key', { type: 'status', status: 401 } satisfies Behaviour],
  ])('that %s takes all models of the key', async (_name, fault) => {
    const wall = await wallThat(byModel({ large: fault }));
    const { rig } = await rigOf(sharedTable(wall.baseUrl));
    const statuses = [(await ask(rig)).status, (await ask(rig, small)).status];
    expect(statuses).not.toContain(200);
    expect(wall.calls).toHaveLength(1);
  });

  test('of a key that has just answered others cools the key down for a second, or as announced if a second caller is limited too', async () => {
    const wall = await wallThat([{ type: 'answer' }, limited, limited, { type: 'answer' }]);
    const { rig, clock } = await rigOf(sharedTable(wall.baseUrl));
    expect((await ask(rig, asOther())).status).toBe(200);
    const refusal = await ask(rig);
    expect(
      [refusal.status, refusal.headers['retry-after']],
      'its sender waits as long as it was reported',
    ).toEqual([429, '21']);
    const waiting = ask(rig, asOther());
    await vi.waitFor(() => expect(clock.pending()).toContain(1_001_000));
    clock.advance(1_000);
    // Refused as well, though it was answered before: it is the key.
    expect((await waiting).headers['retry-after']).toBe('21');
    clock.advance(18_000);
    expect((await ask(rig, asOther())).headers['retry-after']).toBe('3');
    expect(wall.calls).toHaveLength(3);
  });

  test('of a key that has answered no other caller cools the key down as long as announced', async () => {
    const wall = await wallThat([{ type: 'answer' }, limited]);
    const { rig } = await rigOf(sharedTable(wall.baseUrl));
    expect([(await ask(rig)).status, (await ask(rig)).status]).toEqual([200, 429]);
    expect((await ask(rig, asOther())).headers['retry-after']).toBe('21');
    expect(wall.calls).toHaveLength(2);
  });

  test('more than a second after an answer to others is not blamed on one caller', async () => {
    const wall = await wallThat([{ type: 'answer' }, limited]);
    const { rig, clock } = await rigOf(sharedTable(wall.baseUrl));
    await ask(rig, asOther());
    clock.advance(1_001);
    await ask(rig);
    expect((await ask(rig, asOther())).headers['retry-after']).toBe('21');
  });
});

describe('a call whose only key is in cooldown', () => {
  test.each([
    [2_000, true],
    [2_001, false],
  ])('for %i ms waits for it: %s', async (leftMs, waits) => {
    const wall = await wallThat([refused(429, 'slow down', { 'retry-after': '21' }), { type: 'answer' }]);
    const { rig, clock } = await rigOf(sharedTable(wall.baseUrl));
    expect((await ask(rig)).status).toBe(429);
    clock.advance(21_000 - leftMs);
    const answer = ask(rig);
    if (waits) {
      await vi.waitFor(() => expect(clock.pending()).toContain(1_021_000));
      clock.advance(leftMs);
    }
    expect((await answer).status).toBe(waits ? 200 : 429);
  });

  test('does not wait if its route ignores Retry-After', async () => {
    const wall = await wallThat([refused(429, 'slow down', { 'retry-after': '1' }), { type: 'answer' }]);
    const table = sharedTable(wall.baseUrl);
    const routes = table.routes.map((route) => ({
      ...route,
      failover: { ...route.failover, honorRetryAfter: false },
    }));
    const { rig } = await rigOf({ ...table, routes });
    expect([(await ask(rig)).status, (await ask(rig)).status]).toEqual([429, 429]);
  });

  test('uses another key instead, if there is one', async () => {
    const wall = await wallThat([refused(429, 'slow down', { 'retry-after': '1' }), { type: 'answer' }]);
    const { rig } = await rigOf(tableOf([{ baseUrl: wall.baseUrl, keys: { a: 'KEY-A', b: 'KEY-B' } }]));
    expect([(await ask(rig)).status, (await ask(rig)).status]).toEqual([200, 200]);
  });
});

describe('Retry-After', () => {
  const raw = (...headers: readonly string[]): Behaviour => ({
    type: 'raw',
    bytes: [
      'HTTP/1.1 429 Too Many Requests',
      'content-type: application/json',
      'content-length: 2',
      ...headers,
      '',
      '{}',
    ].join('\r\n'),
    followedBy: 'fin',
  });

  test.each([
    [['retry-after: 1', 'retry-after: 9'], '9'],
    [['retry-after: 9', 'retry-after: 1'], '9'],
    [
      ['retry-after: 4', 'retry-after: Thu, 01 Jan 2026 00:00:09 GMT', 'date: Thu, 01 Jan 2026 00:00:00 GMT'],
      '9',
    ],
    [['retry-after-ms: 3000', 'retry-after-ms: 9000'], '9'],
    [['retry-after: 8.5'], '9'],
  ])('%j: the longest of them, and fractions, are waited out', async (headers, reported) => {
    const wall = await wallThat(raw(...headers));
    const { rig } = await rigOf(sharedTable(wall.baseUrl));
    expect((await ask(rig)).headers['retry-after']).toBe(reported);
    expect((await ask(rig)).headers['retry-after']).toBe(reported);
    expect(wall.calls).toHaveLength(1);
  });

  test.each(['0', '-3', 'Wed, 31 Dec 2025 23:59:00 GMT', '0.0'])(
    '%j cools for a second by our own rule, and longer each time; ten calls in a row are not more than ten at the upstream',
    async (value) => {
      const wall = await wallThat(
        refused(429, 'slow down', { 'retry-after': value, date: 'Thu, 01 Jan 2026 00:00:00 GMT' }),
      );
      const { rig, clock } = await rigOf(sharedTable(wall.baseUrl));
      const reported: (string | undefined)[] = [];
      for (let n = 0; n < 10; n++) {
        let seen: Seen | undefined;
        const asked = ask(rig).then((answer) => {
          seen = answer;
        });
        // Where the call waits, time goes on.
        await vi.waitFor(
          () => {
            clock.advance(100);
            expect(seen).toBeDefined();
          },
          { timeout: 60_000, interval: 5 },
        );
        await asked;
        expect([seen?.status, seen?.headers['x-should-retry']]).toEqual([429, undefined]);
        reported.push(seen?.headers['retry-after-ms']);
      }
      expect(wall.calls.length).toBeLessThanOrEqual(10);
      expect(
        reported.map(Number).every((ms) => ms > 100),
        reported.join(),
      ).toBe(true);
    },
  );
});

/** 97 of 100 calls of the others are answered, whatever one caller does. */
describe('beside a caller whose requests are refused', () => {
  async function loadOf(rig: Rig, victim: AskOptions, attack: (n: number) => readonly Promise<Seen>[]) {
    const statuses: number[] = [];
    const attacks: Promise<Seen>[] = [];
    for (let n = 0; n < 100; n++) {
      attacks.push(...attack(n));
      statuses.push((await ask(rig, victim)).status);
    }
    await Promise.all(attacks);
    return statuses.filter((code) => code === 200).length;
  }
  const poison = { more: { user: 'poison' } };
  const isPoison = (call: Call): boolean => call.bodyText.includes('poison');
  const poisoned = (fault: Behaviour) => (call: Call) =>
    isPoison(call) ? fault : ({ type: 'answer' } as const);

  test.each([
    ['for its length', refused(429, longContext, { 'retry-after': '20' })],
    ['for a limit that it is above', refused(429, overLimit('2'), { 'retry-after': '20' })],
    ['for a limit that it is below', refused(429, overLimit('30,000'), { 'retry-after': '20' })],
    ['with unknown words', refused(429, 'Not you.', { 'retry-after': '20' })],
    ['without a word', { type: 'status', status: 429 } satisfies Behaviour],
    [
      'for its account, which is not true',
      refused(429, "This request would exceed your account's rate limit.", { 'retry-after': '20' }),
    ],
  ])('%s, the others are answered', async (_name, fault) => {
    const wall = await wallThat(poisoned(fault));
    const { rig } = await rigOf(sharedTable(wall.baseUrl), { clock: systemClock });
    const answered = await loadOf(rig, asOther(), (n) => (n % 40 === 20 ? [ask(rig, poison)] : []));
    expect(answered, 'of 100').toBeGreaterThanOrEqual(97);
  });

  test('for one model, the others are answered by another', async () => {
    const limited = refused(429, 'Rate limit reached for large', { 'retry-after': '21' });
    const wall = await wallThat((call) => (modelOf(call) === 'large' ? limited : { type: 'answer' }));
    const { rig } = await rigOf(sharedTable(wall.baseUrl), { clock: systemClock });
    const answered = await loadOf(rig, asOther(small), (n) => (n % 40 === 0 ? [ask(rig)] : []));
    expect(answered, 'of 100').toBeGreaterThanOrEqual(97);
  });

  test.each([500, 504])('with %i, the others are answered', async (code) => {
    const wall = await wallThat(poisoned({ type: 'status', status: code }));
    const { rig } = await rigOf(sharedTable(wall.baseUrl), { clock: systemClock });
    const reported: Seen[] = [];
    const answered = await loadOf(rig, asOther(), () =>
      [1, 2, 3, 4].map(async () => {
        const seen = await ask(rig, poison);
        reported.push(seen);
        return seen;
      }),
    );
    expect(answered, 'of 100').toBeGreaterThanOrEqual(97);
    expect(new Set(reported.map(({ status }) => status))).toEqual(new Set([502]));
  });

  test('that is alone, or is rejected like all others, opens the breaker as usual', async () => {
    const wall = await wallThat({ type: 'status', status: 500 });
    const { rig } = await rigOf(sharedTable(wall.baseUrl), { clock: systemClock });
    for (let n = 0; n < 3; n++) expect((await ask(rig)).status).toBe(502);
    // One call a second is tried all the same.
    await ask(rig);
    expect((await ask(rig, asOther())).status).toBe(503);
  });
});

function modelOf(call: Call): string {
  const model = /"model":"(\w+)"/.exec(call.bodyText)?.[1];
  return model ?? '';
}
