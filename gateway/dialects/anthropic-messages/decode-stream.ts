// The events of a streamed message, as our stream parts.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import { freshFacts, isOver } from '../answer/answer-facts.ts';
import { checkCallsAreWhole, failMalformed, loseEvent } from '../answer/malformed.ts';
import { PartWriter } from '../answer/part-writer.ts';
import {
  type AnswerReading,
  hasEnded,
  type ReadEnding,
  readEnding,
  saysNothing,
  textOf,
} from '../anthropic/read-events.ts';
import { StreamBlocks } from '../anthropic/stream-blocks.ts';
import type { AnswerFacts, StreamDecoder } from '../dialect.ts';
import { EventReader } from '../events/event-reader.ts';
import { doneMark } from '../events/event-text.ts';
import type { SseEvent } from '../events/sse-events.ts';
import { TextEvents } from '../events/text-events.ts';
import type { StreamPart } from '../stream-part.ts';
import { countsSoFar, type MessagesCounters, mergeCounters, mergeFinalCounters } from './convert-usage.ts';
import { readMessagesErrorEvent, readMessagesErrorMember } from './error-body.ts';
import { decodeStopReason } from './map-finish-reason.ts';

export function decodeMessagesStream(reading: AnswerReading): StreamDecoder {
  return new MessagesStreamDecoder(reading);
}

class MessagesStreamDecoder implements StreamDecoder {
  readonly facts: AnswerFacts = freshFacts();
  private readonly reader = new EventReader(this.facts, (event) => this.event(event));
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
    this.reader.push(chunk);
    return this.take();
  }

  end(): readonly StreamPart[] {
    this.reader.end();
    if (!isOver(this.facts)) {
      if (this.ending) this.finish();
      else this.facts.fault = { kind: 'truncated' };
    }
    return this.take();
  }

  private take(): readonly StreamPart[] {
    return this.parts.splice(0);
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
    if (data.trim() === doneMark) return;
    if (!event) {
      loseEvent(this.facts, name === undefined || name === 'content_block_delta');
      return;
    }
    this.known(event, textOf(event.type) || (name ?? ''));
  }

  /** Other types are of versions to come, and ignored. */
  private known(event: JsonRecord, type: string): void {
    // Fail at once: before the commit point another upstream can still answer.
    if (!this.hasStarted && isOfMessage.test(type)) {
      failMalformed(this.facts, `${type} before message_start`);
      return;
    }
    switch (type) {
      case 'message_start':
        this.start(asRecord(event.message) ?? {});
        return;
      case 'content_block_start':
        // Tools of the upstream and what they give have no place in the client's dialect, and are the answer's progress.
        this.facts.steps++;
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
        this.finish();
        return;
      case 'ping':
        this.parts.push({ type: 'ping' });
        return;
    }
  }

  private start(message: JsonRecord): void {
    // Two answers in one stream: joined, they would be an answer that no model gave.
    if (this.hasStarted) {
      failMalformed(this.facts, "the stream has a second 'message_start'");
      return;
    }
    this.hasStarted = true;
    const model = textOf(message.model);
    this.facts.servedModel = model;
    this.parts.push({ type: 'answer-start', id: textOf(message.id), model, createdAt: 0 });
    this.usage(message.usage);
  }

  private usage(value: unknown, isEnd = false): void {
    if (!asRecord(value)) return;
    this.counters = (isEnd ? mergeFinalCounters : mergeCounters)(this.counters, value);
    Object.assign(this.facts, countsSoFar(this.counters));
    const { usage } = this.facts;
    if (usage) this.parts.push({ type: 'usage', usage });
  }

  private messageDelta(event: JsonRecord): void {
    const ending = readEnding(asRecord(event.delta) ?? {});
    if (ending.reason === 'tool_use') checkCallsAreWhole(this.facts);
    if (hasEnded(ending.reason)) {
      this.ending = ending;
      this.facts.awaitsEnd = true;
    }
    this.usage(event.usage, true);
  }

  private finish(): void {
    this.blocks.stopAll();
    if (!this.ending && !this.facts.hasContent) {
      failMalformed(this.facts, saysNothing);
      return;
    }
    const { reason, ...more } = this.ending ?? { reason: undefined };
    const finish = decodeStopReason(reason, this.writer.hasCalls, this.reading);
    this.writer.end(finish, { ...more, isAssumed: !hasEnded(reason) });
    this.facts.isComplete = true;
  }
}

/** Part of a message that must have begun. */
const isOfMessage = /^(?:content_block_(?:start|delta)|message_(?:delta|stop))$/;

function indexOf({ index }: JsonRecord): number {
  return typeof index === 'number' ? index : -1;
}
