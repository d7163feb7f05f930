// Does an agent keep its hands at an upstream of another dialect? A vendor's tools that the client runs have published inputs:
// they go as functions, and their calls come back as the client knows them. What cannot go is refused.

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { rebuildAnswer } from '../../support/rebuild-answer.ts';
import { recordOf, recordsOf } from '../endpoints/ask.ts';
import { C, call, eventsOf, M, open, R, refusalOf, sent, stream, streamed } from './pitfalls/whole-way.ts';
import { look, type Members } from './support/askings.ts';
import { type Said, tell, tellPlain } from './support/tellings.ts';

/** The functions that an upstream is offered: name and schema. */
function functionsOf(
  upstream: DialectName,
  body: Members,
): readonly (readonly [name: unknown, schema: Members])[] {
  return recordsOf(body.tools ?? []).map((tool) => {
    const { name, parameters, input_schema } = upstream === C ? recordOf(tool.function) : tool;
    return [name, recordOf(parameters ?? input_schema)];
  });
}

describe.each([C, R] as const)('a messages client at %s', (upstream) => {
  test.each([
    ['bash_20250124', 'bash', { command: 'ls' }],
    ['bash_20270101', 'bash', { restart: true }],
    ['text_editor_20250124', 'str_replace_editor', { command: 'undo_edit', path: '/a' }],
    [
      'text_editor_20250728',
      'str_replace_based_edit_tool',
      { command: 'view', path: '/a', view_range: [1, -1] },
    ],
    ['memory_20250818', 'memory', { command: 'rename', old_path: '/memories/a', new_path: '/memories/b' }],
  ])('%s is a function with its published input, and its calls come back', (type, name, input) => {
    const tools = [look[M], { type, name, cache_control: { type: 'ephemeral' } }];
    const through = open(M, upstream, { tools, tool_choice: { type: 'tool', name } });
    expect(through.dropped).toEqual([]);
    const body = recordOf(JSON.parse(String(through.sent[0])));
    const [, found] = functionsOf(upstream, body);
    expect(found?.[0]).toBe(name);
    expect(Object.keys(recordOf(found?.[1].properties))).toEqual(expect.arrayContaining(Object.keys(input)));
    expect(JSON.stringify(body.tool_choice)).toContain(name);
    const answer = rebuildAnswer(
      M,
      streamed(M, upstream, tell(upstream, [call(name, JSON.stringify(input))], 'calls'), { tools }),
    );
    expect(recordOf(answer)).toMatchObject({
      content: [{ type: 'tool_use', name, input }],
      stop_reason: 'tool_use',
    });
  });

  test('only releases whose calls can be translated back offer it', () => {
    const commandsOf = (type: string): unknown => {
      const [found] = functionsOf(upstream, sent(M, upstream, { tools: [{ type, name: 'edit' }] }));
      return recordOf(recordOf(found?.[1].properties).command).enum;
    };
    expect(commandsOf('text_editor_20241022')).toContain('undo_edit');
    expect(commandsOf('text_editor_20250429')).not.toContain('undo_edit');
  });

  test('a required call is required of the client’s tool alone', () => {
    const tools = [{ type: 'bash_20250124', name: 'bash' }];
    expect(sent(M, upstream, { tools, tool_choice: { type: 'any' } }).tool_choice).toBe('required');
  });

  test('computer use is refused: an agent needs it', () => {
    const tools = [
      look[M],
      { type: 'computer_20251124', name: 'computer', display_width_px: 9, display_height_px: 9 },
    ];
    const error = refusalOf(() => open(M, upstream, { tools }));
    expect([error.status, error.code, error.param]).toEqual([400, 'unsupported_parameter', 'tools[1]']);
  });
});

const operation = { type: 'update_file', path: 'a.ts', diff: '@@\n-a\n+b' };
const noLimits = { timeout_ms: null, max_output_length: null };
const exec = {
  type: 'exec',
  command: ['ls', '-l'],
  env: {},
  timeout_ms: null,
  user: null,
  working_directory: null,
};
const local = { environment: { type: 'local' } };
const forms = [
  [
    'shell',
    { commands: ['ls', 'pwd'] },
    { type: 'shell_call', action: { commands: ['ls', 'pwd'], ...noLimits }, ...local },
  ],
  ['local_shell', { command: ['ls', '-l'] }, { type: 'local_shell_call', action: exec }],
  ['apply_patch', operation, { type: 'apply_patch_call', operation }],
  [
    'apply_patch',
    { type: 'delete_file', path: 'a' },
    { type: 'apply_patch_call', operation: { type: 'delete_file', path: 'a' } },
  ],
] as const;

