// POST /v1/completions against the specification: every field inside and outside its bounds, the defaults that
// upstreams see, prompts times n, and the answer's fields. (The service's specification, "CompletionRequest" and
// "CompletionResponse"; OpenAI API reference, "Completions", for the fields the specification does not name.)

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Behaviour, type Call, startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import {
  type Answered,
  errorOf,
  expectRefused,
  jsonOf,
  latest,
  post,
  recordOf,
  recordsOf,
  rowsOf,
  Spelled,
} from './ask.ts';

const path = '/v1/completions';
const minimal = { model: 'm', prompt: 'Say hello' };

let wall: Wall;
/** Its upstream speaks completions. */
let native: Rig;
/** Its upstream speaks chat completions only. */
let chatOnly: Rig;

beforeAll(async () => {
  wall = await startWall();
  native = await startRig(tableOf([{ baseUrl: wall.baseUrl, dialects: ['openai-completions'] }]));
  chatOnly = await startRig(tableOf([{ baseUrl: wall.baseUrl, dialects: ['openai-chat'] }]));
});

beforeEach(() => wall.script({ type: 'answer' }));

afterAll(async () => {
  await native.close();
  await chatOnly.close();
  await wall.close();
});

/** Sent to both kinds of gateway; the errors must not depend on the upstream. */
async function postToBoth(body: string): Promise<readonly Answered[]> {
  return [await post(native, path, body), await post(chatOnly, path, body)];
}

describe('a field inside its bounds is accepted, and the upstream gets it as it was sent', () => {
  const accepted = rowsOf({
    prompt: ['x', '', ' \n\t', ['a'], ['a', 'b'], ['']],
    max_tokens: [1, 2, 16, 1_000_000],
    temperature: [0, 0.5, 2],
    top_p: [0, 0.5, 1],
    n: [1, 2, 128],
    stream: [false],
    stop: ['x', '', ['a'], ['a', 'b', 'c', 'd']],
    presence_penalty: [-2, 0, 0.25, 2],
    frequency_penalty: [-2, 0, 0.25, 2],
    best_of: [1, 20],
    echo: [true, false],
    suffix: ['', 'after'],
    logprobs: [0, 5],
    logit_bias: [{}, { 50256: -100, 11: 100 }],
    seed: [0, -1, 9_007_199_254_740_991],
    user: ['', 'somebody'],
  });

  test.each(accepted)('$name: $shown', async ({ name, value }) => {
    const answer = await post(native, path, { ...minimal, [name]: value });
    expect(answer.status).toBe(200);
    expect(recordOf(latest(wall).json)[name]).toEqual(value);
  });

  test('an integer may be spelled with a fraction of zero or an exponent, and keeps its spelling', async () => {
    const answer = await post(native, path, '{"model":"m","prompt":"x","max_tokens":1.6e1,"n":2.0}');
    expect(answer.status).toBe(200);
    expect(latest(wall).bodyText).toContain('"max_tokens":1.6e1,"n":2.0');
  });
});

