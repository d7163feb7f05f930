// Does the completions route of the OpenAI SDK work on every upstream dialect, as it does at OpenAI?

import type OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { watchClient } from './client-watch.ts';
import {
  callsFor,
  type EveryUpstream,
  failuresReported,
  retriesFor,
  startEveryUpstream,
  upstreams,
  usedBy,
} from './every-upstream.ts';
import { openAiVersions, raisedBy } from './openai-versions.ts';
import { hello } from './samples.ts';

let stage: EveryUpstream;

beforeAll(async () => {
  stage = await startEveryUpstream();
});

afterAll(() => stage.close());

const limit = { max_tokens: 200 };

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

  describe.each(upstreams)('on %s', (upstream) => {
    afterEach(() => {
      stage.newCalls(upstream);
    });

    test('answers every prompt as often as asked, in order, with the usage of all', async () => {
      const answer = await openai.completions.create({
        model: stage.model(upstream),
        prompt: ['first', 'second'],
        n: 2,
        ...limit,
      });
      expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
      const quoted = answer.choices.map(({ text }) => /"(\w+)"/.exec(text)?.[1]);
      expect(quoted).toEqual(['first', 'first', 'second', 'second']);
      expect([answer.object, answer.id]).toEqual(['text_completion', expect.stringMatching(/^cmpl-/)]);
      expect(answer._request_id).toMatch(/^req_/);
      const used = usedBy(stage.newCalls(upstream));
      expect(answer.usage).toMatchObject({
        prompt_tokens: used.input,
        completion_tokens: used.output,
        total_tokens: used.input + used.output,
      });
    });

    test('streams the same words, and usage where it is asked for', async () => {
      const body = { model: stage.model(upstream), prompt: hello, ...limit };
      const whole = await openai.completions.create(body);
      stage.newCalls(upstream);
      const stream = await openai.completions.create({
        ...body,
        stream: true,
        stream_options: { include_usage: true },
      });
      let text = '';
      let finish: string | null = null;
      let usage: OpenAI.CompletionUsage | null = null;
      for await (const chunk of stream) {
        text += chunk.choices[0]?.text ?? '';
        finish = chunk.choices[0]?.finish_reason ?? finish;
        usage = chunk.usage ?? usage;
      }
      expect([text, finish]).toEqual([whole.choices[0]?.text, 'stop']);
      expect(text).toContain(hello);
      const used = usedBy(stage.newCalls(upstream));
      expect(usage).toMatchObject({ prompt_tokens: used.input, completion_tokens: used.output });
    });

    test('ends after sixteen tokens where nothing is said', async () => {
      const answer = await openai.completions.create({ model: stage.model(upstream), prompt: hello });
      expect(answer.choices[0]?.finish_reason).toBe('length');
      expect(answer.usage?.completion_tokens).toBe(16);
    });

    test('ends at a stop sequence', async () => {
      const answer = await openai.completions.create({
        model: stage.model(upstream),
        prompt: hello,
        ...limit,
        stop: ['speaking'],
      });
      expect(answer.choices[0]).toMatchObject({ text: 'This is the simulator ', finish_reason: 'stop' });
    });

    test('stops at once when the caller goes away', async () => {
      const stream = await openai.completions.create({
        model: stage.model(upstream, 'slow'),
        prompt: hello,
        stream: true,
        max_tokens: 1_000,
      });
      for await (const { choices } of stream) {
        if (choices[0]?.text) break;
      }
      stream.controller.abort();
      const { ending } = await stage.simulator.nextCall(({ model }) => model.includes('pace'));
      expect(ending).toBe('client-gone');
    });

    test.each(failuresReported)('raises where the upstream %s', async (failure, name, status, retryAfter) => {
      const patient = sdk.connect(stage.baseUrl, watch, retriesFor(failure));
      const raised = await raisedBy(
        patient.completions.create({ model: stage.model(upstream, failure), prompt: hello }),
      );
      expect([raised.name, raised.status]).toEqual([name, status]);
      expect(raised.retryAfter ?? '').toMatch(retryAfter);
      expect(watch.newRequests()).toBe(1);
      expect(stage.newCalls(upstream).length).toBeOneOf(callsFor(failure));
    });

    test.each(['breaks-first', 'breaks-late', 'breaks-cut'] as const)(
      'raises in a stream that %s',
      async (failure) => {
        const patient = sdk.connect(stage.baseUrl, watch, retriesFor(failure));
        const reading = async (): Promise<void> => {
          const stream = await patient.completions.create({
            model: stage.model(upstream, failure),
            prompt: hello,
            stream: true,
          });
          for await (const { choices } of stream) expect(choices).toHaveLength(1);
        };
        expect((await raisedBy(reading())).name).toBe(
          failure === 'breaks-first' ? 'InternalServerError' : 'APIError',
        );
      },
    );
  });
});
