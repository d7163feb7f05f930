// An event that nobody can read: where does a stream go on without it, and where must it not? One piece of text behind
// content may be lost. The beginning or the end of a part may not, nor any of an answer that calls tools.

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import type { AnswerFacts } from '../../../gateway/dialects/dialect.ts';
import { findDialect } from '../../../gateway/dialects/registry.ts';
import {
  blockDelta,
  blockStart,
  blockStop,
  messageDelta,
  messageStart,
  messageStop,
  textDelta,
  textStart,
} from './support/messages-events.ts';
import { named } from './support/named-events.ts';
import { delta, done, frame, piece } from './support/openai-streams.ts';
import { response, responseBeginning } from './support/response-events.ts';
import { makeConversation, target } from './support/upstream-call.ts';

interface Read {
  readonly facts: AnswerFacts;
  readonly sent: string;
}

function passThrough(dialect: DialectName, text: string): Read {
  const facts = { model: 'm', isStream: true, choices: 1, wantsUsage: true };
  const stream = findDialect(dialect).same.relayStream(facts);
  const sent = [stream.push(Buffer.from(text)), stream.end()]
    .map((bytes) => bytes?.toString() ?? '')
    .join('');
  return { facts: stream.facts, sent };
}

function translate(dialect: DialectName, text: string): Read {
  const decoder = findDialect(dialect).asUpstream.open(makeConversation(), target).streamDecoder();
  const parts = [...decoder.push(Buffer.from(text)), ...decoder.end()];
  const sent = parts.map((part) => (part.type === 'part-delta' ? part.text : '')).join('');
  return { facts: decoder.facts, sent };
}

const readers = [
  ['passing through', passThrough],
  ['translated', translate],
] as const;

const completed = (...output: readonly object[]): string =>
  named('response.completed', { response: { ...response, status: 'completed', output } });
const said = (text: string): string => named('response.output_text.delta', { delta: text, output_index: 0 });

interface Stream {
  readonly dialect: DialectName;
  /** Up to some text. */
  readonly begun: string;
  /** More text, and the end. */
  readonly ended: string;
  /** A piece of text that nobody can read. */
  readonly garbage: string;
}

const garbage = 'data: {"half": "an ev\n\n';
const streams: readonly Stream[] = [
  {
    dialect: 'openai-chat',
    begun: frame(delta({ role: 'assistant', content: 'one ' })),
    ended: frame(delta({ content: 'two' })) + frame(delta({}, 'stop')) + done,
    garbage,
  },
  {
    dialect: 'openai-completions',
    begun: frame(piece('one ')),
    ended: frame(piece('two')) + frame(piece('', 'stop')) + done,
    garbage,
  },
  {
    dialect: 'anthropic-messages',
    begun: messageStart + textStart + textDelta('one '),
    ended: textDelta('two') + blockStop() + messageDelta('end_turn') + messageStop,
    garbage: `event: content_block_delta\n${garbage}`,
  },
  {
    dialect: 'openai-responses',
    begun: responseBeginning + said('one '),
    ended: said('two') + completed({ type: 'message', content: [{ type: 'output_text', text: 'one two' }] }),
    garbage: `event: response.output_text.delta\n${garbage}`,
  },
];