describe('a field outside its bounds, or of a wrong type, is refused by name before any upstream is asked', () => {
  const notNumbers = ['1', true, [], [1], {}];
  const refused = rowsOf({
    model: ['', null, 5, true, [], ['m'], {}],
    prompt: [null, [], 5, true, {}, ['a', 5], [null], [1, 2], [['a']]],
    max_tokens: [0, -1, 1.5, new Spelled('1e400'), ...notNumbers],
    temperature: [-0.0001, 2.0001, -1, 3, new Spelled('1e400'), ...notNumbers],
    top_p: [-0.0001, 1.0001, ...notNumbers],
    n: [0, -1, 129, 1.5, ...notNumbers],
    stream: [0, 1, 'true', [], {}],
    stop: [5, true, {}, ['a', 'b', 'c', 'd', 'e'], ['a', 5], [null]],
    presence_penalty: [-2.0001, 2.0001, ...notNumbers],
    frequency_penalty: [-2.0001, 2.0001, ...notNumbers],
    best_of: [-1, 21, 1.5, ...notNumbers],
    echo: [0, 'true', [], {}],
    suffix: [5, true, [], {}],
    logprobs: [-1, 6, 1.5, ...notNumbers],
    logit_bias: ['x', 5, [], { 50256: 100.1 }, { 50256: -100.1 }, { 50256: '1' }, { 50256: null }],
    seed: [1.5, ...notNumbers],
    user: [5, true, [], {}],
    stream_options: ['x', true, [], { include_usage: true }],
  });

  test.each(refused)('$name: $shown', async ({ name, value }) => {
    const before = wall.calls.length;
    for (const answer of await postToBoth(jsonOf({ ...minimal, [name]: value }))) expectRefused(answer, name);
    expect(wall.calls).toHaveLength(before);
  });

  test.each(['model', 'prompt'] as const)('%s is required', async (name) => {
    const { [name]: _, ...rest } = minimal;
    for (const answer of await postToBoth(JSON.stringify(rest))) {
      expect(expectRefused(answer, name)).toBe(`'${name}' is required.`);
    }
  });

  test('the message says what the bounds are and what was sent', async () => {
    const answer = await post(native, path, { ...minimal, temperature: 2.5 });
    expect(errorOf(answer).message).toBe("'temperature' must be between 0 and 2, not 2.5.");
  });

  test.each([
    [{ n: 2, best_of: 1 }, 'best_of'],
    [{ best_of: 2, stream: true }, 'best_of'],
    [{ stream: true, stream_options: { include_usage: 'yes' } }, 'stream_options.include_usage'],
  ])('%j is refused', async (more, param) => {
    for (const answer of await postToBoth(jsonOf({ ...minimal, ...more }))) expectRefused(answer, param);
  });
});

describe('null counts as absent', () => {
  const optional = [
    ...['max_tokens', 'temperature', 'top_p', 'n', 'stream', 'stop', 'presence_penalty'],
    ...['frequency_penalty', 'best_of', 'echo', 'suffix', 'logprobs', 'logit_bias', 'seed', 'user'],
    'stream_options',
  ];

  test.each(optional)('%s', async (name) => {
    await post(native, path, minimal);
    const withoutIt = recordOf(latest(wall).json);
    const answer = await post(native, path, { ...minimal, [name]: null });
    const { [name]: sent, ...others } = recordOf(latest(wall).json);
    const { [name]: implied, ...expected } = withoutIt;
    expect(answer.status).toBe(200);
    expect(others).toEqual(expected);
    expect(sent ?? undefined).toBe(implied);
  });
});

