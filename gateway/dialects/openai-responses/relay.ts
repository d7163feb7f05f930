// Responses from a responses upstream: what changes in the bytes?

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { withMembers } from '../../json/with-members.ts';
import { freshFacts } from '../answer/answer-facts.ts';
import { outputOf } from '../answer/estimate-tokens.ts';
import { checkCallsAreWhole, failMalformed, malformed } from '../answer/malformed.ts';
import { readAnswer } from '../answer/read-answer.ts';
import type { AnswerDocument, AnswerFacts, SameDialect, UpstreamError } from '../dialect.ts';
import { type NamedEvents, relayNamedEvents } from '../events/named-relay.ts';
import { responseEventBytesMax } from '../events/sse-events.ts';
import { targetEdits } from '../request/target-edits.ts';
import { findForeignState } from '../state/foreign-state.ts';
import { markAnswer } from '../state/mark-state.ts';
import { isStep } from './answer-steps.ts';
import { decodeResponsesUsage } from './convert-usage.ts';
import { neither } from './decode-answer.ts';
import {
  encodeFailure,
  readEndError,
  readResponseError,
  readResponsesErrorEvent,
  unnamedFailure,
} from './error-body.ts';
import { encodeResponseEvents } from './events-of-answer.ts';
import { flawOfResponse, gatherResponse } from './gather-answer.ts';
import { isInProgress } from './map-finish-reason.ts';
import { answerPlaces, findStates, requestPlaces } from './passing-state.ts';
import { buildResponse, settingsOf } from './response-object.ts';

export const relayResponses: SameDialect = {
  editRequest(body, facts, target) {
    const { edits } = findForeignState(body, requestPlaces, target.origin);
    return body.edited([...targetEdits(body, facts, target), ...edits]);
  },
  relayStream({ model }, origin) {
    const events = new ResponsesEvents();
    const stream = relayNamedEvents(
      events,
      origin === undefined ? undefined : { places: answerPlaces, origin },
    );
    return {
      facts: stream.facts,
      push: (chunk) => stream.push(chunk),
      end: () => stream.end(),
      errorFrame: (error) => {
        const last = stream.lastSent()?.sequence_number;
        const sequence = Number.isSafeInteger(last) ? Number(last) + 1 : stream.sent;
        const created = events.createdResponse();
        return encodeFailure(error, sequence, (failed) =>
          created
            ? { ...created, ...failed }
            : buildResponse(
                unknownHead,
                settingsOf(() => undefined),
                failed,
                { model, output: [], usage: undefined },
              ),
        );
      },
    };
  },
  relayAnswer(body, _facts, origin): AnswerDocument {
    const read = readAnswer(body, readResponseError);
    if (!read.ok) return read;
    const { answer } = read;
    if (answer.object !== 'response') return malformed('the answer is not a response');
    const usage = decodeResponsesUsage(answer.usage);
    const output = Array.isArray(answer.output) ? answer.output : [];
    if (answer.status === undefined && output.length === 0) return malformed(neither);
    return {
      ok: true,
      body: origin === undefined ? body : markAnswer(body, findStates(output, []), origin),
      usage,
      ...outputOf(usage, () => output.filter(isRecord).map(itemText).join('')),
      goesOn: isInProgress(answer.status),
      servedModel: typeof answer.model === 'string' ? answer.model : undefined,
    };
  },
  headMember: 'response',
  openGatherer: gatherResponse,
  eventsOf: encodeResponseEvents,
  flawOf: flawOfResponse,
};

class ResponsesEvents implements NamedEvents {
  readonly facts: AnswerFacts = freshFacts();
  readonly eventBytesMax = responseEventBytesMax;
  readonly family = /^response(?:\.[a-z0-9_]+)+$/;
  /** Data of `response.created`: as bytes, because it repeats all instructions and tools and is rarely needed. */
  private created: Buffer | undefined;
  /** The items that have ended, as they were sent; undefined if they are too long to be repeated at the end. */
  private items: Buffer[] | undefined = [];
  private itemBytes = 0;
  private repaired: string | undefined;

  kindOf(name: string): ReturnType<NamedEvents['kindOf']> {
    switch (name) {
      case 'response.created':
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return 'read';
      case 'response.output_item.done':
      case 'response.image_generation_call.partial_image':
        return this.facts.hasContent ? 'step' : 'read';
      default:
        if (!name.endsWith('.delta')) return isStep(name) ? 'step' : 'pass';
        return this.facts.hasContent ? 'delta' : 'read';
    }
  }

