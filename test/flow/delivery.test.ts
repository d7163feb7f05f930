// Assured delivery and hold-back: what breaks after the first content is answered by the next provider, as
// long as the client has seen nothing; and nothing of the broken answer is in what it gets.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { DialectName, RouteEntry, Timeouts } from '../../core/contract/routing-table.ts';
import { parseExposition } from '../gateway/meter/exposition.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { until } from '../support/until.ts';
import { type Answer, type Behaviour, startWall, type Wall } from '../support/wall.ts';
import {
  ask,
  askOpen,
  dataOf,
  type Endpoint,
  endsWell,
  errorOf,
  isBag,
  lineOf,
  parseJson,
  textOf,
  wallText,
} from './ask.ts';
import { pairs, tableOfTwo } from './two-walls.ts';

let first: Wall;
let second: Wall;
let rig: Rig;
/** Says that an answer is coming after a moment, not after 25 s. */
let hasty: Rig;

beforeAll(async () => {
  first = await startWall();
  second = await startWall();
  const none = { ...tableOf([]), routes: [] };
  rig = await startRig(none, { random: () => 0 });
  hasty = await startRig(none, { random: () => 0, openAfterMs: 40, keepAliveMs: 15 });
});

afterAll(async () => {
  await rig.close();
  await hasty.close();
  await first.close();
  await second.close();
});

afterEach(() => {
  for (const { records } of [rig, hasty]) records.length = 0;
  first.script({ type: 'answer' });
  second.script({ type: 'answer' });
});

function offer(dialect: DialectName, route: Partial<RouteEntry> = {}, timeouts: Timeouts = {}): void {
  const table = tableOfTwo([first, second], dialect, route, timeouts);
  for (const each of [rig, hasty]) each.offer(table);
}

const assured: Partial<RouteEntry> = { delivery: 'Assured' };

/** Said by the provider that breaks: none of it may be seen. */
const other: Answer = { text: 'Half of this answer would have been for nothing at all, dear reader.' };
const after = { contentEvents: 5 };

interface Fault {
  readonly name: string;
  readonly behaviour: Behaviour;
  /** The ledger's word for it. */
  readonly failure: string;
  readonly timeouts?: Timeouts;
}

const faults: readonly Fault[] = [
  ...(['chunked', 'close'] as const).map(
    (framing): Fault => ({
      name: `a FIN (${framing})`,
      behaviour: { type: 'cut', after, framing, answer: other },
      failure: 'truncated',
    }),
  ),
  {
    name: 'silence',
    behaviour: { type: 'stall', after, answer: other },
    failure: 'timeout_liveness',
    timeouts: { livenessMs: 100 },
  },
  {
    name: 'pings for ever',
    behaviour: { type: 'stall', after, pingEveryMs: 5, answer: other },
    failure: 'timeout_progress',
    timeouts: { progressMs: 100 },
  },
  {
    name: 'an error event',
    behaviour: { type: 'error-event', afterEvents: 8, answer: other },
    failure: 'error_event',
  },
  {
    name: 'an error beside an ordinary event, and the end mark',
    behaviour: {
      type: 'error-event',
      afterEvents: 8,
      shape: 'chunk',
      followedBy: 'end-marker',
      answer: other,
    },
    failure: 'error_event',
  },
  {
    name: 'an event that is not JSON',
    behaviour: { type: 'garbage-event', atEvent: 8, answer: other },
    failure: 'unusable',
  },
];

const wholly = { outcome: 'answered', payer: 'tenant' };

/** The last of the first wall's calls, with how far it came. */
function brokenCall(): Wall['calls'][number] {
  const call = first.calls.at(-1);
  if (!call) throw new Error('the first provider was not asked');
  return call;
}

