// Do the providers of the Vercel AI SDK work on every upstream dialect? One of OpenAI's three routes each, Anthropic's,
// and the one for compatible servers.

import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, type LanguageModel, Output, stepCountIs, streamText, tool } from 'ai';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { testKey } from '../gateway/rig.ts';
import { some } from '../support/runs.ts';
import { watchClient } from './client-watch.ts';
import { cloudUpstreams } from './cloud-fronts.ts';
import {
  type EveryUpstream,
  spokenTo,
  startEveryUpstream,
  type Upstream,
  upstreams,
  usedBy,
} from './every-upstream.ts';
import { city, hello, pixel, runTool, simCity, statesIn, toolAnswers } from './samples.ts';

let stage: EveryUpstream;

beforeAll(async () => {
  Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false);
  stage = await startEveryUpstream();
});

afterAll(() => stage.close());

const watch = watchClient();

const settings = () => ({ baseURL: stage.baseUrl, apiKey: testKey, fetch: watch.fetch });

const providers: readonly (readonly [name: string, model: (id: string) => LanguageModel])[] = [
  ['openai.chat', (id) => createOpenAI(settings()).chat(id)],
  ['openai.completion', (id) => createOpenAI(settings()).completion(id)],
  ['openai (responses)', (id) => createOpenAI(settings())(id)],
  ['anthropic', (id) => createAnthropic(settings())(id)],
  [
    'openai-compatible',
    (id) =>
      createOpenAICompatible({
        ...settings(),
        name: 'penstock',
        includeUsage: true,
        supportsStructuredOutputs: true,
      }).chatModel(id),
  ],
];

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

