// An OpenAI-shaped answer, plain or streamed, in our own form: what chat completions and completions
// share. They differ only in what one choice holds.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import { freshFacts, isOver } from '../answer/answer-facts.ts';
import { gatherChoice } from '../answer/gather-choice.ts';
import { failMalformed } from '../answer/malformed.ts';
import { PartWriter } from '../answer/part-writer.ts';
import type { AnswerChoice } from '../conversation.ts';
import type { AnswerFacts, DecodedAnswer, StreamDecoder } from '../dialect.ts';
import type { StreamPart } from '../stream-part.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { ChoiceEnds } from './choice-ends.ts';
import { OpenAiChunkReader } from './chunk-reader.ts';
import { laterUsage, readOpenAiUsage, usageIn } from './convert-usage.ts';
import { decodeOpenAiFinish, isFinishReason, readStopSequence } from './map-finish-reason.ts';
import { readChoices } from './read-choices.ts';
import { emptyStream } from './relay-stream.ts';

/** Reads the entries of `choices` that belong to one choice. */
export interface ChoiceReader {
  /** One entry: of a plain answer, or of a chunk. */
  read(entry: JsonRecord): void;
  /** Nothing more of this choice comes. */
  end(): void;
}

/** The facts of a request that are needed to read its answer. */
export interface OpenAiReading {
  /** Choices asked for; what an upstream gives beyond them is left out. */
  readonly choices: number;
  readonly names: ToolNames;
  /** The caller's stop sequences: some servers name the sequence that was met. */
  readonly stops: readonly string[];
  openChoice(writer: PartWriter): ChoiceReader;
}

interface OpenAiStreamReading extends OpenAiReading {
  /** Whether one entry of `choices` carries content that a client would show. */
  hasContent(choice: JsonRecord): boolean;
}

export function decodeOpenAiAnswer(body: Buffer, reading: OpenAiReading): DecodedAnswer {
  const read = readChoices(body);
  if (!read.ok) return read;
  const { answer, choices } = read;
  const usage = readOpenAiUsage(answer.usage);
  const serviceTier = textOf(answer.service_tier);
  const facts = freshFacts();
  const decoded = choices
    .slice(0, reading.choices)
    .map((entry, position) => decodeChoice(facts, asRecord(entry) ?? {}, position, reading));
  if (facts.fault) return { ok: false, fault: facts.fault };
  return {
    ok: true,
    answer: {
      ...headOf(answer),
      choices: decoded,
      ...(usage ? { usage } : {}),
      ...(serviceTier === '' ? {} : { serviceTier }),
    },
  };
}

export function decodeOpenAiStream(reading: OpenAiStreamReading): StreamDecoder {
  return new OpenAiStreamDecoder(reading);
}

function decodeChoice(
  facts: AnswerFacts,
  entry: JsonRecord,
  position: number,
  reading: OpenAiReading,
): AnswerChoice {
  const parts: StreamPart[] = [];
  const choice = new OpenChoice(facts, 0, reading, parts);
  choice.read(entry);
  choice.end();
  return gatherChoice(parts, indexOf(entry, reading.choices) ?? position);
}

/** One choice that is being decoded. */
class OpenChoice {
  private readonly writer: PartWriter;
  private hasEnded = false;
  /** The first finish reason, or the last one if text came after the first. */
  private reason: string | undefined;
  private stopSequence: string | undefined;
  private readonly reader: ChoiceReader;
  private readonly stops: readonly string[];

  constructor(facts: AnswerFacts, index: number, reading: OpenAiReading, parts: StreamPart[]) {
    this.writer = new PartWriter(facts, reading.names, index, parts);
    this.reader = reading.openChoice(this.writer);
    this.stops = reading.stops;
  }

  get isFinished(): boolean {
    return this.reason !== undefined;
  }

  /** @param wentOn Content came after a finish reason. */
  read(entry: JsonRecord, wentOn = false): void {
    if (this.hasEnded) return;
    this.reader.read(entry);
    const { finish_reason: reason } = entry;
    if (!isFinishReason(reason) || (!wentOn && this.reason !== undefined)) return;
    this.reason = reason;
    this.stopSequence = readStopSequence(entry, this.stops);
  }

