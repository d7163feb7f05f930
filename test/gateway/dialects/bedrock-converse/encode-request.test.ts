// What is a Converse upstream sent for a conversation?

import { describe, expect, test } from 'vitest';
import { bedrockConverse } from '../../../../gateway/dialects/bedrock-converse/index.ts';
import type { Part, Tool } from '../../../../gateway/dialects/conversation.ts';
import { conversationOf } from '../support/make-conversation.ts';
import { assistantTurn, encode, llama, nova, origin, toolCall, toolResult, userTurn } from './talk.ts';

const look: Tool = { kind: 'function', name: 'look', description: 'Looks', schema: { type: 'object' } };
const hint = { type: 'ephemeral' };
const hour = { type: 'ephemeral', ttl: '1h' };
const image: Part = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } };
const file = (mediaType: string, filename?: string): Part => ({
  type: 'file',
  source: { kind: 'base64', mediaType, data: 'AAAA' },
  ...(filename === undefined ? {} : { filename }),
});
const signed: Part = {
  type: 'thinking',
  text: 'Hm',
  opaque: { origin, state: { kind: 'signature', value: 'sig' } },
};

test('a question alone needs no more than its message', () => {
  expect(encode()).toEqual({ messages: [{ role: 'user', content: [{ text: 'Hi' }] }] });
});

describe('turns', () => {
  test('cloud 20: neighbours of one role are one message, and the user begins', () => {
    const turns = [assistantTurn('a'), userTurn('b'), userTurn('c')];
    expect(encode({ turns }).messages).toEqual([
      { role: 'user', content: [{ text: 'Go on.' }] },
      { role: 'assistant', content: [{ text: 'a' }] },
      { role: 'user', content: [{ text: 'b' }, { text: 'c' }] },
    ]);
  });

  test('system text is in its own member, and later system text a reminder in the next message', () => {
    const sent = encode({
      system: [{ type: 'text', text: 'Be brief' }],
      turns: [userTurn('a'), { role: 'system', parts: [{ type: 'text', text: 'Now' }] }, userTurn('b')],
    });
    expect(sent.system).toEqual([{ text: 'Be brief' }]);
    expect(sent.messages[0]?.content[1]).toEqual({ text: '<system-reminder>\nNow\n</system-reminder>' });
  });

  test('cloud 22: blank text is left out', () => {
    expect(encode({ turns: [userTurn('a', '  ', 'b')] }).messages[0]?.content).toEqual([
      { text: 'a' },
      { text: 'b' },
    ]);
  });

  test.each<[string, string]>([
    ['goes on with', nova],
    ['is not given', llama],
  ])('the beginning of an answer: a model %s it', (verb, upstreamModel) => {
    const last = encode({ turns: [userTurn('a'), assistantTurn('b ')] }, { upstreamModel }).messages.at(-1);
    expect(last).toEqual(
      verb === 'goes on with'
        ? { role: 'assistant', content: [{ text: 'b' }] }
        : { role: 'user', content: [{ text: 'Go on.' }] },
    );
  });
});

describe('media', () => {
  test('an image is sent by its format', () => {
    expect(encode({ turns: [userTurn(image)] }).messages[0]?.content).toEqual([
      { image: { format: 'png', source: { bytes: 'AAAA' } } },
    ]);
  });

  test('documents have safe names of their own, and text beside them', () => {
    const turns = [
      userTurn(file('application/pdf', 'a/b..pdf'), file('text/csv'), file('text/csv', 'a b pdf')),
    ];
    expect(encode({ turns }).messages[0]?.content).toEqual([
      { document: { format: 'pdf', name: 'a b pdf', source: { bytes: 'AAAA' } } },
      { document: { format: 'csv', name: 'document-2', source: { bytes: 'AAAA' } } },
      { document: { format: 'csv', name: 'a b pdf-3', source: { bytes: 'AAAA' } } },
      { text: 'See the document.' },
    ]);
  });

  test('a file of a type that Converse does not know is refused by its name', () => {
    const asks = [{ feature: 'file-of-other-type', param: 'messages[0].content[0]' }] as const;
    const turns = [userTurn(file('application/zip'))];
    expect(() => encode({ turns, asks })).toThrow(/'messages\[0\]\.content\[0\]' cannot be carried/);
    expect(() => encode({ turns: [userTurn(file('text/csv'))], asks })).not.toThrow();
  });
});

