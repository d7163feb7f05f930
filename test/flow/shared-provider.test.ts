// Can one tenant take from the others what they share? What its route says, and what its callers ask for, is no signal
// against a Provider of the platform.

import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../core/clock.ts';
import type { RouteEntry, RoutingTable, Timeouts } from '../../core/contract/routing-table.ts';
import { partsMax } from '../../gateway/dialects/answer/part-writer.ts';
import { keyEntry, type Rig, startRig, tableOf, testKey } from '../gateway/rig.ts';
import { some } from '../support/runs.ts';
import { type Behaviour, startWall, type Wall } from '../support/wall.ts';
import { type AskOptions, ask } from './ask.ts';

const hastyKey = `psk_${'h'.repeat(49)}`;

/** A Provider of the platform; one tenant's route to it says nothing of time, the other's `more`. */
function sharedTable(baseUrl: string, more: Partial<RouteEntry>): RoutingTable {
  const table = tableOf([{ baseUrl, provider: 'platform/shared' }]);
  const [route] = table.routes;
  if (!route) throw new Error('there is no route');
  return {
    ...table,
    routes: [route, { ...route, id: 'hasty/m', ownedBy: 'hasty', ...more }],
    keys: [...table.keys, keyEntry(hastyKey, 'hasty/key')],
  };
}

async function withShared(
  wall: Wall,
  more: Partial<RouteEntry>,
  body: (rig: Rig) => Promise<void>,
  { resolve, clock = systemClock }: { resolve?: () => Promise<string[]>; clock?: Clock } = {},
): Promise<void> {
  const baseUrl = resolve ? wall.baseUrl.replace('127.0.0.1', 'provider.example') : wall.baseUrl;
  const rig = await startRig(sharedTable(baseUrl, more), {
    clock,
    random: () => 0,
    ...(resolve ? { lookups: { resolve } } : {}),
  });
  try {
    await body(rig);
  } finally {
    rig.gateway.hurry();
    await rig.close();
    await wall.close();
  }
}

async function statuses(rig: Rig, key: string, count: number, options: AskOptions = {}): Promise<number[]> {
  const seen: number[] = [];
  for (let n = 0; n < count; n++) {
    seen.push(
      (await ask(rig, { ...options, headers: { authorization: `Bearer ${key}`, ...options.headers } }))
        .status,
    );
  }
  return seen;
}

const slow = { type: 'answer', beforeHeaders: { ms: 60 } } as const;
/** Five open the breaker; of what is out of service one call a second is tried all the same, and that is the sixth. */
const calls = 6;
const allOf = (status: number) => Array.from({ length: calls }, () => status);

describe('calls of a tenant whose route has a shorter timeout than the Provider do not disable it for others', () => {
  test.each<[string, Timeouts, AskOptions]>([
    ['for all of a plain answer', { totalMs: 10 }, {}],
    ['for the first event of a stream', { firstEventMs: 10, lastFirstEventMs: 10 }, { isStream: true }],
  ])('%s', async (_name, timeouts, options) => {
    await withShared(await startWall(slow), { timeouts }, async (rig) => {
      expect(await statuses(rig, hastyKey, calls, options)).toEqual(allOf(504));
      expect(await statuses(rig, testKey, 1, options)).toEqual([200]);
    });
  });

  test('for a connection', async () => {
    const gate = Promise.withResolvers<void>();
    const resolve = async (): Promise<string[]> => {
      await gate.promise;
      return ['127.0.0.1'];
    };
    const wall = await startWall();
    await withShared(
      wall,
      { timeouts: { connectMs: 10 } },
      async (rig) => {
        expect(await statuses(rig, hastyKey, calls)).toEqual(allOf(504));
        gate.resolve();
        expect(await statuses(rig, testKey, 1)).toEqual([200]);
      },
      { resolve },
    );
  });

  test("the platform's own route for others does open the breaker", async () => {
    const more = { timeouts: { totalMs: 10 }, sharedWith: ['others'] };
    let heldMs: number | undefined;
    const clock: Clock = { ...systemClock, now: () => heldMs ?? systemClock.now() };
    const wall = await startWall(slow);
    const body = async (rig: Rig): Promise<void> => {
      expect(await statuses(rig, hastyKey, 5)).toEqual([504, 504, 504, 504, 504]);
      // The two that follow fall into one second.
      heldMs = Math.floor(systemClock.now());
      wall.script({ type: 'status', status: 500 });
      expect(await statuses(rig, testKey, 2)).toEqual([502, 503]);
    };
    await withShared(wall, more, body, { clock });
  });
});

