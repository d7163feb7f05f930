// Messages from a messages upstream: what changes in the bytes?

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { type Edit, type RequestBody, setMember } from '../../json/request-body.ts';
import { freshFacts } from '../answer/answer-facts.ts';
import { outputOf } from '../answer/estimate-tokens.ts';
import { checkCallsAreWhole, failMalformed, malformed } from '../answer/malformed.ts';
import { readAnswer } from '../answer/read-answer.ts';
import { hasBlockContent, hasEnded, isAnswer, isText, saysNothing } from '../anthropic/read-events.ts';
import type { AnswerDocument, AnswerFacts, SameDialect } from '../dialect.ts';
import { type NamedEvents, relayNamedEvents } from '../events/named-relay.ts';
import { eventBytesMax } from '../events/sse-events.ts';
import { targetEdits } from '../request/target-edits.ts';
import { findForeignState, tryRead } from '../state/foreign-state.ts';
import { markAnswer } from '../state/mark-state.ts';
import {
  countsSoFar,
  type MessagesCounters,
  mergeCounters,
  mergeFinalCounters,
  plainUsageOf,
} from './convert-usage.ts';
import { readMessagesErrorEvent, readMessagesErrorMember } from './error-body.ts';
import { encodeMessagesEvents } from './events-of-answer.ts';
import { flawOfMessage, gatherMessage } from './gather-answer.ts';
import { answerPlaces, findStates, losesThinking, requestPlaces } from './passing-state.ts';

export const relayMessages: SameDialect = {
  editRequest(body, facts, target) {
    const { edits, turns } = findForeignState(body, requestPlaces, target.origin);
    const thinking = losesThinking(turns, target.origin) ? withoutBudget(body) : [];
    return body.edited([...targetEdits(body, facts, target), ...edits, ...thinking]);
  },
  relayStream(_facts, origin) {
    return relayNamedEvents(
      new MessagesEvents(),
      origin === undefined ? undefined : { places: answerPlaces, origin },
    );
  },
  relayAnswer(body, _facts, origin): AnswerDocument {
    const read = readAnswer(body, readMessagesErrorMember);
    if (!read.ok) return read;
    const { answer } = read;
    const { content } = answer;
    if (answer.type !== 'message' || !Array.isArray(content)) return malformed('the answer is not a message');
    if (!isAnswer(answer)) return malformed(saysNothing);
    const usage = plainUsageOf(answer.usage);
    return {
      ok: true,
      body: origin === undefined ? body : markAnswer(body, findStates(content), origin),
      usage,
      ...outputOf(usage, () => content.filter(isRecord).map(blockText).join('')),
      servedModel: typeof answer.model === 'string' ? answer.model : undefined,
    };
  },
  headMember: 'message',
  openGatherer: gatherMessage,
  eventsOf: encodeMessagesEvents,
  flawOf: flawOfMessage,
};

class MessagesEvents implements NamedEvents {
  readonly facts: AnswerFacts = freshFacts();
  readonly eventBytesMax = eventBytesMax;
  readonly family = /^(?:(?:message|content_block)_[a-z_]+|ping)$/;
  private counters: MessagesCounters = {};
  private hasStarted = false;
  private hasStopReason = false;

  kindOf(name: string): ReturnType<NamedEvents['kindOf']> {
    switch (name) {
      case 'content_block_delta':
        // Behind a gap it matters what a delta is a piece of.
        return this.facts.hasContent && this.facts.malformedFrames === 0 ? 'delta' : 'read';
      case 'message_start':
      case 'content_block_start':
      case 'message_delta':
      case 'message_stop':
        return 'read';
      default:
        return 'pass';
    }
  }

  isPiece(name: string): boolean {
    return name === 'content_block_delta';
  }

  read(name: string, value: JsonRecord): void {
    const error = readMessagesErrorMember(value);
    if (error) {
      this.facts.fault = { kind: 'error-event', error };
      return;
    }
    // Clients throw on both.
    if (name === 'message_start' ? this.hasStarted : !this.hasStarted) {
      failMalformed(this.facts, this.hasStarted ? 'a second message_start' : `${name} before message_start`);
      return;
    }
    switch (name) {
      case 'message_start':
        this.start(asRecord(value.message));
        break;
      case 'content_block_start':
        this.noteContent(hasBlockContent(asRecord(value.content_block)));
        break;
      case 'content_block_delta':
        if (asRecord(value.delta)?.type === 'input_json_delta') checkCallsAreWhole(this.facts);
        this.noteContent(hasDeltaContent(asRecord(value.delta)));
        break;
      case 'message_delta': {
        this.count(value.usage, true);
        const reason = asRecord(value.delta)?.stop_reason;
        if (reason === 'tool_use') checkCallsAreWhole(this.facts);
        if (!hasEnded(reason)) break;
        this.hasStopReason = true;
        this.facts.awaitsEnd = true;
        break;
      }
      case 'message_stop':
        if (this.facts.hasContent || this.hasStopReason) this.facts.isComplete = true;
        else failMalformed(this.facts, saysNothing);
    }
  }

  readError(data: string) {
    return readMessagesErrorEvent(data);
  }

  /** SDKs throw on a stream without `message_stop`, though nothing of the answer is missing. */
  close() {
    if (!this.hasStopReason) {
      this.facts.fault = { kind: 'truncated' };
      return undefined;
    }
    this.facts.isComplete = true;
    return { type: 'message_stop' };
  }

  private start(message: JsonRecord | undefined): void {
    this.hasStarted = true;
    if (!message) {
      failMalformed(this.facts, 'message_start has no message');
      return;
    }
    if (typeof message.model === 'string') this.facts.servedModel = message.model;
    this.count(message.usage);
  }

  private count(usage: unknown, isEnd = false): void {
    this.counters = (isEnd ? mergeFinalCounters : mergeCounters)(this.counters, usage);
    Object.assign(this.facts, countsSoFar(this.counters));
  }

  private noteContent(hasContent: boolean): void {
    if (!hasContent) return;
    this.facts.hasContent = true;
    this.facts.outputEstimate++;
  }
}

function hasDeltaContent(delta: JsonRecord | undefined): boolean {
  switch (delta?.type) {
    case undefined:
      return false;
    case 'text_delta':
      return isText(delta.text);
    case 'thinking_delta':
      return isText(delta.thinking);
    default:
      return true;
  }
}

function blockText({ text, thinking, input }: JsonRecord): string {
  const shown = [text, thinking].filter((value) => typeof value === 'string').join('');
  return input === undefined ? shown : shown + JSON.stringify(input);
}

function withoutBudget(body: RequestBody): Edit[] {
  const member = body.member('thinking');
  if (!member || asRecord(tryRead(body, member))?.type !== 'enabled') return [];
  return [setMember(body, 'thinking', '{"type":"disabled"}')];
}
