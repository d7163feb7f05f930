// The events of a Converse stream, as our stream parts. Usage comes after the end of the message: the stream is read on for it.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import { freshFacts, isOver } from '../answer/answer-facts.ts';
import { checkCallsAreWhole, failMalformed, loseEvent } from '../answer/malformed.ts';
import { PartWriter } from '../answer/part-writer.ts';
import { readErrorEvent } from '../answer/read-error.ts';
import { type AnswerReading, textOf } from '../anthropic/read-events.ts';
import { StreamBlocks } from '../anthropic/stream-blocks.ts';
import type { AnswerFacts, StreamDecoder } from '../dialect.ts';
import { EventReader } from '../events/event-reader.ts';
import type { SseEvent } from '../events/sse-events.ts';
import { TextEvents } from '../events/text-events.ts';
import type { StreamPart } from '../stream-part.ts';
import { ofBytes } from './encode-turns.ts';
import { converseUsageOf, faultOfReason, readConverseEnding, saysNothing } from './read-answer.ts';

export function decodeConverseStream(reading: AnswerReading): StreamDecoder {
  return new ConverseStreamDecoder(reading);
}

class ConverseStreamDecoder implements StreamDecoder {
  readonly facts: AnswerFacts = freshFacts();
  private readonly reader = new EventReader(this.facts, (event) => this.event(event));
  private readonly values = new TextEvents();
  private readonly reading: AnswerReading;
  private readonly writer: PartWriter;
  private readonly blocks: StreamBlocks;
  /** The kind of each block that has begun: text and reasoning often begin with their first delta. */
  private readonly kinds = new Map<number, string>();
  /** Thinking that is not shown, as far as it has come. */
  private readonly redacted = new Map<number, Buffer>();
  private ending: JsonRecord | undefined;
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
    if (name === 'error') {
      this.facts.fault = { kind: 'error-event', error: readErrorEvent(data) };
      return;
    }
    const event = asRecord(this.values.parse(data));
    if (!event) {
      loseEvent(this.facts, name === undefined || name === 'contentBlockDelta');
      return;
    }
    this.known(name ?? '', event);
  }

  /** Other types are of versions to come, and ignored. */
  private known(name: string, event: JsonRecord): void {
    switch (name) {
      case 'messageStart':
        if (this.hasStarted) failMalformed(this.facts, "the stream has a second 'messageStart'");
        else this.start();
        return;
      case 'contentBlockStart': {
        const use = asRecord(asRecord(event.start)?.toolUse);
        this.facts.steps++;
        if (use) this.begin(indexOf(event), 'tool_use', { id: use.toolUseId, name: use.name });
        return;
      }
      case 'contentBlockDelta':
        this.delta(indexOf(event), asRecord(event.delta) ?? {});
        return;
      case 'contentBlockStop':
        this.stop(indexOf(event));
        return;
      case 'messageStop':
        this.messageStop(event);
        return;
      case 'metadata':
        this.metadata(event);
        return;
    }
  }

  private start(): void {
    this.hasStarted = true;
    this.parts.push({ type: 'answer-start', id: '', model: '', createdAt: 0 });
  }

  private begin(index: number, type: string, more: JsonRecord = {}): void {
    if (!this.hasStarted) this.start();
    this.kinds.set(index, type);
    this.blocks.start(index, { type, ...more });
  }

  private delta(index: number, delta: JsonRecord): void {
    if (typeof delta.text === 'string') {
      if (!this.kinds.has(index)) this.begin(index, 'text');
      this.blocks.delta(index, { type: 'text_delta', text: delta.text });
      return;
    }
    const use = asRecord(delta.toolUse);
    if (use) {
      this.blocks.delta(index, { type: 'input_json_delta', partial_json: textOf(use.input) });
      return;
    }
    const reasoning = asRecord(delta.reasoningContent);
    if (reasoning) this.reasoning(index, reasoning);
  }

  private reasoning(index: number, { text, signature, redactedContent }: JsonRecord): void {
    if (typeof redactedContent === 'string') {
      const known = this.redacted.get(index) ?? Buffer.alloc(0);
      const piece = Buffer.from(redactedContent, 'base64');
      this.facts.keptBytes += piece.length;
      this.redacted.set(index, Buffer.concat([known, piece]));
      return;
    }
    if (!this.kinds.has(index)) this.begin(index, 'thinking');
    if (typeof text === 'string') this.blocks.delta(index, { type: 'thinking_delta', thinking: text });
    if (typeof signature === 'string') this.blocks.delta(index, { type: 'signature_delta', signature });
  }

  private stop(index: number): void {
    const redacted = this.redacted.get(index);
    if (redacted) {
      // The bytes of all its deltas are one value: encoded one by one they would be another.
      this.redacted.delete(index);
      this.facts.keptBytes -= redacted.length;
      this.begin(index, 'redacted_thinking', { data: ofBytes(redacted.toString('base64')) });
    }
    this.kinds.delete(index);
    this.blocks.stop(index);
  }

  private messageStop(event: JsonRecord): void {
    const fault = faultOfReason(event);
    if (fault) {
      this.facts.fault = fault;
      return;
    }
    if (event.stopReason === 'tool_use') checkCallsAreWhole(this.facts);
    this.ending = event;
    this.facts.awaitsEnd = true;
  }

  private metadata(event: JsonRecord): void {
    const usage = converseUsageOf(event.usage);
    if (usage) {
      this.facts.usage = usage;
      this.parts.push({ type: 'usage', usage });
    }
    if (this.ending) this.finish();
  }

  private finish(): void {
    for (const index of [...this.redacted.keys()]) this.stop(index);
    this.blocks.stopAll();
    const { hasCalls } = this.writer;
    const { finish, ...more } = readConverseEnding(
      this.ending ?? {},
      hasCalls,
      this.reading.answerTool !== undefined,
    );
    const isEmpty = !this.facts.hasContent && (this.facts.usage?.output ?? 0) === 0;
    if (isEmpty && (finish === 'stop' || finish === 'tool-calls')) {
      failMalformed(this.facts, saysNothing);
      return;
    }
    this.writer.end(finish, more);
    this.facts.isComplete = true;
  }
}

function indexOf({ contentBlockIndex: index }: JsonRecord): number {
  return typeof index === 'number' ? index : -1;
}
