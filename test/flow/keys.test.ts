// Who is asked when keys rest, providers are dead or weights say so? Through the whole gateway, over several requests.

import { afterEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import type { ProviderEntry } from '../../core/contract/routing-table.ts';
import type { GatewayOptions } from '../../gateway/process/options.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../gateway/rig.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { makeRandom } from '../support/wall/split.ts';
import { type Behaviour, type Call, type Script, startWall, type Wall } from '../support/wall.ts';
import { ask, askOpen, errorOf, lineOf } from './ask.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function wallThat(script: Script): Promise<Wall> {
  const wall = await startWall(script);
  closers.push(() => wall.close());
  return wall;
}

/** A gateway whose clock stops until the test moves it. */
async function rigOf(targets: readonly RigTarget[], options: Partial<GatewayOptions> = {}) {
  const clock = { ...makeFakeClock(1_000_000), wallMs: () => 1_767_225_600_000 };
  const rig = await startRig(tableOf(targets), { clock, random: () => 0, ...options });
  closers.push(() => {
    // Its clock stops: a drain would wait for ever.
    rig.gateway.hurry();
    return rig.close();
  });
  return { rig, clock };
}

const keyOf = (call: Call): string => call.headers.authorization?.replace('Bearer ', '') ?? '';

/** What the provider does with each of its keys; others are answered. */
function byKey(faults: Readonly<Record<string, Behaviour>>): (call: Call) => Behaviour {
  return (call) => faults[keyOf(call)] ?? { type: 'answer' };
}

const status = (code: number, headers: Readonly<Record<string, string>> = {}): Behaviour => ({
  type: 'status',
  status: code,
  headers,
});

const refusedWith = (code: number) => ({ type: 'status', status: code }) as const;

const two = { keys: { a: 'KEY-A', b: 'KEY-B' } };

async function statusesOf(rig: Rig, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let n = 0; n < count; n++) statuses.push((await ask(rig, { isStream: n % 2 === 0 })).status);
  return statuses;
}

describe('a key that is rate limited', () => {
  test('cools down as long as the 429 says, and the next key is used at once', async () => {
    const wall = await wallThat(byKey({ 'KEY-A': status(429, { 'retry-after': '9' }) }));
    const { rig, clock } = await rigOf([{ ...two, baseUrl: wall.baseUrl }]);
    expect(await statusesOf(rig, 1)).toEqual([200]);
    expect(wall.calls.map(keyOf)).toEqual(['KEY-A', 'KEY-B']);
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed status_429 platform', '2 t0 answered tenant']);
    expect(rig.records.map(({ providerKey }) => providerKey)).toEqual(['a', 'b']);

    clock.advance(8_999);
    expect(await statusesOf(rig, 10)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(wall.calls.slice(2).map(keyOf), '0 of 10 requests to the key in cooldown').not.toContain('KEY-A');

    wall.script({ type: 'answer' });
    clock.advance(1);
    await statusesOf(rig, 1);
    expect(wall.calls.map(keyOf).at(-1)).toBe('KEY-A');
  });

  test.each([
    ['only in the body, as by Google', {}, '9s', 9_000],
    ['in header and body, where the header counts', { 'retry-after': '4' }, '9s', 4_000],
    ['of days in the body, cut to five minutes', {}, '999999s', 300_000],
  ])('cools down for the time %s', async (_name, headers, retryDelay, restMs) => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }];
    const body = [
      { error: { code: 429, message: 'Quota exceeded.', status: 'RESOURCE_EXHAUSTED', details } },
    ];
    const wall = await wallThat(byKey({ 'KEY-A': { type: 'status', status: 429, headers, body } }));
    const { rig, clock } = await rigOf([{ ...two, baseUrl: wall.baseUrl }]);
    await statusesOf(rig, 1);
    clock.advance(restMs - 1);
    await statusesOf(rig, 1);
    clock.advance(1);
    await statusesOf(rig, 1);
    expect(wall.calls.map(keyOf)).toEqual(['KEY-A', 'KEY-B', 'KEY-B', 'KEY-A', 'KEY-B']);
  });

  test('with a wait only in the body is waited for, if no other key is left', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.05s' }];
    const wall = await wallThat([
      { type: 'status', status: 429, body: [{ error: { details } }] },
      { type: 'answer' },
    ]);
    const { rig } = await rigOf([{ baseUrl: wall.baseUrl }], { clock: systemClock });
    expect(await statusesOf(rig, 1)).toEqual([200]);
    expect(wall.calls).toHaveLength(2);
  });

  test('without a time cools down for rateLimitCooldown of the provider', async () => {
    const wall = await wallThat(byKey({ 'KEY-A': status(429) }));
    const { rig, clock } = await rigOf([{ ...two, baseUrl: wall.baseUrl }]);
    await statusesOf(rig, 1);
    clock.advance(19_999);
    await statusesOf(rig, 1);
    clock.advance(1);
    await statusesOf(rig, 1);
    expect(wall.calls.map(keyOf)).toEqual(['KEY-A', 'KEY-B', 'KEY-B', 'KEY-A', 'KEY-B']);
  });

  test('with a wait of days cools down for five minutes', async () => {
    const wall = await wallThat(byKey({ 'KEY-A': status(429, { 'retry-after': '999999' }) }));
    const { rig, clock } = await rigOf([{ ...two, baseUrl: wall.baseUrl }]);
    await statusesOf(rig, 1);
    clock.advance(299_999);
    await statusesOf(rig, 1);
    clock.advance(1);
    await statusesOf(rig, 1);
    expect(wall.calls.map(keyOf)).toEqual(['KEY-A', 'KEY-B', 'KEY-B', 'KEY-A', 'KEY-B']);
  });
});