describe.each(pairs)('$endpoint from $upstream, assured', ({ endpoint, upstream }) => {
  // A reset takes with it what nobody has read yet, so that it may come before any content.
  test('a reset within the answer: the next provider answers completely', async () => {
    offer(upstream, assured);
    first.script({ type: 'reset', after, answer: other });
    const seen = await ask(rig, { endpoint, isStream: true });
    expect([seen.status, textOf(seen), endsWell(seen)]).toEqual([200, wallText, true]);
    expect(rig.records).toMatchObject([{ outcome: 'failed', payer: 'platform' }, wholly]);
  });

  test.each(faults)('$name after content: the next provider answers, whole', async (fault) => {
    offer(upstream, assured, fault.timeouts);
    first.script(fault.behaviour);
    const before = first.calls.length;
    const seen = await ask(rig, { endpoint, isStream: true });
    expect([seen.status, seen.ending, endsWell(seen)]).toEqual([200, 'last-chunk', true]);
    expect(textOf(seen)).toBe(wallText);
    expect(rig.records.map(lineOf)).toEqual([
      `1 t0 failed ${fault.failure} platform`,
      '2 t1 answered tenant',
    ]);
    // It broke where it should: behind content.
    expect([first.calls.length - before, brokenCall().behaviour?.type]).toEqual([1, fault.behaviour.type]);
    expect(rig.records[0]).toMatchObject({ firstContentMs: expect.any(Number) });
    expect(rig.records[0]?.usage.output).toBeGreaterThan(0);
  });

  test('without a failure there is one call, and the answer is delivered whole', async () => {
    offer(upstream, assured);
    const seen = await ask(rig, { endpoint, isStream: true });
    expect([seen.status, textOf(seen), endsWell(seen)]).toEqual([200, wallText, true]);
    expect(rig.records).toMatchObject([{ ...wholly, isStream: true }]);
  });
});

const forecast = { name: 'look', arguments: '{"place":"the weir","unit":"metres a second"}' };
/** A stream that the wall cannot say in its own words: to it, the input of a message's call is an object. */
const halfMessage: Behaviour = {
  type: 'raw',
  bytes: [
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n',
    ...[
      { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', content: [] } },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'a', name: 'look', input: {} },
      },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json: '{"place":' },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } },
      { type: 'message_stop' },
    ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
  ].join(''),
  followedBy: 'fin',
};
const halfAsked = { name: 'look', arguments: '{"place":"the weir","unit":' };

/** What makes the request one that tools can be called for. */
function toolsOf(endpoint: Endpoint): object {
  const parameters = { type: 'object', properties: { place: { type: 'string' } } };
  switch (endpoint) {
    case 'messages':
      return { tools: [{ name: 'look', input_schema: parameters }] };
    case 'responses':
      return { tools: [{ type: 'function', name: 'look', parameters }] };
    default:
      return { tools: [{ type: 'function', function: { name: 'look', parameters } }] };
  }
}

describe.each(pairs.filter(({ endpoint }) => endpoint !== 'completions'))(
  '$endpoint from $upstream, assured, calls of tools',
  ({ endpoint, upstream }) => {
    const asked = (isStream: boolean) => ask(rig, { endpoint, isStream, more: toolsOf(endpoint) });
    const calling = (call: typeof forecast): Behaviour => ({
      type: 'answer',
      text: 'Let me see. ',
      toolCalls: [call],
    });

    // Of a plain message the arguments are an object, and cannot be half of one.
    test.each(upstream === 'anthropic-messages' ? [true] : [true, false])(
      'with half an object as arguments is not delivered (streamed: %j)',
      async (isStream) => {
        offer(upstream, assured);
        first.script(upstream === 'anthropic-messages' ? halfMessage : calling(halfAsked));
        second.script(calling(forecast));
        const seen = await asked(isStream);
        expect([seen.status, seen.ending.endsWith(isStream ? 'chunk' : 'complete')]).toEqual([200, true]);
        expect(rig.records.map(lineOf)).toEqual(['1 t0 failed unusable platform', '2 t1 answered tenant']);
      },
    );

    test('with complete arguments, one call is enough', async () => {
      offer(upstream, assured);
      first.script(calling(forecast));
      const seen = await asked(true);
      expect([seen.status, endsWell(seen)]).toEqual([200, true]);
      expect(rig.records).toMatchObject([wholly]);
    });
  },
);

