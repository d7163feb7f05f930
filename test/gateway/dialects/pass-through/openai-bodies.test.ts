// What changes in a request whose upstream speaks the caller's dialect? The model, and what the gateway must be sure of.

import { describe, expect, test } from 'vitest';
import type { Dialect, UpstreamTarget } from '../../../../gateway/dialects/dialect.ts';
import { openAiChat } from '../../../../gateway/dialects/openai-chat/index.ts';
import { openAiCompletions } from '../../../../gateway/dialects/openai-completions/index.ts';
import { isRecord } from '../../../../gateway/json/record.ts';
import { RequestBody } from '../../../../gateway/json/request-body.ts';

function edit(
  dialect: Dialect,
  text: string,
  parameters: Record<string, unknown> = {},
  provider: Pick<UpstreamTarget, 'modelMembers' | 'chatNames'> = {},
): string {
  const body = new RequestBody([Buffer.from(text)]);
  const facts = dialect.readRequest(body);
  const target = { upstreamModel: 'up', isStream: facts.isStream, parameters, origin: 'own', ...provider };
  return Buffer.concat(dialect.same.editRequest(body, facts, target)).toString('utf8');
}

describe('a chat request', () => {
  const messages = '"messages":[{"role":"user","content":"hi"}]';
  test.each([
    [
      'keeps all but the model',
      `{ "model":"m",${messages},"new":1e400}`,
      {},
      `{ "model":"up",${messages},"new":1e400}`,
    ],
    [
      'that streams asks for usage',
      `{"model":"m",${messages},"stream":true}`,
      {},
      `{"model":"up",${messages},"stream":true,"stream_options":{"include_usage":true}}`,
    ],
    [
      'keeps its other stream options',
      `{"model":"m",${messages},"stream":true,"stream_options":{"x":1}}`,
      {},
      `{"model":"up",${messages},"stream":true,"stream_options":{"x":1,"include_usage":true}}`,
    ],
    [
      'with null for stream options asks for usage',
      `{"model":"m",${messages},"stream":true,"stream_options":null}`,
      {},
      `{"model":"up",${messages},"stream":true,"stream_options":{"include_usage":true}}`,
    ],
    [
      'that asks for usage itself is left alone',
      `{"model":"m",${messages},"stream":true,"stream_options":{"include_usage":true}}`,
      {},
      `{"model":"up",${messages},"stream":true,"stream_options":{"include_usage":true}}`,
    ],
    [
      'is given the parameters of the target',
      `{"model":"m",${messages}}`,
      { temperature: 0.5, extra: { a: [1] } },
      `{"model":"up",${messages},"temperature":0.5,"extra":{"a":[1]}}`,
    ],
    [
      'keeps its own instead',
      `{"model":"m",${messages},"temperature":1}`,
      { temperature: 0.5 },
      `{"model":"up",${messages},"temperature":1}`,
    ],
    [
      'with null is given the parameter',
      `{"model":"m",${messages},"temperature":null}`,
      { temperature: 0.5 },
      `{"model":"up",${messages},"temperature":0.5}`,
    ],
    [
      'that streams is made to report usage',
      `{"model":"m",${messages},"stream":true}`,
      {},
      `{"model":"up",${messages},"stream":true,"stream_options":{"include_usage":true}}`,
    ],
    [
      'with one name of the limit is not given the other',
      `{"model":"m",${messages},"max_tokens":5}`,
      { max_completion_tokens: 9 },
      `{"model":"up",${messages},"max_tokens":5}`,
    ],
  ])('%s', (_, text, parameters, wanted) => {
    expect(edit(openAiChat, text, parameters)).toBe(wanted);
  });

  const renamed = `{"model":"up",${messages},"max_tokens":5}`;
  test.each([
    ['under the name that all know', `{"model":"m","max_completion_tokens": 5,${messages}}`, {}, renamed],
    [
      'in the place of null',
      `{"model":"m","max_tokens":null,${messages},"max_completion_tokens":5}`,
      {},
      `{"model":"up","max_tokens":5,${messages}}`,
    ],
    [
      'and not that of the target',
      `{"model":"m",${messages},"max_completion_tokens":5}`,
      { max_tokens: 9 },
      renamed,
    ],
    [
      'as it is, where the target itself uses the newer name',
      `{"model":"m",${messages},"max_completion_tokens":5}`,
      { max_completion_tokens: 9 },
      `{"model":"up",${messages},"max_completion_tokens":5}`,
    ],
    [
      'as it is beside the older one',
      `{"model":"m",${messages},"max_completion_tokens":5,"max_tokens":7}`,
      {},
      `{"model":"up",${messages},"max_completion_tokens":5,"max_tokens":7}`,
    ],
    [
      'not, where it is null',
      `{"model":"m",${messages},"max_completion_tokens":null}`,
      {},
      `{"model":"up",${messages},"max_completion_tokens":null}`,
    ],
  ])(
    'at a provider that knows the older name of the bound only is sent with that of its caller %s',
    (_, text, parameters, wanted) => {
      expect(edit(openAiChat, text, parameters, { chatNames: 'common' })).toBe(wanted);
    },
  );

  const newer = `{"model":"up",${messages},"max_completion_tokens":5}`;
  test.each([
    ['that knows it', { chatNames: 'current' as const }, {}, newer],
    ['of unknown capabilities', {}, {}, newer],
    ['and not where the target itself uses the older one', {}, { max_tokens: 9 }, renamed],
  ])('keeps the newer name of the bound at a provider %s', (_, provider, parameters, wanted) => {
    expect(edit(openAiChat, newer, parameters, provider)).toBe(wanted);
  });

  const modelMembers = ['models', 'route'];
  test.each([
    [
      'is not sent with what would choose another model',
      `{"models":["dear"], "route":"fallback","model":"m",${messages},"provider":{"sort":"price"}}`,
      {},
      `{"model":"up",${messages},"provider":{"sort":"price"}}`,
    ],
    [
      'is sent with what the target says of other models',
      `{"model":"m","models":["dear"],${messages},"route":null}`,
      { models: ['cheap'] },
      `{"model":"up","models":["cheap"],${messages},"route":null}`,
    ],
  ])('at a provider that chooses models too %s', (_, text, parameters, wanted) => {
    expect(edit(openAiChat, text, parameters, { modelMembers })).toBe(wanted);
  });
});

