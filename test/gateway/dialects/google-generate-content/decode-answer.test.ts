// What does an answer of Gemini say? Plain and in chunks, however they are cut, with all that others have read wrong.

import { describe, expect, test } from 'vitest';
import { gatherChoice } from '../../../../gateway/dialects/answer/gather-choice.ts';
import type { AnswerChoice } from '../../../../gateway/dialects/conversation.ts';
import type { StreamDecoder } from '../../../../gateway/dialects/dialect.ts';
import { googleGenerateContent } from '../../../../gateway/dialects/google-generate-content/index.ts';
import { cutAt, readPieces } from '../support/read-pieces.ts';
import { makeConversation, target } from '../support/upstream-call.ts';

const open = () => googleGenerateContent.asUpstream.open(makeConversation(), target);
const decoder = (): StreamDecoder => open().streamDecoder();

type Members = Record<string, unknown>;

const chunk = (
  parts: readonly unknown[] | undefined,
  finishReason?: string,
  more: Members = {},
): Members => ({
  candidates: [
    {
      ...(parts ? { content: { role: 'model', parts } } : {}),
      ...(finishReason === undefined ? {} : { finishReason }),
      index: 0,
    },
  ],
  ...more,
});

const bytesOf = (chunks: readonly unknown[], lineEnd = '\r\n'): Buffer =>
  Buffer.from(chunks.map((each) => `data: ${JSON.stringify(each)}${lineEnd}${lineEnd}`).join(''));

function streamed(chunks: readonly unknown[], cuts: readonly number[] = []) {
  const { out, facts } = readPieces(decoder(), cutAt(bytesOf(chunks), cuts));
  return { parts: out.flat(), choice: gatherChoice(out.flat(), 0), facts };
}

function plain(answer: unknown): AnswerChoice {
  const decoded = open().decodeAnswer(Buffer.from(JSON.stringify(answer)));
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.fault));
  const [choice] = decoded.answer.choices;
  if (!choice) throw new Error('no choice');
  return choice;
}

const usage = (members: Members): Members => ({ usageMetadata: members });
const look = (n: number, more: Members = {}): Members => ({
  functionCall: { name: 'look', args: { n } },
  ...more,
});

describe('a stream', () => {
  const chunks = [
    chunk(
      [{ text: 'I think.', thought: true }],
      undefined,
      usage({ promptTokenCount: 7, totalTokenCount: 7 }),
    ),
    chunk(
      [{ text: 'It is ö' }],
      undefined,
      usage({ promptTokenCount: 7, candidatesTokenCount: 2, totalTokenCount: 9 }),
    ),
    chunk([{ text: ' warm.' }, look(1, { thoughtSignature: 'S' }), look(2)]),
    chunk(
      [{ text: '', thoughtSignature: 'T' }],
      'STOP',
      usage({ promptTokenCount: 7, candidatesTokenCount: 5, thoughtsTokenCount: 3, totalTokenCount: 15 }),
    ),
  ];

  test('cloud 28: cut at every place gives the same parts', () => {
    const whole = streamed(chunks);
    expect(whole.choice).toMatchObject({
      finish: 'tool-calls',
      parts: [
        { type: 'thinking', text: 'I think.' },
        { type: 'text', text: 'It is ö warm.' },
        { type: 'thinking', opaque: { state: { kind: 'details' } } },
        { type: 'tool-call', name: 'look', input: '{"n":1}' },
        { type: 'tool-call', name: 'look', input: '{"n":2}' },
        { type: 'thinking', opaque: { state: { kind: 'signature', value: 'T' } } },
      ],
    });
    for (let at = 1; at < bytesOf(chunks).length; at += 1)
      expect(streamed(chunks, [at]).choice).toEqual(whole.choice);
  });

  test('cloud 39: takes the counts of its last chunk, thoughts included in the output', () => {
    expect(streamed(chunks).facts.usage).toEqual({
      input: 7,
      cachedInput: 0,
      cacheWrite: 0,
      output: 8,
      reasoning: 3,
    });
  });

  test('cloud 27: that ends before its finish reason is cut, and one that ends after it is whole', () => {
    expect(streamed(chunks.slice(0, 3)).facts.fault).toEqual({ kind: 'truncated' });
    expect(streamed(chunks).facts).toMatchObject({ isComplete: true, fault: undefined });
  });

  test('goes on after a first chunk that says STOP already', () => {
    const early = streamed([chunk(undefined, 'STOP'), ...chunks]);
    expect(early.facts.isComplete).toBe(true);
    expect(early.choice.parts.map(({ type }) => type)).toContain('tool-call');
    expect(streamed([chunk(undefined, 'STOP'), ...chunks.slice(0, 2)]).facts.fault).toEqual({
      kind: 'truncated',
    });
  });

  test('with its finish reason and counts in chunks of their own is whole', () => {
    const { choice, facts } = streamed([
      chunk([{ text: 'warm' }]),
      chunk(undefined, 'MAX_TOKENS'),
      usage({ promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 }),
    ]);
    expect([choice.finish, facts.usage?.output, facts.isComplete]).toEqual(['length', 2, true]);
  });
});

