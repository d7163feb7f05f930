// Which chunks does a streamed OpenAI-shaped answer hold, and how did it end? The part of decoding
// that chat completions and completions share.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import { leaveOut } from '../answer/malformed.ts';
import { readErrorEvent, readErrorMember } from '../answer/read-error.ts';
import type { AnswerFacts } from '../dialect.ts';
import { EventReader } from '../events/event-reader.ts';
import { doneMark } from '../events/event-text.ts';
import type { SseEvent } from '../events/sse-events.ts';
import { TextEvents } from '../events/text-events.ts';

/**
 * Hands over the chunks, one by one, each until the next; completion and faults are noted in the facts as soon as they are
 * read, and nothing after them is read.
 */
export class OpenAiChunkReader {
  private readonly facts: AnswerFacts;
  private readonly reader: EventReader;
  private readonly values = new TextEvents();

  constructor(facts: AnswerFacts, onChunk: (chunk: JsonRecord) => void) {
    this.facts = facts;
    this.reader = new EventReader(facts, (event) => {
      const chunk = this.read(event);
      if (chunk) onChunk(chunk);
    });
  }

  push(bytes: Buffer): void {
    this.reader.push(bytes);
  }

  end(): void {
    this.reader.end();
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
    if (!chunk) leaveOut(this.facts);
    return chunk;
  }
}
