// Is every tool known to the upstream by a name that fits, and to the client by its own?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Conversation, Tool } from '../../../../gateway/dialects/conversation.ts';
import { nameTools, type ToolNameRules } from '../../../../gateway/dialects/tools/tool-names.ts';
import { startCpuTimer } from '../../../support/cpu-timer.ts';
import { conversationOf } from '../support/make-conversation.ts';

const chat: ToolNameRules = { lengthMax: 64, hasNamespaces: false, hasCustom: false };
const responses: ToolNameRules = { lengthMax: 128, hasNamespaces: true, hasCustom: true };

const withTools = (...tools: readonly Tool[]): Conversation => conversationOf({ tools });
const tool = (name: string, namespace?: string, kind: Tool['kind'] = 'function'): Tool => ({
  kind,
  name,
  ...(namespace === undefined ? {} : { namespace }),
});

describe('towards an upstream without namespaces', () => {
  test.each([
    ['get_weather', undefined, 'get_weather'],
    ['exec', 'functions', 'exec'],
    ['spawn_agent', 'collaboration', 'collaboration__spawn_agent'],
  ])('%s in the namespace %s is %s', (name, namespace, expected) => {
    const names = nameTools(withTools(tool(name, namespace)), chat);
    expect(names.wireName(tool(name, namespace))).toBe(expected);
    expect(names.toolOf(expected)).toEqual({ ...tool(name, namespace), isWrapped: false });
  });

  test('a custom tool is sent as a function with one text', () => {
    const names = nameTools(withTools(tool('apply_patch', undefined, 'custom')), chat);
    expect(names.toolOf('apply_patch')).toEqual({ kind: 'custom', name: 'apply_patch', isWrapped: true });
  });
});

test('for an upstream with namespaces, name and namespace identify a tool', () => {
  const names = nameTools(withTools(tool('wait', 'clock'), tool('wait', 'agents'), tool('wait')), responses);
  expect(names.wireName(tool('wait', 'agents'))).toBe('wait');
  expect(names.toolOf('wait', 'agents')).toMatchObject({ name: 'wait', namespace: 'agents' });
  expect(names.toolOf('wait', 'clock')).toMatchObject({ name: 'wait', namespace: 'clock' });
  expect(names.toolOf('wait')).toEqual({ kind: 'function', name: 'wait', isWrapped: false });
});

test('a name that was not offered comes back unchanged', () => {
  expect(nameTools(withTools(), chat).toolOf('made_up')).toEqual({
    kind: 'function',
    name: 'made_up',
    isWrapped: false,
  });
});

test('a tool that only the history names is translated back', () => {
  const call = { type: 'tool-call', id: 'c1', name: 'a.b', kind: 'function', input: '{}' } as const;
  const names = nameTools(conversationOf({ turns: [{ role: 'assistant', parts: [call] }] }), chat);
  expect(names.toolOf(names.wireName({ name: 'a.b' })).name).toBe('a.b');
});

describe('the namespace `functions` means no namespace', () => {
  const exec = tool('exec', 'functions', 'custom');
  const called = (namespace?: string): Conversation['turns'] => [
    { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', input: '{}', ...tool('exec', namespace) }] },
  ];

  test.each([
    ['chat', chat, true],
    ['responses', responses, false],
  ])(
    'a tool offered in it and called without it is the same tool, to %s upstreams',
    (_, rules, isWrapped) => {
      const names = nameTools(conversationOf({ tools: [exec], turns: called() }), rules);
      expect(names.wireName({ name: 'exec' })).toBe('exec');
      expect(names.wireName(exec)).toBe('exec');
      expect(names.toolOf('exec')).toEqual({ ...exec, isWrapped });
    },
  );

  test('a tool offered without it and called in it is the same tool, to all upstreams', () => {
    const offered = tool('exec');
    for (const rules of [chat, responses]) {
      const names = nameTools(conversationOf({ tools: [offered], turns: called('functions') }), rules);
      expect(names.wireName(exec)).toBe('exec');
      expect(names.toolOf('exec')).toEqual({ ...offered, isWrapped: false });
    }
    expect(nameTools(withTools(offered), responses).toolOf('exec', 'functions').namespace).toBeUndefined();
  });

  test('if both are offered, each has a name and comes back as itself', () => {
    const bare = tool('exec');
    const names = nameTools(withTools(exec, bare), chat);
    expect(names.wireName(exec)).toBe('exec');
    expect(names.wireName(bare)).not.toBe('exec');
    expect(names.toolOf(names.wireName(bare))).toEqual({ ...bare, isWrapped: false });
  });
});

test('thousands of tools whose joined names collide get distinct names in a moment', () => {
  const alike = Array.from({ length: 3_000 }, (_, n) => tool('_'.repeat(3_000 - n), '_'.repeat(n + 1)));
  const workedMs = startCpuTimer();
  const names = nameTools(withTools(...alike), chat);
  expect(new Set(alike.map((one) => names.wireName(one))).size).toBe(alike.length);
  // Hundreds of times what it takes, and less than to begin again for each: they are distinguished by hashes of all of their names.
  expect(workedMs()).toBeLessThan(10_000);
});

test('43: any names fit, differ, stay the same every time, and come back', () => {
  const name = fc.oneof(
    fc.string({ minLength: 1, maxLength: 90 }),
    fc.constantFrom('a.b', 'a_b', 'a:b', 'x'.repeat(70)),
  );
  const tools = fc.uniqueArray(
    fc.record({ name, namespace: fc.option(fc.constantFrom('functions', 'n', 'n__n'), { nil: undefined }) }),
    { selector: ({ name, namespace }) => `${namespace ?? ''} ${name}`, maxLength: 8 },
  );
  fc.assert(
    fc.property(tools, (drawn) => {
      const all = drawn.map(({ name, namespace }) => tool(name, namespace));
      const names = nameTools(withTools(...all), chat);
      const wire = all.map((one) => names.wireName(one));
      for (const one of wire) expect(one).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(new Set(wire).size).toBe(all.length);
      expect(nameTools(withTools(...all), chat).wireName(all[0] ?? tool('x'))).toBe(wire[0] ?? 'x');
      for (const [at, one] of all.entries()) expect(names.toolOf(wire[at] ?? '')).toMatchObject(one);
    }),
    { seed: 7, numRuns: 1000 },
  );
});
