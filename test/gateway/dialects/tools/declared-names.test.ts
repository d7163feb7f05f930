// Do calls and choices name a tool as it is offered?

import { describe, expect, test } from 'vitest';
import type { Part, PartOf, Tool } from '../../../../gateway/dialects/conversation.ts';
import { openAiResponses } from '../../../../gateway/dialects/openai-responses/index.ts';
import { withDeclaredNames } from '../../../../gateway/dialects/tools/declared-names.ts';
import { openCall } from '../../../../gateway/dialects/translate.ts';
import { conversationOf } from '../support/make-conversation.ts';

type Call = PartOf<'tool-call'>;

const exec: Tool = { kind: 'custom', name: 'exec', namespace: 'functions' };
const plain: Tool = { kind: 'function', name: 'exec' };
const call = (change: Partial<Call>): Call => ({
  type: 'tool-call',
  id: 'c',
  name: 'exec',
  kind: 'custom',
  input: 'ls',
  ...change,
});

function declared(tool: Tool, part: Part): Part | undefined {
  const turns = [{ role: 'assistant', parts: [part] }] as const;
  return withDeclaredNames(conversationOf({ tools: [tool], turns })).turns[0]?.parts[0];
}

describe('a call', () => {
  test.each<[string, Tool, Partial<Call>, Partial<Call>]>([
    ['gets the namespace', exec, {}, { namespace: 'functions' }],
    [
      'of a function becomes free text',
      exec,
      { kind: 'function', input: '{"input":"ls"}' },
      { namespace: 'functions' },
    ],
    [
      'of free text becomes JSON',
      plain,
      { namespace: 'functions' },
      { kind: 'function', input: '{"input":"ls"}' },
    ],
    [
      'of free text that is JSON stays what it is',
      plain,
      { input: '{"cmd":"ls"}' },
      { kind: 'function', input: '{"cmd":"ls"}' },
    ],
    [
      'of a tool in another namespace stays',
      { ...plain, namespace: 'agents' },
      { namespace: 'functions' },
      { namespace: 'functions' },
    ],
  ])('%s', (_, tool, made, expected) => {
    expect(declared(tool, call(made))).toEqual(call(expected));
  });
});

test('a choice uses the name that the tool was offered under', () => {
  const tools = [exec];
  const one = withDeclaredNames(
    conversationOf({ tools, toolChoice: { type: 'tool', tool: { name: 'exec' } } }),
  );
  expect(one.toolChoice).toEqual({ type: 'tool', tool: { name: 'exec', namespace: 'functions' } });
  const some = withDeclaredNames(
    conversationOf({ tools, toolChoice: { type: 'subset', mode: 'auto', tools: [{ name: 'exec' }] } }),
  );
  expect(some.toolChoice).toMatchObject({ tools: [{ name: 'exec', namespace: 'functions' }] });
});

test('a responses upstream gets offer, call and result in the same form', () => {
  const conversation = conversationOf({
    tools: [exec],
    turns: [
      { role: 'assistant', parts: [call({ kind: 'function', input: '{"input":"ls"}' })] },
      { role: 'user', parts: [{ type: 'tool-result', id: 'c', parts: [{ type: 'text', text: 'a b' }] }] },
    ],
  });
  const target = { upstreamModel: 'm', isStream: false, parameters: {}, origin: 'here' };
  expect(JSON.parse(openCall(openAiResponses, conversation, target).body.toString())).toMatchObject({
    tools: [{ type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] }],
    input: [
      { type: 'custom_tool_call', call_id: 'c', name: 'exec', namespace: 'functions', input: 'ls' },
      { type: 'custom_tool_call_output', call_id: 'c', output: 'a b' },
    ],
  });
});