// A response ends with an event that says how.
const unended = pairs.filter(({ upstream }) => upstream !== 'openai-responses');

describe.each(unended)('$endpoint from $upstream, assured', ({ endpoint, upstream }) => {
  test.each([true, false])(
    'an answer with an end mark, and no word of how it ended, may be half of one (streamed: %j)',
    async (isStream) => {
      offer(upstream, assured);
      first.script({ type: 'answer', ...other, finishReason: '' });
      const seen = await ask(rig, { endpoint, isStream });
      expect([seen.status, textOf(seen)]).toEqual([200, wallText]);
      expect(rig.records.map(lineOf)).toEqual(['1 t0 failed unusable platform', '2 t1 answered tenant']);
    },
  );
});

describe.each(unended)('$endpoint from $upstream, assured', ({ endpoint, upstream }) => {
  const asked = [true, false].flatMap((isStream) =>
    ['abort', 'insufficient_system_resource'].map((reason) => [isStream, reason] as const),
  );
  test.each(asked)(
    'an answer that its provider broke off is not delivered (streamed: %j, %s)',
    async (isStream, finishReason) => {
      offer(upstream, assured);
      first.script({ type: 'answer', ...other, finishReason });
      const seen = await ask(rig, { endpoint, isStream });
      expect([seen.status, textOf(seen)]).toEqual([200, wallText]);
      expect(rig.records.map(lineOf)).toEqual(['1 t0 failed error_event platform', '2 t1 answered tenant']);
    },
  );
});

test('arguments that a limit of the caller cuts short are delivered', async () => {
  offer('openai-chat', assured);
  first.script({ type: 'answer', text: '', toolCalls: [halfAsked], finishReason: 'length' });
  const seen = await ask(rig, { isStream: true });
  expect([seen.status, rig.records.map(lineOf)]).toEqual([200, ['1 t0 answered tenant']]);
});

describe('requested by the caller', () => {
  test.each(['assured', 'Assured'])('%s, where the route says nothing', async (value) => {
    offer('openai-chat');
    first.script({ type: 'cut', after, answer: other });
    const seen = await ask(rig, { isStream: true, headers: { 'X-Penstock-Delivery': value } });
    expect([textOf(seen), endsWell(seen)]).toEqual([wallText, true]);
  });

  test('stream has no effect: the setting of the route applies', async () => {
    offer('openai-chat', assured);
    first.script({ type: 'cut', after, answer: other });
    const seen = await ask(rig, { isStream: true, headers: { 'x-penstock-delivery': 'stream' } });
    expect(textOf(seen)).toBe(wallText);
    offer('openai-chat');
    const ordinary = await ask(rig, { isStream: true, headers: { 'x-penstock-delivery': 'stream' } });
    expect(errorOf(ordinary)?.code).toBe('upstream_error');
  });

  test.each(['chat', 'messages'] as const)(
    'anything else is 400, and names the header (%s)',
    async (endpoint) => {
      offer(endpoint === 'chat' ? 'openai-chat' : 'anthropic-messages');
      const before = first.calls.length;
      const seen = await ask(rig, { endpoint, headers: { 'x-penstock-delivery': 'whole' } });
      expect([seen.status, errorOf(seen)?.code, first.calls.length - before]).toEqual([
        400,
        'invalid_parameter',
        0,
      ]);
      expect(errorOf(seen)?.message).toContain('x-penstock-delivery');
    },
  );
});