test.each([
  ['out of money', { ...status(429), error: { type: 'insufficient_quota' } } as Behaviour, 300_000],
  ['out of money (402)', status(402), 300_000],
  [
    'out of money, as Anthropic says it',
    {
      ...status(400),
      error: {
        type: 'invalid_request_error',
        message:
          'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
      },
    } as Behaviour,
    300_000,
  ],
  ['rejected', status(401), 60_000],
  ['rejected (403)', { ...status(403), error: { code: 'account_deactivated' } } as Behaviour, 60_000],
])('a key that is %s is skipped, and tried again now and then', async (_name, fault, restMs) => {
  const wall = await wallThat(byKey({ 'KEY-A': fault }));
  const { rig, clock } = await rigOf([{ ...two, baseUrl: wall.baseUrl }]);
  expect(await statusesOf(rig, 4)).toEqual([200, 200, 200, 200]);
  clock.advance(restMs - 1);
  await statusesOf(rig, 1);
  expect(
    wall.calls.map(keyOf).filter((key) => key === 'KEY-A'),
    '1 wasted call of 6',
  ).toHaveLength(1);
  clock.advance(1);
  await statusesOf(rig, 1);
  expect(wall.calls.map(keyOf).filter((key) => key === 'KEY-A')).toHaveLength(2);
});

/**
 * A key is shared by all whose routes name its Provider. What an upstream refuses of one request took it from everybody for up to five
 * minutes, without a single call upstream.
 */
test.each<[string, Behaviour, number]>([
  [
    'to a model that the project has no access to',
    {
      ...refusedWith(403),
      error: {
        message: 'Project `p` does not have access to model `x`',
        type: 'invalid_request_error',
        code: 'model_not_found',
      },
    },
    404,
  ],
  [
    'with a prompt that a moderation has flagged',
    {
      ...refusedWith(403),
      body: '{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged"}}',
    },
    400,
  ],
  ['that a firewall answers with a page', { type: 'html', status: 403 }, 502],
  ['that the key may not make', refusedWith(403), 502],
  [
    'to an endpoint that the key is not made for',
    {
      ...refusedWith(401),
      body: {
        error: {
          message:
            'You have insufficient permissions for this operation. Missing scopes: api.responses.write.',
          type: 'invalid_request_error',
          param: null,
          code: null,
        },
      },
    },
    502,
  ],
  [
    'larger than the limit of a minute',
    {
      ...refusedWith(429),
      error: { message: 'Request too large for m on tokens per min (TPM)', code: 'rate_limit_exceeded' },
    },
    413,
  ],
  [
    'larger than what is left of the account',
    {
      ...refusedWith(402),
      error: {
        message:
          'This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 27342.',
      },
    },
    413,
  ],
])('one request %s leaves the key in use for all others', async (_name, fault, reported) => {
  const wall = await wallThat([fault, { type: 'answer' }]);
  const { rig } = await rigOf([{ baseUrl: wall.baseUrl, keys: { only: 'KEY-ONLY' } }]);
  expect((await ask(rig)).status).toBe(reported);
  expect((await ask(rig)).status).toBe(200);
  expect(wall.calls).toHaveLength(2);
});

