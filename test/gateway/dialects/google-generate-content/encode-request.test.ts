// What does Gemini get of a conversation? The words of its models' generations, schemas that its parser takes, and calls as it gave them.

import { describe, expect, test } from 'vitest';
import type { Conversation, Part, Reasoning } from '../../../../gateway/dialects/conversation.ts';
import { googleGenerateContent } from '../../../../gateway/dialects/google-generate-content/index.ts';
import { openCall } from '../../../../gateway/dialects/translate.ts';
import { modelOf, readGeminiRequest } from '../../../../simulator/clouds/gemini-request.ts';
import { makeSeal } from '../../../../simulator/seal.ts';
import { makeConversation, sentBody, target } from '../support/upstream-call.ts';

function sent(upstreamModel: string, more: Partial<Conversation>, parameters = {}): Record<string, unknown> {
  return sentBody(googleGenerateContent, makeConversation(more), { upstreamModel, parameters });
}

/** Tidied, as the gateway does, and judged as strictly as Google does. */
function accepted(upstreamModel: string, more: Partial<Conversation>): Record<string, unknown> {
  const { body } = openCall(googleGenerateContent, makeConversation(more), { ...target, upstreamModel });
  const value = JSON.parse(body.toString()) as Record<string, unknown>;
  const model = modelOf(upstreamModel);
  const isThird = model.generation >= 3;
  readGeminiRequest(value, model, 'gemini', {
    needsSignatures: isThird,
    ids: model.generation >= 3.5 ? 'given' : 'refused',
    takesResultMedia: isThird,
    takesAddresses: false,
    seal: makeSeal('gemini'),
  });
  return value;
}

const text = (value: string): Part => ({ type: 'text', text: value });
const call = (id: string, name = 'look'): Part => ({
  type: 'tool-call',
  id,
  name,
  kind: 'function',
  input: '{"n":1.0}',
});
const result = (id: string, ...parts: readonly Part[]): Part => ({ type: 'tool-result', id, parts });

describe('thinking', () => {
  test.each<[string, Reasoning, object]>([
    ['gemini-2.5-flash', { mode: 'off' }, { thinkingBudget: 0 }],
    ['gemini-2.5-pro', { mode: 'off' }, { thinkingBudget: 128 }],
    ['gemini-2.5-flash', { mode: 'adaptive', effort: 'low' }, { thinkingBudget: 1024 }],
    ['gemini-2.5-flash', { mode: 'adaptive', effort: 'high' }, { thinkingBudget: 24_576 }],
    ['gemini-2.5-pro', { mode: 'adaptive', effort: 'max' }, { thinkingBudget: 32_768 }],
    ['gemini-2.5-flash', { mode: 'budget', budgetTokens: 99_000 }, { thinkingBudget: 24_576 }],
    ['gemini-3-flash-preview', { mode: 'off' }, { thinkingLevel: 'MINIMAL' }],
    ['gemini-3.8-flash', { mode: 'off' }, { thinkingLevel: 'LOW' }],
    ['gemini-3.1-pro-preview', { mode: 'adaptive', effort: 'minimal' }, { thinkingLevel: 'LOW' }],
    ['gemini-3.8-flash', { mode: 'adaptive', effort: 'medium' }, { thinkingLevel: 'MEDIUM' }],
    ['gemini-3.8-flash', { mode: 'adaptive', effort: 'xhigh' }, { thinkingLevel: 'HIGH' }],
    ['gemini-4-hydrogen', { mode: 'adaptive', effort: 'xhigh' }, { thinkingLevel: 'XHIGH' }],
    ['gemini-3.8-flash', { mode: 'budget', budgetTokens: 1_000 }, { thinkingLevel: 'LOW' }],
    ['gemini-flash-latest', { mode: 'budget', budgetTokens: 9_000 }, { thinkingLevel: 'HIGH' }],
    ['gemini-3.8-flash', { mode: 'adaptive', summary: 'auto' }, { includeThoughts: true }],
  ])('at %s of %j is asked for as %j', (model, reasoning, thinkingConfig) => {
    expect(sent(model, { reasoning }).generationConfig).toEqual({ thinkingConfig });
  });

  test.each(['gemma-3-27b-it', 'gemini-2.0-flash', 'tuned-model'])('is not asked for at %s', (model) => {
    expect(sent(model, { reasoning: { mode: 'adaptive', effort: 'high' } }).generationConfig).toBeUndefined();
  });
});

