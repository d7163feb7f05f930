// Which chunks does a streamed OpenAI-shaped answer hold, and how did it end? The part of decoding
// that chat completions and completions share.

import { asRecord, type JsonRecord, tryParseJson } from '../json/record.ts';
import type { AnswerFacts } from './dialect.ts';
import { readErrorEvent, readErrorMember } from './openai-error.ts';
import { eventBytesMax, readSse, type SseEvent } from './sse-events.ts';
import { TextEvents } from './text-events.ts';

/**
 * Hands over the chunks, one by one, each until the next; completion and faults are noted in the facts as soon as they are
 * read, and nothing is read behind them.
 */
export class OpenAiChunkReader {
  private readonly facts: AnswerFacts;
  private readonly onChunk: (chunk: JsonRecord) => void;
  private readonly reader = readSse(eventBytesMax);
  private readonly values = new TextEvents();

  constructor(facts: AnswerFacts, onChunk: (chunk: JsonRecord) => void) {
    this.facts = facts;
    this.onChunk = onChunk;
  }

  push(bytes: Buffer): void {
    this.take(this.reader.push(bytes));
  }

  /** The upstream's body ended; in a cut stream the last event may be half, and is nothing then. */
  end(): void {
    this.take(this.reader.end().filter(isWhole));
  }

  private take(events: readonly SseEvent[]): void {
    for (const event of events) {
      if (this.isOver()) break;
      const chunk = this.read(event);
      if (chunk) this.onChunk(chunk);
    }
    if (this.reader.isOverfull && !this.isOver()) {
      this.facts.fault = { kind: 'malformed', detail: `an event is longer than ${eventBytesMax} bytes` };
    }
  }

  private isOver(): boolean {
    return this.facts.isComplete || this.facts.fault !== undefined;
  }

  private read({ name, data }: SseEvent): JsonRecord | undefined {
    if (data.trim() === doneMark) {
      this.facts.isComplete = true;
      return undefined;
    }
    if (name === 'error') {
      this.facts.fault = { kind: 'error-event', error: readErrorEvent(data) };
      return undefined;
    }
    const value = this.values.parse(data);
    const error = readErrorMember(value);
    if (error) {
      this.facts.fault = { kind: 'error-event', error };
      return undefined;
    }
    const chunk = asRecord(value);
    if (!chunk) this.facts.fault = { kind: 'malformed', detail: 'an event is not a JSON object' };
    return chunk;
  }
}

const doneMark = '[DONE]';

function isWhole({ data }: SseEvent): boolean {
  return data.trim() === doneMark || asRecord(tryParseJson(data)) !== undefined;
}