  /** Deltas may be left out: the `done` event repeats their text. */
  isPiece(name: string): boolean {
    return name.endsWith('.delta');
  }

  read(name: string, value: JsonRecord, data: string): void {
    switch (name) {
      case 'response.created':
        this.created = Buffer.from(data, 'latin1');
        this.begin(asRecord(value.response));
        break;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        this.finish(name, value, data);
        break;
      default:
        if (name === itemDone) this.note(name, data);
        this.facts.hasContent = true;
        this.facts.outputEstimate++;
    }
  }

  note(name: string, data: string): void {
    if (name !== itemDone || !this.items) return;
    this.itemBytes += data.length;
    const isKept = this.itemBytes <= responseEventBytesMax;
    this.facts.keptBytes = isKept ? this.itemBytes : 0;
    // A copy: a slice of the text would keep its network chunk in memory.
    if (isKept) this.items.push(Buffer.from(data, 'latin1'));
    else this.items = undefined;
  }

  rewritten(): string | undefined {
    const { repaired } = this;
    this.repaired = undefined;
    return repaired;
  }

  readError(data: string): UpstreamError {
    this.facts.goesOn = false;
    return readResponsesErrorEvent(data);
  }

  close(): undefined {
    this.facts.fault = { kind: 'truncated' };
  }

  /** The response object that the client was shown. */
  createdResponse(): JsonRecord | undefined {
    return asRecord(asRecord(parseJson(this.created?.toString('utf8') ?? ''))?.response);
  }

  private begin(response: JsonRecord | undefined): void {
    this.noteModel(response);
    const { background, status } = response ?? {};
    // Every stream is in progress at first; only those that are made in the background wait for their turn.
    if (background === true || status === 'queued') this.facts.goesOn = true;
    else if (background === false) this.facts.goesOn = false;
  }

  private finish(name: string, event: JsonRecord, data: string): void {
    const response = asRecord(event.response);
    this.facts.goesOn = false;
    this.noteModel(response);
    this.facts.usage = decodeResponsesUsage(response?.usage) ?? this.facts.usage;
    const error = readEndError(event);
    if (error || name === 'response.failed') {
      this.facts.fault = { kind: 'error-event', error: error ?? unnamedFailure };
      return;
    }
    if (!response) {
      failMalformed(this.facts, `${name} has no response`);
      return;
    }
    const reported: readonly unknown[] = Array.isArray(response.output) ? response.output : [];
    const output = this.wholeOutput(reported);
    // Clients that show no pieces take the answer from here.
    if (output !== reported) this.repaired = withMembers(data, event, { response: { ...response, output } });
    if (output.length > 0) this.facts.hasContent = true;
    // Some clients call the tools of the events before this one.
    if (output.some(isCall)) checkCallsAreWhole(this.facts);
    this.facts.isComplete = true;
  }

  private wholeOutput(reported: readonly unknown[]): readonly unknown[] {
    const { items = [] } = this;
    if (items.length <= reported.length) return reported;
    const gatherer = gatherResponse();
    for (const data of items) gatherer.add({ type: itemDone, ...asRecord(parseJson(data.toString('utf8'))) });
    gatherer.add({ type: 'response.completed', response: { output: reported } });
    const whole = gatherer.answer()?.output;
    return Array.isArray(whole) && whole.length > reported.length ? whole : reported;
  }

  private noteModel(response: JsonRecord | undefined): void {
    if (typeof response?.model === 'string') this.facts.servedModel ??= response.model;
  }
}

const itemDone = 'response.output_item.done';

function isCall(item: unknown): boolean {
  const type = asRecord(item)?.type;
  return type === 'function_call' || type === 'custom_tool_call';
}

/** Of a response that its upstream never announced. */
const unknownHead = { id: 'unknown', createdAt: 0 };

function itemText(item: JsonRecord): string {
  const lists = [item.content, item.summary].flatMap((list) => (Array.isArray(list) ? list : []));
  const texts = lists.filter(isRecord).flatMap(({ text, refusal }) => [text, refusal]);
  return [...texts, item.arguments, item.input].filter((value) => typeof value === 'string').join('');
}