describe('the request to a completions upstream', () => {
  const defaults = {
    max_tokens: 16,
    temperature: 1,
    top_p: 1,
    n: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
  };

  test('has the defaults of the specification, explicitly', async () => {
    await post(native, path, minimal);
    expect(latest(wall).json).toEqual({ model: 'upstream-0', prompt: 'Say hello', ...defaults });
    expect(latest(wall).path).toBe('/v1/completions');
  });

  test('has the same in a stream, with usage asked for', async () => {
    await post(native, path, { ...minimal, stream: true });
    expect(latest(wall).json).toEqual({
      model: 'upstream-0',
      prompt: 'Say hello',
      ...defaults,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("begins with the caller's bytes, so that spellings and unknown fields survive", async () => {
    const given =
      '{ "prompt" : "a\\u0062", "x_vendor": {"big": 12345678901234567890, "e": 1E-2},"temperature":1.00';
    await post(native, path, `${given}, "model":"m" }`);
    expect(latest(wall).bodyText.startsWith(`${given}, "model":"upstream-0" `)).toBe(true);
    expect(latest(wall).json).toMatchObject({ ...defaults, prompt: 'ab' });
  });

  test('an explicit value is against every default', async () => {
    const given = {
      max_tokens: 5,
      temperature: 0,
      top_p: 0.5,
      n: 2,
      presence_penalty: 1,
      frequency_penalty: -1,
    };
    await post(native, path, { ...minimal, ...given });
    expect(latest(wall).json).toEqual({ model: 'upstream-0', prompt: 'Say hello', ...given });
  });

  test('has parameters of the target only if the caller gives none of that name', async () => {
    const rig = await startRig(
      tableOf([
        {
          baseUrl: wall.baseUrl,
          dialects: ['openai-completions'],
          parameters: { temperature: 0.25, max_tokens: 64, min_p: 0.1 },
        },
      ]),
    );
    try {
      await post(rig, path, { ...minimal, temperature: 1.5 });
      expect(latest(wall).json).toMatchObject({ temperature: 1.5, max_tokens: 64, min_p: 0.1, top_p: 1 });
      await post(rig, path, { ...minimal, temperature: null });
      expect(latest(wall).json).toMatchObject({ temperature: 0.25 });
    } finally {
      await rig.close();
    }
  });
});

describe('the request to a chat-only upstream', () => {
  test('has one user message with the prompt verbatim, and the explicit defaults', async () => {
    const prompt = ' <|im_start|>system\nübel\r\n\t"quoted" \\ \u2028 😀\u0000 ';
    await post(chatOnly, path, { model: 'm', prompt });
    expect(latest(wall).path).toBe('/v1/chat/completions');
    expect(latest(wall).json).toEqual({
      model: 'upstream-0',
      messages: [{ role: 'user', content: prompt }],
      max_tokens: 16,
      temperature: 1,
      top_p: 1,
    });
  });

  test('has every field that chat has too', async () => {
    const carried = {
      max_tokens: 7,
      temperature: 0.5,
      top_p: 0.25,
      n: 2,
      presence_penalty: 1,
      frequency_penalty: -1,
      seed: 42,
      logit_bias: { 50256: -100 },
      user: 'somebody',
    };
    await post(chatOnly, path, { ...minimal, ...carried, stop: 'END', stream: true });
    expect(latest(wall).json).toEqual({
      model: 'upstream-0',
      messages: [{ role: 'user', content: 'Say hello' }],
      ...carried,
      stop: ['END'],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  const impossible = rowsOf({ suffix: ['after'], best_of: [2], logprobs: [0, 1] });

  test.each(impossible)('$name: $shown cannot be carried and is refused by name', async ({ name, value }) => {
    const before = wall.calls.length;
    const answer = await post(chatOnly, path, { ...minimal, [name]: value });
    const { message, ...error } = errorOf(answer);
    expect(answer.status).toBe(400);
    expect(error).toEqual({ type: 'invalid_request_error', code: 'unsupported_parameter', param: name });
    expect(message).toContain(`'${name}'`);
    expect(wall.calls).toHaveLength(before);
  });

  const harmless = rowsOf({ suffix: ['', null], best_of: [1, null], logprobs: [null], echo: [false, null] });

  test.each(harmless)('$name: $shown asks for nothing and is accepted', async ({ name, value }) => {
    const answer = await post(chatOnly, path, { ...minimal, [name]: value });
    expect(answer.status).toBe(200);
    expect(recordOf(latest(wall).json)).not.toHaveProperty(name);
  });
});

/** Answers that name their prompt and sample, in both dialects. */
function numbered({ json }: Call): Behaviour {
  const request = recordOf(json);
  const n = typeof request.n === 'number' ? request.n : 1;
  const prompts =
    'prompt' in request ? [request.prompt].flat() : recordsOf(request.messages).map((m) => m.content);
  return {
    type: 'answer',
    choices: prompts.flatMap((prompt) =>
      Array.from({ length: n }, (_, sample) => ({ text: `${String(prompt)}/${sample}` })),
    ),
  };
}

describe('several prompts times n', () => {
  const kinds = { completions: () => native, 'chat-only': () => chatOnly };

  describe.each(Object.entries(kinds))('with a %s upstream', (_kind, rig) => {
    test.each([
      [['a', 'b', 'c'], 2],
      [['a', 'b', 'c'], 1],
      [['a'], 3],
    ])('%j times %i: the index of a choice is its prompt times n plus its sample', async (prompt, n) => {
      wall.script(numbered);
      const answer = await post(rig(), path, { ...minimal, prompt, n });
      const choices = recordsOf(recordOf(answer.json).choices);
      expect(choices.map(({ index, text }) => [index, text])).toEqual(
        prompt.flatMap((text, at) =>
          Array.from({ length: n }, (_, sample) => [at * n + sample, `${text}/${sample}`]),
        ),
      );
    });

    test.each([
      [128, 1],
      [2, 64],
    ])('%i prompts times %i are accepted', async (prompts, n) => {
      const prompt = Array.from({ length: prompts }, (_, at) => `p${at}`);
      const answer = await post(rig(), path, { ...minimal, prompt, n });
      expect(answer.status).toBe(200);
      const indexes = recordsOf(recordOf(answer.json).choices).map(({ index }) => index);
      expect(indexes).toEqual(Array.from({ length: 128 }, (_, at) => at));
    });
  });

  describe.each([
    [129, 1],
    [65, 2],
    [2, 65],
  ])('%i prompts times %i, more than 128,', (prompts, n) => {
    const prompt = Array.from({ length: prompts }, (_, at) => `p${at}`);

    test('are refused where each prompt would be a call', async () => {
      const before = wall.calls.length;
      expectRefused(await post(chatOnly, path, { ...minimal, prompt, n }), 'prompt');
      expect(wall.calls).toHaveLength(before);
    });

    test('are one call of a completions upstream', async () => {
      const before = wall.calls.length;
      const answer = await post(native, path, { ...minimal, prompt, n });
      expect(answer.status).toBe(200);
      expect(recordsOf(recordOf(answer.json).choices)).toHaveLength(prompts * n);
      expect(wall.calls).toHaveLength(before + 1);
    });
  });

  test('an empty list of stops says nothing, and is not sent on', async () => {
    const answer = await post(native, path, { ...minimal, stop: [] });
    expect(answer.status).toBe(200);
    expect(latest(wall).json).not.toHaveProperty('stop');
  });

  test('a chat-only upstream is called once for each prompt, with n', async () => {
    const before = wall.calls.length;
    await post(chatOnly, path, { ...minimal, prompt: ['a', 'b', 'c'], n: 2 });
    const sent = wall.calls.slice(before).map(({ json }) => recordOf(json));
    expect(sent.map(({ messages }) => recordsOf(messages)[0]?.content).sort()).toEqual(['a', 'b', 'c']);
    expect(sent.map(({ n }) => n)).toEqual([2, 2, 2]);
  });

  test('a completions upstream is called once, with the list', async () => {
    const before = wall.calls.length;
    await post(native, path, { ...minimal, prompt: ['a', 'b', 'c'], n: 2 });
    expect(wall.calls).toHaveLength(before + 1);
    expect(latest(wall).json).toMatchObject({ prompt: ['a', 'b', 'c'], n: 2 });
  });

  test('the usage of all calls is summed', async () => {
    wall.script(({ json }) => ({
      type: 'answer',
      usage: {
        inputTokens: Number(recordsOf(recordOf(json).messages)[0]?.content),
        cachedTokens: 1,
        outputTokens: 7,
        reasoningTokens: 2,
      },
    }));
    const answer = await post(chatOnly, path, { ...minimal, prompt: ['100', '20', '3'] });
    expect(recordOf(answer.json).usage).toMatchObject({
      prompt_tokens: 123,
      completion_tokens: 21,
      total_tokens: 144,
    });
  });

  test('one prompt that an upstream refuses fails the whole request, in the words of the upstream', async () => {
    wall.script(({ bodyText }) =>
      bodyText.includes('"bad"')
        ? { type: 'status', status: 400, error: { message: 'no such words', type: 'invalid_request_error' } }
        : { type: 'answer' },
    );
    const answer = await post(chatOnly, path, { ...minimal, prompt: ['a', 'bad', 'c'] });
    expect(answer.status).toBe(400);
    expect(errorOf(answer).message).toBe('no such words');
  });
});

describe('the answer', () => {
  test('from a chat-only upstream has the fields of the specification and no others', async () => {
    wall.script({ type: 'answer', text: 'Hello there', usage: { inputTokens: 5, outputTokens: 2 } });
    const answer = await post(chatOnly, path, minimal);
    const { id, created, usage, ...rest } = recordOf(answer.json);
    expect(rest).toEqual({
      object: 'text_completion',
      model: 'upstream-0',
      choices: [{ text: 'Hello there', index: 0, logprobs: null, finish_reason: 'stop' }],
    });
    expect(id).toMatch(/^cmpl-.{8,}$/);
    expect(id).toBe(`cmpl-${answer.headers['x-request-id']?.replace('req_', '')}`);
    expect(created).toSatisfy(
      (seconds) => Number.isInteger(seconds) && Math.abs(Number(seconds) - nowS()) < 60,
    );
    expect(usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 });
  });

  test('from a completions upstream goes on byte for byte', async () => {
    const body =
      '{ "id":"cmpl-1", "object":"text_completion","created":1.0e9,"model":"x", "system_fingerprint":"f\\u0070",' +
      '"choices":[{"text":"hi","index":0,"logprobs":null,"finish_reason":"stop"}],' +
      '"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n';
    wall.script({ type: 'status', status: 200, headers: { 'content-type': 'application/json' }, body });
    const answer = await post(native, path, minimal);
    expect(answer.text).toBe(body);
    expect(answer.headers['content-length']).toBe(String(body.length));
  });

  test('without usage from the upstream has no usage', async () => {
    const body =
      '{"id":"c","created":1,"model":"x","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}';
    wall.script({ type: 'status', status: 200, headers: { 'content-type': 'application/json' }, body });
    const answer = await post(chatOnly, path, minimal);
    expect(answer.status).toBe(200);
    expect(recordOf(answer.json)).not.toHaveProperty('usage');
  });

  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content_filter', 'content_filter'],
    ['tool_calls', 'stop'],
    ['function_call', 'stop'],
    ['eos', 'stop'],
  ])('a chat finish_reason %s becomes %s', async (chat, text) => {
    wall.script({ type: 'answer', finishReason: chat });
    const answer = await post(chatOnly, path, minimal);
    expect(recordsOf(recordOf(answer.json).choices)[0]?.finish_reason).toBe(text);
  });

  test('echo puts the prompt before the text, for each prompt its own', async () => {
    wall.script(numbered);
    const answer = await post(chatOnly, path, { ...minimal, prompt: ['a', 'b'], n: 2, echo: true });
    expect(recordsOf(recordOf(answer.json).choices).map(({ text }) => text)).toEqual([
      'aa/0',
      'aa/1',
      'bb/0',
      'bb/1',
    ]);
  });

  test('reasoning of a chat upstream is not shown', async () => {
    wall.script({ type: 'answer', text: 'Four.', reasoning: 'Two and two.' });
    const answer = await post(chatOnly, path, minimal);
    expect(recordsOf(recordOf(answer.json).choices)[0]?.text).toBe('Four.');
    expect(answer.text).not.toContain('Two and two.');
  });

  test('reports the request under two names, and is not to be stored', async () => {
    const { headers } = await post(native, path, minimal);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['cache-control']).toContain('no-store');
    expect(headers['x-request-id']).toMatch(/^req_/);
    expect(headers['request-id']).toBe(headers['x-request-id']);
    expect(headers['x-penstock-generation']).toBe('1');
  });
});

function nowS(): number {
  return Date.now() / 1000;
}