test('a model that one key may not use is served with the other, each time', async () => {
  const error = { message: 'Project `p` does not have access to model `x`', code: 'model_not_found' };
  const wall = await wallThat(byKey({ 'KEY-A': { ...refusedWith(403), error } }));
  const { rig } = await rigOf([{ ...two, baseUrl: wall.baseUrl }]);
  expect(await statusesOf(rig, 4)).toEqual([200, 200, 200, 200]);
});

test.each([
  ['403', refusedWith(403)],
  [
    '403 for the model',
    { ...refusedWith(403), error: { message: 'Project `p` has no access to it', code: 'model_not_found' } },
  ],
  ['401', refusedWith(401)],
  ['429', refusedWith(429)],
])(
  'if %s is the answer for every key of a large account, another provider answers each time',
  async (_, refusal) => {
    const refused = await wallThat(refusal);
    const other = await wallThat({ type: 'answer' });
    const keys = { a: 'KEY-A', b: 'KEY-B', c: 'KEY-C', d: 'KEY-D' };
    const { rig } = await rigOf([{ baseUrl: refused.baseUrl, keys }, { baseUrl: other.baseUrl }]);
    expect(await statusesOf(rig, 4)).toEqual([200, 200, 200, 200]);
    expect(other.calls).toHaveLength(4);
  },
);

test('a key that is refused with 400 is not an error of the caller: the next key answers, and the refused one cools down', async () => {
  const error = { code: 400, message: 'API key not valid. Please pass a valid API key.' };
  const wall = await wallThat(byKey({ 'KEY-A': { ...refusedWith(400), error } }));
  const { rig } = await rigOf([{ ...two, baseUrl: wall.baseUrl }]);
  expect(await statusesOf(rig, 3)).toEqual([200, 200, 200]);
  expect(wall.calls.map(keyOf)).toEqual(['KEY-A', 'KEY-B', 'KEY-B', 'KEY-B']);
});

