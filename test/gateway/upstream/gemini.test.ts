// Is the Gemini API reached at the paths and in the dialect that Google takes, and are its answers and refusals understood? Through every
// dialect that clients speak.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { type Gemini, type Scripted, startGemini } from '../../../simulator/clouds/gemini.ts';
import { googleError } from '../../../simulator/clouds/google-error.ts';
import { ask, type Endpoint, errorOf, textOf } from '../../flow/ask.ts';
import { startWall } from '../../support/wall.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../rig.ts';
import { askForCount } from './ask-for-count.ts';

const key = 'AIza-key-of-the-project-0123456789';
const endpoints: readonly Endpoint[] = ['chat', 'responses', 'messages', 'completions'];
const models = { 'gemini-2.5-flash': 'sim', 'gemini-3.8-flash': 'sim' };

let gemini: Gemini;

beforeAll(async () => {
  gemini = await startGemini({ key, models });
});
afterAll(() => gemini[Symbol.asyncDispose]());
beforeEach(() => {
  gemini.directives = {};
  gemini.next = undefined;
});

function target(more: Partial<RigTarget> = {}, base = gemini.url): RigTarget {
  return {
    baseUrl: base,
    upstreamModel: 'gemini-3.8-flash',
    dialects: ['google-generate-content'],
    keys: { main: key },
    ...more,
    providerEntry: {
      type: 'Gemini',
      dialects: ['google-generate-content'],
      auth: { header: 'x-goog-api-key', prefix: '' },
      ...more.providerEntry,
    },
  };
}

async function withRig<Result>(
  targets: readonly RigTarget[],
  use: (rig: Rig) => Promise<Result>,
): Promise<Result> {
  const rig = await startRig(tableOf(targets));
  try {
    return await use(rig);
  } finally {
    await rig.close();
  }
}

function callsOf(targets: readonly RigTarget[], endpoint: Endpoint, isStream = false, more: object = {}) {
  return withRig(targets, async (rig) => {
    const before = gemini.calls.length;
    const seen = await ask(rig, { endpoint, isStream, more });
    return { seen, paths: gemini.calls.slice(before), records: rig.records };
  });
}

const path = (model: string, isStream: boolean): string =>
  `/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;

test('tokens of a request with tools are counted by Google', async () => {
  await withRig([target()], async (rig) => {
    const answer = await askForCount(rig);
    expect([answer.status, answer.isEstimated, answer.body]).toEqual([
      200,
      false,
      { input_tokens: expect.any(Number) },
    ]);
    expect(gemini.calls.at(-1)).toBe('/v1beta/models/gemini-3.8-flash:countTokens');
    expect(gemini.bodies.at(-1)).toEqual({
      generateContentRequest: {
        model: 'models/gemini-3.8-flash',
        contents: [{ role: 'user', parts: [{ text: 'three plain words' }] }],
        systemInstruction: { parts: [{ text: 'Be brief.' }] },
        tools: [{ functionDeclarations: [expect.objectContaining({ name: 'look_up' })] }],
      },
    });
  });
});

describe('a model is served', () => {
  test.each(endpoints.flatMap((endpoint) => [false, true].map((isStream) => [endpoint, isStream] as const)))(
    'by %s, as a stream: %s',
    async (endpoint, isStream) => {
      const { seen, paths, records } = await callsOf([target()], endpoint, isStream);
      expect([seen.status, paths]).toEqual([200, [path('gemini-3.8-flash', isStream)]]);
      expect(textOf(seen)).toContain('the simulator speaking as gemini-3.8-flash');
      expect(records).toMatchObject([
        { outcome: 'answered', upstreamDialect: 'google-generate-content', isEstimated: false },
      ]);
    },
  );

  test.each(['models/gemini-2.5-flash', 'gemini-2.5-flash'])('by the name %s', async (upstreamModel) => {
    const { seen, paths } = await callsOf([target({ upstreamModel })], 'chat');
    expect([seen.status, paths]).toEqual([200, [path('gemini-2.5-flash', false)]]);
  });

  test('from a base URL with the suffix of the OpenAI form', async () => {
    const { seen, paths } = await callsOf([target({}, `${gemini.url}/openai`)], 'chat');
    expect([seen.status, paths]).toEqual([200, [path('gemini-3.8-flash', false)]]);
  });

  test('in the OpenAI form with the key as a bearer, where the Provider asks for that', async () => {
    const wall = await startWall();
    const dialects: DialectName[] = ['openai-chat'];
    const chat = target({ dialects, providerEntry: { dialects } }, `http://127.0.0.1:${wall.port}/v1beta`);
    try {
      await callsOf([chat], 'chat');
      const [call] = wall.calls;
      expect(call?.path).toBe('/v1beta/openai/chat/completions');
      expect(call?.headers.authorization).toBe(`Bearer ${key}`);
      expect(call?.headers['x-goog-api-key']).toBeUndefined();
    } finally {
      await wall.close();
    }
  });

  test('with the counts that Google reports, thoughts among the output', async () => {
    gemini.directives = { reasoningTokens: 5, cachedTokens: 2, tokens: 7 };
    for (const isStream of [false, true]) {
      const { records } = await callsOf([target()], 'chat', isStream);
      expect(records[0]?.usage).toMatchObject({ cachedInput: 2, cacheWrite: 0, output: 12, reasoning: 5 });
    }
  });
});

