// Is an upstream that works on an answer without writing text left to it, and one that only says that it is there not? In real
// dialects, with the timers that a route has by default.

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import type { AnswerStream } from '../../../gateway/dialects/dialect.ts';
import { findDialect } from '../../../gateway/dialects/registry.ts';
import { openCall, translateStream } from '../../../gateway/dialects/translate.ts';
import { Cancellation } from '../../../gateway/stream/cancellation.ts';
import { TimerQueue } from '../../../gateway/stream/timer-queue.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { streamFacts } from '../dialects/pass-through/stream-facts.ts';
import { backToBack } from '../dialects/properties/both-sides.ts';
import { start } from '../dialects/support/messages-events.ts';
import { named } from '../dialects/support/named-events.ts';
import { response } from '../dialects/support/response-events.ts';
import { makeConversation, target } from '../dialects/support/upstream-call.ts';
import { runAttempt } from './run.ts';

const limits = { firstEventMs: 60_000, livenessMs: 30_000, progressMs: 120_000, totalMs: 600_000 };

function streamFrom(upstream: DialectName, client: DialectName): AnswerStream {
  const dialect = findDialect(upstream);
  if (upstream === client && dialect.same) return dialect.same.relayStream(streamFacts, undefined);
  const call = openCall(dialect, makeConversation(), { ...target, isStream: true });
  return translateStream(call, backToBack(findDialect(client)).encoder().open(0));
}

/** What becomes of an attempt that is sent these events in turn, one every ten seconds, for five minutes. */
async function endOf(stream: AnswerStream, first: string, again: readonly string[]) {
  const clock = { ...makeFakeClock(), wallMs: () => 0 };
  const written: string[] = [];
  const caller = new Cancellation();
  let receive = (_text: string): void => {};
  const result = runAttempt<string>(
    {
      send: (receiver) => {
        receiver.onHead(200, (name) => (name === 'content-type' ? 'text/event-stream' : undefined));
        receive = (text) => receiver.onBody(Buffer.from(text));
        return { isSent: true, abort() {}, pause() {}, resume() {} };
      },
      readError: () => ({ message: '', type: null, code: null, param: null, status: null }),
      reader: {
        type: 'stream',
        unfold: () => expect.unreachable('it is a stream'),
        stream,
        commitRule: { type: 'first-content' },
        sink: { write: (bytes) => written.push(bytes.toString()) > 0, onDrain() {} },
      },
    },
    { limits, totalAt: 600_000, clock, timers: new TimerQueue(clock), caller, onContent() {} },
  );
  receive(first);
  for (let step = 0; step < 30; step++) {
    clock.advance(10_000);
    receive(again[step % again.length] ?? '');
  }
  caller.cancel();
  const { outcome, durationMs, outputEstimate, ...rest } = await result;
  const failure = 'failure' in rest ? rest.failure : undefined;
  return { outcome, durationMs, outputEstimate, failure, written };
}

const created = named('response.created', { response });
const thought = named('response.output_item.done', {
  output_index: 0,
  item: { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
});
const begun = { type: 'web_search_call', id: 'ws_1', status: 'in_progress' };
const added = named('response.output_item.added', { output_index: 1, item: begun });
const searching = named('response.web_search_call.searching', { output_index: 1, item_id: 'ws_1' });
const found = named('response.output_item.done', {
  output_index: 1,
  item: { ...begun, status: 'completed' },
});
const image = named('response.image_generation_call.partial_image', {
  output_index: 0,
  item_id: 'ig_1',
  partial_image_index: 0,
  partial_image_b64: 'aGVsbG8=',
});
const atWork = named('response.in_progress', { response });
const unknown = named('response.keepalive');

const result = named('content_block_start', {
  index: 1,
  content_block: { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
});
const said = (text: string): string =>
  named('content_block_start', { index: 0, content_block: { type: 'text', text } });

const stillThere = { outcome: 'cancelled', durationMs: 300_000, failure: undefined };

describe.each<[DialectName, DialectName]>([
  ['openai-responses', 'openai-responses'],
  ['openai-responses', 'openai-chat'],
  ['openai-responses', 'anthropic-messages'],
])('%s to a client of %s', (upstream, client) => {
  test.each([
    ['searches', [added, searching, found]],
    ['only says that it searches', [searching]],
    ['only ends items', [found]],
    ['gives an image in pieces', [image]],
  ])('after the first content it %s: the stream goes on, and that is not billed', async (_, again) => {
    const end = await endOf(streamFrom(upstream, client), created + thought, again);
    expect(end).toMatchObject({ ...stillThere, outputEstimate: 1 });
  });

  test.each([
    ['repeats that the response is in progress', atWork],
    ['sends unknown events', unknown],
    ['sends comments', ': ping\n\n'],
  ])('after the first content it %s: no progress', async (_, again) => {
    expect(await endOf(streamFrom(upstream, client), created + thought, [again])).toMatchObject({
      outcome: 'broken-off',
      durationMs: 120_000,
      failure: { kind: 'timeout', timer: 'progress' },
    });
  });

  test('progress of a search is not content: another upstream can still answer', async () => {
    expect(await endOf(streamFrom(upstream, client), created + added, [searching])).toMatchObject({
      outcome: 'failed',
      durationMs: 60_000,
      failure: { kind: 'timeout', timer: 'first-event' },
      written: [],
    });
  });
});

test('a piece of an image is content: it goes to the client at once, and counts once', async () => {
  const end = await endOf(streamFrom('openai-responses', 'openai-responses'), created, [image]);
  expect(end).toMatchObject({ ...stillThere, outputEstimate: 1 });
  expect(end.written[0]).toBe(created + image);
});

test.each<DialectName>(['anthropic-messages', 'openai-chat'])(
  'anthropic-messages to a client of %s: what its own tools give is progress',
  async (client) => {
    const end = await endOf(streamFrom('anthropic-messages', client), start + said('so'), [result]);
    expect(end).toMatchObject(stillThere);
  },
);
