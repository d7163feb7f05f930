// Does the OpenAI SDK, by base URL and key only, work with the gateway as with OpenAI? Node and Python, unchanged.

import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { testKey } from '../gateway/rig.ts';
import { pythonWith, runPython } from '../support/python.ts';
import { type Stage, slashedModel, startStage } from './stage.ts';

let stage: Stage;
let openai: OpenAI;

// A stage for each test: a rejected key cools down, and the next test would meet another error.
beforeEach(async () => {
  stage = await startStage();
  // Its own two retries are left on: the gateway has to tell it when they are of no use.
  openai = new OpenAI({ baseURL: stage.rig.baseUrl, apiKey: testKey });
});

afterEach(() => stage.close());

const model = 'm';
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello there' }];
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: { name: 'weather', parameters } }];
const city = z.object({ name: z.string(), size: z.enum(['small', 'large']), people: z.number().int() });

describe('chat', () => {
  test('answers, with the request id', async () => {
    const answer = await openai.chat.completions.create({ model, messages });
    expect(answer.choices[0]?.message.content).toContain('"Hello there"');
    expect(answer.model).toBe('sim-small');
    expect(answer._request_id).toMatch(/^req_[0-9a-f]{16,}$/);
    expect(stage.rig.records.at(-1)).toMatchObject({
      request: answer._request_id,
      usage: { input: answer.usage?.prompt_tokens, output: answer.usage?.completion_tokens },
    });
  });

  test('streams the same words', async () => {
    const whole = await openai.chat.completions.create({ model, messages });
    const stream = await openai.chat.completions.create({ model, messages, stream: true });
    let text = '';
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      // Usage was asked for by the gateway, not by this caller.
      expect([chunk.usage ?? null, chunk.choices.length]).toEqual([null, 1]);
    }
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(stage.rig.records.at(-1)?.usage.output).toBe(whole.usage?.completion_tokens);
  });

  test('streams usage on request, through the stream helper', async () => {
    const final = await openai.chat.completions
      .stream({ model, messages, stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(final.choices[0]?.finish_reason).toBe('stop');
    expect(final.usage?.completion_tokens).toBe(stage.rig.records.at(-1)?.usage.output);
  });

  test('answers several times at once, streamed', async () => {
    const stream = openai.chat.completions.stream({ model, messages, n: 3 });
    const { choices } = await stream.finalChatCompletion();
    expect(choices.map(({ index, finish_reason }) => [index, finish_reason])).toEqual([
      [0, 'stop'],
      [1, 'stop'],
      [2, 'stop'],
    ]);
  });

  test.each([true, false])('calls tools and takes their results (streamed: %s)', async (isStream) => {
    const asked = isStream
      ? await openai.chat.completions.stream({ model, messages, tools }).finalChatCompletion()
      : await openai.chat.completions.create({ model, messages, tools });
    const message = asked.choices[0]?.message;
    const [call] = message?.tool_calls ?? [];
    if (message === undefined || call?.type !== 'function') throw new Error('no tool was called');
    expect([asked.choices[0]?.finish_reason, call.function.name]).toEqual(['tool_calls', 'weather']);
    expect(JSON.parse(call.function.arguments)).toEqual({ city: 'sim' });
    const answered = await openai.chat.completions.create({
      model,
      tools,
      messages: [...messages, message, { role: 'tool', tool_call_id: call.id, content: '18 degrees' }],
    });
    expect(answered.choices[0]?.message.content).toContain('18 degrees');
  });

  test('runs the tool loop to its end', async () => {
    const runner = openai.chat.completions.runTools({
      model,
      messages,
      stream: true,
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather of a city',
            parameters,
            parse: JSON.parse,
            function: ({ city: name }: { city: string }) => `sunny in ${name}`,
          },
        },
      ],
    });
    expect(await runner.finalContent()).toContain('sunny in sim');
  });

  test('gives structured output', async () => {
    const answer = await openai.chat.completions.parse({
      model,
      messages,
      response_format: zodResponseFormat(city, 'city'),
    });
    expect(answer.choices[0]?.message.parsed).toEqual({ name: 'sim', size: 'small', people: 1 });
  });
});

describe('completions', () => {
  test('answers every prompt as often as asked, in order', async () => {
    const answer = await openai.completions.create({
      model,
      prompt: ['first', 'second'],
      n: 2,
      max_tokens: 60,
    });
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    const quoted = answer.choices.map(({ text }) => /"(\w+)"/.exec(text)?.[1]);
    expect(quoted).toEqual(['first', 'first', 'second', 'second']);
    expect(answer.object).toBe('text_completion');
    expect(answer._request_id).toMatch(/^req_/);
  });

  test('streams the same words', async () => {
    const whole = await openai.completions.create({ model, prompt: 'Hello', max_tokens: 60 });
    const stream = await openai.completions.create({ model, prompt: 'Hello', max_tokens: 60, stream: true });
    let text = '';
    let finish: string | null = null;
    for await (const { choices } of stream) {
      text += choices[0]?.text ?? '';
      finish = choices[0]?.finish_reason ?? finish;
    }
    expect([text, finish]).toEqual([whole.choices[0]?.text, 'stop']);
  });
});