  /** Nothing follows. */
  end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.reader.end();
    const finish = decodeOpenAiFinish(this.reason, this.writer.hasCalls);
    const { stopSequence } = this;
    const isStopped = finish === 'stop' && stopSequence !== undefined;
    this.writer.end(isStopped ? 'stop-sequence' : finish, {
      isAssumed: !this.isFinished,
      ...(isStopped ? { stopSequence } : {}),
    });
  }
}

class OpenAiStreamDecoder implements StreamDecoder {
  readonly facts: AnswerFacts = freshFacts();
  private readonly reader = new OpenAiChunkReader(this.facts, (chunk) => this.chunk(chunk));
  private readonly reading: OpenAiStreamReading;
  private readonly choices = new Map<number, OpenChoice>();
  private readonly parts: StreamPart[] = [];
  private readonly ends: ChoiceEnds;
  /** In the order of their finish reasons. */
  private readonly finished = new Set<number>();
  private hasStarted = false;

  constructor(reading: OpenAiStreamReading) {
    this.reading = reading;
    this.ends = new ChoiceEnds(reading.choices);
  }

  push(chunk: Buffer): readonly StreamPart[] {
    this.reader.push(chunk);
    return this.take();
  }

  end(): readonly StreamPart[] {
    this.reader.end();
    if (!this.facts.isComplete && !this.facts.fault) {
      if (this.ends.areOver(this.facts.isTorn === true)) this.facts.isComplete = true;
      else this.facts.fault = { kind: 'truncated' };
    }
    return this.take();
  }

  private take(): readonly StreamPart[] {
    if (this.facts.isComplete && !this.facts.hasContent && !this.ends.hasReason) {
      this.facts.isComplete = false;
      failMalformed(this.facts, emptyStream);
    }
    if (isOver(this.facts)) this.endAll();
    return this.parts.splice(0);
  }

  private chunk(chunk: JsonRecord): void {
    if (!this.hasStarted) {
      this.hasStarted = true;
      const head = headOf(chunk);
      this.facts.servedModel = head.model;
      this.parts.push({ type: 'answer-start', ...head });
    }
    const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
    for (const value of choices) {
      const entry = asRecord(value);
      const index = entry && indexOf(entry, this.reading.choices);
      if (entry && index !== undefined) this.entry(entry, index);
    }
    const reported = readOpenAiUsage(usageIn(chunk));
    if (!reported) return;
    const usage = laterUsage(this.facts.usage, reported);
    this.facts.usage = usage;
    this.parts.push({ type: 'usage', usage });
    // The usage chunk is the last one: a client need not wait for a provider that forgets `[DONE]` and stays open.
    if (choices.length === 0 && this.ends.haveReasons) this.facts.isComplete = true;
  }

  private entry(entry: JsonRecord, index: number): void {
    let choice = this.choices.get(index);
    if (!choice) {
      choice = new OpenChoice(this.facts, index, this.reading, this.parts);
      this.choices.set(index, choice);
    }
    const hasReason = isFinishReason(entry.finish_reason);
    const isEarly = !this.facts.hasContent;
    this.ends.see(index, { hasContent: this.reading.hasContent(entry), hasReason, isEarly });
    choice.read(entry, this.ends.wentOn(index));
    this.facts.awaitsEnd = this.ends.areSure;
    if (this.ends.hasEnded(index)) this.finished.add(index);
    else this.finished.delete(index);
  }

  /**
   * At the end of the stream only, as some upstreams send text after a finish reason. Others end
   * without one; where a stream breaks, such a choice stays open.
   */
  private endAll(): void {
    const { isComplete, isTorn } = this.facts;
    for (const index of this.finished) {
      if (isComplete || !isTorn || this.ends.isSure(index)) this.choices.get(index)?.end();
    }
    if (!isComplete) return;
    for (const choice of this.choices.values()) choice.end();
  }
}

function headOf(value: JsonRecord): {
  readonly id: string;
  readonly model: string;
  readonly createdAt: number;
} {
  return {
    id: textOf(value.id),
    model: textOf(value.model),
    createdAt: typeof value.created === 'number' ? value.created : 0,
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The only choice asked for is the first one, also if it is not numbered; undefined if none was asked for. */
function indexOf({ index }: JsonRecord, choices: number): number | undefined {
  if (index === undefined || index === null) return choices === 1 ? 0 : undefined;
  const isAsked = Number.isSafeInteger(index) && Number(index) >= 0 && Number(index) < choices;
  return isAsked ? Number(index) : undefined;
}