describe('a refusal of Google', () => {
  const errorOfGoogle = (
    status: number,
    word: string,
    message: string,
    details?: readonly unknown[],
  ): Scripted => ({
    status,
    body: googleError({ status, word, message, ...(details ? { details } : {}) }),
  });
  const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '37s' };

  test('of the key, a 400 there, is an error of the platform, and quotes no key', async () => {
    const { seen } = await callsOf([target({ keys: { main: `${key}x` } })], 'chat');
    expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_auth_failed']);
    expect(seen.text).not.toContain(key);
  });

  test('of the request reaches the caller once, with Google’s message', async () => {
    gemini.next = errorOfGoogle(400, 'INVALID_ARGUMENT', 'The input has a picture that cannot be read.');
    const { seen, paths } = await callsOf([target(), target()], 'chat');
    expect([seen.status, paths.length]).toEqual([400, 1]);
    expect(errorOf(seen)?.message).toBe('The input has a picture that cannot be read.');
  });

  test('for its quota has the time to wait, though no header has it', async () => {
    gemini.next = errorOfGoogle(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted.', [retryInfo]);
    const { seen } = await callsOf([target()], 'chat');
    expect([seen.status, seen.headers['retry-after']]).toEqual([429, '37']);
  });

  test('for the quota of a day does not ask for a retry within seconds', async () => {
    const quota = {
      '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
      violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }],
    };
    gemini.next = errorOfGoogle(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.', [
      quota,
      retryInfo,
    ]);
    const { seen } = await callsOf([target()], 'chat');
    expect(seen.status).toBe(429);
    expect(seen.headers['retry-after']).not.toBe('37');
  });

  test.each([
    [404, 'NOT_FOUND', 'models/gemini-3.8-flash is not found for API version v1beta.'],
    [
      403,
      'PERMISSION_DENIED',
      'Generative Language API has not been used in project 1 before or it is disabled.',
    ],
    [400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.'],
    [500, 'INTERNAL', 'An internal error has occurred.'],
    [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'],
    [504, 'DEADLINE_EXCEEDED', 'The request timed out.'],
  ])('%i %s lets the next target take over', async (status, word, message) => {
    gemini.next = errorOfGoogle(status, word, message);
    const { seen, records } = await callsOf([target(), target()], 'chat');
    expect(seen.status).toBe(200);
    expect(records.map(({ outcome }) => outcome)).toEqual(['failed', 'answered']);
  });

  test('in the middle of a stream breaks the answer off', async () => {
    const words = { candidates: [{ content: { role: 'model', parts: [{ text: 'Half an answer' }] } }] };
    const error = googleError({ status: 503, word: 'UNAVAILABLE', message: 'The model is overloaded.' });
    gemini.next = { status: 200, chunks: [words, error] };
    const { seen, records } = await callsOf([target()], 'chat', true);
    expect(records.map(({ outcome }) => outcome)).toEqual(['broken-off']);
    expect(seen.text).toContain('"error"');
  });
});