test('models are listed, and found, with a slash in their name too', async () => {
  const ids: string[] = [];
  for await (const { id } of openai.models.list()) ids.push(id);
  expect(ids).toEqual(expect.arrayContaining([model, slashedModel]));
  for (const id of [model, slashedModel]) {
    expect(await openai.models.retrieve(id)).toMatchObject({ id, object: 'model', owned_by: 'team' });
  }
  await expect(openai.models.retrieve('nowhere')).rejects.toBeInstanceOf(OpenAI.NotFoundError);
});

/** What is raised, and how many calls the provider sees for one call of the SDK with its two retries. */
const errors = [
  ['an unknown model', { model: 'nowhere' }, 'NotFoundError', 404, 'model_not_found', 0],
  ['a bad parameter', { model, temperature: 9 }, 'BadRequestError', 400, 'invalid_parameter', 0],
  ["the provider's 400", { model: 'fails-400' }, 'BadRequestError', 400, 'too_hot', 1],
  ["the provider's 422", { model: 'fails-422' }, 'UnprocessableEntityError', 422, 'unprocessable_entity', 1],
  [
    'a key of the platform refused',
    { model: 'fails-401' },
    'InternalServerError',
    502,
    'upstream_auth_failed',
    1,
  ],
  [
    "a key of the tenant's own refused",
    { model: 'own' },
    'PermissionDeniedError',
    403,
    'upstream_auth_failed',
    1,
  ],
  ['a failing provider', { model: 'fails-500' }, 'InternalServerError', 502, 'upstream_error', 2],
  // The upstream is asked three times, by the SDK's first retry twice, which opens its breaker, and by the second as a last resort.
  ['an overloaded provider', { model: 'fails-503' }, 'InternalServerError', 503, 'upstream_overloaded', 6],
  ['no answer at all', { model: 'fails-html' }, 'InternalServerError', 502, 'upstream_invalid_response', 1],
] as const;

describe.each([true, false])('raises (streamed: %s)', (stream) => {
  test.each(errors)('for %s', async (_name, body, name, status, code, calls) => {
    const before = stage.simulator.counts().calls;
    const raised = await raisedBy(openai.chat.completions.create({ messages, stream, ...body }));
    expect([raised.constructor.name, raised.status, raised.code]).toEqual([name, status, code]);
    expect(raised.requestID).toMatch(/^req_/);
    expect(stage.simulator.counts().calls - before, 'calls at the provider').toBe(calls);
  });
});

test('raises for a wrong key, without asking again', async () => {
  const stranger = new OpenAI({ baseURL: stage.rig.baseUrl, apiKey: `psk_${'x'.repeat(49)}` });
  const raised = await raisedBy(stranger.chat.completions.create({ model, messages }));
  expect(raised).toBeInstanceOf(OpenAI.AuthenticationError);
  expect(raised.code).toBe('invalid_api_key');
});

test('raises for a rate limit, with the time to wait', async () => {
  const once = new OpenAI({ baseURL: stage.rig.baseUrl, apiKey: testKey, maxRetries: 0 });
  const raised = await raisedBy(once.chat.completions.create({ model: 'fails-429', messages }));
  expect(raised).toBeInstanceOf(OpenAI.RateLimitError);
  expect([raised.code, raised.headers?.get('retry-after')]).toEqual(['rate_limit_exceeded', '30']);
});

test.each([
  ['an error as the first event', 'fails-first', 'InternalServerError'],
  ['an error in the middle', 'fails-late', 'APIError'],
  ['a cut stream', 'fails-cut', 'APIError'],
])('raises in a stream for %s', async (_name, failingModel, name) => {
  const reading = async (): Promise<void> => {
    const stream = await openai.chat.completions.create({ model: failingModel, messages, stream: true });
    for await (const { choices } of stream) expect(choices).toHaveLength(1);
  };
  expect((await raisedBy(reading())).constructor.name).toBe(name);
});

async function raisedBy(call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  try {
    await call;
  } catch (error) {
    if (error instanceof OpenAI.APIError) return error;
    throw error;
  }
  throw new Error('nothing was raised');
}

