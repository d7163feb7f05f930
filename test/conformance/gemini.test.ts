// Do programs that speak the dialects of OpenAI and Anthropic work with Gemini? Tool loops of ten turns with two calls each, at an upstream
// that refuses a call without the signature or the id that it gave; alone, and in turn with providers of other dialects.

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { afterEach, describe, expect, test } from 'vitest';
import { type Gemini, startGemini } from '../../simulator/clouds/gemini.ts';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { type Rig, type RigTarget, startRig, tableOf, testKey } from '../gateway/rig.ts';
import { ableUpstreams, allDialects, dialectOf, type PlainUpstream } from './every-upstream.ts';
import { city, hello, pixel, simCity, toolkit } from './samples.ts';
import { conversations } from './tool-loops.ts';

const key = 'AIza-key-of-the-project-0123456789';
const turns = 10;
const model = 'gemini-3.8-flash';
const open: AsyncDisposable[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

async function geminiOf(ids?: 'given' | 'refused', sealKey = 'gemini'): Promise<Gemini> {
  const models = { [model]: 'sim', 'gemini-2.5-flash': 'sim' };
  const gemini = await startGemini({ key, models, sealKey, ...(ids === undefined ? {} : { ids }) });
  open.push(gemini);
  gemini.directives = { callsAlways: true, calls: 2, reasoningTokens: 8 };
  return gemini;
}

const breaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 0 };

function geminiTarget(gemini: Gemini, upstreamModel = model): RigTarget {
  return {
    baseUrl: gemini.url,
    upstreamModel,
    dialects: ['google-generate-content'],
    keys: { main: key },
    providerEntry: {
      type: 'Gemini',
      dialects: ['google-generate-content'],
      auth: { header: 'x-goog-api-key', prefix: '' },
      breaker,
    },
  };
}

async function rigOf(targets: readonly RigTarget[]): Promise<Rig> {
  const table = tableOf(targets, { endpoints: [...allDialects] });
  const rig = await startRig(table, { random: () => 0 });
  open.push({ [Symbol.asyncDispose]: () => rig.close() });
  return rig;
}

const signaturesIn = (body: unknown): number => JSON.stringify(body).split('"simulator1.').length - 1;

describe.each(Object.entries(conversations))('a %s conversation', (dialect, converse) => {
  test.each([
    ['gives ids with its calls and wants them back', 'given'],
    ['gives none and knows no such member', 'refused'],
  ] as const)('goes through ten turns with tools at a Gemini that %s', async (_, ids) => {
    const gemini = await geminiOf(ids);
    const takeTurn = converse(await rigOf([geminiTarget(gemini)]));
    for (let turn = 0; turn < turns; turn += 1) await takeTurn(turn % 2 === 1);
    expect(gemini.bodies).toHaveLength(turns);
    // One for the first of each turn's parallel calls.
    expect(signaturesIn(gemini.bodies.at(-1))).toBe(turns - 1);
    expect(JSON.stringify(gemini.bodies.at(-1))).not.toContain('skip_thought_signature_validator');
  });

  test.each(ableUpstreams)('changes in the middle of a tool loop between Gemini and %s', async (upstream) => {
    const gemini = await geminiOf();
    const other = await startSimulator({ sealKey: 'of the other' });
    open.push({ [Symbol.asyncDispose]: () => other.close() });
    const takeTurn = converse(await rigOf([geminiTarget(gemini), simulated(other, upstream)]));
    other.script('sim', 'call=always,calls=2,reasoning=8');
    for (let turn = 0; turn < turns; turn += 1) {
      gemini.next = turn % 2 === 0 ? undefined : { status: 503, body: {} };
      await takeTurn(turn % 4 > 1);
    }
    expect(gemini.calls).toHaveLength(turns);
    expect(other.calls().map(({ ending }) => ending)).toEqual(
      Array.from({ length: turns / 2 }, () => 'complete'),
    );
    // What Gemini gave in its five turns has come back; of the other's calls each turn has one that was signed nowhere.
    const last = JSON.stringify(gemini.bodies.at(-1));
    expect(signaturesIn(gemini.bodies.at(-1))).toBe(turns / 2);
    expect(last.split('skip_thought_signature_validator')).toHaveLength(turns / 2);
    // Nothing of Gemini has gone to the other.
    expect(JSON.stringify(other.calls().map(({ body }) => body))).not.toContain('thought_signature');
  });

  test('goes on at a second Gemini that has never seen the signatures of the first', async () => {
    const [first, second] = [await geminiOf(), await geminiOf('given', 'of the second')];
    const takeTurn = converse(await rigOf([geminiTarget(first), geminiTarget(second)]));
    for (let turn = 0; turn < 6; turn += 1) {
      first.next = turn % 2 === 0 ? undefined : { status: 503, body: {} };
      await takeTurn(turn % 4 > 1);
    }
    expect([first.bodies.length, second.bodies.length]).toEqual([6, 3]);
  });

  test(`goes on at an older model of the same Provider, which knows neither ids nor signatures (${dialect})`, async () => {
    const gemini = await geminiOf();
    const targets = [geminiTarget(gemini), geminiTarget(gemini, 'gemini-2.5-flash')];
    const takeTurn = converse(await rigOf(targets.map((each) => ({ ...each, provider: 'platform/gemini' }))));
    for (let turn = 0; turn < 4; turn += 1) {
      gemini.next = turn % 2 === 0 ? undefined : { status: 503, body: {} };
      await takeTurn(turn % 4 > 1);
    }
    expect(gemini.calls.filter((path) => path.includes('2.5'))).toHaveLength(2);
  });
});

