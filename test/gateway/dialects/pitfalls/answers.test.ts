// Is an answer reported whole, in order, and in the words of the client’s dialect?

import { describe, expect, test } from 'vitest';
import { recordOf, recordsOf } from '../../endpoints/ask.ts';
import { blockOf, endOf, start, textBlock } from '../support/messages-events.ts';
import { delta, done, frame, usageChunk } from '../support/openai-streams.ts';
import {
  all,
  hearStream,
  numbered,
  responseHead,
  responseUsage,
  type Said,
  tell,
  tellPlain,
} from '../support/tellings.ts';
import {
  C,
  eventsOf,
  heard,
  isTranslated,
  M,
  open,
  pairsOf,
  R,
  stream,
  streamed,
  T,
  translated,
} from './whole-way.ts';

describe('streams of chat upstreams', () => {
  const reported = [
    frame(delta({ role: 'assistant', content: '', tool_calls: [] })),
    frame(delta({ content: 'x', tool_calls: [] })),
    frame(delta({ content: '', tool_calls: [] }, 'stop')),
    frame(usageChunk),
    done,
  ].join('');

  test.each([R, M, T] as const)(
    '1: content beside an empty list of calls is text to a client of %s',
    (client) => {
      expect(hearStream(client, streamed(client, C, reported))).toEqual([
        'text x',
        { [R]: 'completed', [M]: 'end_turn', [T]: 'stop' }[client],
      ]);
    },
  );

  test('1: that text is a text_delta, and no input_json_delta is sent', () => {
    const text = streamed(M, C, reported);
    expect(text).toContain('"text_delta"');
    expect(text).not.toContain('input_json_delta');
  });
});

describe('thinking comes first', () => {
  const said: readonly Said[] = [
    ['thinking', 'hm'],
    ['text', 'yes'],
  ];

  test.each(translated)('2: a client of %s from %s reads it as thinking', (client, upstream) => {
    expect(heard(client, upstream, said).slice(0, 2)).toEqual(['thinking hm', 'text yes']);
  });

  test.each([C, R] as const)(
    '2, 4: a messages client from %s gets one message_start and blocks of the right types',
    (upstream) => {
      const events = eventsOf(streamed(M, upstream, tell(upstream, said)));
      expect(events.filter(({ type }) => type === 'message_start')).toHaveLength(1);
      expect(
        events
          .filter(({ type }) => type === 'content_block_start')
          .map(({ index, content_block }) => [index, content_block]),
      ).toEqual([
        [0, { type: 'thinking', thinking: '', signature: '' }],
        [1, { type: 'text', text: '', citations: null }],
      ]);
    },
  );

  test.each([C, R] as const)('47: every thinking block from %s has a signature, be it empty', (upstream) => {
    const outcome = open(M, upstream).plain(() => tellPlain(upstream, said));
    const plain = outcome.type === 'answered' ? JSON.parse(String(outcome.body)) : undefined;
    expect(recordsOf(plain.content)[0]).toMatchObject({ type: 'thinking', signature: expect.any(String) });
    const [begun] = eventsOf(streamed(M, upstream, tell(upstream, said))).filter(
      ({ content_block }) => content_block,
    );
    expect(begun?.content_block).toMatchObject({ signature: '' });
  });

  test('47: where the upstream has no state, no signature_delta is sent', () => {
    expect(streamed(M, C, tell(C, said))).not.toContain('signature_delta');
  });

  test.each([R, M] as const)(
    '48: reasoning_content from %s is a string in each chunk that has it',
    (upstream) => {
      const deltas = eventsOf(streamed(C, upstream, tell(upstream, said))).flatMap(({ choices }) =>
        recordsOf(choices).map((choice) => recordOf(choice.delta)),
      );
      const reasoning = deltas
        .filter((each) => 'reasoning_content' in each)
        .map((each) => each.reasoning_content);
      expect(reasoning).toEqual(['hm']);
    },
  );
});