describe('cloud 40: a schema', () => {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      kind: { const: 'a' },
      name: { type: ['string', 'null'], minLength: 1, format: 'email', pattern: '^a' },
      many: { type: 'array', items: { $ref: '#/definitions/one', description: 'one of them' } },
      const: { type: 'number', exclusiveMinimum: 0, minimum: 0 },
    },
    required: ['kind', 'gone'],
    additionalProperties: false,
    not: { required: ['x'] },
    definitions: { one: { type: 'object', properties: { id: { type: 'integer', enum: [1, 2] } } } },
  };
  const tools = [{ kind: 'function', name: 'look', schema } as const];

  test('keeps the words that a model of today takes, and others of the same meaning', () => {
    expect(accepted('gemini-2.5-flash', { tools }).tools).toEqual([
      {
        functionDeclarations: [
          {
            name: 'look',
            parametersJsonSchema: {
              type: 'object',
              properties: {
                kind: { enum: ['a'] },
                name: { type: ['string', 'null'], format: 'email' },
                many: { type: 'array', items: { $ref: '#/$defs/one' } },
                const: { type: 'number', minimum: 0 },
              },
              required: ['kind', 'gone'],
              additionalProperties: false,
              $defs: { one: { type: 'object', properties: { id: { type: 'integer', enum: [1, 2] } } } },
            },
          },
        ],
      },
    ]);
  });

  test('is written out in the smaller language of older ones', () => {
    expect(accepted('gemini-2.0-flash', { tools }).tools).toEqual([
      {
        functionDeclarations: [
          {
            name: 'look',
            parameters: {
              type: 'object',
              properties: {
                kind: { enum: ['a'] },
                name: { type: 'string', nullable: true, minLength: 1, pattern: '^a' },
                many: { type: 'array', items: { type: 'object', properties: { id: { type: 'integer' } } } },
                const: { type: 'number', minimum: 0 },
              },
              required: ['kind'],
            },
          },
        ],
      },
    ]);
  });

  test('of an older one that holds itself ends where it begins again', () => {
    const tree = {
      $ref: '#/$defs/tree',
      $defs: { tree: { type: 'object', properties: { next: { $ref: '#/$defs/tree' } } } },
    };
    const form = { type: 'json-schema', schema: tree } as const;
    expect(accepted('gemini-2.0-flash', { output: form }).generationConfig).toMatchObject({
      responseSchema: { type: 'object', properties: { next: { type: 'object' } } },
    });
  });

  test('of a function without arguments is left out', () => {
    const bare = [{ kind: 'function', name: 'now', schema: { type: 'object', properties: {} } } as const];
    expect(accepted('gemini-3.8-flash', { tools: bare }).tools).toEqual([
      { functionDeclarations: [{ name: 'now' }] },
    ]);
  });

  test('of the answer is kept beside tools only where the model takes both', () => {
    const both = { tools, output: { type: 'json-schema', schema: { type: 'object' } } } as const;
    expect(accepted('gemini-2.5-flash', both).generationConfig).toBeUndefined();
    expect(accepted('gemini-3.8-flash', both).generationConfig).toMatchObject({
      responseMimeType: 'application/json',
    });
  });
});

