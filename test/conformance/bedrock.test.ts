// Do the SDKs of OpenAI, Anthropic and Vercel work where the model is served through Converse? A strict front refuses what Bedrock refuses.

import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { generateText, type LanguageModel, Output, stepCountIs, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Bedrock, startBedrock } from '../../simulator/clouds/bedrock.ts';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { type Rig, startRig, tableOf, testKey } from '../gateway/rig.ts';
import { city, hello, pixel, runTool, simCity, toolkit } from './samples.ts';

const key = 'bedrock-api-key-of-the-account-0123456789';
/** Public models, with the Bedrock id and what the model behind it does. */
const models = {
  claude: ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'sim'],
  nova: ['us.amazon.nova-pro-v1:0', 'sim'],
  calls: ['us.anthropic.claude-calls-4-5', 'sim+calls=2+reasoning=8'],
  throttled: ['us.anthropic.claude-throttled-4-5', 'sim+fault=error-429'],
  cut: ['us.anthropic.claude-cut-4-5', 'sim+fault=cut-after:3'],
} as const;

let simulator: Simulator;
let bedrock: Bedrock;
let rig: Rig;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false);
  simulator = await startSimulator();
  bedrock = await startBedrock({
    key,
    models: Object.fromEntries(Object.values(models)),
    upstream: simulator.url,
  });
  const tables = Object.entries(models).map(([model, [upstreamModel]]) =>
    tableOf(
      [
        {
          baseUrl: bedrock.url,
          provider: `platform/${model}`,
          upstreamModel,
          dialects: ['bedrock-converse'],
          keys: { main: key },
          providerEntry: {
            type: 'Bedrock',
            dialects: ['bedrock-converse'],
            auth: { header: 'Authorization', prefix: 'Bearer ' },
          },
        },
      ],
      { id: `team/${model}`, model },
    ),
  );
  rig = await startRig({
    ...tableOf([]),
    providers: tables.flatMap(({ providers }) => providers),
    routes: tables.flatMap(({ routes }) => routes),
    credentials: tables.flatMap(({ credentials }) => credentials),
  });
  openai = new OpenAI({ baseURL: rig.baseUrl, apiKey: testKey, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: rig.url, apiKey: testKey, maxRetries: 0 });
});

afterAll(async () => {
  await rig.close();
  await bedrock[Symbol.asyncDispose]();
  await simulator.close();
});

describe.each(['claude', 'nova'])('%s', (model) => {
  test('answers chat completions, plain and streamed, with its usage', async () => {
    const messages = [{ role: 'user' as const, content: hello }];
    const plain = await openai.chat.completions.create({ model, messages });
    expect(plain.choices[0]?.message.content).not.toBe('');
    expect(plain.usage?.completion_tokens).toBeGreaterThan(0);
    const streamed = await openai.chat.completions.stream({ model, messages }).finalChatCompletion();
    expect(streamed.choices[0]?.message.content).toBe(plain.choices[0]?.message.content);
    expect(streamed.choices[0]?.finish_reason).toBe('stop');
  });

  test('answers responses, plain and streamed', async () => {
    const plain = await openai.responses.create({ model, input: hello });
    const streamed = await openai.responses.stream({ model, input: hello }).finalResponse();
    expect(plain.output_text).not.toBe('');
    expect([streamed.status, streamed.output_text]).toEqual(['completed', plain.output_text]);
  });

  test('answers messages, plain and streamed', async () => {
    const asked = { model, max_tokens: 200, messages: [{ role: 'user' as const, content: hello }] };
    const plain = await anthropic.messages.create(asked);
    const streamed = await anthropic.messages.stream(asked).finalMessage();
    expect(streamed.content).toEqual(plain.content);
    expect([streamed.stop_reason, streamed.usage.output_tokens > 0]).toEqual(['end_turn', true]);
  });

  test('answers by a schema', async () => {
    const response_format = zodResponseFormat(city, 'city');
    const messages = [{ role: 'user' as const, content: 'Which city?' }];
    const { choices } = await openai.chat.completions.parse({ model, messages, response_format });
    expect(choices[0]?.message.parsed).toEqual(simCity);
  });

  test('sees an image', async () => {
    const { choices } = await openai.chat.completions.create({
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: hello },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
          ],
        },
      ],
    });
    expect(choices[0]?.message.content).not.toBe('');
  });
});

describe('an agent', () => {
  test('of OpenAI runs two tools at once and continues with their results', async () => {
    const runner = openai.chat.completions.runTools({
      model: 'calls',
      messages: [{ role: 'user', content: 'Weather and time?' }],
      tools: toolkit.map(({ name, description, parameters }) => ({
        type: 'function',
        function: {
          name,
          description,
          parameters,
          parse: (text: string) => JSON.parse(text) as object,
          function: (input: object) => runTool(name, input),
        },
      })),
    });
    expect(await runner.finalContent()).not.toBe('');
    const results = runner.messages.filter(({ role }) => role === 'tool');
    expect(results).toHaveLength(2);
  });

  test.each<[string, (id: string) => LanguageModel]>([
    ['chat', (id) => createOpenAI({ baseURL: rig.baseUrl, apiKey: testKey }).chat(id)],
    ['responses', (id) => createOpenAI({ baseURL: rig.baseUrl, apiKey: testKey })(id)],
    ['messages', (id) => createAnthropic({ baseURL: rig.baseUrl, apiKey: testKey })(id)],
  ])('of Vercel runs two tools at once by %s, plain and streamed', async (_, modelOf) => {
    const tools = {
      weather: tool({
        description: 'The weather of a city',
        inputSchema: z.object({ city: z.string() }),
        execute: (input) => runTool('weather', input),
      }),
      clock: tool({
        description: 'The time in a zone',
        inputSchema: z.object({ zone: z.string() }),
        execute: (input) => runTool('clock', input),
      }),
    };
    const asked = {
      model: modelOf('calls'),
      prompt: 'Weather and time?',
      tools,
      stopWhen: stepCountIs(4),
      // With `store`, it would refer to items that the provider keeps.
      providerOptions: { openai: { store: false } },
    };
    const plain = await generateText(asked);
    expect(plain.steps[0]?.toolResults).toHaveLength(2);
    expect([plain.steps.length, plain.text === '']).toEqual([2, false]);
    const streamed = streamText(asked);
    expect(await streamed.text).toBe(plain.text);
    expect((await streamed.steps)[0]?.toolResults).toHaveLength(2);
  });

  test('of Vercel gets an object by a schema', async () => {
    const model = createAnthropic({ baseURL: rig.baseUrl, apiKey: testKey })('claude');
    const { output } = await generateText({
      model,
      prompt: 'Which city?',
      output: Output.object({ schema: city }),
    });
    expect(output).toEqual(simCity);
  });
});

describe('a failure', () => {
  const messages = [{ role: 'user' as const, content: hello }];

  test('of too many requests is a rate limit for the SDKs', async () => {
    await expect(openai.chat.completions.create({ model: 'throttled', messages })).rejects.toMatchObject({
      status: 429,
    });
    await expect(
      anthropic.messages.create({ model: 'throttled', max_tokens: 100, messages }),
    ).rejects.toMatchObject({ status: 429 });
  });

  test('in the middle of a stream is an error for the SDKs', async () => {
    await expect(
      openai.chat.completions.stream({ model: 'cut', messages }).finalChatCompletion(),
    ).rejects.toThrow();
    await expect(
      anthropic.messages.stream({ model: 'cut', max_tokens: 100, messages }).finalMessage(),
    ).rejects.toThrow();
  });
});
