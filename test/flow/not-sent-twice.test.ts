// Which requests may be sent again? Not those that more than answer, where the first may have been acted on.

import { afterEach, describe, expect, test } from 'vitest';
import type { Timeouts } from '../../core/contract/routing-table.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { type Behaviour, closedPort, startWall, type Wall } from '../support/wall.ts';
import { ask, errorOf, lineOf } from './ask.ts';

const endpoints = ['chat', 'completions', 'messages', 'responses'] as const;
const dialects = ['openai-chat', 'openai-completions', 'anthropic-messages', 'openai-responses'] as const;
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function wallThat(fault: Behaviour): Promise<Wall> {
  const wall = await startWall(fault);
  closers.push(() => wall.close());
  return wall;
}

async function rigOf(...baseUrls: readonly string[]): Promise<Rig> {
  return rigWith({}, ...baseUrls);
}

async function rigWith(timeouts: Timeouts, ...baseUrls: readonly string[]): Promise<Rig> {
  const rig = await startRig(
    tableOf(baseUrls.map((baseUrl) => ({ baseUrl, timeouts, dialects: [...dialects] }))),
    {
      random: () => 0,
    },
  );
  closers.push(() => rig.close());
  return rig;
}

const stored = { isStream: true, more: { store: true } };

async function staleReuses({ gateway }: Rig): Promise<string> {
  const text = await gateway.metrics.registry.metrics();
  return /^penstock_stale_reuse_total\{.*\} (\d+)$/m.exec(text)?.[1] ?? 'none';
}

describe('a request that is stored at the provider', () => {
  test.each<[string, Behaviour, Timeouts]>([
    ['500', { type: 'status', status: 500 }, {}],
    ['a reset before any byte', { type: 'reset' }, {}],
    // Nobody else may be asked, so it has the time of the last.
    ['silence', { type: 'hang', when: 'after-headers' }, { firstEventMs: 1, lastFirstEventMs: 500 }],
  ])('%s: no other provider is asked', async (_name, fault, timeouts) => {
    const [first, second] = [await wallThat(fault), await wallThat({ type: 'answer' })];
    const rig = await rigWith(timeouts, first.baseUrl, second.baseUrl);
    const seen = await ask(rig, stored);
    expect(seen.status).toBeGreaterThanOrEqual(502);
    expect([first.calls.length, second.calls.length]).toEqual([1, 0]);
  });

  test.each([429, 503, 401])('%i, which refuses it: the next provider answers', async (status) => {
    const [first, second] = [await wallThat({ type: 'status', status }), await wallThat({ type: 'answer' })];
    const rig = await rigOf(first.baseUrl, second.baseUrl);
    expect((await ask(rig, stored)).status).toBe(200);
    expect([first.calls.length, second.calls.length]).toEqual([1, 1]);
  });

  test('no connection: the next provider answers', async () => {
    const port = await closedPort();
    closers.push(() => port.close());
    const second = await wallThat({ type: 'answer' });
    const rig = await rigOf(`${port.url}/v1`, second.baseUrl);
    expect((await ask(rig, stored)).status).toBe(200);
  });

  test('a reused connection that dies: the caller gets the error and decides on a retry', async () => {
    const wall = await wallThat({ type: 'stale-reuse', how: 'reset' });
    const rig = await rigOf(wall.baseUrl);
    expect((await ask(rig, stored)).status).toBe(200);
    const seen = await ask(rig, stored);
    expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_error']);
    expect(wall.calls).toHaveLength(2);
    expect(await staleReuses(rig)).toBe('1');
  });
});

describe('any other request on a connection that dies when it is used again', () => {
  const ways = endpoints.flatMap((endpoint) =>
    [true, false].map(
      (isStream) => [`${endpoint}, ${isStream ? 'streamed' : 'plain'}`, { endpoint, isStream }] as const,
    ),
  );
  test.each(
    ways.flatMap(([way, options]) =>
      (['fin', 'reset'] as const).map((how) => [`${how}, ${way}`, how, options] as const),
    ),
  )('(%s) is sent over a new one, and its health is not doubted', async (_, how, options) => {
    const wall = await wallThat({ type: 'stale-reuse', how });
    const rig = await rigOf(wall.baseUrl);
    for (let n = 0; n < 12; n++) expect((await ask(rig, options)).status).toBe(200);
    const stale = wall.calls.filter(({ isConnectionReused }) => isConnectionReused).length;
    expect(stale, 'the fault has happened').toBeGreaterThan(4);
    expect(await staleReuses(rig)).toBe(String(stale));
    expect(rig.records.map(lineOf).filter((line) => line.includes('failed'))).toEqual(
      Array.from({ length: stale }, () => '1 t0 failed reset platform'),
    );
  });

  test.each<[string, Behaviour]>([
    ['headers that are too large', { type: 'huge-headers', bytes: 40_000 }],
    ['the beginning of an answer', { type: 'raw', bytes: 'HTTP/1.1 20', followedBy: 'fin' }],
    ['what is no answer', { type: 'raw', bytes: 'no answer\r\n\r\n', followedBy: 'fin' }],
    ['word that it is at work', { type: 'raw', bytes: 'HTTP/1.1 102 Processing\r\n\r\n', followedBy: 'fin' }],
  ])(
    'and has brought %s before: the request has arrived, and its failure counts like any other',
    async (_, fault) => {
      const wall = await wallThat({ type: 'answer' });
      const rig = await rigOf(wall.baseUrl);
      expect((await ask(rig)).status).toBe(200);
      wall.script(fault);
      expect((await ask(rig)).status).toBe(502);
      expect(wall.calls.map(({ isConnectionReused }) => isConnectionReused)).toEqual([false, true]);
      expect(await staleReuses(rig)).toBe('none');
    },
  );

  test('a new one that is reset as well is a failure like any other', async () => {
    const wall = await wallThat({ type: 'answer' });
    const rig = await rigOf(wall.baseUrl);
    expect((await ask(rig)).status).toBe(200);
    wall.script({ type: 'reset' });
    expect((await ask(rig)).status).toBe(502);
    // Stale, new, and the second try that a reset is given where nobody else is left.
    expect(wall.calls).toHaveLength(1 + 3);
  });
});