describe('a key after its cooldown', () => {
  test.each([
    ['rate limited', status(429, { 'retry-after': '9' }), 9_000, 30],
    ['out of money', status(402), 300_000, 30],
    ['rejected', status(401), 60_000, 200],
  ])(
    '(%s) is tried by one of many callers, and again by one at a time; all of them are answered',
    async (_name, fault, restMs, callers) => {
      const wall = await wallThat(byKey({ 'KEY-A': fault }));
      const { rig, clock } = await rigOf([{ ...two, baseUrl: wall.baseUrl }]);
      const callsOfA = (): number => wall.calls.filter((call) => keyOf(call) === 'KEY-A').length;
      const askAll = async (): Promise<void> => {
        const seen = await Promise.all(Array.from({ length: callers }, () => ask(rig)));
        expect(new Set(seen.map(({ status: code }) => code))).toEqual(new Set([200]));
      };
      expect(await statusesOf(rig, 1)).toEqual([200]);
      for (const calls of [2, 3]) {
        clock.advance(restMs);
        await askAll();
        expect(callsOfA(), `one of ${callers}`).toBe(calls);
      }

      const mayAnswer = Promise.withResolvers<void>();
      wall.script(byKey({ 'KEY-A': { type: 'answer', beforeHeaders: { until: mayAnswer.promise } } }));
      clock.advance(restMs);
      const trial = ask(rig);
      await vi.waitFor(() => expect(callsOfA()).toBe(4));
      await askAll();
      expect(callsOfA(), 'nobody else at the same time').toBe(4);
      mayAnswer.resolve();
      expect((await trial).status).toBe(200);
      await statusesOf(rig, 2);
      expect(callsOfA()).toBe(6);
    },
  );

  /** A waiting request checks again as often, and retries in between. */
  async function looking(clock: { advance(ms: number): void }, times: number): Promise<void> {
    for (let n = 0; n < times; n++) {
      clock.advance(200);
      await new Promise(setImmediate);
    }
  }

  async function threeWaiting() {
    const mayRefuse = Promise.withResolvers<void>();
    const wall = await wallThat({
      ...status(429, { 'retry-after': '2' }),
      beforeHeaders: { until: mayRefuse.promise },
    } as Behaviour);
    const { rig, clock } = await rigOf([{ baseUrl: wall.baseUrl }]);
    const asked = [1, 2, 3].map(() => ask(rig));
    await vi.waitFor(() => expect(wall.calls).toHaveLength(3));
    mayRefuse.resolve();
    await vi.waitFor(() => expect(rig.records).toHaveLength(3));
    return { wall, rig, clock, asked };
  }

  test('that gets a new cooldown is not tried by other callers that have waited', async () => {
    const { wall, rig, clock, asked } = await threeWaiting();
    wall.script(status(429, { 'retry-after': '60' }));
    clock.advance(2_000);
    await vi.waitFor(() => expect(rig.records).toHaveLength(4));
    clock.advance(200);
    const seen = await Promise.all(asked);
    expect(seen.map(({ status: code }) => code)).toEqual([429, 429, 429]);
    expect(wall.calls, 'one of three who waited').toHaveLength(4);
  });

  test('is tried by one request while the others wait', async () => {
    const { wall, clock, asked } = await threeWaiting();
    const mayAnswer = Promise.withResolvers<void>();
    wall.script({ type: 'answer', beforeHeaders: { until: mayAnswer.promise } });
    clock.advance(2_000);
    await vi.waitFor(() => expect(wall.calls).toHaveLength(4));
    await looking(clock, 5);
    expect(wall.calls).toHaveLength(4);
    mayAnswer.resolve();
    await Promise.any(asked);
    clock.advance(200);
    expect((await Promise.all(asked)).map(({ status: code }) => code)).toEqual([200, 200, 200]);
    expect(wall.calls).toHaveLength(6);
  });

  test('is waited for no longer than any other', async () => {
    const { wall, clock, asked } = await threeWaiting();
    wall.script({ type: 'hang', when: 'before-headers' });
    clock.advance(2_000);
    await vi.waitFor(() => expect(wall.calls).toHaveLength(4));
    await looking(clock, 16);
    const first = await Promise.race(asked);
    expect([first.status, wall.calls.length]).toEqual([429, 4]);
  });
});

test('one of two keys is revoked under load: no request fails', async () => {
  const wall = await wallThat({ type: 'answer' });
  const { rig } = await rigOf([{ ...two, baseUrl: wall.baseUrl }], { random: makeRandom(7) });
  let isRevoked = false;
  wall.script((call) => (isRevoked && keyOf(call) === 'KEY-A' ? status(401) : { type: 'answer' }));
  const statuses: number[] = [];
  const callers = Array.from({ length: 20 }, async () => {
    for (let n = 0; n < 20; n++) {
      statuses.push((await ask(rig, { isStream: n % 2 === 0 })).status);
      if (statuses.length === 100) isRevoked = true;
    }
  });
  await Promise.all(callers);
  expect(
    statuses.filter((code) => code !== 200),
    'of 400',
  ).toEqual([]);
  const refused = rig.records.filter(({ outcome }) => outcome === 'failed');
  expect(refused.length, 'the fault fired').toBeGreaterThan(0);
  expect(refused.length, 'no more than were in flight').toBeLessThanOrEqual(20);
  expect(refused.every(({ providerKey }) => providerKey === 'a')).toBe(true);
});

test('a rejected key with a new value in the next table is used at once', async () => {
  const wall = await wallThat(byKey({ 'KEY-A': status(401) }));
  const targets = (value: string): RigTarget[] => [{ keys: { a: value }, baseUrl: wall.baseUrl }];
  const { rig } = await rigOf(targets('KEY-A'));
  // The second learns what the first found out, without a call.
  expect(await statusesOf(rig, 2)).toEqual([502, 502]);
  rig.offer(tableOf(targets('KEY-NEW')));
  expect(await statusesOf(rig, 1)).toEqual([200]);
  expect(wall.calls.map(keyOf)).toEqual(['KEY-A', 'KEY-NEW']);
});