describe.each(providers)('%s', (provider, modelOf) => {
  afterEach(async () => {
    expect(await watch.newFaults()).toEqual([]);
    watch.newRequests();
  });

  // Two of them take the ways of the others. In `npm test` each surface of a cloud is met by one of the three: the SDKs of the vendors meet all.
  const turn = ['openai.chat', 'openai (responses)', 'anthropic'].indexOf(provider);
  const tried = turn === -1 ? upstreams : [...upstreams, ...some(cloudUpstreams, 3, turn)];

  describe.each<Upstream>(tried)('on %s', (upstream) => {
    const hasTools = upstream !== 'completions' && provider !== 'openai.completion';
    const model = (failure?: Parameters<EveryUpstream['model']>[1]) =>
      modelOf(stage.model(upstream, failure));

    afterEach(() => {
      stage.script(upstream, null);
      stage.newCalls(upstream);
    });

    test('answers, with usage', async () => {
      const answer = await generateText({ model: model(), prompt: hello, maxOutputTokens: 200 });
      expect([answer.text, answer.finishReason]).toEqual([expect.stringContaining(hello), 'stop']);
      expectUsage(answer.usage, upstream);
    });

    test('streams the same words, with usage', async () => {
      const call = { model: model(), prompt: hello, maxOutputTokens: 200 };
      const whole = await generateText(call);
      stage.newCalls(upstream);
      const streamed = streamText(call);
      let text = '';
      for await (const piece of streamed.textStream) text += piece;
      expect([text, await streamed.finishReason]).toEqual([whole.text, 'stop']);
      expectUsage(await streamed.usage, upstream);
    });

    if (hasTools)
      test('runs the tool loop with two tools at once', async () => {
        stage.script(upstream, 'calls=2');
        const answer = await generateText({ model: model(), prompt: hello, tools, stopWhen: stepCountIs(3) });
        expect(answer.text).toContain(toolAnswers[1]);
        const calls = stage.newCalls(upstream);
        expect(calls).toHaveLength(2);
        for (const said of toolAnswers) expect(JSON.stringify(calls[1]?.body)).toContain(said);
      });

    if (hasTools)
      test('runs the tool loop with reasoning, streamed over several steps', async () => {
        stage.script(upstream, 'call=always,reasoning=8');
        const streamed = streamText({
          model: model(),
          prompt: hello,
          tools,
          stopWhen: stepCountIs(3),
          providerOptions: {
            openai: { reasoningEffort: 'low', reasoningSummary: 'auto', store: false, forceReasoning: true },
            anthropic: { thinking: { type: 'adaptive', display: 'summarized' }, effort: 'low' },
            penstock: { reasoningEffort: 'low' },
          },
        });
        const steps = await streamed.steps;
        expect(steps.map(({ finishReason }) => finishReason)).toEqual([
          'tool-calls',
          'tool-calls',
          'tool-calls',
        ]);
        const [call] = stage.newCalls(upstream).slice(-1);
        // What brings reasoning back at all: OpenAI's chat provider knows none.
        if (provider === 'anthropic' || provider.includes('responses')) {
          expect(steps.map(({ reasoningText }) => reasoningText)).toEqual(
            [0, 1, 2].map(() => expect.stringMatching(/\w/)),
          );
          // This SDK brings back reasoning only together with sealed state, and chat upstreams have none.
          if (spokenTo(upstream) !== 'openai-chat') expect(statesIn(call?.body, spokenTo(upstream))).toBe(2);
        }
      });

    if (hasTools)
      test('gives structured output', async () => {
        const answer = await generateText({
          model: model(),
          prompt: hello,
          output: Output.object({ schema: city }),
        });
        expect(answer.output).toEqual(simCity);
      });

    if (hasTools)
      test('shows an image', async () => {
        const answer = await generateText({
          model: model(),
          messages: [
            {
              role: 'user',
              content: [
                { type: 'text', text: hello },
                { type: 'file', data: Buffer.from(pixel, 'base64'), mediaType: 'image/png' },
              ],
            },
          ],
        });
        expect(answer.text).toContain(hello);
        expect(JSON.stringify(stage.newCalls(upstream)[0]?.body)).toContain(pixel);
      });

    test('stops at once when the caller goes away', async () => {
      const leaving = new AbortController();
      const streamed = streamText({
        model: model('slow'),
        prompt: hello,
        maxOutputTokens: 1_000,
        abortSignal: leaving.signal,
      });
      for await (const piece of streamed.textStream) if (piece !== '') leaving.abort();
      const { ending } = await stage.nextCall(upstream, ({ baseModel }) => baseModel.endsWith('slow'));
      expect(ending).toBe('client-gone');
    });

    test.each([
      ['fails-400', 400, false],
      ['fails-404', 404, false],
      ['fails-429', 429, true],
      ['fails-503', provider === 'anthropic' ? 529 : 503, true],
    ] as const)('raises where the upstream %s', async (failure, status, isRetryable) => {
      const raised: unknown = await generateText({
        model: model(failure),
        prompt: hello,
        maxRetries: 0,
      }).catch((error: unknown) => error);
      if (!APICallError.isInstance(raised)) throw raised;
      expect([raised.statusCode, raised.isRetryable]).toEqual([status, isRetryable]);
      expect(raised.responseHeaders?.['x-request-id']).toMatch(/^req_/);
    });

    test.each(['breaks-first', 'breaks-late', 'breaks-cut'] as const)(
      'tells of an error in a stream that %s',
      async (failure) => {
        const streamed = streamText({
          model: model(failure),
          prompt: hello,
          maxRetries: 0,
          onError: () => undefined,
        });
        const reported: unknown[] = [];
        const reading = async (): Promise<void> => {
          for await (const part of streamed.fullStream) if (part.type === 'error') reported.push(part.error);
        };
        // Behind the error the connection ends without its last chunk; some providers of the SDK raise that too.
        await reading().catch(() => undefined);
        const words = reported.map((error) =>
          error instanceof Error ? error.message : JSON.stringify(error),
        );
        expect(words.join('\n')).toMatch(
          failure === 'breaks-first' ? /could answer|are overloaded/ : /broke off/,
        );
      },
    );
  });
});

/** The numbers are the simulator's own. */
function expectUsage(
  usage: { inputTokens: number | undefined; outputTokens: number | undefined },
  upstream: Upstream,
): void {
  const used = usedBy(stage.newCalls(upstream));
  expect([usage.inputTokens, usage.outputTokens]).toEqual([used.input, used.output]);
}