describe('tools', () => {
  const turns = [userTurn('a'), assistantTurn(toolCall('c1')), userTurn(toolResult('c1', 'seen'))];

  test('cloud 22: a tool has a description and a schema also where the caller gives none', () => {
    expect(encode({ tools: [{ kind: 'function', name: 'look' }] }).toolConfig).toEqual({
      tools: [
        {
          toolSpec: {
            name: 'look',
            description: 'look',
            inputSchema: { json: { type: 'object', properties: {} } },
          },
        },
      ],
    });
  });

  test('a name that does not fit is sent shortened', () => {
    const name = `${'x'.repeat(70)}.y`;
    const { tools } = encode({ tools: [{ ...look, name }] }).toolConfig as {
      tools: { toolSpec: { name: string } }[];
    };
    expect(tools[0]?.toolSpec.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  test.each([
    [{ type: 'auto' }, { auto: {} }],
    [{ type: 'required' }, { any: {} }],
    [{ type: 'tool', tool: { name: 'look' } }, { tool: { name: 'look' } }],
    [{ type: 'subset', mode: 'required', tools: [{ name: 'look' }] }, { any: {} }],
  ] as const)('the choice %j is %j', (toolChoice, sent) => {
    expect(encode({ tools: [look], toolChoice }).toolConfig).toMatchObject({ toolChoice: sent });
  });

  test('a subset leaves the other tools out', () => {
    const toolChoice = { type: 'subset', mode: 'auto', tools: [{ name: 'look' }] } as const;
    const { tools } = encode({ tools: [look, { ...look, name: 'go' }], toolChoice }).toolConfig as {
      tools: [];
    };
    expect(tools).toHaveLength(1);
  });

  test('that none may be called leaves the tools out, or says so where there were calls', () => {
    const none = { tools: [look], toolChoice: { type: 'none' } } as const;
    expect(encode(none).toolConfig).toBeUndefined();
    const sent = encode({ ...none, turns });
    expect(sent.toolConfig).toMatchObject({ tools: [{ toolSpec: { name: 'look' } }] });
    expect(sent.system).toEqual([{ text: 'Call no tool in this answer.' }]);
  });

  // github.com/vxcontrol/pentagi/issues/196.
  test('cloud 19: calls of the past without tools get definitions of the same names', () => {
    expect(encode({ turns }).toolConfig).toMatchObject({ tools: [{ toolSpec: { name: 'look' } }] });
  });

  test('a limit of one call at a time is sent to Claude alone', () => {
    const single = { tools: [look], mayCallInParallel: false };
    expect(encode(single).additionalModelRequestFields).toEqual({
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    });
    expect(encode(single, { upstreamModel: nova }).additionalModelRequestFields).toBeUndefined();
  });

  test('cloud 21: all results of a turn are in one user turn, in the order of the calls, one for each', () => {
    const sent = encode({
      tools: [look],
      turns: [
        userTurn('a'),
        assistantTurn(toolCall('c1'), toolCall('c2'), toolCall('c3')),
        userTurn(toolResult('c2', 'two')),
        userTurn(toolResult('c1', '')),
      ],
    });
    expect(sent.messages[2]).toEqual({
      role: 'user',
      content: [
        { toolResult: { toolUseId: 'c1', content: [{ text: '(no output)' }] } },
        { toolResult: { toolUseId: 'c2', content: [{ text: 'two' }] } },
        { toolResult: { toolUseId: 'c3', content: [{ text: 'no result' }], status: 'error' } },
      ],
    });
  });

  test('that a tool failed is words where the model knows no status', () => {
    const failed = [userTurn('a'), assistantTurn(toolCall('c1')), userTurn(toolResult('c1', 'no', true))];
    expect(encode({ tools: [look], turns: failed }, { upstreamModel: llama }).messages[2]?.content).toEqual([
      { toolResult: { toolUseId: 'c1', content: [{ text: 'The tool failed:' }, { text: 'no' }] } },
    ]);
  });

  test('cloud 22: a result is text, also where it is JSON', () => {
    const json = [userTurn('a'), assistantTurn(toolCall('c1')), userTurn(toolResult('c1', '[1]'))];
    expect(encode({ tools: [look], turns: json }).messages[2]?.content).toEqual([
      { toolResult: { toolUseId: 'c1', content: [{ text: '[1]' }] } },
    ]);
  });
});

describe('reasoning', () => {
  test('thinking goes back in place with its signature, and without one not at all', () => {
    const bare: Part = { type: 'thinking', text: 'Hm' };
    const foreign: Part = {
      ...signed,
      opaque: { origin: 'there', state: { kind: 'signature', value: 's' } },
    };
    const turns = [userTurn('a'), assistantTurn(signed, bare, foreign, 'b'), userTurn('c')];
    expect(encode({ turns }).messages[1]?.content).toEqual([
      { reasoningContent: { reasoningText: { text: 'Hm', signature: 'sig' } } },
      { text: 'b' },
    ]);
  });

  test.each([
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', { thinking: { type: 'enabled', budget_tokens: 4096 } }],
    [
      'anthropic.claude-opus-4-6-v1',
      { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'medium' } },
    ],
    ['us.amazon.nova-2-lite-v1:0', { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } }],
    ['openai.gpt-oss-120b-1:0', { reasoning_effort: 'medium' }],
    ['us.meta.llama4-maverick-17b-instruct-v1:0', undefined],
  ])('%s gets its own form of thinking', (upstreamModel, fields) => {
    const sent = encode({ reasoning: { mode: 'adaptive', effort: 'medium' } }, { upstreamModel });
    expect(sent.additionalModelRequestFields).toEqual(fields);
  });

  test('the highest effort of Nova drops the members that the model would refuse beside it', () => {
    const sent = encode(
      {
        reasoning: { mode: 'adaptive', effort: 'high' },
        sampling: { temperature: 0.5 },
        maxOutputTokens: 100,
      },
      { upstreamModel: 'us.amazon.nova-2-lite-v1:0' },
    );
    expect(sent.inferenceConfig).toBeUndefined();
  });

  test('a feature without a field at the model is reported as lost', () => {
    const lost = (upstreamModel: string) =>
      bedrockConverse.asUpstream.lost?.(
        conversationOf({ turns: [userTurn('a')], reasoning: { mode: 'adaptive', effort: 'low' } }),
        { upstreamModel, isStream: false, parameters: {}, origin },
      );
    expect(lost(llama)).toEqual(['reasoning', 'parallel-calls-off', 'top-k']);
    expect(lost('us.amazon.nova-2-lite-v1:0')).toEqual(['parallel-calls-off']);
    expect(lost('anthropic.claude-opus-4-6-v1')).toContain('temperature');
  });
});

describe('the settings of an answer', () => {
  test('sampling fits the bounds of Converse, and of two shares one is sent', () => {
    const sampling = { temperature: 1.5, topP: 0.9, topK: 5, stop: ['x', ' '] };
    expect(encode({ sampling, maxOutputTokens: 64 })).toMatchObject({
      inferenceConfig: { maxTokens: 64, temperature: 1, stopSequences: ['x'] },
      additionalModelRequestFields: { top_k: 5 },
      additionalModelResponseFieldPaths: ['/stop_sequence'],
    });
    expect(encode({ sampling: { topK: 5 } }, { upstreamModel: nova }).additionalModelRequestFields).toEqual({
      inferenceConfig: { topK: 5 },
    });
  });

  test('parameters of the target are kept beside the caller’s', () => {
    const parameters = {
      guardrailConfig: { guardrailIdentifier: 'g', guardrailVersion: '1' },
      inferenceConfig: { maxTokens: 10, temperature: 0.1 },
      additionalModelRequestFields: { anthropic_beta: ['x'] },
    };
    expect(encode({ sampling: { temperature: 0.5, topK: 3 } }, { parameters })).toMatchObject({
      guardrailConfig: { guardrailIdentifier: 'g' },
      inferenceConfig: { maxTokens: 10, temperature: 0.5 },
      additionalModelRequestFields: { anthropic_beta: ['x'], top_k: 3 },
    });
  });

  test('metadata is sent where it fits, and the end user as a hash where the name does not', () => {
    const metadata = { team: 'a b', note: 'no\u0000', long: 'x'.repeat(257) };
    const { requestMetadata } = encode({ metadata, endUser: '{"id":1}' });
    expect(requestMetadata).toEqual({ team: 'a b', user: expect.stringMatching(/^[0-9a-f]{64}$/) as string });
  });

  test.each([
    ['auto', undefined],
    ['priority', { type: 'priority' }],
    ['flex', { type: 'flex' }],
  ])('the service tier %s is %j', (serviceTier, sent) => {
    expect(encode({ serviceTier }).serviceTier).toEqual(sent);
  });

  test('a schema is the input of a tool that has to be called', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    expect(encode({ output: { type: 'json-schema', schema } }).toolConfig).toMatchObject({
      tools: [{ toolSpec: { name: 'answer', inputSchema: { json: schema } } }],
      toolChoice: { tool: { name: 'answer' } },
    });
  });
});

