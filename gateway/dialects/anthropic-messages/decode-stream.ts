// The events of a streamed message, as our stream parts.

import { asRecord, type JsonRecord, tryParseJson } from '../../json/record.ts';
import { freshFacts } from '../answer-facts.ts';
import type { AnswerFacts, StreamDecoder } from '../dialect.ts';
import { PartWriter } from '../part-writer.ts';
import { eventBytesMax, readSse, type SseEvent } from '../sse-events.ts';
import type { StreamPart } from '../stream-part.ts';
import { TextEvents } from '../text-events.ts';
import { type MessagesCounters, mergeCounters, usageOf } from './convert-usage.ts';
import { readMessagesErrorEvent, readMessagesErrorMember } from './error-body.ts';
import { decodeStopReason } from './map-finish-reason.ts';
import { type AnswerReading, type ReadEnding, readEnding, textOf } from './read-events.ts';
import { StreamBlocks } from './stream-blocks.ts';

export function decodeMessagesStream(reading: AnswerReading): StreamDecoder {
  return new MessagesStreamDecoder(reading);
}

class MessagesStreamDecoder implements StreamDecoder {
  readonly facts: AnswerFacts = freshFacts();
  private readonly reader = readSse(eventBytesMax);
  private readonly values = new TextEvents();
  private readonly reading: AnswerReading;
  private readonly writer: PartWriter;
  private readonly blocks: StreamBlocks;
  private counters: MessagesCounters = {};
  private ending: ReadEnding | undefined;
  private hasStarted = false;
  private readonly parts: StreamPart[] = [];

  constructor(reading: AnswerReading) {
    this.reading = reading;
    this.writer = new PartWriter(this.facts, reading.names, 0, this.parts);
    this.blocks = new StreamBlocks(this.writer, reading);
  }

  push(chunk: Buffer): readonly StreamPart[] {
    this.read(this.reader.push(chunk));
    return this.take();
  }

  end(): readonly StreamPart[] {
    // In a cut stream the last event may be half, and is nothing then.
    this.read(this.reader.end().filter(({ data }) => asRecord(tryParseJson(data)) !== undefined));
    if (!this.isOver()) {
      if (this.ending) this.finish();
      else this.facts.fault = { kind: 'truncated' };
    }
    return this.take();
  }

  private read(events: readonly SseEvent[]): void {
    for (const event of events) {
      if (this.isOver()) return;
      this.event(event);
    }
    if (this.reader.isOverfull && !this.isOver()) {
      this.malformed(`an event is longer than ${eventBytesMax} bytes`);
    }
  }

  private isOver(): boolean {
    return this.facts.isComplete || this.facts.fault !== undefined;
  }

  private take(): readonly StreamPart[] {
    return this.parts.splice(0);
  }

  private malformed(detail: string): void {
    this.facts.fault = { kind: 'malformed', detail };
  }

  private event({ name, data }: SseEvent): void {
    const event = asRecord(this.values.parse(data));
    if (name === 'error' || event?.type === 'error') {
      this.facts.fault = { kind: 'error-event', error: readMessagesErrorEvent(data) };
      return;
    }
    const error = readMessagesErrorMember(event);
    if (error) {
      this.facts.fault = { kind: 'error-event', error };
      return;
    }
    // Some servers close as the OpenAI dialects do; it says nothing here.
    if (data.trim() === '[DONE]') return;
    if (!event) {
      this.malformed('an event is not a JSON object');
      return;
    }
    this.known(event, textOf(event.type) || (name ?? ''));
  }

  /** Other types are of versions to come, and ignored. */
  private known(event: JsonRecord, type: string): void {
    switch (type) {
      case 'message_start':
        this.start(asRecord(event.message) ?? {});
        return;
      case 'content_block_start':
        this.blocks.start(indexOf(event), asRecord(event.content_block) ?? {});
        return;
      case 'content_block_delta':
        this.blocks.delta(indexOf(event), asRecord(event.delta) ?? {});
        return;
      case 'content_block_stop':
        this.blocks.stop(indexOf(event));
        return;
      case 'message_delta':
        this.messageDelta(event);
        return;
      case 'message_stop':
        if (this.hasStarted) this.finish();
        else this.malformed("the stream ended without a 'message_start'");
        return;
      case 'ping':
        this.parts.push({ type: 'ping' });
        return;
    }
  }

  private start(message: JsonRecord): void {
    // Two answers in one stream: joined they would be one that nobody gave.
    if (this.hasStarted) {
      this.malformed("the stream has a second 'message_start'");
      return;
    }
    this.hasStarted = true;
    const model = textOf(message.model);
    this.facts.servedModel = model;
    this.parts.push({ type: 'answer-start', id: textOf(message.id), model, createdAt: 0 });
    this.usage(message.usage);
  }

  private usage(value: unknown): void {
    if (!asRecord(value)) return;
    this.counters = mergeCounters(this.counters, value);
    const usage = usageOf(this.counters);
    if (!usage) return;
    this.facts.usage = usage;
    this.parts.push({ type: 'usage', usage });
  }

  private messageDelta(event: JsonRecord): void {
    const ending = readEnding(asRecord(event.delta) ?? {});
    if (typeof ending.reason === 'string') this.ending = ending;
    this.usage(event.usage);
  }

  private finish(): void {
    this.blocks.stopAll();
    const { reason, ...more } = this.ending ?? { reason: undefined };
    this.writer.end(decodeStopReason(reason, this.writer.hasCalls, this.reading), more);
    this.facts.isComplete = true;
  }
}

function indexOf({ index }: JsonRecord): number {
  return typeof index === 'number' ? index : -1;
}
