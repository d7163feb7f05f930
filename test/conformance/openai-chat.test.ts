// Does the chat route of the OpenAI SDK work on every upstream dialect, as it does at OpenAI? Everything a program
// written for it uses, in the current major version and the one before.

import type OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { testKey } from '../gateway/rig.ts';
import { watchClient } from './client-watch.ts';
import {
  callsFor,
  type EveryUpstream,
  failuresReported,
  retriesFor,
  showsOnlySummaries,
  spokenTo,
  startEveryUpstream,
  tellsReasoning,
  type Upstream,
  upstreams,
  usedBy,
  waitTold,
} from './every-upstream.ts';
import { openAiVersions, raisedBy } from './openai-versions.ts';
import { city, hello, pixel, runTool, simCity, statesIn, toolAnswers, toolkit } from './samples.ts';

let stage: EveryUpstream;

beforeAll(async () => {
  stage = await startEveryUpstream();
});

afterAll(() => stage.close());

const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: hello }];
const tools: OpenAI.ChatCompletionTool[] = toolkit.map(({ name, description, parameters }) => ({
  type: 'function',
  function: { name, description, parameters },
}));

/** Text completions end after sixteen tokens where nothing is said. */
const limit = { max_completion_tokens: 200 };

describe.each(openAiVersions)('%s', (_version, sdk) => {
  const watch = watchClient();
  let openai: OpenAI;

  beforeEach(() => {
    openai = sdk.connect(stage.baseUrl, watch);
  });

  afterEach(async () => {
    expect(await watch.newFaults()).toEqual([]);
    watch.newRequests();
  });

  describe.each(sdk.upstreams)('on %s', (upstream) => {
    const hasTools = upstream !== 'completions';

    afterEach(() => {
      stage.script(upstream, null);
      stage.newCalls(upstream);
    });

    test('answers, with usage and request id', async () => {
      const answer = await openai.chat.completions.create({
        model: stage.model(upstream),
        messages,
        ...limit,
      });
      const [choice] = answer.choices;
      expect([choice?.finish_reason, choice?.message.role]).toEqual(['stop', 'assistant']);
      expect(choice?.message.content).toContain(hello);
      expect(answer.id).toMatch(/^chatcmpl-/);
      expect(answer._request_id).toMatch(/^req_/);
      expectUsage(answer.usage, upstream);
    });

    test('streams the same words', async () => {
      const model = stage.model(upstream);
      const whole = await openai.chat.completions.create({ model, messages, ...limit });
      const stream = await openai.chat.completions.create({ model, messages, ...limit, stream: true });
      let text = '';
      for await (const { choices, usage } of stream) {
        text += choices[0]?.delta.content ?? '';
        // Nobody asked for usage.
        expect([usage ?? null, choices.length]).toEqual([null, 1]);
      }
      expect(text).toBe(whole.choices[0]?.message.content);
    });

    test('goes through the stream helper, with cached tokens and the reason of the end', async () => {
      stage.script(upstream, 'cached=3,cache-write=2');
      const final = await openai.chat.completions
        .stream({
          model: stage.model(upstream),
          messages,
          max_completion_tokens: 7,
          stream_options: { include_usage: true },
        })
        .finalChatCompletion();
      expect(final.choices[0]?.finish_reason).toBe('length');
      expectUsage(final.usage ?? undefined, upstream);
    });

    if (hasTools)
      test.each([true, false])('runs the tool loop with two tools at once (streamed: %s)', async (stream) => {
        stage.script(upstream, 'calls=2');
        const runner = stream
          ? openai.chat.completions.runTools({
              model: stage.model(upstream),
              messages,
              stream,
              tools: runnable,
            })
          : openai.chat.completions.runTools({ model: stage.model(upstream), messages, tools: runnable });
        const text = await runner.finalContent();
        expect(text).toContain(toolAnswers[1]);
        const calls = stage.newCalls(upstream);
        expect(calls).toHaveLength(2);
        for (const answer of toolAnswers) expect(JSON.stringify(calls[1]?.body)).toContain(answer);
      });

    if (hasTools)
      test('keeps to the tool it is asked to call', async () => {
        const answer = await openai.chat.completions.create({
          model: stage.model(upstream),
          messages,
          tools,
          tool_choice: { type: 'function', function: { name: 'clock' } },
          parallel_tool_calls: false,
        });
        const [choice] = answer.choices;
        const [call, ...others] = choice?.message.tool_calls ?? [];
        if (call?.type !== 'function') throw new Error('no function was called');
        expect([choice?.finish_reason, call.function.name, others]).toEqual(['tool_calls', 'clock', []]);
        expect(JSON.parse(call.function.arguments)).toEqual({ zone: 'sim' });
      });

    if (hasTools)
      test('gives structured output', async () => {
        const answer = await openai.chat.completions.parse({
          model: stage.model(upstream),
          messages,
          response_format: sdk.zodResponseFormat(city, 'city'),
        });
        expect(answer.choices[0]?.message.parsed).toEqual(simCity);
      });

    if (hasTools)
      test('shows an image', async () => {
        const url = `data:image/png;base64,${pixel}`;
        const answer = await openai.chat.completions.create({
          model: stage.model(upstream),
          messages: [
            {
              role: 'user',
              content: [
                { type: 'text', text: hello },
                { type: 'image_url', image_url: { url } },
              ],
            },
          ],
        });
        expect(answer.choices[0]?.message.content).toContain(hello);
        expect(JSON.stringify(stage.newCalls(upstream)[0]?.body)).toContain(pixel);
      });

    if (hasTools)
      test('keeps its reasoning over several turns', async () => {
        stage.script(upstream, 'call=always');
        const history = [...messages];
        for (let turn = 0; turn < 4; turn += 1) {
          const answer = await openai.chat.completions.create({
            model: stage.model(upstream),
            messages: history,
            tools,
            reasoning_effort: 'low',
          });
          const message = answer.choices[0]?.message;
          const [call] = message?.tool_calls ?? [];
          if (message === undefined || call?.type !== 'function') throw new Error('no function was called');
          expectUsage(answer.usage, upstream);
          if (tellsReasoning(upstream))
            expect(answer.usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(0);
          // Some show their reasoning only where a summary is asked for; chat cannot ask.
          if (!showsOnlySummaries(upstream)) expect(Reflect.get(message, 'reasoning_content')).toMatch(/\w/);
          history.push(message, {
            role: 'tool',
            tool_call_id: call.id,
            content: runTool(call.function.name, JSON.parse(call.function.arguments)),
          });
        }
        expect(statesIn(stage.lastCall(upstream)?.body, spokenTo(upstream))).toBe(3);
      });

    if (!hasTools) {
      const beyond: readonly (readonly [string, Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>])[] = [
        ['tools', { tools }],
        ['response_format', { response_format: sdk.zodResponseFormat(city, 'city') }],
        ['messages[0].content[0]', { messages: [imageMessage] }],
      ];
      test.each(beyond)('refuses %s by its name', async (param, more) => {
        const raised = await raisedBy(
          openai.chat.completions.create({ model: stage.model(upstream), messages, ...more }),
        );
        expect([raised.name, raised.status, raised.code]).toEqual([
          'BadRequestError',
          400,
          'unsupported_parameter',
        ]);
        expect(raised.param).toContain(param);
        expect(stage.newCalls(upstream)).toEqual([]);
      });

      test('names what it leaves out', async () => {
        const { response } = await openai.chat.completions
          .create({ model: stage.model(upstream), messages, ...limit, reasoning_effort: 'low' })
          .withResponse();
        expect(response.headers.get('x-penstock-dropped')).toBe('reasoning_effort');
      });
    }

    test('stops at once when the caller goes away', async () => {
      const stream = await openai.chat.completions.create({
        model: stage.model(upstream, 'slow'),
        messages,
        stream: true,
        max_completion_tokens: 1_000,
      });
      for await (const { choices } of stream) {
        if (choices[0]?.delta.content) break;
      }
      stream.controller.abort();
      const { ending, tokens } = await stage.nextCall(upstream, ({ baseModel }) =>
        baseModel.endsWith('slow'),
      );
      expect(ending).toBe('client-gone');
      expect(tokens.output).toBeLessThan(400);
    });

    describe.each([true, false])('raises (streamed: %s)', (stream) => {
      test.each(failuresReported)('where the upstream %s', async (failure, name, status, retryAfter) => {
        const patient = sdk.connect(stage.baseUrl, watch, retriesFor(failure));
        const raised = await raisedBy(
          patient.chat.completions.create({ model: stage.model(upstream, failure), messages, stream }),
        );
        expect([raised.name, raised.status]).toEqual([name, status]);
        expect(raised.retryAfter ?? '').toMatch(waitTold(upstream, retryAfter));
        expect(raised.requestId).toMatch(/^req_/);
        if (failure === 'fails-400') expect(raised.message).toContain('Too hot');
        // What cannot get better is not tried again: the gateway says so with x-should-retry.
        expect(watch.newRequests()).toBe(1);
        expect(stage.newCalls(upstream).length).toBeOneOf(callsFor(failure));
      });
    });

    test.each([
      ['breaks-first', 'InternalServerError'],
      ['breaks-late', 'APIError'],
      ['breaks-cut', 'APIError'],
    ] as const)('raises in a stream that %s', async (failure, name) => {
      const patient = sdk.connect(stage.baseUrl, watch, retriesFor(failure));
      const reading = async (): Promise<void> => {
        const stream = await patient.chat.completions.create({
          model: stage.model(upstream, failure),
          messages,
          stream: true,
        });
        for await (const { choices } of stream) expect(choices).toHaveLength(1);
      };
      expect((await raisedBy(reading())).name).toBe(name);
    });
  });

  test('is served where an upstream fails once, and where it is limited once', async () => {
    await Promise.all(
      upstreams.flatMap((upstream) =>
        (['fails-once', 'limited-once'] as const).map(async (failure) => {
          const answer = await openai.chat.completions.create({
            model: stage.model(upstream, failure),
            messages,
            ...limit,
          });
          expect(answer.choices[0]?.message.content).toContain(hello);
        }),
      ),
    );
    // One after a failure goes unseen; one after a rate limit is the SDK's to make.
    expect(watch.newRequests()).toBe(upstreams.length * 3);
    expect(stage.simulator.counts().running).toBe(0);
    stage.reset();
  });

  test('raises for a wrong key and an unknown model, without asking again', async () => {
    const stranger = sdk.connect(stage.baseUrl, watch, { apiKey: `${testKey}x` });
    const refused = await raisedBy(
      stranger.chat.completions.create({ model: stage.model('chat'), messages }),
    );
    expect([refused.name, refused.status, refused.code]).toEqual([
      'AuthenticationError',
      401,
      'invalid_api_key',
    ]);
    const unknown = await raisedBy(openai.chat.completions.create({ model: 'nowhere', messages }));
    expect([unknown.name, unknown.status, unknown.code]).toEqual(['NotFoundError', 404, 'model_not_found']);
    expect(watch.newRequests()).toBe(2);
  });
});

const imageMessage: OpenAI.ChatCompletionMessageParam = {
  role: 'user',
  content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } }],
};

const runnable = toolkit.map(({ name, description, parameters, run }) => ({
  type: 'function' as const,
  function: {
    name,
    description,
    parameters,
    parse: (text: string): Record<string, unknown> => JSON.parse(text),
    function: run,
  },
}));

/** The numbers are the simulator's own. */
function expectUsage(usage: OpenAI.CompletionUsage | undefined, upstream: Upstream): void {
  const used = usedBy(stage.newCalls(upstream).slice(-1));
  expect(usage).toMatchObject({
    prompt_tokens: used.input,
    completion_tokens: used.output,
    total_tokens: used.input + used.output,
  });
  expect(usage?.prompt_tokens_details?.cached_tokens ?? 0).toBe(used.cached);
  if (tellsReasoning(upstream))
    expect(usage?.completion_tokens_details?.reasoning_tokens ?? 0).toBe(used.reasoning);
}
