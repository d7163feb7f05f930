// Chat completions from a chat completions upstream: what changes in the bytes?

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { type RequestBody, setMember } from '../../json/request-body.ts';
import type { Member } from '../../json/scan-members.ts';
import type { AnswerDocument, SameDialect, UpstreamTarget } from '../dialect.ts';
import { encodeOpenAiEvents } from '../openai/events-of-answer.ts';
import { editOpenAiRequest, emptyLists, relayOpenAiAnswer } from '../openai/pass-through.ts';
import { relayOpenAiStream } from '../openai/relay-stream.ts';
import { OpenAiRepair, type RepairShape } from '../openai/repair.ts';
import { boundNewer, boundOlder, nameKnown, saysBoundName } from '../request/chat-names.ts';
import { type ForeignPlaces, findForeignState, findInLists, isPacked } from '../state/foreign-state.ts';
import { flawOfChat, gatherChat } from './gather-answer.ts';
import { strictOrderEdits } from './message-order.ts';
import { ChatChoiceRepair } from './repair-choice.ts';

export const relayChat: SameDialect = {
  editRequest(body, facts, target) {
    const newer = newerBoundUnknownTo(body, target);
    const { edits } = findForeignState(body, detailsPlaces, target.origin);
    const ordered = target.chatOrder === 'strict' ? [...edits, ...strictOrderEdits(body)] : edits;
    return editOpenAiRequest(body, facts, target, {
      unsent: newer ? [newer, ...unsaid(body)] : unsaid(body),
      further: newer ? [...ordered, setMember(body, boundOlder, body.text(newer))] : ordered,
    });
  },
  relayStream(facts, _origin, head) {
    return relayOpenAiStream({
      choices: facts.choices,
      wantsUsage: facts.wantsUsage,
      hasContent: hasChatContent,
      hasCalls: ({ delta, finish_reason: reason }) =>
        hasCallPieces(asRecord(delta)) || reason === 'tool_calls' || reason === 'function_call',
      repair: head && new OpenAiRepair(chunkShape, head),
    });
  },
  relayAnswer(body, _facts, _origin, head): AnswerDocument {
    return relayOpenAiAnswer(
      body,
      (choice) => messageText(asRecord(choice.message)),
      head && (() => new OpenAiRepair(answerShape, head)),
    );
  },
  openGatherer: gatherChat,
  eventsOf: (answer) => encodeOpenAiEvents(answer, chunkShape.object, chunkChoice),
  flawOf: flawOfChat,
};

function chunkChoice(choice: unknown): unknown {
  const { message, ...rest } = asRecord(choice) ?? {};
  const { tool_calls: calls, ...said } = asRecord(message) ?? {};
  if (!Array.isArray(calls)) return { ...rest, delta: said };
  const numbered = calls.map((call, index) => (isRecord(call) ? { index, ...call } : call));
  return { ...rest, delta: { ...said, tool_calls: numbered } };
}

const chunkShape: RepairShape = {
  object: 'chat.completion.chunk',
  idPrefix: 'chatcmpl-',
  openChoice: (index, head) => new ChatChoiceRepair('delta', index, head),
};

const answerShape: RepairShape = {
  ...chunkShape,
  object: 'chat.completion',
  openChoice: (index, head) => new ChatChoiceRepair('message', index, head),
};

/**
 * The caller's bound, if the request has only its newer name and the upstream knows only the older one: the upstream would
 * ignore or refuse it. If both names are set, the larger value is reserved, and each upstream reads the name it knows.
 */
function newerBoundUnknownTo(body: RequestBody, target: UpstreamTarget): Member | undefined {
  if (!saysBoundName(target) || nameKnown(target, boundNewer, boundOlder) === boundNewer) return undefined;
  const [newer, older] = [body.member(boundNewer), body.member(boundOlder)];
  if (!newer || body.isNull(newer)) return undefined;
  return older && !body.isNull(older) ? undefined : newer;
}

const mayBeEmpty = ['stop', 'functions'];

/** Upstreams refuse a tool choice without any functions. */
function unsaid(body: RequestBody): readonly Member[] {
  const empty = emptyLists(body, mayBeEmpty);
  const choice = empty.some(({ name }) => name === 'functions') ? body.member('function_call') : undefined;
  return choice && typeof body.read(choice) === 'string' ? [...empty, choice] : empty;
}

const shownMembers = ['content', 'refusal', 'reasoning_content', 'reasoning'] as const;
const structuredMembers = ['tool_calls', 'reasoning_details', 'thinking_blocks'] as const;

/** Of one entry of `choices`. */
export function hasChatContent({ delta }: JsonRecord): boolean {
  return hasDeltaContent(asRecord(delta));
}

/** A role alone is no content; neither are empty strings and empty lists. */
export function hasDeltaContent(delta: JsonRecord | undefined): boolean {
  if (!delta) return false;
  for (const name of shownMembers) {
    const value = delta[name];
    // A few providers stream a list of parts.
    if (typeof value === 'string' || Array.isArray(value) ? value.length > 0 : isRecord(value)) return true;
  }
  for (const name of structuredMembers) {
    const value = delta[name];
    if (Array.isArray(value) && value.length > 0) return true;
  }
  return isRecord(delta.function_call) || isRecord(delta.audio);
}

function hasCallPieces(delta: JsonRecord | undefined): boolean {
  const calls = delta?.tool_calls;
  return (Array.isArray(calls) && calls.length > 0) || isRecord(delta?.function_call);
}

function messageText(message: JsonRecord | undefined): string {
  if (!message) return '';
  const calls = Array.isArray(message.tool_calls) ? JSON.stringify(message.tool_calls) : '';
  return (
    shownMembers.map((name) => (typeof message[name] === 'string' ? message[name] : '')).join('') + calls
  );
}

/** Only clients that echo what they do not know send this back. */
const detailsPlaces: ForeignPlaces = {
  member: 'messages',
  find: (turns) => ({
    foreign: findInLists(turns, 'reasoning_details', 'list', ({ data }) => isPacked(data)),
    own: [],
  }),
};
