// responseModel: Requested. Whatever the upstream calls what it serves, an answer names the model that its caller asked for: in the
// four dialects and through translations, plain and streamed, held or fetched as a stream; the ledger still says what was served.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { DialectName, RouteEntry } from '../../core/contract/routing-table.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { startWall, type Wall } from '../support/wall.ts';
import { ask, dataOf, endsWell, isBag, parseJson, type Seen, textOf, wallText } from './ask.ts';
import { pairs, tableOfTwo } from './two-walls.ts';

let first: Wall;
let second: Wall;
let rig: Rig;

const answer = { model: 'served-2026-01' };
const half = { text: 'Half of this answer is for nothing at all, dear reader.', model: 'served-first' };
const after = { contentEvents: 5 };

beforeAll(async () => {
  first = await startWall();
  second = await startWall();
  rig = await startRig({ ...tableOf([]), routes: [] }, { random: () => 0 });
});

afterAll(async () => {
  await rig.close();
  await first.close();
  await second.close();
});

afterEach(() => {
  rig.records.length = 0;
});

/** @param route An alias is an id of the model as well. */
function offer(dialect: DialectName, route: Partial<RouteEntry>): void {
  first.script({ type: 'answer', ...answer });
  second.script({ type: 'answer', ...answer });
  rig.offer(tableOfTwo([first, second], dialect, { aliases: ['also-m'], ...route }, {}));
}

/** Every model that is named where the dialects name it. */
function modelsOf(seen: Seen): string[] {
  const heads = seen.events.length > 0 ? dataOf(seen).map(parseJson) : [seen.json];
  const models = heads.flatMap((value) => {
    if (!isBag(value)) return [];
    return [value, value.message, value.response].map((head) => (isBag(head) ? head.model : undefined));
  });
  return [...new Set(models.filter((model) => typeof model === 'string'))];
}

const ways = [
  { what: 'plain', isStream: false, route: {} },
  { what: 'streamed', isStream: true, route: {} },
  { what: 'streamed, held until it is whole', isStream: true, route: { delivery: 'Assured' } },
  { what: 'plain, fetched as a stream', isStream: false, route: { upstreamStreaming: 'Always' } },
] as const;

describe.each(pairs)('$endpoint from $upstream', ({ endpoint, upstream }) => {
  test.each(ways)('$what: answers name the requested model', async ({ isStream, route }) => {
    for (const [responseModel, asked, wanted] of [
      [undefined, 'm', answer.model],
      ['Served', 'm', answer.model],
      ['Requested', 'm', 'm'],
      ['Requested', 'also-m', 'also-m'],
    ] as const) {
      offer(upstream, { ...route, ...(responseModel && { responseModel }) });
      const seen = await ask(rig, { endpoint, isStream, more: { model: asked } });
      expect([seen.status, textOf(seen)]).toEqual([200, wallText]);
      if (isStream) expect(endsWell(seen)).toBe(true);
      expect([responseModel, modelsOf(seen)]).toEqual([responseModel, [wanted]]);
    }
    const named = rig.records.map(
      ({ model, requestedModel = model, upstreamModel }) => `${requestedModel} by ${upstreamModel}`,
    );
    expect(named).toEqual(['m by upstream-0', 'm by upstream-0', 'm by upstream-0', 'also-m by upstream-0']);
  });

  test('held, after a first provider that broke off: the same', async () => {
    offer(upstream, { delivery: 'Assured', responseModel: 'Requested' });
    first.script({ type: 'cut', after, answer: half });
    const seen = await ask(rig, { endpoint, isStream: true });
    expect([textOf(seen), modelsOf(seen)]).toEqual([wallText, ['m']]);
    expect(rig.records).toHaveLength(2);
  });

  test('broken off after its first content: the end names no other model either', async () => {
    offer(upstream, { responseModel: 'Requested' });
    first.script({ type: 'cut', after, answer: half });
    const seen = await ask(rig, { endpoint, isStream: true });
    expect(endsWell(seen)).toBe(false);
    expect(modelsOf(seen)).toEqual(['m']);
    expect(seen.text).not.toContain(half.model);
  });
});

test('one request that takes several upstream calls names one model', async () => {
  for (const isStream of [false, true]) {
    offer('openai-chat', { responseModel: 'Requested' });
    const more = { prompt: ['one', 'two', 'three'] };
    const seen = await ask(rig, { endpoint: 'completions', isStream, more });
    expect([seen.status, modelsOf(seen)]).toEqual([200, ['m']]);
  }
  expect(rig.records).toHaveLength(6);
});
