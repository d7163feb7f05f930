// Does the Anthropic SDK, of either API version, work on every upstream dialect as it does at Anthropic?

import type Anthropic from '@anthropic-ai/sdk';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { testKey } from '../gateway/rig.ts';
import { anthropicVersions, raisedBy } from './anthropic-versions.ts';
import { watchClient } from './client-watch.ts';
import {
  callsFor,
  type EveryUpstream,
  failuresReported,
  retriesFor,
  spokenTo,
  startEveryUpstream,
  type Upstream,
  upstreams,
  usedBy,
  waitTold,
} from './every-upstream.ts';
import { city, hello, pixel, runTool, simCity, statesIn, toolAnswers, toolkit } from './samples.ts';

let stage: EveryUpstream;

beforeAll(async () => {
  stage = await startEveryUpstream();
});

afterAll(() => stage.close());

const messages: Anthropic.MessageParam[] = [{ role: 'user', content: hello }];
const tools: Anthropic.Tool[] = toolkit.map(({ name, description, parameters }) => ({
  name,
  description,
  input_schema: parameters,
}));

describe.each(anthropicVersions)('%s', (_version, sdk) => {
  const watch = watchClient();
  let anthropic: Anthropic;

  beforeEach(() => {
    anthropic = sdk.connect(stage.url, watch);
  });

  afterEach(() => {
    watch.newRequests();
  });

  describe.each(sdk.upstreams)('on %s', (upstream) => {
    const hasTools = upstream !== 'completions';
    const bodyOf = (max_tokens = 4_000) => ({ model: stage.model(upstream), max_tokens, messages });

    afterEach(() => {
      stage.script(upstream, null);
      stage.newCalls(upstream);
    });

    test('answers, with usage and request id', async () => {
      const answer = await anthropic.messages.create({ ...bodyOf(), system: 'Be kind.' });
      expect(textOf(answer)).toContain(hello);
      expect([answer.type, answer.role, answer.stop_reason]).toEqual(['message', 'assistant', 'end_turn']);
      expect(answer.id).toMatch(/^msg_/);
      expect(answer._request_id).toMatch(/^req_/);
      expectUsage(answer.usage, upstream);
    });

    test('goes through the stream helper with the same words', async () => {
      stage.script(upstream, upstream === 'completions' ? 'cached=3' : 'cached=3,cache-write=2');
      const whole = await anthropic.messages.create(bodyOf());
      expectUsage(whole.usage, upstream);
      const stream = anthropic.messages.stream(bodyOf());
      let text = '';
      stream.on('text', (delta) => {
        text += delta;
      });
      const final = await stream.finalMessage();
      expect([text, textOf(final)]).toEqual([textOf(whole), textOf(whole)]);
      expectUsage(final.usage, upstream);
    });

    test('counts the input where a stream begins, for clients that read it there alone', async () => {
      const events = await Array.fromAsync(await anthropic.messages.create({ ...bodyOf(), stream: true }));
      const begun = events.find((event) => event.type === 'message_start');
      const ended = events.find((event) => event.type === 'message_delta');
      const [first = 0, last = 0] = [
        begun?.message.usage.input_tokens,
        ended?.usage.input_tokens ?? undefined,
      ];
      expect(last).toBeGreaterThan(0);
      // An estimate by the length of the request, where the upstream counts at the end.
      if (spokenTo(upstream) === 'anthropic-messages') expect(first).toBe(last);
      else expect(first).toBeGreaterThanOrEqual(last);
    });

    if (hasTools)
      test('estimates a picture where a stream begins as a picture, not as the text of its bytes', async () => {
        const data = 'iVBORw0KGgo'.padEnd(200_000, 'A');
        const source = { type: 'base64' as const, media_type: 'image/png' as const, data };
        const content = [{ type: 'image' as const, source }];
        const body = { ...bodyOf(), messages: [{ role: 'user' as const, content }], stream: true as const };
        const events = await Array.fromAsync(await anthropic.messages.create(body));
        const begun = events.find((event) => event.type === 'message_start');
        expect(begun?.message.usage.input_tokens).toBeGreaterThan(0);
        expect(begun?.message.usage.input_tokens).toBeLessThan(6_000);
      });

    test('says why it ended: tokens, and a stop sequence', async () => {
      const cut = await anthropic.messages.create(bodyOf(16));
      expect([cut.stop_reason, cut.usage.output_tokens]).toEqual(['max_tokens', 16]);
      const stopped = await anthropic.messages.create({ ...bodyOf(), stop_sequences: ['speaking'] });
      expect(textOf(stopped)).toBe('This is the simulator ');
    });

    if (hasTools)
      test.each([true, false])('runs the tool loop with two tools at once (streamed: %s)', async (stream) => {
        stage.script(upstream, 'calls=2');
        const runner = anthropic.beta.messages.toolRunner({
          ...bodyOf(),
          stream,
          tools: toolkit.map(({ name, description, parameters, run }) =>
            sdk.betaTool({ name, description, inputSchema: parameters, run: (input) => run({ ...input }) }),
          ),
        });
        const last = await runner.runUntilDone();
        expect(JSON.stringify(last.content)).toContain(toolAnswers[1]);
        // The newer SDK asks first whether the provider would keep the conversation, and learns that it does not.
        const calls = stage.newCalls(upstream).filter(({ ending }) => ending === 'complete');
        expect(calls).toHaveLength(2);
        // The whole conversation, not only what is new.
        for (const said of [hello, ...toolAnswers]) expect(JSON.stringify(calls[1]?.body)).toContain(said);
      });

    if (hasTools)
      test('keeps to the tool it is asked to call', async () => {
        const answer = await anthropic.messages.create({
          ...bodyOf(),
          tools,
          tool_choice: { type: 'tool', name: 'clock', disable_parallel_tool_use: true },
        });
        expect(answer.stop_reason).toBe('tool_use');
        expect(answer.content).toMatchObject([{ type: 'tool_use', name: 'clock', input: { zone: 'sim' } }]);
      });

    // Its schema reaches the cloud as it was written, which takes none.
    if (upstream === 'vertex-claude')
      test('gets the refusal of structured output in the words of the cloud', async () => {
        const body = { ...bodyOf(), output_config: { format: sdk.zodOutputFormat(city) } };
        const refusal = {
          status: 400,
          message: expect.stringContaining('output_config.format: Extra inputs'),
        };
        await expect(anthropic.messages.parse(body)).rejects.toMatchObject(refusal);
        await expect(anthropic.messages.stream(body).finalMessage()).rejects.toMatchObject(refusal);
      });
    else if (hasTools)
      test('gives structured output, streamed too', async () => {
        const body = { ...bodyOf(), output_config: { format: sdk.zodOutputFormat(city) } };
        expect((await anthropic.messages.parse(body)).parsed_output).toEqual(simCity);
        expect((await anthropic.messages.stream(body).finalMessage()).parsed_output).toEqual(simCity);
      });

    if (hasTools)
      test('shows an image, in a tool result too', async () => {
        const image: Anthropic.ImageBlockParam = {
          type: 'image',
          source: { type: 'base64', media_type: 'image/png', data: pixel },
        };
        await anthropic.messages.create({
          ...bodyOf(),
          tools,
          messages: [
            { role: 'user', content: [image, { type: 'text', text: hello }] },
            { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'clock', input: {} }] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [image] }] },
          ],
        });
        expect(JSON.stringify(stage.newCalls(upstream)[0]?.body).split(pixel)).toHaveLength(3);
      });

    if (hasTools)
      test.each([true, false])('keeps its thinking over several turns (streamed: %s)', async (isStream) => {
        stage.script(upstream, 'call=always');
        const history = [...messages];
        for (let turn = 0; turn < 4; turn += 1) {
          const body = {
            ...bodyOf(),
            messages: history,
            tools,
            thinking: { type: 'adaptive' as const, display: 'summarized' as const },
            output_config: { effort: 'low' as const },
          };
          const answer = isStream
            ? await anthropic.messages.stream(body).finalMessage()
            : await anthropic.messages.create(body);
          expectUsage(answer.usage, upstream);
          const [thinking, call] = answer.content;
          if (thinking?.type !== 'thinking' || call?.type !== 'tool_use') {
            throw new Error(`no thinking and call: ${JSON.stringify(answer.content)}`);
          }
          expect(thinking.thinking).toMatch(/\w/);
          history.push({ role: 'assistant', content: answer.content as Anthropic.ContentBlockParam[] });
          const content = runTool(call.name, call.input);
          history.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content }] });
        }
        expect(statesIn(stage.lastCall(upstream)?.body, spokenTo(upstream))).toBe(3);
      });

    test('counts tokens before it asks', async () => {
      const { input_tokens } = await anthropic.messages.countTokens({
        model: stage.model(upstream),
        messages,
      });
      const answer = await anthropic.messages.create(bodyOf());
      expect(input_tokens).toBeGreaterThanOrEqual(
        spokenTo(upstream) === 'anthropic-messages' ? answer.usage.input_tokens : 1,
      );
    });

    if (!hasTools) {
      const image = { type: 'base64' as const, media_type: 'image/png' as const, data: pixel };
      const beyond: readonly (readonly [string, Partial<Anthropic.MessageCreateParamsNonStreaming>])[] = [
        ['tools', { tools }],
        ['output_config', { output_config: { format: sdk.zodOutputFormat(city) } }],
        [
          'messages[0].content[0]',
          { messages: [{ role: 'user', content: [{ type: 'image', source: image }] }] },
        ],
      ];
      test.each(beyond)('refuses %s by its name', async (param, more) => {
        const raised = await raisedBy(anthropic.messages.create({ ...bodyOf(), ...more }));
        expect([raised.name, raised.body]).toEqual([
          'BadRequestError',
          expect.objectContaining({
            error: {
              type: 'invalid_request_error',
              code: 'unsupported_parameter',
              message: expect.stringContaining(param),
            },
          }),
        ]);
        expect(stage.newCalls(upstream)).toEqual([]);
      });
    }

    test('stops at once when the caller goes away', async () => {
      const stream = anthropic.messages.stream({ ...bodyOf(), model: stage.model(upstream, 'slow') });
      for await (const event of stream) {
        if (event.type === 'content_block_delta') break;
      }
      stream.abort();
      const { ending } = await stage.nextCall(upstream, ({ baseModel }) => baseModel.endsWith('slow'));
      expect(ending).toBe('client-gone');
    });

    describe.each([true, false])('raises (streamed: %s)', (stream) => {
      test.each(failuresReported)('where the upstream %s', async (failure, name, status, retryAfter) => {
        const patient = sdk.connect(stage.url, watch, retriesFor(failure));
        const model = stage.model(upstream, failure);
        const raised = await raisedBy(patient.messages.create({ ...bodyOf(), model, stream }));
        expect([raised.name, raised.status]).toEqual(
          failure === 'fails-503' ? [sdk.overloadedName, 529] : [name, status],
        );
        expect(raised.retryAfter ?? '').toMatch(waitTold(upstream, retryAfter));
        expect(raised.requestId).toMatch(/^req_/);
        expect(raised.body).toMatchObject({ type: 'error', error: { type: expect.any(String) } });
        expect(watch.newRequests()).toBe(1);
        expect(stage.newCalls(upstream).length).toBeOneOf(callsFor(failure));
      });
    });

    test.each(['breaks-first', 'breaks-late', 'breaks-cut'] as const)(
      'raises in a stream that %s',
      async (failure) => {
        const patient = sdk.connect(stage.url, watch, retriesFor(failure));
        const stream = patient.messages.stream({ ...bodyOf(), model: stage.model(upstream, failure) });
        const raised = await raisedBy(stream.finalMessage());
        expect(raised.message).toMatch(/api_error|overloaded_error|broke off/);
      },
    );
  });

  test('is served where an upstream fails once, and where it is limited once', async () => {
    await Promise.all(
      upstreams.flatMap((upstream) =>
        (['fails-once', 'limited-once'] as const).map(async (failure) => {
          const answer = await anthropic.messages.create({
            model: stage.model(upstream, failure),
            max_tokens: 200,
            messages,
          });
          expect(textOf(answer)).toContain(hello);
        }),
      ),
    );
    // One after a failure goes unseen; one after a rate limit is the SDK's to make.
    expect(watch.newRequests()).toBe(upstreams.length * 3);
    stage.reset();
  });

  test('raises for a wrong key and an unknown model, without asking again', async () => {
    const body = { model: 'nowhere', max_tokens: 9, messages };
    const stranger = sdk.connect(stage.url, watch, { apiKey: `${testKey}x` });
    expect(await raisedBy(stranger.messages.create(body))).toMatchObject({
      name: 'AuthenticationError',
      status: 401,
    });
    expect(await raisedBy(anthropic.messages.create(body))).toMatchObject({
      name: 'NotFoundError',
      status: 404,
    });
    expect(watch.newRequests()).toBe(2);
  });

  test('lists models, and finds one', async () => {
    const ids: string[] = [];
    for await (const { id } of anthropic.models.list({ limit: 1_000 })) ids.push(id);
    expect(ids).toEqual(expect.arrayContaining(upstreams.map((upstream) => stage.model(upstream))));
    expect(await anthropic.models.retrieve(stage.model('chat'))).toMatchObject({ type: 'model' });
  });
});

function textOf({ content }: Pick<Anthropic.Message, 'content'>): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

/** The numbers are the simulator's own. */
function expectUsage(usage: Anthropic.Usage, upstream: Upstream): void {
  const used = usedBy(stage.newCalls(upstream).slice(-1));
  expect(usage).toMatchObject({
    input_tokens: used.input - used.cached - used.cacheWrite,
    output_tokens: used.output,
  });
  expect([usage.cache_read_input_tokens ?? 0, usage.cache_creation_input_tokens ?? 0]).toEqual([
    used.cached,
    used.cacheWrite,
  ]);
}
