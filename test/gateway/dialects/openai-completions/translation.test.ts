// How is a completion served by an upstream that speaks another dialect, and what does the caller get?

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../../core/contract/routing-table.ts';
import { findImpossible } from '../../../../gateway/dialects/compatibility.ts';
import type { FinishReason, ModelAnswer } from '../../../../gateway/dialects/conversation.ts';
import type { PartsEncoder, Translation } from '../../../../gateway/dialects/dialect.ts';
import { openAiChat } from '../../../../gateway/dialects/openai-chat/index.ts';
import { openAiCompletions } from '../../../../gateway/dialects/openai-completions/index.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import { translateAnswer, translateStream } from '../../../../gateway/dialects/translate.ts';
import { GatewayError } from '../../../../gateway/request/errors.ts';
import { delta, done, frame, piece, usage, usageChunk, wholeChat } from '../support/openai-streams.ts';
import { readPieces, sentText } from '../support/read-pieces.ts';
import { bodyOf, makeConversation, sentBody, target } from '../support/upstream-call.ts';

const head = { id: 'x1', createdAt: 1_800_000_000, model: 'm', inputEstimate: 7 };

function translate(
  request: Record<string, unknown>,
  upstreams: readonly DialectName[] = ['openai-chat'],
): Translation {
  const context = { upstreams: new Set(upstreams), header: () => undefined };
  return openAiCompletions.translate(bodyOf({ model: 'm', prompt: 'p', ...request }), context);
}

function encode(
  dialect: typeof openAiChat,
  request: Record<string, unknown>,
  more: { isStream?: boolean; parameters?: Record<string, unknown> } = {},
): unknown[] {
  return translate(request).conversations.map((conversation) => sentBody(dialect, conversation, more));
}

/** A stream of so many choices a call. */
function through(dialect: typeof openAiChat, choices: number, encoder: PartsEncoder) {
  return translateStream(dialect.asUpstream.open(makeConversation({ choices }), target), encoder);
}

function read(dialect: typeof openAiChat, choices: number, body: string) {
  return translateAnswer(dialect.asUpstream.open(makeConversation({ choices }), target), Buffer.from(body));
}

describe('the request to a chat upstream', () => {
  const messages = [{ role: 'user', content: 'p' }];
  const defaults = { model: 'up', messages, max_tokens: 16, temperature: 1, top_p: 1 };
  test.each([
    ['the defaults of the specification', {}, defaults],
    [
      'everything that is given',
      {
        ...{
          max_tokens: 5,
          temperature: 0,
          top_p: 0,
          n: 3,
          stop: 'x',
          presence_penalty: -2,
          frequency_penalty: 1,
        },
        ...{ seed: 7, user: 'u', logit_bias: { 50: -100 } },
      },
      {
        ...{
          model: 'up',
          messages,
          max_tokens: 5,
          temperature: 0,
          top_p: 0,
          n: 3,
          stop: ['x'],
          presence_penalty: -2,
        },
        ...{ frequency_penalty: 1, seed: 7, user: 'u', logit_bias: { 50: -100 } },
      },
    ],
    ['no penalties of zero', { presence_penalty: 0, frequency_penalty: 0 }, defaults],
    ['no nulls', { temperature: null, max_tokens: null, stop: null, seed: null, logit_bias: null }, defaults],
    ['a list of stops', { stop: ['a', 'b'] }, { ...defaults, stop: ['a', 'b'] }],
    ['no empty list of stops', { stop: [] }, defaults],
    ['nothing of what costs nothing to leave out', { suffix: '', best_of: 1 }, defaults],
  ])('has %s', (_, request, wanted) => {
    expect(encode(openAiChat, request)).toEqual([wanted]);
  });

  test('the target’s parameters come before the defaults, and after the caller’s', () => {
    const parameters = { temperature: 0.2, top_p: 0.3, max_tokens: 99, extra: true };
    expect(encode(openAiChat, { top_p: 0.9 }, { parameters })).toEqual([
      { ...defaults, temperature: 0.2, top_p: 0.9, max_tokens: 99, extra: true },
    ]);
    expect(
      encode(openAiCompletions, { top_p: 0.9 }, { parameters: { ...parameters, seed: 1 } }),
    ).toMatchObject([{ temperature: 0.2, top_p: 0.9, max_tokens: 99, extra: true, seed: 1 }]);
  });

  test('the limit has the name that the target uses', () => {
    const { max_tokens: _, ...rest } = defaults;
    expect(encode(openAiChat, { max_tokens: 5 }, { parameters: { max_completion_tokens: 9 } })).toEqual([
      { ...rest, max_completion_tokens: 5 },
    ]);
  });

  test('a stream asks for usage', () => {
    expect(encode(openAiChat, {}, { isStream: true })).toEqual([
      { ...defaults, stream: true, stream_options: { include_usage: true } },
    ]);
  });

  test('several prompts are several requests, in order, each verbatim', () => {
    const prompts = ['a', ' b\n', ''];
    expect(encode(openAiChat, { prompt: prompts, n: 2 })).toMatchObject(
      prompts.map((content) => ({ messages: [{ role: 'user', content }], n: 2 })),
    );
    expect(encode(openAiCompletions, { prompt: prompts, n: 2 })).toMatchObject(
      prompts.map((prompt) => ({ prompt, n: 2, max_tokens: 16, presence_penalty: 0 })),
    );
  });

  test.each([
    [{ suffix: 's' }, 'suffix'],
    [{ logprobs: 0 }, 'logprobs'],
    [{ best_of: 3 }, 'best_of'],
  ])('%j is refused and named', (request, name) => {
    const [conversation] = translate(request).conversations;
    expect(conversation && findImpossible('openai-completions', 'openai-chat', conversation)?.param).toBe(
      name,
    );
  });

  test('a bias that is no number is refused and named', () => {
    expect(refusal(() => translate({ logit_bias: { 50: 'x' } }))).toMatchObject({ param: 'logit_bias' });
  });
});

