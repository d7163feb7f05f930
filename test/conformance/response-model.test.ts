// Which model do the official SDKs find in an answer? On a route that names what was asked for: that one, on every upstream dialect,
// plain and streamed; on any other the upstream's own.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anthropicVersions } from './anthropic-versions.ts';
import { watchClient } from './client-watch.ts';
import { type EveryUpstream, startEveryUpstream, type Upstream, upstreams } from './every-upstream.ts';
import { openAiVersions } from './openai-versions.ts';
import { hello } from './samples.ts';

let requested: EveryUpstream;
let served: EveryUpstream;

beforeAll(async () => {
  requested = await startEveryUpstream({}, { responseModel: 'Requested' });
  served = await startEveryUpstream();
});

afterAll(async () => {
  await requested.close();
  await served.close();
});

/** On the route that names what was asked for, and on the other one. */
async function bothSay(
  upstream: Upstream,
  ask: (stage: EveryUpstream, model: string) => Promise<Iterable<string | undefined>>,
): Promise<void> {
  const model = requested.model(upstream);
  expect([...new Set(await ask(requested, model))]).toEqual([model]);
  expect([...new Set(await ask(served, model))]).toEqual([`sim-${upstream}`]);
}

async function all<Event>(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const messages = [{ role: 'user' as const, content: hello }];

describe.each(openAiVersions)('%s', (_version, sdk) => {
  const connect = ({ baseUrl }: EveryUpstream) => sdk.connect(baseUrl, watchClient());

  describe.each(upstreams)('on %s', (upstream) => {
    test('chat completions', () =>
      bothSay(upstream, async (stage, model) => {
        const { chat } = connect(stage);
        const body = { model, messages, max_completion_tokens: 50 };
        const whole = await chat.completions.create(body);
        const chunks = await all(await chat.completions.create({ ...body, stream: true }));
        const helper = await chat.completions.stream({ ...body, stream: true }).finalChatCompletion();
        expect(chunks.length).toBeGreaterThan(2);
        return [whole, helper, ...chunks].map((answer) => answer.model);
      }));

    test('completions', () =>
      bothSay(upstream, async (stage, model) => {
        const { completions } = connect(stage);
        const body = { model, prompt: hello, max_tokens: 50 };
        const whole = await completions.create(body);
        const chunks = await all(await completions.create({ ...body, stream: true }));
        expect(chunks.length).toBeGreaterThan(2);
        return [whole, ...chunks].map((answer) => answer.model);
      }));

    test('responses', () =>
      bothSay(upstream, async (stage, model) => {
        const { responses } = connect(stage);
        const body = { model, input: hello, max_output_tokens: 50 };
        const whole = await responses.create(body);
        const events = await all(await responses.create({ ...body, stream: true }));
        const reported = events.flatMap((event) => ('response' in event ? [event.response] : []));
        expect(reported.length).toBeGreaterThan(2);
        return [whole, ...reported].map((answer) => answer.model);
      }));
  });
});

describe.each(anthropicVersions)('%s', (_version, sdk) => {
  test.each(upstreams)('messages on %s', (upstream) =>
    bothSay(upstream, async (stage, model) => {
      const anthropic = sdk.connect(stage.url, watchClient());
      const body = { model, messages, max_tokens: 4_000 };
      const whole = await anthropic.messages.create(body);
      const helper = await anthropic.messages.stream(body).finalMessage();
      return [whole.model, helper.model];
    }),
  );
});
