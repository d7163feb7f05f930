// The official OpenAI SDK is happy with what the simulator says, on all three routes it knows.

import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Simulator } from '../../simulator/server.ts';
import { startSimulator } from '../../simulator/server.ts';

let simulator: Simulator;
let openai: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator();
  openai = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: 'any', maxRetries: 0 });
});

afterAll(async () => {
  await simulator.close();
});

const model = 'sim-small';
const hello: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello there' }];
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: { name: 'weather', parameters } }];
const cities = z.object({ name: z.string(), size: z.enum(['small', 'large']), people: z.number().int() });

describe('chat', () => {
  it('answers in a sentence that quotes the user', async () => {
    const answer = await openai.chat.completions.create({ model, messages: hello });
    expect(answer.choices[0]?.message.content).toContain('the simulator');
    expect(answer.choices[0]?.message.content).toContain('"Hello there"');
    expect(answer._request_id).toMatch(/^req_/);
  });

  it('streams the same words that it says in one piece', async () => {
    const whole = await openai.chat.completions.create({ model, messages: hello });
    const stream = await openai.chat.completions.create({ model, messages: hello, stream: true });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe(whole.choices[0]?.message.content);
  });

  it('goes through the stream helper, with usage', async () => {
    const stream = openai.chat.completions.stream({
      model,
      messages: hello,
      stream_options: { include_usage: true },
    });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.finish_reason).toBe('stop');
    expect(final.usage?.completion_tokens).toBe(simulator.calls().at(-1)?.tokens.output);
  });

  it('calls a tool, and after its result answers in text that quotes it', async () => {
    const asked = await openai.chat.completions
      .stream({ model, messages: hello, tools })
      .finalChatCompletion();
    const message = asked.choices[0]?.message;
    const [call] = message?.tool_calls ?? [];
    expect([asked.choices[0]?.finish_reason, message?.content, call?.type]).toEqual([
      'tool_calls',
      null,
      'function',
    ]);
    if (message === undefined || call?.type !== 'function') throw new Error('no call');
    expect(JSON.parse(call.function.arguments)).toEqual({ city: 'sim' });
    const answered = await openai.chat.completions.create({
      model,
      tools,
      messages: [...hello, message, { role: 'tool', tool_call_id: call.id, content: '18 degrees, wind' }],
    });
    expect(answered.choices[0]?.message.content).toContain('18 degrees, wind');
    expect(answered.choices[0]?.finish_reason).toBe('stop');
  });

  it('runs the tool loop of the SDK to its end', async () => {
    const runner = openai.chat.completions.runTools({
      model,
      messages: hello,
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather of a city',
            parameters,
            parse: JSON.parse,
            function: ({ city }: { city: string }) => `sunny in ${city}`,
          },
        },
      ],
    });
    expect(await runner.finalContent()).toContain('sunny in sim');
  });

  it('gives structured output that the schema accepts', async () => {
    const answer = await openai.chat.completions.parse({
      model,
      messages: hello,
      response_format: zodResponseFormat(cities, 'city'),
    });
    expect(cities.parse(answer.choices[0]?.message.parsed)).toEqual({
      name: 'sim',
      size: 'small',
      people: 1,
    });
  });

  it('reasons when asked, and reports it', async () => {
    const answer = await openai.chat.completions.create({ model, messages: hello, reasoning_effort: 'low' });
    expect(answer.choices[0]?.message).toHaveProperty('reasoning_content');
    expect(answer.usage?.completion_tokens_details?.reasoning_tokens).toBe(8);
  });

  it('raises an error of the right class, plain and inside a stream', async () => {
    const failing = openai.chat.completions.create({
      model: 'sim+fault=error-429+retry-after=1',
      messages: hello,
    });
    await expect(failing).rejects.toBeInstanceOf(OpenAI.RateLimitError);
    const stream = await openai.chat.completions.create({
      model: 'sim+fault=error-after:2',
      messages: hello,
      stream: true,
    });
    await expect(drain(stream)).rejects.toBeInstanceOf(OpenAI.APIError);
  });
});

describe('completions', () => {
  it('answers every prompt as often as asked, in order', async () => {
    const answer = await openai.completions.create({
      model,
      prompt: ['first', 'second'],
      n: 2,
      max_tokens: 60,
    });
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(answer.choices.map(({ text }) => /answer (\d) of 2.*"(\w+)"/.exec(text)?.slice(1))).toEqual([
      ['1', 'first'],
      ['2', 'first'],
      ['1', 'second'],
      ['2', 'second'],
    ]);
  });

  it('streams', async () => {
    const stream = await openai.completions.create({ model, prompt: 'Hello', stream: true });
    const texts: string[] = [];
    for await (const chunk of stream) texts.push(chunk.choices[0]?.text ?? '');
    // Sixteen tokens is the default limit; the last chunk has the reason only.
    expect(texts).toHaveLength(17);
  });
});

describe('responses', () => {
  const responseTools: OpenAI.Responses.Tool[] = [
    { type: 'function', name: 'weather', parameters, strict: true },
  ];

  it('answers in a sentence that quotes the user', async () => {
    const answer = await openai.responses.create({ model, input: 'Hello there' });
    expect(answer.output_text).toContain('"Hello there"');
    expect(answer.status).toBe('completed');
  });

  it('goes through the stream helper', async () => {
    const stream = openai.responses.stream({
      model,
      input: 'Hello there',
      reasoning: { effort: 'low', summary: 'auto' },
    });
    let text = '';
    stream.on('response.output_text.delta', ({ delta }) => {
      text += delta;
    });
    const final = await stream.finalResponse();
    expect(text).toBe(final.output_text);
    expect(final.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
  });

  it('calls a tool and takes its result together with its own reasoning', async () => {
    const settings = {
      model,
      tools: responseTools,
      include: ['reasoning.encrypted_content' as const],
      reasoning: { effort: 'low' as const },
    };
    const asked = await openai.responses.create({ ...settings, input: 'Hello there' });
    const call = asked.output.find((item) => item.type === 'function_call');
    if (call === undefined) throw new Error('no call');
    const output = { type: 'function_call_output' as const, call_id: call.call_id, output: '18 degrees' };
    const answered = await openai.responses.create({
      ...settings,
      input: [
        { role: 'user', content: 'Hello there' },
        ...asked.output,
        output,
      ] as OpenAI.Responses.ResponseInput,
    });
    expect(answered.output_text).toContain('18 degrees');
  });

  it('gives structured output that the schema accepts', async () => {
    const answer = await openai.responses.parse({
      model,
      input: 'Hello',
      text: { format: zodTextFormat(cities, 'city') },
    });
    expect(cities.parse(answer.output_parsed).size).toBe('small');
  });

  it('raises an error inside a stream', async () => {
    const stream = await openai.responses.create({
      model: 'sim+fault=error-after:2',
      input: 'Hello',
      stream: true,
    });
    await expect(drain(stream)).rejects.toBeInstanceOf(OpenAI.APIError);
  });
});

describe('models', () => {
  it('are listed and found', async () => {
    const ids: string[] = [];
    for await (const { id } of openai.models.list()) ids.push(id);
    expect(ids).toContain(model);
    expect((await openai.models.retrieve(model)).id).toBe(model);
    await expect(openai.models.retrieve('nowhere')).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });
});

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const event of stream) if (event === undefined) throw new Error('an empty event');
}