describe('the calls of an answer', () => {
  test('cloud 35: are each a call, also of one name, and with the ids that were given', () => {
    const parts = [look(1), { functionCall: { id: 'x', name: 'look' } }, look(2)];
    for (const choice of [plain(chunk(parts, 'STOP')), streamed([chunk(parts, 'STOP')]).choice]) {
      expect(choice).toMatchObject({
        finish: 'tool-calls',
        parts: [
          { type: 'tool-call', id: '', input: '{"n":1}' },
          { type: 'tool-call', id: 'x', input: '{}' },
          { type: 'tool-call', id: '', input: '{"n":2}' },
        ],
      });
    }
  });

  test('keep their numbers as they were written', () => {
    const text =
      '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{"n":1.0}}}]},"finishReason":"STOP"}]}';
    const decoded = open().decodeAnswer(Buffer.from(text));
    expect(decoded).toMatchObject({ ok: true, answer: { choices: [{ parts: [{ input: '{"n":1.0}' }] }] } });
    const { out } = readPieces(decoder(), [Buffer.from(`data: ${text}\n\n`)]);
    expect(gatherChoice(out.flat(), 0).parts).toMatchObject([{ input: '{"n":1.0}' }]);
  });
});

describe('cloud 38: an answer', () => {
  test.each([
    [
      'whose prompt was blocked',
      { promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: 'No.' } },
      'SAFETY',
      'No.',
    ],
    ['that a filter ended', chunk([{ text: 'so' }], 'RECITATION'), 'RECITATION', null],
    [
      'that a filter kept back',
      { candidates: [{ finishReason: 'SPII', finishMessage: 'A number.' }] },
      'SPII',
      'A number.',
    ],
  ])('%s is a refusal that says why', (_, answer, category, explanation) => {
    for (const choice of [plain(answer), streamed([answer]).choice]) {
      expect(choice).toMatchObject({ finish: 'content-filter', refusal: { category, explanation } });
    }
  });

  test.each([
    ['without candidates', {}],
    ['with an empty list of them', { candidates: [] }],
  ])('%s is a failed attempt', (_, answer) => {
    expect(open().decodeAnswer(Buffer.from(JSON.stringify(answer)))).toMatchObject({ ok: false });
    expect(streamed([answer]).facts.fault).toMatchObject({ kind: 'malformed' });
  });

  test.each([
    [chunk([], 'STOP')],
    [chunk(undefined, 'STOP')],
    [{ candidates: [{ content: {}, finishReason: 'STOP' }] }],
  ])('without content is still an answer: %j', (answer) => {
    expect(plain(answer)).toMatchObject({ finish: 'stop', parts: [] });
    expect(streamed([answer]).facts.isComplete).toBe(true);
  });

  test.each(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'MISSING_THOUGHT_SIGNATURE'])(
    'without content, ended by %s, is a failed attempt until something of it was shown',
    (reason) => {
      const fault = { kind: 'error-event', error: { code: reason } };
      expect(open().decodeAnswer(Buffer.from(JSON.stringify(chunk(undefined, reason))))).toMatchObject({
        ok: false,
        fault,
      });
      expect(streamed([chunk(undefined, reason)]).facts.fault).toMatchObject(fault);
      expect(streamed([chunk([{ text: 'so' }], reason)]).choice).toMatchObject({
        finish: 'stop',
        isAssumed: true,
      });
    },
  );
});

describe('cloud 39: the counts of an answer', () => {
  const read = (members: Members): unknown =>
    streamed([chunk([{ text: 'a' }], 'STOP', usage(members))]).facts.usage;

  test.each<[string, Members, object]>([
    [
      'have what its own tools read among the input',
      { promptTokenCount: 7, toolUsePromptTokenCount: 20, candidatesTokenCount: 4, totalTokenCount: 31 },
      { input: 27, output: 4 },
    ],
    [
      'have thoughts once where the model counts them among the candidates',
      { promptTokenCount: 7, candidatesTokenCount: 9, thoughtsTokenCount: 5, totalTokenCount: 16 },
      { input: 7, output: 9, reasoning: 5 },
    ],
    [
      'have what came from a cache among the input',
      { promptTokenCount: 70, cachedContentTokenCount: 60, candidatesTokenCount: 4, totalTokenCount: 74 },
      { input: 70, cachedInput: 60, cacheWrite: 0 },
    ],
    [
      'tell sound apart',
      {
        promptTokenCount: 70,
        candidatesTokenCount: 4,
        totalTokenCount: 74,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 10 },
          { modality: 'AUDIO', tokenCount: 60 },
        ],
      },
      { input: 70, audioInput: 60 },
    ],
  ])('%s', (_, members, wanted) => {
    expect(read(members)).toMatchObject(wanted);
  });

  test('that are not numbers are ignored', () => {
    expect(read({ promptTokenCount: 'many' })).toBeUndefined();
  });
});

test('probabilities come as chat completions have them', () => {
  const logprobsResult = {
    chosenCandidates: [{ token: 'ö', logProbability: -0.5 }],
    topCandidates: [
      {
        candidates: [
          { token: 'ö', logProbability: -0.5 },
          { token: 'o', logProbability: -2 },
        ],
      },
    ],
  };
  const answer = {
    candidates: [{ content: { parts: [{ text: 'ö' }] }, finishReason: 'STOP', logprobsResult }],
  };
  expect(plain(answer).logprobs).toEqual([
    {
      token: 'ö',
      logprob: -0.5,
      bytes: [0xc3, 0xb6],
      top_logprobs: [
        { token: 'ö', logprob: -0.5, bytes: [0xc3, 0xb6] },
        { token: 'o', logprob: -2, bytes: [0x6f] },
      ],
    },
  ]);
});

test('an error in a list, as some of Google’s services write it, is read', () => {
  const body = Buffer.from(
    JSON.stringify([{ error: { code: 429, message: 'Slow down.', status: 'RESOURCE_EXHAUSTED' } }]),
  );
  expect(googleGenerateContent.readError(body)).toMatchObject({
    status: 429,
    message: 'Slow down.',
    type: 'RESOURCE_EXHAUSTED',
  });
});