describe('cloud 40: a turn with calls', () => {
  const turns = (...parts: readonly Part[]) => [
    { role: 'user' as const, parts: [text('p')] },
    { role: 'assistant' as const, parts: [call('a'), call('b')] },
    { role: 'user' as const, parts },
  ];

  test('is followed by one result for each, also where the caller has none', () => {
    expect(
      accepted('gemini-2.5-flash', { turns: turns(result('b', text('warm')), text('go on')) }).contents,
    ).toEqual([
      { role: 'user', parts: [{ text: 'p' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { name: 'look', args: { n: 1 } } },
          { functionCall: { name: 'look', args: { n: 1 } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'look', response: { error: 'no result' } } },
          { functionResponse: { name: 'look', response: { output: 'warm' } } },
          { text: 'go on' },
        ],
      },
    ]);
  });

  test('keeps a tool’s result as text, also if it is an object with a reference', () => {
    const said = '{"$ref":"#/x"}';
    const { contents } = accepted('gemini-2.5-flash', { turns: turns(result('a', text(said)), result('b')) });
    expect(JSON.stringify(contents)).toContain(JSON.stringify({ output: said }));
  });

  const image: Part = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } };

  test('has the image of a tool in its result, or behind all results where the model is older', () => {
    const shown = turns(result('a', text('see'), image), result('b', text('warm')));
    const inline = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
    expect(JSON.stringify(accepted('gemini-3.1-pro-preview', { turns: shown }).contents)).toContain(
      JSON.stringify({ response: { output: 'see' }, parts: [inline] }).slice(1),
    );
    const { contents } = accepted('gemini-2.5-flash', { turns: shown });
    expect(JSON.stringify(contents)).toMatch(
      /\{"output":"warm"\}\}\},\{"text":"\[From the tool[^"]+"\},\{"inlineData"/,
    );
  });

  test('writes numbers of the arguments as they were', () => {
    const { body } = googleGenerateContent.asUpstream.open(
      makeConversation({ turns: turns(result('a'), result('b')) }),
      { ...target, upstreamModel: 'gemini-2.5-flash' },
    );
    expect(body.toString()).toContain('"args":{"n":1.0}');
  });
});

describe('the ids and signatures of calls', () => {
  const own = (id: string): Part => ({
    type: 'thinking',
    text: '',
    opaque: {
      origin: target.origin,
      state: {
        kind: 'details',
        value: { type: 'penstock.call_extra', id, extra_content: { google: { thought_signature: 'S', id } } },
      },
    },
  });
  const sentWith = (model: string, ...parts: readonly Part[]): string =>
    JSON.stringify(
      sent(model, {
        turns: [
          { role: 'user', parts: [text('p')] },
          { role: 'assistant', parts },
          { role: 'user', parts: [result('a'), result('b')] },
        ],
      }).contents,
    );

  test.each([
    [
      'cloud 36: go back where the upstream gave them',
      'gemini-3.1-pro-preview',
      [own('a'), call('a'), call('b')],
      4,
    ],
    ['cloud 36: stay here where it gave none', 'gemini-3.8-flash', [own(''), call('a'), call('b')], 0],
    [
      'cloud 36: of another provider go to a model that refuses calls without',
      'gemini-3.8-flash',
      [call('a'), call('b')],
      4,
    ],
    [
      'cloud 36: of another provider stay here where the model may know none',
      'gemini-3.1-pro-preview',
      [call('a'), call('b')],
      0,
    ],
    [
      'cloud 36: never go to a generation that knows none',
      'gemini-2.5-flash',
      [own('a'), call('a'), call('b')],
      0,
    ],
    ['cloud 36: go to the newest behind an alias', 'gemini-flash-latest', [call('a'), call('b')], 4],
    [
      'cloud 36: of a tuned model follow what it gave',
      'tunedModels/mine',
      [own('a'), call('a'), call('b')],
      4,
    ],
  ] as const)('%s', (_, model, parts, count) => {
    expect(sentWith(model, ...parts).split('"id":').length - 1).toBe(count);
  });

  test.each([
    ['its own on the call it came with', [own('a'), call('a'), call('b')], ['"thoughtSignature":"S"']],
    [
      'its own for a client that sends all thinking first',
      [own('b'), call('a'), call('b')],
      ['skip_thought', '"S"'],
    ],
    ['the placeholder on the first call of a turn alone', [call('a'), call('b')], ['skip_thought']],
  ] as const)('cloud 37: a model that wants signatures gets %s', (_, parts, wanted) => {
    const body = sentWith('gemini-3.8-flash', ...parts);
    expect(body.split('thoughtSignature').length - 1).toBe(wanted.length);
    for (const words of wanted) expect(body).toContain(words);
  });

  test('the signature of a text goes back with it, and no text without words is sent', () => {
    const signed: Part = {
      type: 'thinking',
      text: '',
      opaque: { origin: 'here', state: { kind: 'signature', value: 'T' } },
    };
    const turns = (...parts: readonly Part[]) => [
      { role: 'user' as const, parts: [text('p')] },
      { role: 'assistant' as const, parts },
      { role: 'user' as const, parts: [text('q')] },
    ];
    for (const parts of [
      [text('said'), signed],
      [signed, text('said')],
    ]) {
      expect(sent('gemini-3.8-flash', { turns: turns(...parts) }).contents).toMatchObject([
        {},
        { role: 'model', parts: [{ text: 'said', thoughtSignature: 'T' }] },
        {},
      ]);
    }
  });
});