const frames = (...data: readonly string[]): string => data.map((each) => `data: ${each}\n\n`).join('');
const head = '"id":"c1","object":"chat.completion.chunk","created":1,"model":"m"';
const piece = (content: string): string =>
  `{${head},"choices":[{"index":0,"delta":{"content":"${content}"}}]}`;
const finish = `{${head},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`;

/** In one write; the second event has a bare tab in a string, which is no JSON. */
const brokenInTheMidst: Behaviour = {
  type: 'raw',
  bytes:
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n' +
    frames(piece('one '), piece('two\tthree '), finish, '[DONE]'),
  followedBy: 'fin',
};

describe('calls that need a complete answer', () => {
  const assured = { 'x-penstock-delivery': 'assured' };

  test.each([{ isStream: false }, { isStream: true }])(
    'some that no client could use open no breaker: %o',
    async (options) => {
      const wall = await startWall({ type: 'answer', toolCalls: [{ name: 'f', arguments: '[1]' }] });
      await withShared(wall, {}, async (rig) => {
        expect(await statuses(rig, hastyKey, calls, { ...options, headers: assured })).toEqual(allOf(502));
        expect(new Set(rig.records.map(({ failure }) => failure))).toEqual(new Set(['unusable']));
        expect(await statuses(rig, testKey, 1, options)).toEqual([200]);
      });
    },
  );

  test.each<[string, Partial<RouteEntry>, AskOptions]>([
    ['held whole', {}, { isStream: true, headers: assured }],
    ['held back', { holdBack: { events: 1_000 } }, { isStream: true }],
    ['put together', { upstreamStreaming: 'Always' }, {}],
  ])('some with an event that a stream would skip open no breaker (%s)', async (_name, more, options) => {
    const wall = await startWall({ type: 'garbage-event', atEvent: 4 });
    await withShared(wall, more, async (rig) => {
      expect(await statuses(rig, hastyKey, calls, options)).toEqual(allOf(502));
      expect(await statuses(rig, testKey, 1, { isStream: true })).toEqual([200]);
    });
  });

  const wholes: readonly (readonly [string, Partial<RouteEntry>, AskOptions])[] = [
    ['held whole', {}, { isStream: true, headers: assured }],
    ['put together', { upstreamStreaming: 'Always' }, {}],
  ];

  test.each(wholes)(
    'some with an event that others get as it came open no breaker, also where all of it comes at once (%s)',
    async (_name, more, options) => {
      await withShared(await startWall(brokenInTheMidst), more, async (rig) => {
        expect(await statuses(rig, hastyKey, calls, options)).toEqual(allOf(502));
        expect(new Set(rig.records.map(({ failure }) => failure))).toEqual(new Set(['unusable']));
        expect(await statuses(rig, testKey, 1, { isStream: true })).toEqual([200]);
      });
    },
  );

  test.each(some(wholes, 2))(
    'some with more calls than an answer has open no breaker (%s)',
    async (_name, more, options) => {
      const toolCalls = Array.from({ length: partsMax + 1 }, () => ({ name: 'f', arguments: '{}' }));
      await withShared(await startWall({ type: 'answer', toolCalls }), more, async (rig) => {
        expect(await statuses(rig, hastyKey, calls, options)).toEqual(allOf(502));
        expect(new Set(rig.records.map(({ failure }) => failure))).toEqual(new Set(['unusable']));
        expect(await statuses(rig, testKey, 1, { isStream: true })).toEqual([200]);
      });
    },
  );
});