describe('a blocked answer', () => {
  const usageMetadata = { promptTokenCount: 9, totalTokenCount: 9 };
  const blockedPrompt = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata };
  const blockedAnswer = {
    candidates: [{ finishReason: 'SAFETY', finishMessage: 'It may do harm.', index: 0 }],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1, totalTokenCount: 10 },
  };
  const ends: Readonly<Record<Endpoint, string>> = {
    chat: '"finish_reason":"content_filter"',
    // Codex would ask again where it reads that an answer is incomplete.
    responses: '"status":"completed"',
    messages: '"stop_reason":"refusal"',
    completions: '"finish_reason":"content_filter"',
  };

  test.each(endpoints.flatMap((endpoint) => [false, true].map((isStream) => [endpoint, isStream] as const)))(
    'is a refusal of the dialect for %s, as a stream: %s, and does not count against the upstream',
    async (endpoint, isStream) => {
      for (const chunk of [blockedPrompt, blockedAnswer]) {
        gemini.next = { status: 200, chunks: [chunk] };
        const { seen, paths, records } = await callsOf([target(), target()], endpoint, isStream);
        expect([seen.status, paths.length]).toEqual([200, 1]);
        expect(seen.text).toContain(ends[endpoint]);
        // The prompt is billed all the same.
        expect(records).toMatchObject([{ outcome: 'answered', usage: { input: 9 } }]);
      }
    },
  );

  test('without any content is a failed attempt, and the next target answers', async () => {
    for (const isStream of [false, true]) {
      gemini.next = { status: 200, chunks: [{ usageMetadata }] };
      const { seen, records } = await callsOf([target(), target()], 'chat', isStream);
      expect(seen.status).toBe(200);
      expect(records.map(({ outcome }) => outcome)).toEqual(['failed', 'answered']);
    }
  });
});

describe('a bill, computed by hand in picodollars', () => {
  // Of gemini-2.5-pro: 1.25, 0.125 and 10 dollars a million tokens; above 200,000 tokens of input 2.50, 0.25 and 15 for the whole call.
  const price = {
    source: 'target',
    input: 1_250_000,
    cachedInput: 125_000,
    output: 10_000_000,
    tiers: [{ aboveInputTokens: 200_000, input: 2_500_000, cachedInput: 250_000, output: 15_000_000 }],
  };

  test.each<[string, Record<string, number>, number]>([
    [
      'input and output',
      { promptTokenCount: 1_000, candidatesTokenCount: 200, totalTokenCount: 1_200 },
      3_250_000_000,
    ],
    [
      'thoughts beside the answer',
      { promptTokenCount: 1_000, candidatesTokenCount: 200, thoughtsTokenCount: 300, totalTokenCount: 1_500 },
      6_250_000_000,
    ],
    [
      'thoughts inside the answer',
      { promptTokenCount: 1_000, candidatesTokenCount: 500, thoughtsTokenCount: 300, totalTokenCount: 1_500 },
      6_250_000_000,
    ],
    [
      'a part of the input from a cache',
      {
        promptTokenCount: 1_000,
        cachedContentTokenCount: 800,
        candidatesTokenCount: 10,
        totalTokenCount: 1_010,
      },
      450_000_000,
    ],
    [
      'all of the input from a cache',
      {
        promptTokenCount: 1_000,
        cachedContentTokenCount: 1_000,
        candidatesTokenCount: 10,
        totalTokenCount: 1_010,
      },
      225_000_000,
    ],
    [
      'what its own tools read',
      {
        promptTokenCount: 100,
        toolUsePromptTokenCount: 900,
        candidatesTokenCount: 10,
        totalTokenCount: 1_010,
      },
      1_350_000_000,
    ],
    ['a blocked prompt', { promptTokenCount: 400, totalTokenCount: 400 }, 500_000_000],
    [
      'the longest of the lower tier',
      { promptTokenCount: 200_000, candidatesTokenCount: 1, totalTokenCount: 200_001 },
      250_010_000_000,
    ],
    [
      'the shortest of the higher tier',
      { promptTokenCount: 200_001, candidatesTokenCount: 1, totalTokenCount: 200_002 },
      500_017_500_000,
    ],
    [
      'a cache in the higher tier',
      {
        promptTokenCount: 300_000,
        cachedContentTokenCount: 100_000,
        candidatesTokenCount: 100,
        totalTokenCount: 300_100,
      },
      526_500_000_000,
    ],
  ])('for %s', async (_, usageMetadata, cost) => {
    const parts = usageMetadata.candidatesTokenCount === undefined ? [] : [{ text: 'All is well.' }];
    const candidate = {
      content: { role: 'model', parts },
      finishReason: parts.length > 0 ? 'STOP' : 'SAFETY',
      index: 0,
    };
    for (const isStream of [false, true]) {
      gemini.next = { status: 200, chunks: [{ candidates: [candidate], usageMetadata }] };
      const { records } = await callsOf([target({ price })], 'chat', isStream);
      expect(records.map(({ costPicodollars }) => costPicodollars)).toEqual([cost]);
    }
  });
});
