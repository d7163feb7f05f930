// An answer of Gemini, plain or streamed, in our own form. Each chunk of a stream is a whole answer object that holds only new content.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { keepSources } from '../../json/sources.ts';
import { freshFacts, isOver } from '../answer/answer-facts.ts';
import { gatherChoice } from '../answer/gather-choice.ts';
import { failMalformed, loseEvent } from '../answer/malformed.ts';
import { PartWriter } from '../answer/part-writer.ts';
import { readAnswer } from '../answer/read-answer.ts';
import type { AnswerChoice } from '../conversation.ts';
import type { AnswerFacts, DecodedAnswer, StreamDecoder } from '../dialect.ts';
import { EventReader } from '../events/event-reader.ts';
import { doneMark } from '../events/event-text.ts';
import { responseEventBytesMax, type SseEvent } from '../events/sse-events.ts';
import type { StreamPart } from '../stream-part.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { countsOutput, readGeminiUsage } from './convert-usage.ts';
import { readGoogleErrorMember } from './error-body.ts';
import { CandidateReader } from './read-candidate.ts';

/** The facts of a request that are needed to read its answer. */
interface GeminiReading {
  readonly names: ToolNames;
  /** Marks opaque state. */
  readonly origin: string;
  /** Candidates asked for; what comes beyond them is left out. */
  readonly choices: number;
}

export function decodeGeminiAnswer(body: Buffer, reading: GeminiReading): DecodedAnswer {
  const read = readAnswer(body, readGoogleErrorMember);
  if (!read.ok) return read;
  keepSources(read.answer, body.toString('latin1'));
  const facts = freshFacts();
  const parts: StreamPart[] = [];
  const answer = new OpenAnswer(facts, reading, parts);
  answer.read(read.answer);
  answer.end();
  if (facts.fault) return { ok: false, fault: facts.fault };
  return {
    ok: true,
    answer: {
      ...headOf(read.answer),
      choices: choicesOf(parts),
      ...(facts.usage ? { usage: facts.usage } : {}),
    },
  };
}

export function decodeGeminiStream(reading: GeminiReading): StreamDecoder {
  return new GeminiStreamDecoder(reading);
}

class GeminiStreamDecoder implements StreamDecoder {
  readonly facts: AnswerFacts = freshFacts();
  private readonly reader = new EventReader(this.facts, (event) => this.event(event), responseEventBytesMax);
  private readonly parts: StreamPart[] = [];
  private readonly answer: OpenAnswer;

  constructor(reading: GeminiReading) {
    this.answer = new OpenAnswer(this.facts, reading, this.parts);
  }

  push(chunk: Buffer): readonly StreamPart[] {
    this.reader.push(chunk);
    return this.parts.splice(0);
  }

  /** Only here: what comes first may say STOP already, and the counts come last. */
  end(): readonly StreamPart[] {
    this.reader.end();
    if (!isOver(this.facts)) {
      if (this.answer.isWhole && !(this.facts.isTorn && !this.facts.hasContent)) this.answer.end();
      else if (this.facts.isTorn || this.answer.hasBegun) this.facts.fault = { kind: 'truncated' };
      else this.answer.end();
      this.facts.isComplete = this.facts.fault === undefined;
    }
    return this.parts.splice(0);
  }

  private event({ name, data }: SseEvent): void {
    if (data.trim() === doneMark) return;
    const value = parseJson(data);
    const error =
      readGoogleErrorMember(value) ?? (name === 'error' ? readGoogleErrorMember({ error: data }) : undefined);
    if (error) {
      this.facts.fault = { kind: 'error-event', error };
      return;
    }
    const chunk = asRecord(value);
    if (!chunk) {
      loseEvent(this.facts, true);
      return;
    }
    if (data.includes('"functionCall"')) keepSources(chunk, Buffer.from(data).toString('latin1'));
    this.answer.read(chunk);
  }
}

/** One answer that is being read, from its first chunk to its last. */
class OpenAnswer {
  private readonly facts: AnswerFacts;
  private readonly reading: GeminiReading;
  private readonly parts: StreamPart[];
  private readonly candidates = new Map<
    number,
    { readonly writer: PartWriter; readonly reader: CandidateReader }
  >();
  private block: JsonRecord | undefined;
  private hasHead = false;

  constructor(facts: AnswerFacts, reading: GeminiReading, parts: StreamPart[]) {
    this.facts = facts;
    this.reading = reading;
    this.parts = parts;
  }

  /** Any candidate has come. */
  get hasBegun(): boolean {
    return this.candidates.size > 0;
  }

  /** Every candidate has said how it ended, or the prompt was blocked. */
  get isWhole(): boolean {
    if (this.candidates.size === 0) return this.block !== undefined;
    for (const { reader } of this.candidates.values()) if (!reader.hasEnded) return false;
    return true;
  }

  read(chunk: JsonRecord): void {
    if (!this.hasHead) {
      this.hasHead = true;
      const head = headOf(chunk);
      this.facts.servedModel = head.model;
      this.parts.push({ type: 'answer-start', ...head });
    }
    const feedback = asRecord(chunk.promptFeedback);
    if (typeof feedback?.blockReason === 'string') this.block = feedback;
    const candidates = Array.isArray(chunk.candidates) ? chunk.candidates : [];
    for (const candidate of candidates.filter(isRecord)) {
      const { index = 0 } = candidate;
      if (typeof index === 'number' && index >= 0 && index < this.reading.choices) {
        this.candidate(index).reader.read(candidate);
      }
    }
    this.facts.awaitsEnd = this.facts.hasContent && this.isWhole;
    const usage = readGeminiUsage(chunk.usageMetadata);
    if (!usage) return;
    this.facts.usage = usage;
    this.facts.lacksOutput = !countsOutput(chunk.usageMetadata) && !this.isWhole;
    this.parts.push({ type: 'usage', usage });
  }

  /** Nothing more comes. */
  end(): void {
    if (this.candidates.size === 0) {
      if (this.block) this.refuse(this.block);
      else failMalformed(this.facts, 'the answer has no candidates');
    }
    for (const { reader } of this.candidates.values()) reader.end();
  }

  /** The prompt is at fault, and was billed: an answer without output, that says why. */
  private refuse({ blockReason, blockReasonMessage: message }: JsonRecord): void {
    this.candidate(0).writer.end('content-filter', {
      refusal: { category: String(blockReason), explanation: typeof message === 'string' ? message : null },
    });
    this.candidates.clear();
  }

  private candidate(index: number) {
    const known = this.candidates.get(index);
    if (known) return known;
    const { names, origin } = this.reading;
    const writer = new PartWriter(this.facts, names, index, this.parts);
    const opened = { writer, reader: new CandidateReader(writer, this.facts, origin) };
    this.candidates.set(index, opened);
    return opened;
  }
}

function choicesOf(parts: readonly StreamPart[]): readonly AnswerChoice[] {
  const byChoice = Map.groupBy(
    parts.filter((part) => 'choice' in part),
    ({ choice }) => choice,
  );
  return [...byChoice].sort(([a], [b]) => a - b).map(([index, own]) => gatherChoice(own, index));
}

function headOf({ responseId, modelVersion, createTime }: JsonRecord) {
  const at = typeof createTime === 'string' ? Date.parse(createTime) : Number.NaN;
  return {
    id: typeof responseId === 'string' ? responseId : '',
    model: typeof modelVersion === 'string' ? modelVersion : '',
    createdAt: Number.isNaN(at) ? 0 : Math.floor(at / 1000),
  };
}
