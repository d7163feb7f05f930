// The streamed response of an upstream in our own form.
//
//   events of items -> ItemEvents
//   completed, incomplete -> omitted items, usage, end
//   failed -> fault; error -> fault, with counts from later events in the same bytes
//
// A server need not close the stream after `error`, so the decoder does not wait for more: only a timer would end it.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord, type JsonRecord } from '../../json/record.ts';
import { freshFacts, isOver } from '../answer/answer-facts.ts';
import { loseEvent } from '../answer/malformed.ts';
import { PartWriter } from '../answer/part-writer.ts';
import { readErrorMember } from '../answer/read-error.ts';
import type { AnswerFacts, StreamDecoder, UpstreamError } from '../dialect.ts';
import { EventReader } from '../events/event-reader.ts';
import { doneMark } from '../events/event-text.ts';
import { responseEventBytesMax, type SseEvent } from '../events/sse-events.ts';
import type { StreamPart } from '../stream-part.ts';
import { isStep } from './answer-steps.ts';
import { decodeResponsesUsage } from './convert-usage.ts';
import { type AnswerContext, headOf } from './decode-answer.ts';
import { readEndError, readResponsesErrorEvent, unnamedFailure } from './error-body.ts';
import { ItemEvents } from './item-events.ts';
import { decodeResponsesFinish } from './map-finish-reason.ts';

export function decodeResponsesStream(context: AnswerContext): StreamDecoder {
  return new ResponsesStreamDecoder(context);
}

class ResponsesStreamDecoder implements StreamDecoder {
  readonly facts: AnswerFacts = freshFacts();
  private readonly reader = new EventReader(this.facts, (event) => this.event(event), responseEventBytesMax);
  private readonly writer: PartWriter;
  private readonly items: ItemEvents;
  private readonly parts: StreamPart[] = [];
  private hasStarted = false;
  /** From an `error` event. A `response.failed` with the counts may come in the same bytes. */
  private reportedError: UpstreamError | undefined;

  constructor({ names, origin }: AnswerContext) {
    this.writer = new PartWriter(this.facts, names, 0, this.parts);
    this.items = new ItemEvents(this.writer, origin);
  }

  push(chunk: Buffer): readonly StreamPart[] {
    this.reader.push(chunk);
    this.heedError();
    return this.parts.splice(0);
  }

  end(): readonly StreamPart[] {
    this.reader.end();
    this.heedError();
    if (!isOver(this.facts)) this.facts.fault = { kind: 'truncated' };
    return this.parts.splice(0);
  }

  private heedError(): void {
    if (this.reportedError && !isOver(this.facts)) {
      this.facts.fault = { kind: 'error-event', error: this.reportedError };
    }
  }

  private event({ name, data }: SseEvent): void {
    if (data.trim() === doneMark) return;
    const event = asRecord(parseJson(data));
    const response = asRecord(event?.response);
    // Behind an error nothing is an answer, nor the end of one.
    if (this.reportedError) {
      this.count(response ?? {});
      return;
    }
    const type = typeof event?.type === 'string' ? event.type : (name ?? '');
    if (type === 'error' || (type === '' && readErrorMember(event))) {
      this.reportedError = readResponsesErrorEvent(data);
      return;
    }
    if (!event) {
      loseEvent(this.facts, name === undefined || name.endsWith('.delta'));
      return;
    }
    switch (type) {
      case 'response.failed':
      case 'response.cancelled':
        this.fail(response, readEndError(event) ?? unnamedFailure);
        return;
      case 'response.completed':
      case 'response.incomplete': {
        const error = readEndError(event);
        if (error) {
          this.fail(response, error);
          return;
        }
        this.start(response);
        this.complete(response ?? {}, type === 'response.incomplete');
        return;
      }
      default:
        if (!type.startsWith('response.')) return;
        this.start(response);
        // Events without a word in the client's dialect still show progress.
        if (isStep(type)) this.facts.steps++;
        this.items.read(type, event);
    }
  }

  private start(response: JsonRecord | undefined): void {
    if (this.hasStarted) return;
    this.hasStarted = true;
    const head = headOf(response ?? {});
    this.facts.servedModel = head.model === '' ? undefined : head.model;
    this.parts.push({ type: 'answer-start', ...head });
  }

  private complete(response: JsonRecord, isIncomplete: boolean): void {
    const { model } = headOf(response);
    if (model !== '') this.facts.servedModel = model;
    this.items.complete(response.output);
    this.count(response);
    this.writer.end(decodeResponsesFinish(isIncomplete ? { ...response, status: 'incomplete' } : response));
    this.facts.isComplete = true;
  }

  private fail(response: JsonRecord | undefined, error: UpstreamError): void {
    this.count(response ?? {});
    this.facts.fault = { kind: 'error-event', error };
  }

  private count(response: JsonRecord): void {
    const usage = decodeResponsesUsage(response.usage);
    if (!usage) return;
    this.facts.usage = usage;
    if (this.hasStarted) this.parts.push({ type: 'usage', usage });
  }
}