describe('Python', () => {
  let python: string;
  beforeAll(async () => {
    python = await pythonWith(['openai==3.52.0']);
  }, 300_000);

  test('answers, streams, calls tools, gives structured output, lists models and raises the same', {
    timeout: 60_000,
  }, async () => {
    const run = await runPython(python, script, { args: [stage.rig.baseUrl, testKey] });
    expect(run.stderr).toBe('');
    expect(JSON.parse(run.stdout)).toEqual({
      chat: { quotes: true, model: 'sim-small', request_id: true },
      stream: { same: true },
      helper: { finish: 'stop', usage: true },
      tool: { name: 'weather', arguments: { city: 'sim' }, answer: true },
      parsed: { name: 'sim', size: 'small', people: 1 },
      completions: { indexes: [0, 1, 2, 3], streams: true },
      models: { listed: true, retrieved: [model, slashedModel] },
      errors: {
        key: ['AuthenticationError', 401, 'invalid_api_key', true],
        model: ['NotFoundError', 404, 'model_not_found', true],
        parameter: ['BadRequestError', 400, 'invalid_parameter', true],
        'fails-400': ['BadRequestError', 400, 'too_hot', true],
        'fails-422': ['UnprocessableEntityError', 422, 'unprocessable_entity', true],
        'fails-429': ['RateLimitError', 429, 'rate_limit_exceeded', true],
        'fails-401': ['InternalServerError', 502, 'upstream_auth_failed', true],
        'fails-500': ['InternalServerError', 502, 'upstream_error', true],
        'fails-503': ['InternalServerError', 503, 'upstream_overloaded', true],
        'fails-html': ['InternalServerError', 502, 'upstream_invalid_response', true],
        own: ['PermissionDeniedError', 403, 'upstream_auth_failed', true],
      },
      streams: { 'fails-first': 'InternalServerError', 'fails-late': 'APIError', 'fails-cut': 'APIError' },
    });
  });
});

const script = `
import json, sys
from typing import Literal
import openai
from pydantic import BaseModel

base_url, key = sys.argv[1], sys.argv[2]
client = openai.OpenAI(base_url=base_url, api_key=key)
messages = [{"role": "user", "content": "Hello there"}]
tools = [{"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
seen = {}

class City(BaseModel):
    name: str
    size: Literal["small", "large"]
    people: int

whole = client.chat.completions.create(model="m", messages=messages)
text = whole.choices[0].message.content
seen["chat"] = {"quotes": '"Hello there"' in text, "model": whole.model,
                "request_id": whole._request_id.startswith("req_")}

streamed = "".join(chunk.choices[0].delta.content or ""
                   for chunk in client.chat.completions.create(model="m", messages=messages, stream=True))
seen["stream"] = {"same": streamed == text}

with client.chat.completions.stream(model="m", messages=messages,
                                    stream_options={"include_usage": True}) as stream:
    final = stream.get_final_completion()
seen["helper"] = {"finish": final.choices[0].finish_reason,
                  "usage": final.usage.completion_tokens == whole.usage.completion_tokens}

asked = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
call = asked.tool_calls[0]
answered = client.chat.completions.create(model="m", tools=tools, messages=messages + [
    asked, {"role": "tool", "tool_call_id": call.id, "content": "18 degrees"}])
seen["tool"] = {"name": call.function.name, "arguments": json.loads(call.function.arguments),
                "answer": "18 degrees" in answered.choices[0].message.content}

parsed = client.chat.completions.parse(model="m", messages=messages, response_format=City)
seen["parsed"] = parsed.choices[0].message.parsed.model_dump()

several = client.completions.create(model="m", prompt=["first", "second"], n=2, max_tokens=60)
one = client.completions.create(model="m", prompt="first", max_tokens=60)
pieces = client.completions.create(model="m", prompt="first", max_tokens=60, stream=True)
seen["completions"] = {
    "indexes": [choice.index for choice in several.choices],
    "streams": "".join(chunk.choices[0].text for chunk in pieces if chunk.choices) == one.choices[0].text}

seen["models"] = {"listed": {"m", "penstock/hello"} <= {model.id for model in client.models.list()},
                  "retrieved": [client.models.retrieve(name).id for name in ("m", "penstock/hello")]}

def error_of(caller, **body):
    try:
        caller.chat.completions.create(messages=messages, **body)
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.code, error.request_id.startswith("req_")]

patient = client.with_options(max_retries=0)
seen["errors"] = {
    "key": error_of(openai.OpenAI(base_url=base_url, api_key="psk_" + "x" * 49), model="m"),
    "model": error_of(client, model="nowhere"),
    "parameter": error_of(client, model="m", temperature=9),
    "fails-429": error_of(patient, model="fails-429"),
    **{name: error_of(client, model=name) for name in
       ("fails-400", "fails-422", "fails-401", "fails-500", "fails-503", "fails-html", "own")},
}

def stream_error_of(name):
    try:
        for chunk in client.chat.completions.create(model=name, messages=messages, stream=True):
            pass
    except openai.APIError as error:
        return type(error).__name__

seen["streams"] = {name: stream_error_of(name) for name in ("fails-first", "fails-late", "fails-cut")}
print(json.dumps(seen))
`;