const answer = (texts: readonly string[], more: Partial<ModelAnswer> = {}): ModelAnswer => ({
  id: 'up-1',
  model: 'served',
  createdAt: 1,
  choices: texts.map((text, index) => ({ index, parts: [{ type: 'text', text }], finish: 'stop' })),
  ...more,
});

const counted = { input: 7, cachedInput: 2, cacheWrite: 1, output: 3, reasoning: 1 };

describe('the plain answer', () => {
  const encoded = (request: Record<string, unknown>, answers: readonly ModelAnswer[]) =>
    JSON.parse(translate(request).encodeAnswer(answers, head).toString('utf8'));

  test('is a text completion', () => {
    expect(encoded({}, [answer(['a'])])).toEqual({
      id: 'cmpl-x1',
      object: 'text_completion',
      created: 1_800_000_000,
      model: 'served',
      choices: [{ text: 'a', index: 0, logprobs: null, finish_reason: 'stop' }],
    });
  });

  test('numbers choices over all prompts: prompt × n + sample', () => {
    const answers = [answer(['a', 'b']), answer(['c', 'd']), { ...answer(['e', 'f']) }];
    const { choices } = encoded({ prompt: ['1', '2', '3'], n: 2 }, answers);
    expect(choices.map((choice: { index: number; text: string }) => [choice.index, choice.text])).toEqual([
      ...[
        [0, 'a'],
        [1, 'b'],
        [2, 'c'],
        [3, 'd'],
        [4, 'e'],
        [5, 'f'],
      ],
    ]);
  });

  test('adds up usage', () => {
    const { usage: sum } = encoded({ prompt: ['1', '2'] }, [
      answer(['a'], { usage: counted }),
      answer(['b'], { usage: counted }),
    ]);
    expect(sum).toEqual({
      prompt_tokens: 14,
      completion_tokens: 6,
      total_tokens: 20,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 2 },
    });
  });

  test('begins with the prompt where the caller wants it echoed', () => {
    const { choices } = encoded({ prompt: ['1', '2'], echo: true }, [answer(['a']), answer(['b'])]);
    expect(choices).toMatchObject([{ text: '1a' }, { text: '2b' }]);
  });

  test('shows text and refusals, and no thinking', () => {
    const parts = [
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'a' },
      { type: 'refusal', text: 'b' },
    ] as const;
    const { choices } = encoded({}, [
      { ...answer([]), choices: [{ index: 0, parts, finish: 'content-filter' }] },
    ]);
    expect(choices).toEqual([{ text: 'ab', index: 0, logprobs: null, finish_reason: 'content_filter' }]);
  });
});