function simulated(simulator: Simulator, upstream: PlainUpstream): RigTarget {
  const dialects = [dialectOf[upstream]];
  return {
    baseUrl: `${simulator.url}/v1`,
    upstreamModel: 'sim',
    dialects,
    providerEntry: { dialects, breaker },
  };
}

describe('a program', () => {
  async function openAiAt(gemini: Gemini, upstreamModel = model): Promise<OpenAI> {
    gemini.directives = {};
    const rig = await rigOf([geminiTarget(gemini, upstreamModel)]);
    return new OpenAI({ baseURL: rig.baseUrl, apiKey: testKey, maxRetries: 0 });
  }

  test('that loses a provider’s state continues all the same', async () => {
    const gemini = await geminiOf();
    const openai = await openAiAt(gemini);
    const tools: OpenAI.ChatCompletionTool[] = toolkit.map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    }));
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: hello }];
    const first = await openai.chat.completions.create({ model: 'm', messages, tools });
    const calls = first.choices[0]?.message.tool_calls ?? [];
    // As clients do that know the members of OpenAI alone.
    messages.push({ role: 'assistant', tool_calls: calls });
    for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: 'noon' });
    const second = await openai.chat.completions.create({ model: 'm', messages, tools });
    expect(second.choices[0]?.message.content).toContain('The tool answered "noon"');
    expect(JSON.stringify(gemini.bodies.at(-1))).toContain('skip_thought_signature_validator');
  });

  test.each(['gemini-2.5-flash', model])('gets a form of the answer from %s', async (upstreamModel) => {
    const openai = await openAiAt(await geminiOf(), upstreamModel);
    const answer = await openai.chat.completions.parse({
      model: 'm',
      messages: [{ role: 'user', content: hello }],
      response_format: zodResponseFormat(city, 'city'),
    });
    expect(answer.choices[0]?.message.parsed).toEqual(simCity);
  });

  test('shows an image', async () => {
    const gemini = await geminiOf();
    const openai = await openAiAt(gemini);
    const answer = await openai.chat.completions.create({
      model: 'm',
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
    expect(answer.choices[0]?.finish_reason).toBe('stop');
    expect(gemini.bodies.at(-1)).toMatchObject({
      contents: [
        { role: 'user', parts: [{ text: hello }, { inlineData: { mimeType: 'image/png', data: pixel } }] },
      ],
    });
  });

  test('gets two answers at once', async () => {
    const openai = await openAiAt(await geminiOf());
    const answer = await openai.chat.completions.create({
      model: 'm',
      n: 2,
      messages: [{ role: 'user', content: hello }],
    });
    expect(answer.choices.map(({ index, finish_reason }) => [index, finish_reason])).toEqual([
      [0, 'stop'],
      [1, 'stop'],
    ]);
  });

  test('reads Gemini’s thoughts, and the limit of the answer includes them', async () => {
    const gemini = await geminiOf();
    gemini.directives = {};
    const rig = await rigOf([geminiTarget(gemini)]);
    const anthropic = new Anthropic({ baseURL: rig.url, apiKey: testKey, maxRetries: 0 });
    const body = {
      model: 'm',
      max_tokens: 4_000,
      messages: [{ role: 'user' as const, content: hello }],
      thinking: { type: 'enabled' as const, budget_tokens: 2_000 },
    };
    for (const answer of [
      await anthropic.messages.create(body),
      await anthropic.messages.stream(body).finalMessage(),
    ]) {
      expect(answer.content.filter(({ type }) => type === 'thinking').length).toBeGreaterThan(0);
      expect(answer.stop_reason).toBe('end_turn');
    }
    expect(gemini.bodies.at(-1)).toMatchObject({
      generationConfig: {
        maxOutputTokens: 4_000,
        thinkingConfig: { thinkingLevel: 'MEDIUM', includeThoughts: true },
      },
    });
  });
});
