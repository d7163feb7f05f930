// What must hold of every streamed answer: what one side of a dialect writes, the other side reads
// back, however the network cuts it; and the official SDKs read it as the plain answer.

import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import type { ModelAnswer, Part } from '../../../../gateway/dialects/conversation.ts';
import type { StreamDecoder } from '../../../../gateway/dialects/dialect.ts';
import { findDialect } from '../../../../gateway/dialects/registry.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import { runs } from '../../../support/runs.ts';
import { someAnswer, someTools, streamed } from './arbitrary.ts';
import { backToBack } from './both-sides.ts';

const chatLike = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const;
const all = [...chatLike, 'openai-completions'] as const;
type Name = (typeof all)[number];

const tools = fc.sample(someTools, 1)[0] ?? [];

/** Without what this dialect has no place for: free text tools live in responses only, here. */
function sayable(name: Name, answer: ModelAnswer): ModelAnswer {
  const isKept = (part: Part): boolean => {
    if (name === 'openai-completions') return part.type === 'text';
    return part.type !== 'tool-call' || part.kind === 'function' || name === 'openai-responses';
  };
  const choices = answer.choices.map((choice) => {
    const kept = choice.parts.filter(isKept);
    const parts = kept.filter((part, at) => part.type === 'tool-call' || part.type !== kept[at - 1]?.type);
    const hasCalls = parts.some((part) => part.type === 'tool-call');
    return {
      ...choice,
      parts,
      finish: choice.finish === 'tool-calls' && !hasCalls ? ('stop' as const) : choice.finish,
    };
  });
  return { ...answer, choices };
}

/** The bytes a client of this dialect gets for the answer. */
function written(name: Name, answer: ModelAnswer, deltaLength: number): Buffer {
  const dialect = findDialect(name);
  const { encoder } = backToBack(dialect, name === 'openai-completions' ? {} : { tools });
  const stream = encoder();
  const text = stream.open(0).encode(streamed(answer, deltaLength)) + stream.close() + dialect.streamEnd;
  return Buffer.from(text);
}

function decoderOf(name: Name): StreamDecoder {
  return backToBack(findDialect(name), name === 'openai-completions' ? {} : { tools }).call.streamDecoder();
}

function read(decoder: StreamDecoder, pieces: readonly Buffer[]): readonly StreamPart[] {
  const parts: StreamPart[] = [];
  for (const piece of pieces) parts.push(...decoder.push(piece));
  parts.push(...decoder.end());
  return parts;
}

/** What was said, in order, whatever the cuts between deltas. */
function gist(parts: readonly StreamPart[]): unknown {
  const said: { kind: string; name: string; text: string }[] = [];
  let finish: string | undefined;
  for (const part of parts) {
    if (part.type === 'part-start') {
      said.push({ kind: part.head.type, name: 'name' in part.head ? part.head.name : '', text: '' });
    } else if (part.type === 'part-delta') {
      const last = said.at(-1);
      if (last) last.text += part.text;
    } else if (part.type === 'choice-end') finish = part.finish;
  }
  // Chat completions have one text of thoughts: a blank line is between two of them.
  return { said: said.map((one) => ({ ...one, text: one.text.replace(/^\n\n/, '') })), finish };
}