test.each(pairs)(
  'an ordinary stream goes on without one event that cannot be read ($endpoint from $upstream)',
  async ({ endpoint, upstream }) => {
    offer(upstream);
    // One write each, so that the client has seen some of it before.
    first.script({ type: 'garbage-event', atEvent: 8, answer: { betweenEvents: { ms: 2 } } });
    const seen = await ask(rig, { endpoint, isStream: true });
    expect([textOf(seen), endsWell(seen)]).toEqual([wallText, true]);
    expect(brokenCall().behaviour?.type).toBe('garbage-event');
    expect(rig.records.map(lineOf)).toEqual(['1 t0 answered tenant']);
  },
);

test('without the header, the same failure is reported in the stream', async () => {
  offer('openai-chat');
  first.script({ type: 'cut', after, answer: other });
  const seen = await ask(rig, { isStream: true });
  expect([endsWell(seen), errorOf(seen)?.code]).toEqual([false, 'upstream_error']);
  expect(rig.records.map(lineOf)).toEqual(['1 t0 broken-off truncated tenant']);
});

test('if every provider fails after content, the client gets a status and no part of an answer', async () => {
  offer('openai-chat', assured);
  first.script({ type: 'cut', after, answer: other });
  second.script({ type: 'cut', after, answer: other });
  const seen = await ask(rig, { isStream: true });
  expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_invalid_response']);
  expect(seen.text).not.toContain('Half');
});

test.each(pairs)('$endpoint from $upstream names the model that answered', async ({ endpoint, upstream }) => {
  offer(upstream, assured);
  first.script({ type: 'cut', after, answer: { ...other, model: 'model-that-failed' } });
  second.script({ type: 'answer', model: 'model-that-answered' });
  const seen = await ask(rig, { endpoint, isStream: true });
  expect(seen.text).toContain('model-that-answered');
  expect(seen.text).not.toContain('model-that-failed');
});

describe('while an answer is held', () => {
  test.each([
    ['chat', 'openai-chat', 'comment'],
    ['messages', 'anthropic-messages', 'ping'],
  ] as const)('%s clients get keep-alives, and nothing of it', async (endpoint, upstream, sign) => {
    offer(upstream, assured);
    const gate = Promise.withResolvers<void>();
    first.script({ type: 'stall', after, for: { until: gate.promise }, followedBy: 'go-on' });
    const { connection, answer } = await askOpen(hasty, { endpoint, isStream: true });
    const opened = await answer;
    expect(opened.status).toBe(200);
    for (let n = 0; n < 2; n++) {
      const event = await opened.nextEvent();
      expect(event?.type === 'comment' ? 'comment' : event?.name).toBe(sign);
    }
    gate.resolve();
    const { events, json } = await opened.finished;
    connection.close();
    expect(textOf({ events, json })).toBe(wallText);
    expect(hasty.records.map(lineOf)).toEqual(['1 t0 answered tenant']);
  });

  test('a failure of all after the first sign of life is reported in the stream', async () => {
    offer('openai-chat', assured);
    const gate = Promise.withResolvers<void>();
    first.script({ type: 'stall', after, for: { until: gate.promise }, followedBy: 'fin', answer: other });
    second.script({ type: 'cut', after, answer: other });
    const { connection, answer } = await askOpen(hasty, { isStream: true });
    const opened = await answer;
    await opened.nextEvent();
    gate.resolve();
    const { events, json, text, ending } = await opened.finished;
    connection.close();
    expect([opened.status, ending, errorOf({ events, json })?.code]).toEqual([
      200,
      'fin-early',
      'upstream_invalid_response',
    ]);
    expect(text).not.toContain('Half');
  });

  test('a client that leaves ends the call at once', async () => {
    offer('openai-chat', assured);
    first.script({ type: 'stall', after, answer: other });
    const { connection, answer } = await askOpen(hasty, { isStream: true });
    await answer;
    connection.abort();
    await brokenCall().clientClosed;
    await until(async () => hasty.records.length > 0);
    expect(hasty.records.map(lineOf)).toEqual(['1 t0 cancelled tenant']);
    expect(await metric('penstock_held_bytes', hasty)).toBe(0);
  });
});

