// Do calls of tools, their results and their ids arrive as they were meant, in answers and in histories?

import { describe, expect, test } from 'vitest';
import { recordOf, recordsOf } from '../../endpoints/ask.ts';
import { callHistory, dataUrl, idsOf, look, png, schema, withImage } from '../support/askings.ts';
import { hearStream, type Said, tell } from '../support/tellings.ts';
import { C, call, eventsOf, heard, M, R, sent, streamed, translated } from './whole-way.ts';

describe('calls', () => {
  const between: readonly Said[] = [call(), ['text', 'and'], call('look', '{"city":"Bern"}', 'call_2')];

  test.each(translated)(
    '5: for a client of %s from %s text between two calls closes the one and opens the next',
    (client, upstream) => {
      // In one piece a chat message has one content, before its calls: there is no between.
      const lines =
        upstream === C
          ? hearStream(client, streamed(client, C, tell(C, between, 'calls')))
          : heard(client, upstream, between, 'calls');
      const inOrder = ['call look {"city":"Rome"}', 'text and', 'call look {"city":"Bern"}'];
      const ofChat = [inOrder[1], inOrder[0], inOrder[2]];
      expect(lines.slice(0, 3)).toEqual(client === C ? ofChat : inOrder);
    },
  );

  test.each([C, M] as const)(
    '6: a responses client from %s gets no message item for a call alone',
    (upstream) => {
      const events = eventsOf(streamed(R, upstream, tell(upstream, [call()], 'calls')));
      const items = events.flatMap(({ type, item }) => (item ? [[type, recordOf(item).type]] : []));
      expect(items).toEqual([
        ['response.output_item.added', 'function_call'],
        ['response.output_item.done', 'function_call'],
      ]);
    },
  );

  test.each([C, M] as const)(
    '7: a responses client from %s learns of each item before its first delta',
    (upstream) => {
      const events = eventsOf(
        streamed(R, upstream, tell(upstream, [['thinking', 'hm'], ['text', 'a'], call()], 'calls')),
      );
      const known = new Set<unknown>();
      let deltas = 0;
      for (const { type, item, item_id } of events) {
        if (type === 'response.output_item.added') known.add(recordOf(item).id);
        if (!String(type).endsWith('.delta')) continue;
        deltas++;
        expect(known).toContain(item_id);
      }
      expect(deltas).toBe(3);
    },
  );

  test.each([C, M] as const)('9: Codex gets each call from %s whole in output_item.done', (upstream) => {
    const two = [call(), call('look', '{}', 'call_2')];
    const done = eventsOf(streamed(R, upstream, tell(upstream, two, 'calls'))).filter(
      ({ type }) => type === 'response.output_item.done',
    );
    expect(done.map(({ item }) => item)).toMatchObject([
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"city":"Rome"}' },
      { type: 'function_call', call_id: 'call_2', name: 'look', arguments: '{}' },
    ]);
  });

  test.each(translated)(
    '41: for a client of %s from %s a call without arguments has an empty object',
    (client, upstream) => {
      expect(heard(client, upstream, [call('look', '')], 'calls')[0]).toBe('call look {}');
    },
  );

  test.each(translated)(
    '54: a client of %s is asked to call its tools where %s only said stop',
    (client, upstream) => {
      const ended = { [C]: 'tool_calls', [R]: 'completed', [M]: 'tool_use' }[client];
      expect(heard(client, upstream, [call()], 'stop').at(-1)).toBe(ended);
      expect(heard(client, upstream, [call()], 'calls').at(-1)).toBe(ended);
    },
  );

  test.each(translated)(
    '54: a client of %s learns that the answer of %s was cut, though it holds a call',
    (client, upstream) => {
      const ended = { [C]: 'length', [R]: 'max_output_tokens', [M]: 'max_tokens' }[client];
      expect(heard(client, upstream, [call()], 'length').at(-1)).toBe(ended);
    },
  );
});