describe('the rest of a request', () => {
  test('system text becomes the system instruction, or comes before the first text if the model takes no instruction', () => {
    const system = [text('Be brief.')];
    expect(sent('gemini-3.8-flash', { system })).toMatchObject({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ parts: [{ text: 'p' }] }],
    });
    const gemma = sent('gemma-3-27b-it', { system });
    expect(gemma.systemInstruction).toBeUndefined();
    expect(gemma.contents).toEqual([{ role: 'user', parts: [{ text: 'Be brief.' }, { text: 'p' }] }]);
  });

  test('the user speaks first and last, and neighbours of one role are one', () => {
    const turns = [
      { role: 'assistant' as const, parts: [text('I begin')] },
      { role: 'user' as const, parts: [text('p')] },
      { role: 'system' as const, parts: [text('later')] },
      { role: 'assistant' as const, parts: [text('and')] },
    ];
    const { contents } = accepted('gemini-3.8-flash', { turns });
    expect((contents as { role: string }[]).map(({ role }) => role)).toEqual([
      'user',
      'model',
      'user',
      'model',
      'user',
    ]);
  });

  test('sampling, limits and the defaults of the target are in the configuration, the caller’s first', () => {
    const more = {
      sampling: { temperature: 1.5, topK: 3, presencePenalty: 1, stop: ['a'] },
      maxOutputTokens: 9,
    };
    const parameters = { generationConfig: { temperature: 0, seed: 4 }, safetySettings: [] };
    expect(sent('gemini-3.8-flash', more, parameters)).toMatchObject({
      safetySettings: [],
      generationConfig: {
        temperature: 1.5,
        topK: 3,
        presencePenalty: 1,
        stopSequences: ['a'],
        maxOutputTokens: 9,
        seed: 4,
      },
    });
    expect(sent('gemini-2.5-flash', more).generationConfig).not.toHaveProperty('presencePenalty');
  });

  test('more than five stop sequences are left to the gateway', () => {
    const stop = ['a', 'b', 'c', 'd', 'e', 'f'];
    const opened = googleGenerateContent.asUpstream.open(makeConversation({ sampling: { stop } }), target);
    expect(opened.stopsLeft).toEqual(stop);
    expect(opened.body.toString()).not.toContain('stopSequences');
  });

  test.each([
    [{ type: 'none' }, { mode: 'NONE' }],
    [{ type: 'auto' }, { mode: 'AUTO' }],
    [{ type: 'required' }, { mode: 'ANY' }],
    [
      { type: 'tool', tool: { name: '1st tool' } },
      { mode: 'ANY', allowedFunctionNames: ['_1st_tool_ca51cbf1'] },
    ],
    [
      { type: 'subset', mode: 'auto', tools: [{ name: 'look' }] },
      { mode: 'VALIDATED', allowedFunctionNames: ['look'] },
    ],
  ] as const)('the choice of tools %j is %j', (toolChoice, functionCallingConfig) => {
    const tools = [
      { kind: 'function', name: 'look' },
      { kind: 'function', name: '1st tool' },
    ] as const;
    expect(accepted('gemini-3.8-flash', { tools, toolChoice }).toolConfig).toEqual({ functionCallingConfig });
  });

  test('web search goes beside functions only where the model takes both', () => {
    const tools = [{ kind: 'function', name: 'look' }] as const;
    expect(accepted('gemini-2.5-flash', { hasWebSearch: true }).tools).toEqual([{ googleSearch: {} }]);
    expect(accepted('gemini-2.5-flash', { hasWebSearch: true, tools }).tools).toHaveLength(1);
    expect(accepted('gemini-3.8-flash', { hasWebSearch: true, tools }).tools).toHaveLength(2);
  });
});