describe('cloud 23: a mark of a cached prefix', () => {
  const marked = (text: string, cacheHint: unknown = hint): Part => ({ type: 'text', text, cacheHint });
  const points = (sent: object): number => JSON.stringify(sent).split('"cachePoint"').length - 1;

  test('is a block after the content that it covers', () => {
    const sent = encode({
      system: [marked('s', hour)],
      tools: [{ ...look, cacheHint: hour }],
      turns: [userTurn(marked('a'), 'b')],
    });
    expect(sent.messages[0]?.content).toEqual([
      { text: 'a' },
      { cachePoint: { type: 'default' } },
      { text: 'b' },
    ]);
    expect(sent.system).toEqual([{ text: 's' }, { cachePoint: { type: 'default', ttl: '1h' } }]);
    expect(points(sent)).toBe(3);
  });

  test('is kept only for the last four', () => {
    const turns = [userTurn(...['a', 'b', 'c', 'd', 'e', 'f'].map((text) => marked(text)))];
    const sent = encode({ turns });
    expect(points(sent)).toBe(4);
    expect(sent.messages[0]?.content[1]).toEqual({ text: 'b' });
  });

  test('for an hour comes before those for five minutes, or is one of those', () => {
    const sent = encode({ turns: [userTurn(marked('a'), marked('b', hour))] });
    expect(sent.messages[0]?.content[3]).toEqual({ cachePoint: { type: 'default' } });
  });

  test('is not sent after reasoning, inside a result, or to a model without a cache', () => {
    const inner: Part = { type: 'tool-result', id: 'c1', parts: [marked('seen')] };
    const turns = [
      userTurn('a'),
      assistantTurn({ ...signed, cacheHint: hint }, toolCall('c1')),
      userTurn(inner),
    ];
    expect(points(encode({ tools: [look], turns }))).toBe(0);
    expect(points(encode({ turns: [userTurn(marked('a'))] }, { upstreamModel: llama }))).toBe(0);
  });
});
