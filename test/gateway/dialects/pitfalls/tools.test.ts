// Which tools is an upstream offered, whatever kind the client has?

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../../core/contract/routing-table.ts';
import { rebuildAnswer } from '../../../support/rebuild-answer.ts';
import { recordOf, recordsOf } from '../../endpoints/ask.ts';
import { look, type Members } from '../support/askings.ts';
import { tell } from '../support/tellings.ts';
import { C, call, heard, M, open, R, refusalOf, sent, streamed } from './whole-way.ts';

describe('the tools of a responses client', () => {
  const user = { role: 'user', content: 'hi' };
  const inner = (upstream: DialectName, tool: Members): Members =>
    upstream === C ? recordOf(tool.function) : tool;
  const toolNames = (upstream: DialectName, more: Members): readonly unknown[] =>
    recordsOf(sent(R, upstream, more).tools).map((tool) => inner(upstream, tool).name);

  test.each([C, M] as const)('30: that stand in an additional_tools item reach %s', (upstream) => {
    const item = { type: 'additional_tools', role: 'developer', tools: [{ ...look[R], name: 'more' }] };
    expect(toolNames(upstream, { input: [item, user] }).toSorted()).toEqual(['look', 'more']);
    expect(toolNames(upstream, { input: [item, user], tools: undefined })).toEqual(['more']);
  });

  test.each([C, M] as const)(
    '31: that stand in a namespace have joined names at %s, and come back apart',
    (upstream) => {
      const tools = [{ type: 'namespace', name: 'maps', description: 'Maps.', tools: [look[R]] }];
      expect(toolNames(upstream, { tools })).toEqual(['maps__look']);
      const text = streamed(R, upstream, tell(upstream, [call('maps__look')], 'calls'), { tools });
      const { output } = recordOf(rebuildAnswer(R, text));
      expect(output).toMatchObject([{ type: 'function_call', namespace: 'maps', name: 'look' }]);
      const history = [
        user,
        { type: 'function_call', call_id: 'c1', namespace: 'maps', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'x' },
      ];
      expect(JSON.stringify(sent(R, upstream, { tools, input: history }).messages)).toContain('"maps__look"');
    },
  );

  const patch = '*** Begin Patch\n"quoted"\n*** End Patch';
  const custom = {
    type: 'custom',
    name: 'apply_patch',
    description: 'Edits files.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
  };

  test.each([C, M] as const)(
    '32: apply_patch is a function of one string at %s, and comes back as a custom call',
    (upstream) => {
      const [tool] = recordsOf(sent(R, upstream, { tools: [custom] }).tools);
      const { parameters, input_schema, description } = inner(upstream, tool ?? {});
      expect(parameters ?? input_schema).toMatchObject({
        type: 'object',
        properties: { input: { type: 'string' } },
        required: ['input'],
      });
      expect(description).toContain('start: "x"');
      const said = [call('apply_patch', JSON.stringify({ input: patch }))];
      expect(heard(R, upstream, said, 'calls', { tools: [custom] })).toEqual([
        `custom apply_patch ${patch}`,
        'completed',
      ]);
    },
  );

  test.each([C, M] as const)('32: a custom call in the history is a function call at %s', (upstream) => {
    const input = [
      user,
      { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: patch },
      { type: 'custom_tool_call_output', call_id: 'c1', output: 'done' },
    ];
    const [, assistant] = recordsOf(sent(R, upstream, { tools: [custom], input }).messages);
    const [made] = recordsOf(upstream === C ? assistant?.tool_calls : assistant?.content);
    const value = upstream === C ? JSON.parse(String(recordOf(made?.function).arguments)) : made?.input;
    expect(value).toEqual({ input: patch });
  });

  test.each([C, M] as const)(
    '33, 38: of unknown types do not fail the request to %s, and are named as dropped',
    (upstream) => {
      const through = open(R, upstream, {
        tools: [look[R], { type: 'from_the_future', x: 1 }, { type: 'code_interpreter' }],
      });
      expect(through.dropped).toEqual(['tools[1]', 'tools[2]']);
      expect(recordsOf(JSON.parse(String(through.sent[0])).tools)).toHaveLength(1);
    },
  );

  test('33, 34: of unknown types, and unknown items, go through to a responses upstream as they are', () => {
    const more = {
      tools: [{ type: 'from_the_future', x: 1 }],
      input: [
        user,
        { type: 'agent_message', content: [{ type: 'y' }] },
        { type: 'tool_search_output', tools: [] },
      ],
    };
    expect(sent(R, R, more)).toMatchObject(more);
  });

  test.each([C, M] as const)('34: unknown items do not fail the request to %s', (upstream) => {
    const input = [
      user,
      { type: 'agent_message', author: 'a', content: [{ type: 'input_text', text: 'x' }] },
      { type: 'tool_search_output', call_id: 's', tools: [{ ...look[R], name: 'found' }] },
    ];
    expect(open(R, upstream, { input }).dropped).toEqual(['input[1]']);
    // What the search has found can be called.
    expect(toolNames(upstream, { input })).toContain('found');
  });

  test.each([C, M] as const)('35: an assistant item without a type is a message to %s', (upstream) => {
    const input = [user, { role: 'assistant', content: [{ type: 'output_text', text: 'yes' }] }, user];
    const messages = recordsOf(sent(R, upstream, { input }).messages);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(JSON.stringify(messages[1])).toContain('yes');
  });

  test('38: a forced tool that messages upstreams do not have is refused by name', () => {
    const error = refusalOf(() =>
      open(R, M, { tools: [{ type: 'code_interpreter' }], tool_choice: { type: 'code_interpreter' } }),
    );
    expect([error.status, error.code, error.param]).toEqual([400, 'unsupported_parameter', 'tool_choice']);
  });

  test('38: a custom tool of a chat client is a function at messages', () => {
    const tools = [{ type: 'custom', custom: { name: 'free', description: 'Any text.' } }];
    expect(sent(C, M, { tools }).tools).toMatchObject([
      { name: 'free', input_schema: { required: ['input'] } },
    ]);
    expect(heard(C, M, [call('free', '{"input":"text"}')], 'calls', { tools })[0]).toBe('custom free text');
  });
});

describe('the tools of a messages client', () => {
  test.each([C, R] as const)('36: without a type are its own, at %s', (upstream) => {
    for (const type of [{}, { type: null }, { type: 'custom' }]) {
      const through = open(M, upstream, { tools: [{ ...look[M], ...type }] });
      expect(through.dropped).toEqual([]);
      expect(String(through.sent[0])).toContain('"look"');
    }
  });

  test.each([C, R] as const)(
    '37: of the vendor, without a schema, do not fail the request to %s',
    (upstream) => {
      const hosted = { type: 'web_fetch_20250910', name: 'web_fetch' };
      const through = open(M, upstream, { tools: [look[M], hosted] });
      expect(through.dropped).toEqual(['tools[1]']);
      expect(recordsOf(JSON.parse(String(through.sent[0])).tools)).toHaveLength(1);
      const alone = open(M, upstream, { tools: [hosted] });
      expect(JSON.parse(String(alone.sent[0]))).not.toHaveProperty('tools');
    },
  );
});