describe('the history of calls', () => {
  test.each([C, R] as const)('39: parallel results of %s are one user message, results first', (client) => {
    const messages = recordsOf(sent(client, M, callHistory(client)).messages);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(recordsOf(messages[2]?.content).map(({ type, tool_use_id }) => [type, tool_use_id])).toEqual([
      ['tool_result', 'call_1'],
      ['tool_result', 'call_2'],
      ['text', undefined],
    ]);
  });

  test.each([R, M] as const)(
    '40: parallel calls of %s and the text before them are one chat message',
    (client) => {
      const messages = recordsOf(sent(client, C, callHistory(client)).messages);
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
      expect(messages[1]).toMatchObject({
        content: 'wait',
        tool_calls: [{ id: 'call_1' }, { id: 'call_2' }],
      });
    },
  );

  test.each(translated)(
    '41: a call of %s without arguments has an empty object at %s',
    (client, upstream) => {
      const text = JSON.stringify(callHistory(client))
        .replaceAll('"{\\"city\\":\\"Rome\\"}"', '""')
        .replaceAll('{"city":"Rome"}', '{}');
      const body = JSON.stringify(sent(client, upstream, JSON.parse(text)));
      expect(body).toContain(upstream === M ? '"input":{}' : '"arguments":"{}"');
      expect(body).not.toMatch(/"arguments":""|"input":""/);
    },
  );

  const idLengthMax = { [C]: 40, [R]: 64, [M]: 128 };

  test.each(
    translated.flatMap(([client, upstream]) =>
      (
        [
          ['functions.look:0|fc_1', 'functions_look_0|fc_1'],
          [`call_${'x'.repeat(90)}1`, `call_${'x'.repeat(90)}2`],
        ] as const
      ).map((ids) => ({ client, upstream, ids })),
    ),
  )(
    '42: the ids $ids.0 and $ids.1 of $client are changed in pairs at $upstream',
    ({ client, upstream, ids }) => {
      const [calls, results] = idsOf(upstream, sent(client, upstream, callHistory(client, ids)));
      expect(calls).toEqual(results);
      expect(new Set(calls).size).toBe(2);
      for (const id of calls) {
        expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
        expect(String(id).length).toBeLessThanOrEqual(idLengthMax[upstream]);
      }
    },
  );

  const long = `mcp__${'very_long_'.repeat(9)}name`;

  test.each([
    [M, C, long, 64],
    [M, R, long, 128],
    [R, C, long, 64],
    [R, C, 'maps.look', 64],
    [R, M, 'maps.look', 128],
    [C, M, 'maps.look', 128],
  ] as const)(
    '43: a name of %s that does not fit %s is changed alike everywhere, and comes back: %s',
    (client, upstream, name, lengthMax) => {
      const tools = {
        [C]: [{ type: 'function', function: { name, parameters: schema } }],
        [R]: [{ type: 'function', name, parameters: schema }],
        [M]: [{ name, input_schema: schema }],
      }[client];
      const body = sent(client, upstream, { ...callHistory(client, undefined, name), tools });
      const [tool] = recordsOf(body.tools);
      const wireName = String((upstream === C ? recordOf(tool?.function) : tool)?.name);
      expect(wireName).toMatch(/^[a-zA-Z0-9_-]+$/);
      expect(wireName.length).toBeLessThanOrEqual(lengthMax);
      expect(JSON.stringify(body).split(JSON.stringify(wireName))).toHaveLength(4);
      expect(heard(client, upstream, [call(wireName, '{"city":"Rome"}')], 'calls', { tools })[0]).toBe(
        `call ${name} {"city":"Rome"}`,
      );
    },
  );

  test.each([R, M] as const)(
    '44: an image in a result of %s is sent to chat behind the run of results',
    (client) => {
      const messages = recordsOf(sent(client, C, withImage[client]).messages);
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
      expect(messages[2]?.content).toMatch(/\S/);
      expect(messages[4]?.content).toMatchObject([
        { type: 'text', text: '[From the tool results above, not from the user:]' },
        { type: 'image_url', image_url: { url: dataUrl } },
      ]);
      expect(JSON.stringify(messages.slice(0, 4))).not.toContain(png);
    },
  );

  test.each([R, M] as const)('44: an image in a result of a chat client stays in it at %s', (upstream) => {
    const content = [{ type: 'image_url', image_url: { url: dataUrl } }];
    const messages = recordsOf(callHistory(C).messages).map((message) =>
      message.tool_call_id === 'call_1' ? { ...message, content } : message,
    );
    const body = sent(C, upstream, { messages });
    const found =
      upstream === R
        ? recordsOf(body.input).find(({ type }) => type === 'function_call_output')?.output
        : recordsOf(recordsOf(body.messages)[2]?.content)[0]?.content;
    expect(found).toMatchObject([
      upstream === R ? { type: 'input_image', image_url: dataUrl } : { type: 'image', source: { data: png } },
    ]);
  });

  test('44: an image in a result of messages stays in it at responses', () => {
    const items = recordsOf(sent(M, R, withImage[M]).input);
    expect(
      items.find(({ call_id, type }) => call_id === 'call_1' && type === 'function_call_output')?.output,
    ).toMatchObject([{ type: 'input_image', image_url: dataUrl }]);
  });

  test('44: and the other way round', () => {
    const blocks = recordsOf(recordsOf(sent(R, M, withImage[R]).messages)[2]?.content);
    expect(blocks[0]?.content).toMatchObject([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
    ]);
  });

  test.each(translated)(
    '58: an empty message of the assistant of %s is not sent to %s',
    (client, upstream) => {
      const messages = ['one', '', 'two'].map((content, at) => ({
        role: at === 1 ? 'assistant' : 'user',
        content,
      }));
      const input = messages.map(({ role, content }) => ({
        role,
        content: role === 'user' ? content : [{ type: 'output_text', text: content }],
      }));
      const body = sent(client, upstream, client === R ? { input } : { messages });
      expect(recordsOf(upstream === R ? body.input : body.messages).map(({ role }) => role)).not.toContain(
        'assistant',
      );
    },
  );

  const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };

  test('59: cache marks of a chat client on tools and results survive at messages', () => {
    const history = recordsOf(callHistory(C).messages);
    const marked = history.map((message) =>
      message.role === 'tool'
        ? { ...message, content: [{ type: 'text', text: message.content, ...mark }] }
        : message,
    );
    const body = sent(C, M, { messages: marked, tools: [{ ...look[C], ...mark }] });
    expect(body.tools).toMatchObject([mark]);
    const results = recordsOf(recordsOf(body.messages)[2]?.content).filter(
      ({ type }) => type === 'tool_result',
    );
    expect(results).toHaveLength(2);
    for (const result of results)
      expect(JSON.stringify(result)).toContain(JSON.stringify(mark.cache_control));
  });

  test('59: ids of a messages client pass unchanged', () => {
    const text = JSON.stringify(callHistory(M)).replaceAll(
      '"type":"tool_result"',
      `"type":"tool_result","cache_control":${JSON.stringify(mark.cache_control)}`,
    );
    const more = { ...JSON.parse(text), tools: [{ ...look[M], ...mark }] };
    expect(sent(M, M, more)).toMatchObject(more);
  });
});