const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-full': 'length',
  'tool-calls': 'stop',
  'content-filter': 'content_filter',
  pause: 'stop',
};

test.each(Object.entries(finishReasons))('the finish %s is reported as %s', (finish, wanted) => {
  const ended: StreamPart = { type: 'choice-end', choice: 0, finish: finish as FinishReason };
  const translation = translate({});
  expect(translation.streamEncoder(head).open(0).encode([ended])).toContain(`"finish_reason":"${wanted}"`);
  const whole = { ...answer([]), choices: [{ index: 0, parts: [], finish: finish as FinishReason }] };
  expect(translation.encodeAnswer([whole], head).toString()).toContain(`"finish_reason":"${wanted}"`);
});

describe('the stream', () => {
  interface Chunk {
    readonly choices: readonly { text: string; index: number; finish_reason: string | null }[];
    readonly usage?: unknown;
  }

  const chunksOf = (sent: string): Chunk[] =>
    sent
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => JSON.parse(event.slice('data: '.length)));
  const textOf = (chunks: readonly Chunk[], index: number): string =>
    chunks
      .flatMap(({ choices }) => choices.filter((choice) => choice.index === index))
      .map(({ text }) => text)
      .join('');

  test('of a chat upstream comes out as completion chunks without usage', () => {
    const encoder = translate({ stream: true }).streamEncoder(head);
    const stream = through(openAiChat, 1, encoder.open(0));
    const reading = readPieces(stream, [Buffer.from(wholeChat)]);
    const chunks = chunksOf(sentText(reading) + encoder.close());
    expect(textOf(chunks, 0)).toBe('Grüße, 漢字 😀');
    expect(chunks.at(-1)).toEqual({
      id: 'cmpl-x1',
      object: 'text_completion',
      created: 1_800_000_000,
      choices: [{ text: '', index: 0, logprobs: null, finish_reason: 'stop' }],
      model: 'served',
    });
    expect(chunks.filter((chunk) => 'usage' in chunk)).toEqual([]);
    expect(reading.facts).toMatchObject({ isComplete: true, usage: { input: 7, output: 3 } });
  });

  test('of a completions upstream comes out the same', () => {
    const encoder = translate({ stream: true }).streamEncoder(head);
    const stream = through(openAiCompletions, 2, encoder.open(0));
    const text =
      [piece('a'), piece('b', null, 1), piece('c', 'length'), piece('', 'stop', 1)].map(frame).join('') +
      done;
    const reading = readPieces(stream, [Buffer.from(text)]);
    const chunks = chunksOf(sentText(reading));
    expect([textOf(chunks, 0), textOf(chunks, 1)]).toEqual(['ac', 'b']);
    expect(reading.facts).toMatchObject({ isComplete: true, hasContent: true, servedModel: 'served' });
  });

  test('with usage asked for has null in each chunk and the sum in a last one', () => {
    const options = { stream: true, stream_options: { include_usage: true }, prompt: ['1', '2'] };
    const encoder = translate(options).streamEncoder(head);
    const sent = [0, 1].map((call) =>
      sentText(readPieces(through(openAiChat, 1, encoder.open(call)), [Buffer.from(wholeChat)])),
    );
    const chunks = chunksOf(sent.join('') + encoder.close());
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 2 * usage.prompt_tokens, completion_tokens: 2 * usage.completion_tokens },
    });
    expect([textOf(chunks, 0), textOf(chunks, 1)]).toEqual(['Grüße, 漢字 😀', 'Grüße, 漢字 😀']);
  });

  test('without usage from the upstream has no last chunk for it', () => {
    const encoder = translate({ stream: true, stream_options: { include_usage: true } }).streamEncoder(head);
    encoder.open(0).encode([{ type: 'answer-start', id: '', model: '', createdAt: 0 }]);
    expect(encoder.close()).toBe('');
  });

  test('echoes each prompt once for each choice, before its text, also without text', () => {
    const encoder = translate({ stream: true, prompt: ['P', 'Q'], echo: true, n: 2 }).streamEncoder(head);
    const events = [
      delta({ content: 'a' }),
      delta({ content: 'b' }),
      delta({}, 'stop'),
      delta({}, 'stop', 1),
    ];
    const sent = [0, 1].map((call) =>
      sentText(
        readPieces(through(openAiChat, 2, encoder.open(call)), [Buffer.from(events.map(frame).join(''))]),
      ),
    );
    const chunks = chunksOf(sent.join(''));
    expect([0, 1, 2, 3].map((index) => textOf(chunks, index))).toEqual(['Pab', 'P', 'Qab', 'Q']);
  });

  test('thinking is not shown, though it counts as a sign of life', () => {
    const encoder = translate({ stream: true }).streamEncoder(head);
    const text = frame(delta({ reasoning_content: 'hm' })) + frame(delta({ content: 'a' }, 'stop'));
    const reading = readPieces(through(openAiChat, 1, encoder.open(0)), [Buffer.from(text)]);
    expect(textOf(chunksOf(sentText(reading)), 0)).toBe('a');
  });

  // An attempt that failed before its content was handed out is repeated. What it gave must not stay: neither its
  // usage in the sum, nor the prompt as already echoed.
  test('that starts again forgets the earlier attempt', () => {
    const request = { stream: true, stream_options: { include_usage: true }, echo: true };
    const encoder = translate(request).streamEncoder(head);
    const failed =
      frame(delta({ content: 'lost' })) + frame({ ...usageChunk, usage: { prompt_tokens: 1000 } });
    readPieces(through(openAiChat, 1, encoder.open(0)), [Buffer.from(failed)]);
    const stream = through(openAiChat, 1, encoder.open(0));
    const chunks = chunksOf(sentText(readPieces(stream, [Buffer.from(wholeChat)])) + encoder.close());
    expect(textOf(chunks, 0)).toBe('pGrüße, 漢字 😀');
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 3 });
  });
});