describe('all keys out', () => {
  test('the request that finds out gets 429; later ones get 429 without a call, with a Retry-After within a minute', async () => {
    const wall = await wallThat(
      byKey({
        'KEY-A': status(429, { 'retry-after': '600' }),
        'KEY-B': status(429, { 'retry-after': '42' }),
      }),
    );
    const { rig, clock } = await rigOf([{ ...two, baseUrl: wall.baseUrl }]);
    const first = await ask(rig);
    expect([first.status, errorOf(first)?.code, first.headers['retry-after']]).toEqual([
      429,
      'rate_limit_exceeded',
      '42',
    ]);
    clock.advance(10_000);
    const next = await ask(rig, { isStream: true });
    expect([next.status, errorOf(next)?.code, next.headers['retry-after']]).toEqual([
      429,
      'rate_limit_exceeded',
      '32',
    ]);
    expect(wall.calls).toHaveLength(2);
    expect(rig.records).toHaveLength(2);
  });

  test('no Retry-After is longer than a minute', async () => {
    const wall = await wallThat(status(429, { 'retry-after': '600' }));
    const { rig } = await rigOf([{ ...two, baseUrl: wall.baseUrl }]);
    for (let n = 0; n < 3; n++) {
      const { headers } = await ask(rig);
      expect(headers['retry-after']).toBe('60');
    }
  });

  test('an account out of credit gives no Retry-After', async () => {
    const wall = await wallThat(status(402));
    const { rig } = await rigOf([{ ...two, baseUrl: wall.baseUrl }]);
    for (let n = 0; n < 3; n++) {
      const answer = await ask(rig);
      expect([answer.status, errorOf(answer)?.code]).toEqual([429, 'rate_limit_exceeded']);
      expect(answer.headers['retry-after']).toBeUndefined();
      expect(answer.headers['x-should-retry']).toBe('false');
    }
    expect(wall.calls, 'one of each key').toHaveLength(2);
  });

  test('another provider takes over', async () => {
    const first = await wallThat(status(429, { 'retry-after': '600' }));
    const second = await wallThat({ type: 'answer' });
    const { rig } = await rigOf([{ ...two, baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }]);
    expect(await statusesOf(rig, 5)).toEqual([200, 200, 200, 200, 200]);
    expect([first.calls.length, second.calls.length]).toEqual([2, 5]);
  });
});