describe.each([C, M] as const)('a responses client at %s', (upstream) => {
  const hear = (
    said: readonly Said[],
    more: Members,
    end: 'calls' | 'length' = 'calls',
  ): readonly Members[] => {
    const text = streamed(R, upstream, tell(upstream, said, end), more);
    rebuildAnswer(R, text);
    const items = recordsOf(recordOf(eventsOf(text).at(-1)?.response).output);
    if (end === 'length') return items;
    const plain = open(R, upstream, more).plain(() => tellPlain(upstream, said, end));
    if (plain.type !== 'answered') throw plain.error;
    const withoutIds = (list: readonly Members[]) => list.map(({ id: _, ...item }) => item);
    expect(withoutIds(recordsOf(recordOf(JSON.parse(String(plain.body))).output))).toEqual(withoutIds(items));
    return items;
  };

  test.each(forms)(
    '%s is a function with its published input, and %j comes back in its own form',
    (type, input, item) => {
      const tools = [look[R], { type }];
      const body = sent(R, upstream, { tools, tool_choice: { type } });
      const [, found] = functionsOf(upstream, body);
      expect(found?.[0]).toBe(type);
      expect(Object.keys(recordOf(found?.[1].properties))).toEqual(
        expect.arrayContaining(Object.keys(input)),
      );
      expect(JSON.stringify(body.tool_choice)).toContain(type);
      const [shown] = hear([call(type, JSON.stringify(input))], { tools });
      expect(shown).toMatchObject({ ...item, call_id: 'call_1', status: 'completed' });
    },
  );

  test('a call is reported as a whole, between others', () => {
    const said = [
      call('look', '{"a":1}', 'c1'),
      call('shell', '{"commands":["ls"]}', 'c2'),
      call('look', '{"a":2}', 'c3'),
    ];
    const outcome = stream(R, upstream, tell(upstream, said, 'calls'), {
      tools: [look[R], { type: 'shell' }],
    });
    if (outcome.type !== 'answered') throw new Error(outcome.type);
    const ofItem = eventsOf(outcome.text).filter(({ output_index: index }) => index === 1);
    expect(ofItem.map(({ type }) => type)).toEqual([
      'response.output_item.added',
      'response.output_item.done',
    ]);
    const ids = new Set(ofItem.map(({ item }) => recordOf(item).id));
    expect([...ids]).toEqual([expect.stringMatching(/^sh_/)]);
  });

  test.each([
    ['that the model did not keep to the schema of', '{"command":7}', 'calls'],
    ['that was cut short', '{"commands":["rm -r', 'length'],
  ] as const)('a call %s is no shell call', (_, input, end) => {
    const [shown] = hear([call('shell', input)], { tools: [{ type: 'shell' }] }, end);
    expect(shown).toMatchObject({ type: 'function_call', name: 'shell', arguments: input });
    expect(shown?.id).toMatch(/^fc_/);
  });

  test('a function of the same name stays a function where no such tool is offered', () => {
    const [shown] = hear([call('shell', '{"commands":["ls"]}')], { tools: [{ ...look[R], name: 'shell' }] });
    expect(shown).toMatchObject({ type: 'function_call', name: 'shell' });
  });

  test('calls and results of the history go along', () => {
    const input = [
      { role: 'user', content: 'hi' },
      {
        type: 'shell_call',
        id: 'sh_1',
        call_id: 'c1',
        status: 'completed',
        action: { commands: ['ls'], ...noLimits },
      },
      {
        type: 'shell_call_output',
        call_id: 'c1',
        output: [{ stdout: 'warm', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
      { type: 'local_shell_call', id: 'lsh_1', call_id: 'c2', status: 'completed', action: exec },
      { type: 'local_shell_call_output', id: 'lsh_1', output: '{"exit_code":0}' },
      { type: 'apply_patch_call', id: 'apc_1', call_id: 'c3', status: 'completed', operation },
      { type: 'apply_patch_call_output', call_id: 'c3', status: 'failed', output: 'no such file' },
    ];
    const through = open(R, upstream, {
      input,
      tools: [{ type: 'shell' }, { type: 'local_shell' }, { type: 'apply_patch' }],
    });
    expect(through.dropped).toEqual([]);
    const body = String(through.sent[0]);
    for (const id of ['c1', 'c2', 'c3']) expect(body.split(`"${id}"`)).toHaveLength(3);
    for (const said of ['ls', 'warm', 'exit_code', 'no such file', 'update_file'])
      expect(body).toContain(said);
    expect(body).not.toContain('no result');
    expect(body).not.toContain('unknown_tool');
  });

  test('an allowed subset may name one', () => {
    const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'shell' }] };
    const through = open(R, upstream, { tools: [look[R], { type: 'shell' }], tool_choice: choice });
    expect(through.dropped).toEqual([]);
    const { tools, tool_choice } = recordOf(JSON.parse(String(through.sent[0])));
    expect(JSON.stringify(upstream === C ? tool_choice : tools)).toContain('"shell"');
  });

  test('computer use is refused: an agent needs it', () => {
    for (const tool of [{ type: 'computer' }, { type: 'computer_use_preview', environment: 'linux' }]) {
      const error = refusalOf(() => open(R, upstream, { tools: [look[R], tool] }));
      expect([error.status, error.code, error.param]).toEqual([400, 'unsupported_parameter', 'tools[1]']);
    }
  });

  test('two tools of one name are refused by it', () => {
    const tools = [{ ...look[R], name: 'shell' }, { type: 'shell' }];
    expect(refusalOf(() => open(R, upstream, { tools })).message).toContain("'shell'");
  });

  test('a shell of the provider is not a tool of the client', () => {
    const tools = [look[R], { type: 'shell', environment: { type: 'container_auto' } }];
    expect(open(R, upstream, { tools }).dropped).toEqual(['tools[1]']);
  });
});