/** Of all its series. */
async function metric(name: string, { gateway }: Rig = rig): Promise<number> {
  const text = await (await fetch(`${gateway.metricsUrl}/metrics`)).text();
  const family = parseExposition(text).find((each) => each.name === name);
  if (!family) throw new Error(`there is no metric ${name}`);
  return family.samples.reduce((sum, { value }) => sum + value, 0);
}

describe('an answer above 1 MiB', () => {
  const long: Answer = { tokens: Array.from({ length: 200 }, (_, n) => `${n} ${'x'.repeat(8 * 1024)} `) };

  test.each([
    ['chat', 'openai-chat'],
    ['completions', 'openai-chat'],
  ] as const)('goes out as a stream and counts (%s from %s)', async (endpoint, upstream) => {
    offer(upstream, assured);
    const before = await metric('penstock_answers_too_long_to_hold_total');
    first.script({ type: 'answer', ...long });
    const seen = await ask(rig, { endpoint, isStream: true });
    expect([textOf(seen).length, endsWell(seen)]).toEqual([(long.tokens ?? []).join('').length, true]);
    expect(await metric('penstock_answers_too_long_to_hold_total')).toBe(before + 1);
    expect(await metric('penstock_held_bytes')).toBe(0);
  });

  test('that breaks after it is reported in the stream', async () => {
    offer('openai-chat', assured);
    first.script({ type: 'cut', after: { contentEvents: 190 }, answer: long });
    const seen = await ask(rig, { isStream: true });
    expect([seen.status, endsWell(seen), errorOf(seen)?.code]).toEqual([200, false, 'upstream_error']);
    expect(rig.records.map(lineOf)).toEqual(['1 t0 broken-off truncated tenant']);
  });
});

describe('a request of several calls, assured', () => {
  const prompts = { prompt: ['one', 'two', 'three'] };
  const asksFor = (body: unknown, prompt: string): boolean => JSON.stringify(body).includes(`"${prompt}"`);

  test('one call breaks after content: its answer comes from the next provider, the others stay', async () => {
    offer('openai-chat', assured);
    first.script(({ json }) =>
      asksFor(json, 'two')
        ? { type: 'cut', after, answer: other }
        : { type: 'answer', text: 'from the first' },
    );
    second.script({ type: 'answer', text: 'from the second' });
    const seen = await ask(rig, { endpoint: 'completions', isStream: true, more: prompts });
    const texts = ['', '', ''];
    for (const chunk of dataOf(seen).map(parseJson)) {
      for (const choice of isBag(chunk) && Array.isArray(chunk.choices) ? chunk.choices : []) {
        if (isBag(choice)) texts[Number(choice.index)] += String(choice.text);
      }
    }
    expect([texts, endsWell(seen)]).toEqual([['from the first', 'from the second', 'from the first'], true]);
    // Neither of them served all of it.
    expect(seen.headers).not.toHaveProperty('x-penstock-provider');
    expect(rig.records.map(({ outcome }) => outcome).sort()).toEqual([
      'answered',
      'answered',
      'answered',
      'failed',
    ]);
  });

  test.each([
    ['plain', false],
    ['streamed', true],
  ])('%s, the provider that answered all of them is named', async (_name, isStream) => {
    offer('openai-chat', assured);
    first.script({ type: 'answer', text: 'from the first' });
    const seen = await ask(rig, { endpoint: 'completions', isStream, more: prompts });
    expect(seen.headers).toMatchObject({ 'x-penstock-provider': 'platform/p0', 'x-penstock-attempts': '3' });
  });

  test('plain, of two that answered neither is named', async () => {
    offer('openai-chat', assured);
    first.script(({ json }) =>
      asksFor(json, 'two') ? { type: 'status', status: 503 } : { type: 'answer', text: 'from the first' },
    );
    second.script({ type: 'answer', text: 'from the second' });
    const seen = await ask(rig, { endpoint: 'completions', more: prompts });
    expect([seen.status, seen.headers['x-penstock-attempts']]).toEqual([200, '4']);
    expect(seen.headers).not.toHaveProperty('x-penstock-provider');
  });

  test('one call fails: no answer is delivered', async () => {
    offer('openai-chat', assured);
    const broken: Behaviour = { type: 'cut', after, answer: other };
    first.script(({ json }) => (asksFor(json, 'three') ? broken : { type: 'answer' }));
    second.script(broken);
    const seen = await ask(rig, { endpoint: 'completions', isStream: true, more: prompts });
    expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_invalid_response']);
    expect(await metric('penstock_held_bytes')).toBe(0);
  });
});