describe('there and back', () => {
  test('a completion keeps its texts, reasons and counts through both upstream dialects', () => {
    const bodies = {
      chat: {
        model: 'served',
        choices: [
          { index: 0, message: { content: 'a' }, finish_reason: 'length' },
          { index: 1, message: { content: 'é😀' }, finish_reason: 'content_filter' },
        ],
        usage,
      },
      completions: {
        model: 'served',
        choices: [
          { index: 1, text: 'é😀', finish_reason: 'content_filter' },
          { index: 0, text: 'a', finish_reason: 'length' },
        ],
        usage,
      },
    };
    for (const [dialect, body] of [
      [openAiChat, bodies.chat],
      [openAiCompletions, bodies.completions],
    ] as const) {
      const reading = read(dialect, 2, JSON.stringify(body));
      if (!reading.ok) throw new Error(`refused: ${JSON.stringify(reading.fault)}`);
      const bytes = translate({ n: 2 }).encodeAnswer([reading.value.answer], head);
      expect(JSON.parse(bytes.toString('utf8'))).toMatchObject({
        model: 'served',
        choices: [
          { text: 'a', index: 0, finish_reason: 'length' },
          { text: 'é😀', index: 1, finish_reason: 'content_filter' },
        ],
        usage,
      });
    }
  });

  test('an answer without counts is estimated by its text', () => {
    const body = { choices: [{ message: { content: '12345678' } }, { message: { content: '1' } }] };
    expect(read(openAiChat, 2, JSON.stringify(body))).toMatchObject({
      outputEstimate: 3,
    });
  });

  test.each(['<html>', '[]', '{}', '{"choices":7}', '{"error":"no"}', '{"error":[]}'])(
    'the answer %s is refused',
    (body) => {
      for (const dialect of [openAiChat, openAiCompletions]) {
        expect(read(dialect, 1, body).ok).toBe(false);
      }
    },
  );
});

function refusal(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