describe('a responses upstream', () => {
  const callItem = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'look', arguments: '' };
  const whole = { ...callItem, arguments: '{"city":"Rome"}' };
  const created = { type: 'response.created', response: responseHead };
  const added = { type: 'response.output_item.added', output_index: 0, item: callItem };
  const argumentsDone = {
    type: 'response.function_call_arguments.done',
    output_index: 0,
    item_id: 'fc_1',
    arguments: whole.arguments,
  };
  const itemDone = { type: 'response.output_item.done', output_index: 0, item: whole };
  const completed = (output: readonly unknown[] = []) => ({
    type: 'response.completed',
    response: { ...responseHead, status: 'completed', output, usage: responseUsage },
  });

  test.each(
    ([C, M] as const).flatMap((client) =>
      (
        [
          ['function_call_arguments.done', [created, added, argumentsDone, completed()]],
          ['output_item.done', [created, added, itemDone, completed()]],
          ['an item that was never added', [created, itemDone, completed()]],
          ['the last event', [created, completed([whole])]],
        ] as const
      ).map(([where, events]) => ({ client, where, reported: numbered(...events) })),
    ),
  )('3: arguments that stand only in $where reach a client of $client', ({ client, reported }) => {
    expect(hearStream(client, streamed(client, R, reported))[0]).toBe('call look {"city":"Rome"}');
  });

  test.each([C, M] as const)('3: so do texts, to a client of %s', (client) => {
    const reported = numbered(
      created,
      { type: 'response.reasoning_summary_text.done', output_index: 0, summary_index: 0, text: 'hm' },
      { type: 'response.output_text.done', output_index: 1, content_index: 0, text: 'hello' },
      completed(),
    );
    expect(hearStream(client, streamed(client, R, reported)).slice(0, 2)).toEqual([
      'thinking hm',
      'text hello',
    ]);
  });

  test.each([C, M, T] as const)('8: whose item ids change is one text to a client of %s', (client) => {
    const deltas = ['he', 'll', 'o'].map((text, at) => ({
      type: 'response.output_text.delta',
      output_index: 0,
      content_index: 0,
      item_id: `msg_${at}`,
      delta: text,
    }));
    const item = { type: 'message', id: 'msg_x', role: 'assistant', content: [] };
    const reported = numbered(
      created,
      { type: 'response.output_item.added', output_index: 0, item },
      ...deltas,
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...item, id: 'msg_y', content: [{ type: 'output_text', text: 'hello' }] },
      },
      completed(),
    );
    expect(hearStream(client, streamed(client, R, reported))[0]).toBe('text hello');
  });
});

describe('how answers begin and end', () => {
  test.each([C, M, T] as const)(
    '10: response.completed from %s has id, object, model and output',
    (upstream) => {
      const last = eventsOf(streamed(R, upstream, tell(upstream, [['text', 'a']]))).at(-1);
      expect(last).toMatchObject({
        type: 'response.completed',
        response: {
          id: expect.stringMatching(/^resp_/),
          object: 'response',
          model: expect.any(String),
          output: [{ type: 'message', content: [{ text: 'a' }] }],
        },
      });
    },
  );

  test.each([C, M, T] as const)(
    '53: an answer of %s that met its limit is response.incomplete',
    (upstream) => {
      const events = eventsOf(streamed(R, upstream, tell(upstream, [['text', 'a']], 'length')));
      expect(events.at(-1)).toMatchObject({
        type: 'response.incomplete',
        response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
      });
      expect(heard(R, upstream, [['text', 'a']], 'length').at(-1)).toBe('max_output_tokens');
    },
  );

  test.each([R, M, T] as const)('55: the first delta of a chat stream from %s has the role', (upstream) => {
    const [first] = eventsOf(streamed(C, upstream, tell(upstream, [['text', 'a']])));
    expect(recordOf(recordsOf(first?.choices)[0]?.delta).role).toBe('assistant');
  });

  test.each(pairsOf([C, T], all).filter(isTranslated))(
    '56: a stream to %s from %s ends with [DONE]',
    (client, upstream) => {
      expect(streamed(client, upstream, tell(upstream, [['text', 'a']])).endsWith('data: [DONE]\n\n')).toBe(
        true,
      );
    },
  );

  test('57: output_index counts the items of the response, not the blocks of a messages upstream', () => {
    const reported =
      start +
      blockOf(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'hm' },
      ) +
      blockOf(1, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }) +
      blockOf(2, { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }) +
      textBlock(3, 'a') +
      textBlock(4, 'b') +
      blockOf(5, { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }) +
      endOf('tool_use');
    const text = streamed(R, M, reported);
    const added = eventsOf(text).filter(({ type }) => type === 'response.output_item.added');
    expect(added.map(({ output_index, item }) => [output_index, recordOf(item).type])).toEqual([
      [0, 'reasoning'],
      [1, 'message'],
      [2, 'function_call'],
    ]);
    expect(hearStream(R, text)).toEqual(['thinking hm', 'text a | b', 'call look {}', 'completed']);
  });

  test.each(all)(
    '65: a second message_start is not merged into the first answer, for a client of %s',
    (client) => {
      const twice = start + textBlock(0, 'one') + start + textBlock(0, 'two') + endOf('end_turn');
      const outcome = stream(client, M, twice);
      expect(outcome.type).toBe('broken-off');
      expect(outcome.facts[0]?.fault?.kind).toBe('malformed');
      expect(outcome.type === 'broken-off' && outcome.text).not.toContain('two');
    },
  );
});