test('hidden failures are counted', async () => {
  offer('anthropic-messages', assured);
  const before = await metric('penstock_failures_held_back_total');
  first.script({ type: 'garbage-event', atEvent: 8, answer: other });
  const framesBefore = await metric('penstock_malformed_frames_total');
  await ask(rig, { endpoint: 'messages', isStream: true });
  expect(await metric('penstock_failures_held_back_total')).toBe(before + 1);
  expect(await metric('penstock_malformed_frames_total')).toBe(framesBefore + 1);
});

describe.each(pairs)('$endpoint from $upstream, the beginning held back', ({ endpoint, upstream }) => {
  const held: Partial<RouteEntry> = { holdBack: { events: 5 } };

  test('a break inside the window is answered by the next provider', async () => {
    offer(upstream, held);
    first.script({ type: 'cut', after: { contentEvents: 3 }, answer: other });
    const seen = await ask(rig, { endpoint, isStream: true });
    expect([textOf(seen), endsWell(seen)]).toEqual([wallText, true]);
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed truncated platform', '2 t1 answered tenant']);
  });

  test('a break after it is reported in the stream', async () => {
    offer(upstream, held);
    first.script({ type: 'cut', after: { contentEvents: 7 }, answer: other });
    const seen = await ask(rig, { endpoint, isStream: true });
    expect([seen.status, endsWell(seen), errorOf(seen)?.code]).toEqual([200, false, 'upstream_error']);
    expect((other.text ?? '').startsWith(textOf(seen))).toBe(true);
    expect(rig.records.map(lineOf)).toEqual(['1 t0 broken-off truncated tenant']);
  });
});

test('the window also ends by time: held content is sent although no more arrives', async () => {
  // holdBack: {duration: 30ms}
  offer('openai-chat', { holdBack: { events: 256, durationMs: 30 } });
  const gate = Promise.withResolvers<void>();
  first.script({ type: 'stall', after, for: { until: gate.promise }, followedBy: 'go-on' });
  const { connection, answer } = await askOpen(rig, { isStream: true });
  const opened = await answer;
  let event = await opened.nextEvent();
  while (event?.type === 'comment') event = await opened.nextEvent();
  expect(parseJson(event?.data ?? '')).toMatchObject({ choices: [{}] });
  gate.resolve();
  const { events, json } = await opened.finished;
  connection.close();
  expect(textOf({ events, json })).toBe(wallText);
});

describe.each(pairs)('$endpoint from $upstream, plain', ({ endpoint, upstream }) => {
  test.each<readonly [string, Behaviour, string]>([
    ['a FIN inside the body', { type: 'cut', after: { bytes: 100 }, answer: other }, 'truncated'],
    ['half of its JSON', { type: 'truncated-json', answer: other }, 'malformed'],
  ])('is always assured: %s moves on', async (_, behaviour, failure) => {
    offer(upstream);
    first.script(behaviour);
    const seen = await ask(rig, { endpoint });
    expect([seen.status, textOf(seen)]).toEqual([200, wallText]);
    expect(rig.records.map(lineOf)).toEqual([`1 t0 failed ${failure} platform`, '2 t1 answered tenant']);
  });
});