describe('the breaker', () => {
  test('opens after five failures in a row; the dead target then gets only probes', async () => {
    const dead = await wallThat(status(503));
    const good = await wallThat({ type: 'answer' });
    const { rig, clock } = await rigOf([{ baseUrl: dead.baseUrl }, { baseUrl: good.baseUrl }]);
    expect(await statusesOf(rig, 30)).toEqual(Array.from({ length: 30 }, () => 200));
    expect([dead.calls.length, good.calls.length]).toEqual([5, 30]);

    // Open for 5, 10, 20 s, then a sixth less than 25 s, for no random part may make it longer: one probe each.
    for (const openMs of [5_000, 10_000, 20_000, 20_834, 20_834]) {
      clock.advance(openMs - 1);
      await statusesOf(rig, 2);
      const before = dead.calls.length;
      clock.advance(1);
      await statusesOf(rig, 3);
      expect(dead.calls.length - before, `probes after ${openMs} ms, of 5 requests`).toBe(1);
    }

    dead.script({ type: 'answer' });
    clock.advance(25_000);
    const before = dead.calls.length;
    expect(await statusesOf(rig, 5)).toEqual([200, 200, 200, 200, 200]);
    expect(dead.calls.length - before, 'back in use').toBe(5);
  });

  test('of the only target: no retry goes beyond the fifth failure, then one call a second and 503 without a call', async () => {
    const dead = await wallThat(status(500));
    const { rig } = await rigOf([{ baseUrl: dead.baseUrl }], { clock: systemClock });
    const seen = await statusesOf(rig, 6);
    // The fourth is the one of this second that is tried all the same, for there is no other target.
    expect(seen).toEqual([502, 502, 502, 502, 503, 503]);
    expect(dead.calls).toHaveLength(6);
  });

  test('lets one probe through at a time', async () => {
    const answers = Promise.withResolvers<void>();
    const dead = await wallThat(status(503));
    const good = await wallThat({ type: 'answer' });
    const { rig, clock } = await rigOf([{ baseUrl: dead.baseUrl }, { baseUrl: good.baseUrl }]);
    await statusesOf(rig, 5);
    dead.script({ type: 'answer', beforeHeaders: { until: answers.promise } });
    clock.advance(5_000);
    const probe = ask(rig);
    while ((await dead.nextCall()).number < 6);
    expect(await statusesOf(rig, 10)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(dead.calls.length, '1 probe while 10 requests pass').toBe(6);
    answers.resolve();
    expect((await probe).status).toBe(200);
    await statusesOf(rig, 1);
    expect(dead.calls).toHaveLength(7);
  });

  test('waits for the first content of a probe, not for the end of its stream', async () => {
    const end = Promise.withResolvers<void>();
    const wall = await wallThat(status(501));
    const { rig, clock } = await rigOf([{ baseUrl: wall.baseUrl }], {});
    await statusesOf(rig, 5);
    wall.script({
      type: 'stall',
      after: { contentEvents: 1 },
      for: { until: end.promise },
      followedBy: 'go-on',
    });
    clock.advance(5_000);
    const { connection, answer } = await askOpen(rig, { isStream: true });
    const probe = await answer;
    // The first words are handed out when they have come.
    await probe.nextEvent();
    wall.script({ type: 'answer' });
    expect(await statusesOf(rig, 4)).toEqual([200, 200, 200, 200]);
    end.resolve();
    expect((await probe.finished).events.at(-1)?.data).toBe('[DONE]');
    connection.close();
  });

  test('does not open for errors of callers', async () => {
    const wall = await wallThat(status(400));
    const { rig } = await rigOf([{ baseUrl: wall.baseUrl }]);
    expect(await statusesOf(rig, 20)).toEqual(Array.from({ length: 20 }, () => 400));
    expect(wall.calls).toHaveLength(20);
  });
});

describe('the load', () => {
  test('is shared by weight inside a tier; the tier below sees nothing', async () => {
    const walls = await Promise.all([1, 2, 3].map(() => wallThat({ type: 'answer' })));
    const { rig } = await rigOf(
      walls.map(({ baseUrl }, index) => ({
        baseUrl,
        priority: index === 2 ? 1 : 0,
        weight: index === 0 ? 3 : 1,
      })),
      { random: makeRandom(3) },
    );
    await statusesOf(rig, 200);
    const [first = 0, second = 0, below = 0] = walls.map(({ calls }) => calls.length);
    expect([first + second, below]).toEqual([200, 0]);
    // Four standard deviations of 200 draws.
    expect(Math.abs(first - 150), `${first} of 200 to weight 3 of 4`).toBeLessThan(25);
  });

  test('of a drained target is zero, even if no other is left', async () => {
    const drained = await wallThat({ type: 'answer' });
    const dead = await wallThat(status(501));
    const { rig } = await rigOf([{ baseUrl: drained.baseUrl, weight: 0 }, { baseUrl: dead.baseUrl }]);
    expect(await statusesOf(rig, 2)).toEqual([502, 502]);
    expect([drained.calls.length, dead.calls.length]).toEqual([0, 2]);
  });

  test('moves with the keys of a provider, by their weights', async () => {
    const wall = await wallThat({ type: 'answer' });
    const keys: ProviderEntry['keys'] = [
      { name: 'a', credential: 'platform/p0/a', weight: 0, priority: 0 },
      { name: 'b', credential: 'platform/p0/b', weight: 1, priority: 1 },
      { name: 'c', credential: 'platform/p0/c', weight: 1, priority: 0 },
    ];
    const { rig } = await rigOf([
      { keys: { a: 'KEY-A', b: 'KEY-B', c: 'KEY-C' }, providerEntry: { keys }, baseUrl: wall.baseUrl },
    ]);
    await statusesOf(rig, 3);
    expect(wall.calls.map(keyOf)).toEqual(['KEY-C', 'KEY-C', 'KEY-C']);
  });
});
