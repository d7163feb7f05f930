// An OpenAI-shaped answer, plain or streamed, in our own form: what chat completions and completions
// share. They differ only in what one choice holds.

import { asRecord, type JsonRecord, tryParseJson } from '../json/record.ts';
import type { AnswerChoice, ModelAnswer, Part } from './conversation.ts';
import type { AnswerFacts, AnswerFault, StreamDecoder } from './dialect.ts';
import { OpenAiChunkReader } from './openai-chunks.ts';
import { readErrorMember } from './openai-error.ts';
import { decodeOpenAiFinish } from './openai-finish.ts';
import { emptyStream, freshFacts } from './openai-relay.ts';
import { readOpenAiUsage } from './openai-usage.ts';
import type { StreamPart } from './stream-part.ts';

/** What of one choice's text came, by kind, in the order it is shown. */
export type ChoiceText = readonly (readonly [type: TextKind, text: string])[];
export type TextKind = 'thinking' | 'text' | 'refusal';

/** Reads one entry of `choices`: of a plain answer, or of a chunk. */
export type ReadChoice = (choice: JsonRecord) => ChoiceText;

export type DecodedAnswer =
  | { readonly ok: true; readonly answer: ModelAnswer }
  | { readonly ok: false; readonly fault: AnswerFault };

export function decodeOpenAiAnswer(body: Buffer, readChoice: ReadChoice): DecodedAnswer {
  const answer = asRecord(tryParseJson(body.toString('utf8')));
  if (!answer) return malformed('the answer is not a JSON object');
  const error = readErrorMember(answer);
  if (error) return { ok: false, fault: { kind: 'error-event', error } };
  if (!Array.isArray(answer.choices) || answer.choices.length === 0) {
    return malformed("the answer has no 'choices'");
  }
  const usage = readOpenAiUsage(answer.usage);
  return {
    ok: true,
    answer: {
      ...headOf(answer),
      choices: answer.choices.map((entry, position) =>
        decodeChoice(asRecord(entry) ?? {}, position, readChoice),
      ),
      ...(usage ? { usage } : {}),
    },
  };
}

export function decodeOpenAiStream(choices: number, readChoice: ReadChoice): StreamDecoder {
  return new OpenAiStreamDecoder(choices, readChoice);
}

function decodeChoice(choice: JsonRecord, position: number, readChoice: ReadChoice): AnswerChoice {
  return {
    index: indexOf(choice, position),
    parts: readChoice(choice).flatMap(([type, text]): Part[] => (text === '' ? [] : [{ type, text }])),
    finish: decodeOpenAiFinish(choice.finish_reason, false),
  };
}

class OpenAiStreamDecoder implements StreamDecoder {
  readonly facts: AnswerFacts = freshFacts();
  private readonly reader = new OpenAiChunkReader(this.facts);
  private readonly choices: number;
  private readonly readChoice: ReadChoice;
  private readonly finished = new Set<number>();
  /** The part each choice is in the middle of; parts are numbered in order of appearance. */
  private readonly open = new Map<number, { readonly type: TextKind; readonly index: number }>();
  private hasStarted = false;

  constructor(choices: number, readChoice: ReadChoice) {
    this.choices = choices;
    this.readChoice = readChoice;
  }

  push(chunk: Buffer): readonly StreamPart[] {
    return this.decode(this.reader.push(chunk));
  }

  end(): readonly StreamPart[] {
    const parts = this.decode(this.reader.end());
    if (!this.facts.isComplete && !this.facts.fault) {
      if (this.finished.size >= this.choices) this.facts.isComplete = true;
      else this.facts.fault = { kind: 'truncated' };
    }
    return parts;
  }

  private decode(chunks: readonly JsonRecord[]): readonly StreamPart[] {
    const parts: StreamPart[] = [];
    for (const chunk of chunks) this.chunk(chunk, parts);
    if (this.facts.isComplete && !this.facts.hasContent && this.finished.size === 0) {
      this.facts.isComplete = false;
      this.facts.fault = { kind: 'malformed', detail: emptyStream };
    }
    return parts;
  }

  private chunk(chunk: JsonRecord, parts: StreamPart[]): void {
    if (!this.hasStarted) {
      this.hasStarted = true;
      const head = headOf(chunk);
      this.facts.servedModel = head.model;
      parts.push({ type: 'answer-start', ...head });
    }
    for (const entry of Array.isArray(chunk.choices) ? chunk.choices : []) {
      const choice = asRecord(entry);
      if (choice) this.choice(choice, indexOf(choice, 0), parts);
    }
    const usage = readOpenAiUsage(chunk.usage);
    if (usage) {
      this.facts.usage = usage;
      parts.push({ type: 'usage', usage });
    }
  }

  private choice(choice: JsonRecord, index: number, parts: StreamPart[]): void {
    for (const [type, text] of this.readChoice(choice)) this.text(index, type, text, parts);
    const { finish_reason: reason } = choice;
    if (typeof reason !== 'string' || reason === '' || this.finished.has(index)) return;
    this.finished.add(index);
    this.close(index, parts);
    parts.push({ type: 'choice-end', choice: index, finish: decodeOpenAiFinish(reason, false) });
  }

  private text(choice: number, type: TextKind, text: string, parts: StreamPart[]): void {
    if (text === '') return;
    let open = this.open.get(choice);
    if (open?.type !== type) {
      const index = open ? open.index + 1 : 0;
      this.close(choice, parts);
      open = { type, index };
      this.open.set(choice, open);
      parts.push({ type: 'part-start', choice, index, head: { type } });
    }
    this.facts.hasContent = true;
    this.facts.outputEstimate++;
    parts.push({ type: 'part-delta', choice, index: open.index, text });
  }

  private close(choice: number, parts: StreamPart[]): void {
    const open = this.open.get(choice);
    if (open) parts.push({ type: 'part-end', choice, index: open.index });
  }
}

function headOf(value: JsonRecord): {
  readonly id: string;
  readonly model: string;
  readonly createdAt: number;
} {
  return {
    id: String(value.id ?? ''),
    model: String(value.model ?? ''),
    createdAt: Number(value.created ?? 0),
  };
}

function indexOf(choice: JsonRecord, fallback: number): number {
  return typeof choice.index === 'number' ? choice.index : fallback;
}

function malformed(detail: string): DecodedAnswer {
  return { ok: false, fault: { kind: 'malformed', detail } };
}