describe.each(streams)('$dialect', ({ dialect, begun, ended, garbage: own }) => {
  test('a NUL byte ends a stream that passes through, wherever it is', () => {
    for (const event of [': \0\n\n', own.replace('half', 'ha\0lf')]) {
      const { facts, sent } = passThrough(dialect, begun + event + ended);
      expect([facts.isComplete, facts.fault?.kind, sent.includes('\0')]).toEqual([false, 'malformed', false]);
    }
  });

  test('complete events before a NUL byte are forwarded, also from the same chunk', () => {
    const cut = own.replace('half', 'ha\0lf');
    expect(passThrough(dialect, begun + cut).sent).toBe(passThrough(dialect, begun).sent);
  });

  describe.each(readers)('%s', (_, read) => {
    const whole = read(dialect, begun + ended);

    const braces = ['{#garbage}', "{'half': 'an event'}", '{undefined}'];
    const inBraces = braces.map((data) => own.replace(/(?<=data: ).*/, data));

    test.each([own, garbage, ...inBraces])('one is left out, and counted: %j', (lost) => {
      const { facts, sent } = read(dialect, begun + lost + ended);
      expect([facts.isComplete, facts.fault, facts.malformedFrames]).toEqual([true, undefined, 1]);
      expect(sent).toBe(whole.sent);
    });

    test.each([
      ['the second of them', begun + own + own + ended, 2],
      ['the second of them, in braces', begun + inBraces.join('') + ended, 2],
      ['one before any content', own + begun + ended, 1],
    ])('%s ends the stream', (__, text, count) => {
      const { facts } = read(dialect, text);
      expect([facts.isComplete, facts.fault?.kind, facts.malformedFrames]).toEqual([
        false,
        'malformed',
        count,
      ]);
    });
  });
});

const chatCall = (input: string, id?: string) =>
  frame(
    delta({
      tool_calls: [{ index: 0, ...(id && { id }), function: { ...(id && { name: 'f' }), arguments: input } }],
    }),
  );
const [chat, , messages, responses] = streams;
const item = { type: 'function_call', id: 'i', call_id: 'c', name: 'f', arguments: '{"x":1}' };
const itemEvents =
  named('response.output_item.added', { output_index: 1, item: { ...item, arguments: '' } }) +
  named('response.function_call_arguments.delta', { output_index: 1, delta: '{"x"' });

/** What was lost may have been a piece of the input, and what is left of it may still be JSON. */
const calls: readonly (readonly [string, DialectName, string])[] = [
  [
    'within the input',
    'openai-chat',
    chat?.begun +
      chatCall('{"path":"/', 'a') +
      garbage +
      chatCall('tmp"}') +
      frame(delta({}, 'tool_calls')) +
      done,
  ],
  [
    'as the last of the input',
    'openai-chat',
    chat?.begun + chatCall('{}', 'a') + garbage + frame(delta({}, 'tool_calls')) + done,
  ],
  [
    'within the input',
    'anthropic-messages',
    messages?.begun +
      blockStop() +
      blockStart({ type: 'tool_use', id: 'a', name: 'f', input: {} }, 1) +
      blockDelta({ type: 'input_json_delta', partial_json: '{"x"' }, 1) +
      messages?.garbage +
      blockDelta({ type: 'input_json_delta', partial_json: ':1}' }, 1) +
      blockStop(1) +
      messageDelta('tool_use') +
      messageStop,
  ],
  [
    'as the beginning of the call',
    'anthropic-messages',
    messages?.begun + blockStop() + garbage + blockStop(1) + messageDelta('tool_use') + messageStop,
  ],
  [
    'before the call is reported',
    'openai-responses',
    responses?.begun + garbage + itemEvents + completed(item),
  ],
];

test.each(readers.flatMap(([way, read]) => calls.map((call) => [way, ...call, read] as const)))(
  '%s, an event lost %s of a tool ends the stream (%s)',
  (_, __, dialect, text, read) => {
    const { facts } = read(dialect, text);
    expect([facts.isComplete && facts.fault === undefined, facts.fault?.kind]).toEqual([false, 'malformed']);
  },
);

test.each([
  ['anthropic-messages', 'message_delta', messages?.begun],
  ['anthropic-messages', 'message_stop', messages?.begun],
  ['anthropic-messages', 'content_block_start', messages?.begun],
  ['openai-responses', 'response.output_item.done', responses?.begun],
  ['openai-responses', 'response.completed', responses?.begun],
] as const)('%s: without its %s a stream falls apart', (dialect, name, begun) => {
  const stream = streams.find((each) => each.dialect === dialect);
  for (const [, read] of readers) {
    const { facts } = read(dialect, `${begun}event: ${name}\n${garbage}${stream?.ended}`);
    expect([facts.isComplete, facts.fault?.kind]).toEqual([false, 'malformed']);
  }
});