describe('a completion request', () => {
  test.each([
    [
      'is given the defaults of the specification',
      '{"model":"m","prompt":"p"}',
      {},
      { max_tokens: 16, temperature: 1, top_p: 1, n: 1, presence_penalty: 0, frequency_penalty: 0 },
    ],
    [
      'is rather given the parameters of the target',
      '{"model":"m","prompt":"p","top_p":0.5}',
      { max_tokens: 99, top_p: 0.1 },
      { max_tokens: 99, temperature: 1, top_p: 0.5, n: 1, presence_penalty: 0, frequency_penalty: 0 },
    ],
    [
      'is given its bound beside a name that chat has for it',
      '{"model":"m","prompt":"p","max_completion_tokens":5}',
      { temperature: 0 },
      {
        max_completion_tokens: 5,
        max_tokens: 16,
        temperature: 0,
        top_p: 1,
        n: 1,
        presence_penalty: 0,
        frequency_penalty: 0,
      },
    ],
  ])('%s', (_, text, parameters, wanted) => {
    expect(JSON.parse(edit(openAiCompletions, text, parameters))).toEqual({
      model: 'up',
      prompt: 'p',
      ...wanted,
    });
  });

  test.each([
    ['{"model":"m","prompt":"p","stop":[]}', undefined],
    ['{"stop" : [ ] , "model":"m","prompt":"p"}', undefined],
    ['{"model":"m","stop":[],"prompt":"p"}', undefined],
    ['{"model":"m","prompt":"p","stop":["a"]}', ['a']],
    ['{"model":"m","prompt":"p","stop":""}', ''],
  ])('%s: an empty list of stops is left out, and no target puts others in', (text, stop) => {
    const request: unknown = JSON.parse(edit(openAiCompletions, text, { stop: ['X'] }));
    if (!isRecord(request)) throw new Error('the request is not an object');
    const { stop: sent, ...rest } = request;
    expect(sent).toEqual(stop);
    expect(rest).toMatchObject({ model: 'up', prompt: 'p', max_tokens: 16 });
  });

  test('an empty list of stops is removed together with members that would choose another model', () => {
    const text = '{"stop":[],"models":["dear"],"model":"m","prompt":"p"}';
    expect(edit(openAiCompletions, text, {}, { modelMembers: ['models'] })).toMatch(
      /^\{"model":"up","prompt":"p",/,
    );
  });

  test('keeps the bytes of its prompt', () => {
    expect(edit(openAiCompletions, '{"model":"m","prompt":"\\u0041\\/é"}')).toContain(
      '"prompt":"\\u0041\\/é"',
    );
  });
});

describe('a plain answer', () => {
  const relay = (dialect: Dialect, text: string) =>
    dialect.same.relayAnswer(Buffer.from(text), {
      model: 'm',
      isStream: false,
      wantsUsage: false,
      choices: 1,
    });

  test('goes on as its own bytes', () => {
    const text =
      ' {"choices":[{"message":{"content":"a"}}],"model":"served","n":1e400,"usage":{"prompt_tokens":7,"completion_tokens":3}} ';
    const answer = relay(openAiChat, text);
    expect(answer).toMatchObject({
      ok: true,
      usage: { input: 7, output: 3 },
      outputEstimate: 3,
      servedModel: 'served',
    });
    expect(answer.ok && answer.body.toString('utf8')).toBe(text);
  });

  test.each([
    [openAiChat, '{"choices":[{"message":{"content":"12345678"}}]}', 2],
    [openAiChat, '{"choices":[{"message":{"content":"1234"}},{"message":{"refusal":"1234"}},null,{}]}', 2],
    [openAiCompletions, '{"choices":[{"text":"123456789"}]}', 3],
    [openAiCompletions, '{"choices":[{}]}', 0],
  ])('without usage is estimated by its text, %#', (dialect, text, outputEstimate) => {
    expect(relay(dialect, text)).toMatchObject({ ok: true, usage: undefined, outputEstimate });
  });

  test.each([
    ['<html>', 'malformed'],
    ['', 'malformed'],
    ['[]', 'malformed'],
    ['{}', 'malformed'],
    ['{"choices":{}}', 'malformed'],
    ['{"choices":[]}', 'malformed'],
    ['{"choices":[{"message":{"content":"a"}}]', 'malformed'],
    ['{"error":{"message":"no"}}', 'error-event'],
    ['{"error":"no","choices":[]}', 'error-event'],
    ['{"error":[],"choices":[]}', 'error-event'],
  ])('%s is refused as %s', (text, kind) => {
    for (const dialect of [openAiChat, openAiCompletions]) {
      expect(relay(dialect, text)).toMatchObject({ ok: false, fault: { kind } });
    }
  });

  test('with an error member that is null is whole', () => {
    expect(relay(openAiChat, '{"error":null,"choices":[{}]}').ok).toBe(true);
  });
});