function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.map((point) => point % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

const cuts = fc.array(fc.nat(), { maxLength: 12 });
const deltaLength = fc.integer({ min: 1, max: 9 });

describe.each(all)('%s', (name) => {
  test('a written stream is read back, however it is cut', () => {
    fc.assert(
      fc.property(someAnswer, deltaLength, cuts, (drawn, length, points) => {
        const answer = sayable(name, drawn);
        const decoder = decoderOf(name);
        const parts = read(decoder, cut(written(name, answer, length), points));
        expect(decoder.facts.fault).toBeUndefined();
        expect(decoder.facts.isComplete).toBe(true);
        expect(gist(parts)).toEqual(gist(streamed(answer, length)));
        if (name !== 'openai-completions') expect(decoder.facts.usage).toEqual(answer.usage);
      }),
      { numRuns: runs(1000) },
    );
  });

  test('a truncated stream is never read as a complete one', () => {
    fc.assert(
      fc.property(
        someAnswer,
        deltaLength,
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (drawn, length, share) => {
          const bytes = written(name, sayable(name, drawn), length);
          const decoder = decoderOf(name);
          const parts = read(decoder, [bytes.subarray(0, Math.floor(bytes.length * share))]);
          const hasEnd = parts.some((part) => part.type === 'choice-end');
          // Behind the reason of the end only usage and markers can be missing.
          expect(decoder.facts.fault !== undefined || hasEnd).toBe(true);
        },
      ),
      { numRuns: runs(500) },
    );
  });
});

/** The plain and the streamed answer of one dialect, as an SDK's client would fetch them. */
function fetching(bytes: Buffer): typeof fetch {
  return async () =>
    new Response(new Uint8Array(bytes), { headers: { 'content-type': 'text/event-stream' } });
}

const noArgs = { apiKey: 'psk_not-a-key-of-anybody', maxRetries: 0 };

describe('the official SDK', () => {
  test('reads every chat stream as the answer it represents', async () => {
    await fc.assert(
      fc.asyncProperty(someAnswer, deltaLength, async (drawn, length) => {
        const answer = sayable('openai-chat', drawn);
        const client = new OpenAI({
          ...noArgs,
          baseURL: 'http://h/v1',
          fetch: fetching(written('openai-chat', answer, length)),
        });
        const stream = client.chat.completions.stream({ model: 'm', messages: [] });
        const [choice] = (await stream.finalChatCompletion()).choices;
        expect(choice?.message.content ?? '').toBe(textOf(answer, 'text'));
        expect(callsOf(choice?.message.tool_calls)).toEqual(expectedCalls(answer));
      }),
      { numRuns: runs(400) },
    );
  });

  test('reads every messages stream as the answer it represents', async () => {
    await fc.assert(
      fc.asyncProperty(someAnswer, deltaLength, async (drawn, length) => {
        const answer = sayable('anthropic-messages', drawn);
        const client = new Anthropic({
          ...noArgs,
          baseURL: 'http://h',
          fetch: fetching(written('anthropic-messages', answer, length)),
        });
        const message = await client.messages
          .stream({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] })
          .finalMessage();
        const said = message.content.map((block) => {
          if (block.type === 'text') return ['text', block.text];
          if (block.type === 'thinking') return ['thinking', block.thinking];
          return block.type === 'tool_use' ? ['tool-call', block.input] : [block.type];
        });
        const [choice] = answer.choices;
        expect(said).toEqual(
          choice?.parts.map((part) => {
            if (part.type === 'tool-call') return ['tool-call', JSON.parse(part.input)];
            return [part.type, 'text' in part ? part.text : ''];
          }),
        );
        expect(message.usage.output_tokens).toBe(answer.usage?.output);
      }),
      { numRuns: runs(400) },
    );
  });

  test('reads every responses stream as the answer it represents', async () => {
    await fc.assert(
      fc.asyncProperty(someAnswer, deltaLength, async (drawn, length) => {
        const answer = sayable('openai-responses', drawn);
        const client = new OpenAI({
          ...noArgs,
          baseURL: 'http://h/v1',
          fetch: fetching(written('openai-responses', answer, length)),
        });
        const response = await client.responses.stream({ model: 'm', input: 'x' }).finalResponse();
        expect(response.output_text).toBe(textOf(answer, 'text'));
        expect(response.usage?.output_tokens).toBe(answer.usage?.output);
      }),
      { numRuns: runs(400) },
    );
  });
});

function textOf({ choices }: ModelAnswer, type: 'text' | 'thinking'): string {
  return (choices[0]?.parts ?? []).map((part) => (part.type === type ? part.text : '')).join('');
}

function expectedCalls({ choices }: ModelAnswer): unknown[] {
  return (choices[0]?.parts ?? []).flatMap((part) =>
    part.type === 'tool-call' ? [[part.name, part.input]] : [],
  );
}

function callsOf(calls: OpenAI.Chat.ChatCompletionMessageToolCall[] | undefined): unknown[] {
  return (calls ?? []).map((call) =>
    call.type === 'function'
      ? [call.function.name, call.function.arguments]
      : [call.custom.name, call.custom.input],
  );
}

describe('any bytes of an upstream', () => {
  const names = fc.constantFrom(
    'message_start',
    'content_block_start',
    'content_block_delta',
    'message_delta',
    'error',
    'ping',
    'response.created',
    'response.output_item.added',
    'response.output_text.delta',
    'response.output_item.done',
    'response.completed',
    'response.failed',
    '',
  );
  const member = fc.constantFrom(
    'type',
    'index',
    'delta',
    'content_block',
    'message',
    'usage',
    'choices',
    'item',
    'response',
    'output_index',
    'error',
    'finish_reason',
    'tool_calls',
    'content',
    'output',
    'id',
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<unknown>(
        null,
        0,
        1,
        -1,
        '',
        'x',
        true,
        'message_start',
        'text_delta',
        'function_call',
        'tool_use',
      ),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(member, tie('value'), { maxKeys: 5 }),
    ),
  }));

  test.each(all)('the %s decoder never throws, in a stream or a plain answer', (name) => {
    const { call } = backToBack(findDialect(name));
    fc.assert(
      fc.property(fc.array(fc.tuple(names, value), { maxLength: 6 }), (events) => {
        const decoder = call.streamDecoder();
        for (const [event, data] of events) {
          const typed =
            typeof data === 'object' && data !== null && !Array.isArray(data) && event !== ''
              ? { type: event, ...data }
              : data;
          decoder.push(
            Buffer.from(`${event === '' ? '' : `event: ${event}\n`}data: ${JSON.stringify(typed)}\n\n`),
          );
        }
        decoder.end();
        for (const [, data] of events) call.decodeAnswer(Buffer.from(JSON.stringify(data)));
      }),
      { numRuns: runs(1000) },
    );
  });
});
