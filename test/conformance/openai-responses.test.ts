// Does the responses route of the OpenAI SDK work on every upstream dialect, as it does at OpenAI?

import type OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { watchClient } from './client-watch.ts';
import {
  callsFor,
  type EveryUpstream,
  failuresReported,
  retriesFor,
  spokenTo,
  startEveryUpstream,
  tellsReasoning,
  type Upstream,
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

type Input = OpenAI.Responses.ResponseInputItem[];

const tools: OpenAI.Responses.FunctionTool[] = toolkit.map(({ name, description, parameters }) => ({
  type: 'function',
  name,
  description,
  parameters,
  strict: true,
}));

/** Text completions end after sixteen tokens where nothing is said. */
const limit = { max_output_tokens: 200 };

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
      stage.script(upstream, 'cached=3,cache-write=2');
      const answer = await openai.responses.create({ model: stage.model(upstream), input: hello, ...limit });
      expect(answer.output_text).toContain(hello);
      expect([answer.status, answer.id]).toEqual(['completed', expect.stringMatching(/^resp_/)]);
      expect(answer._request_id).toMatch(/^req_/);
      expectUsage(answer.usage, upstream);
    });

    test('goes through the stream helper with the same words', async () => {
      const body = { model: stage.model(upstream), input: hello, instructions: 'Be kind.', ...limit };
      const whole = await openai.responses.create(body);
      const stream = openai.responses.stream(body);
      let text = '';
      stream.on('response.output_text.delta', ({ delta }) => {
        text += delta;
      });
      const final = await stream.finalResponse();
      expect([text, final.output_text]).toEqual([whole.output_text, whole.output_text]);
      expectUsage(final.usage, upstream);
    });

    test('is incomplete where the tokens run out', async () => {
      const answer = await openai.responses.create({
        model: stage.model(upstream),
        input: hello,
        max_output_tokens: 16,
      });
      expect([answer.status, answer.incomplete_details?.reason]).toEqual(['incomplete', 'max_output_tokens']);
      expect(answer.usage?.output_tokens).toBe(16);
    });

    if (hasTools)
      test.each([true, false])(
        'calls two tools at once and takes what they say (streamed: %s)',
        async (isStream) => {
          stage.script(upstream, 'calls=2');
          const body = { model: stage.model(upstream), tools };
          const input: Input = [{ role: 'user', content: hello }];
          const asked: OpenAI.Responses.Response = isStream
            ? await openai.responses.stream({ ...body, input }).finalResponse()
            : await openai.responses.create({ ...body, input });
          const calls = asked.output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
          expect(calls.map(({ name }) => name)).toEqual(toolkit.map(({ name }) => name));
          const answered = await openai.responses.create({
            ...body,
            input: [...input, ...asked.output, ...calls.map(outputOf)] as Input,
          });
          expect(answered.output_text).toContain(toolAnswers[1]);
          const [, second] = stage.newCalls(upstream);
          for (const answer of toolAnswers) expect(JSON.stringify(second?.body)).toContain(answer);
        },
      );

    if (hasTools)
      test('gives structured output, streamed too', async () => {
        const body = {
          model: stage.model(upstream),
          input: hello,
          text: { format: sdk.zodTextFormat(city, 'city') },
        };
        expect((await openai.responses.parse(body)).output_parsed).toEqual(simCity);
        const streamed = await openai.responses.stream(body).finalResponse();
        expect(streamed.output_parsed).toEqual(simCity);
      });

    if (hasTools)
      test('shows an image', async () => {
        const image_url = `data:image/png;base64,${pixel}`;
        const answer = await openai.responses.create({
          model: stage.model(upstream),
          input: [
            {
              role: 'user',
              content: [
                { type: 'input_text', text: hello },
                { type: 'input_image', image_url, detail: 'auto' },
              ],
            },
          ],
        });
        expect(answer.output_text).toContain(hello);
        expect(JSON.stringify(stage.newCalls(upstream)[0]?.body)).toContain(pixel);
      });

    if (hasTools)
      test.each([true, false])('keeps its reasoning over several turns (streamed: %s)', async (isStream) => {
        stage.script(upstream, 'call=always');
        const input: Input = [{ role: 'user', content: hello }];
        for (let turn = 0; turn < 4; turn += 1) {
          const body = {
            model: stage.model(upstream),
            input,
            tools,
            store: false,
            reasoning: { effort: 'low' as const, summary: 'auto' as const },
            include: ['reasoning.encrypted_content' as const],
          };
          const answer = isStream
            ? await openai.responses.stream(body).finalResponse()
            : await openai.responses.create(body);
          expectUsage(answer.usage, upstream);
          if (tellsReasoning(upstream))
            expect(answer.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0);
          // Between the two there may be state that belongs to the call.
          const [reasoning, call] = [answer.output[0], answer.output.at(-1)];
          if (reasoning?.type !== 'reasoning' || call?.type !== 'function_call') {
            throw new Error(`no reasoning and call: ${JSON.stringify(answer.output)}`);
          }
          expect(reasoning.summary.map(({ text }) => text).join()).toMatch(/\w/);
          input.push(...(answer.output as Input), outputOf(call));
        }
        expect(statesIn(stage.lastCall(upstream)?.body, spokenTo(upstream))).toBe(3);
      });

    if (!hasTools) {
      const beyond: readonly (readonly [
        string,
        Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>,
      ])[] = [
        ['tools', { tools }],
        ['text', { text: { format: sdk.zodTextFormat(city, 'city') } }],
        ['input[0].content[0]', { input: imageInput }],
      ];
      test.each(beyond)('refuses %s by its name', async (param, more) => {
        const raised = await raisedBy(
          openai.responses.create({ model: stage.model(upstream), input: hello, ...more }),
        );
        expect([raised.name, raised.code]).toEqual(['BadRequestError', 'unsupported_parameter']);
        expect(raised.param).toContain(param);
        expect(stage.newCalls(upstream)).toEqual([]);
      });
    }

    test('stops at once when the caller goes away', async () => {
      const stream = await openai.responses.create({
        model: stage.model(upstream, 'slow'),
        input: hello,
        stream: true,
        max_output_tokens: 1_000,
      });
      for await (const event of stream) {
        if (event.type === 'response.output_text.delta') break;
      }
      stream.controller.abort();
      const { ending } = await stage.nextCall(upstream, ({ baseModel }) => baseModel.endsWith('slow'));
      expect(ending).toBe('client-gone');
    });

    describe.each([true, false])('raises (streamed: %s)', (stream) => {
      test.each(failuresReported)('where the upstream %s', async (failure, name, status, retryAfter) => {
        const patient = sdk.connect(stage.baseUrl, watch, retriesFor(failure));
        const raised = await raisedBy(
          patient.responses.create({ model: stage.model(upstream, failure), input: hello, stream }),
        );
        expect([raised.name, raised.status]).toEqual([name, status]);
        expect(raised.retryAfter ?? '').toMatch(waitTold(upstream, retryAfter));
        expect(raised.requestId).toMatch(/^req_/);
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
        const stream = await patient.responses.create({
          model: stage.model(upstream, failure),
          input: hello,
          stream: true,
        });
        for await (const event of stream) expect(event.type).not.toBe('response.completed');
      };
      expect((await raisedBy(reading())).name).toBe(name);
    });
  });

  test('a parameter that needs a store is refused by its name', async () => {
    const raised = await raisedBy(
      openai.responses.create({
        model: stage.model('messages'),
        input: hello,
        previous_response_id: 'resp_1',
      }),
    );
    expect([raised.status, raised.code, raised.param]).toEqual([
      400,
      'unsupported_parameter',
      'previous_response_id',
    ]);
    expect(stage.newCalls('messages')).toEqual([]);
  });
});

const imageInput: Input = [
  {
    role: 'user',
    content: [{ type: 'input_image', image_url: `data:image/png;base64,${pixel}`, detail: 'auto' }],
  },
];

function outputOf(call: OpenAI.Responses.ResponseFunctionToolCall): Input[number] {
  const output = runTool(call.name, JSON.parse(call.arguments));
  return { type: 'function_call_output', call_id: call.call_id, output };
}

/** The numbers are the simulator's own. */
function expectUsage(usage: OpenAI.Responses.ResponseUsage | undefined, upstream: Upstream): void {
  const used = usedBy(stage.newCalls(upstream).slice(-1));
  expect(usage).toMatchObject({
    input_tokens: used.input,
    output_tokens: used.output,
    total_tokens: used.input + used.output,
    input_tokens_details: { cached_tokens: used.cached },
    ...(tellsReasoning(upstream) ? { output_tokens_details: { reasoning_tokens: used.reasoning } } : {}),
  });
}
