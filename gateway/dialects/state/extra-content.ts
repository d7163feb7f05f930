// What does a provider want back with one tool call, or with one message, beside what everybody
// knows? `extra_content`: Gemini's thought signatures stand there, and it refuses calls without
// theirs. It travels as opaque state on a thinking part, placed before the call it came with.

import { isRecord, type JsonRecord } from '../../json/record.ts';
import type { Part, PartOf } from '../conversation.ts';
import { isCallState } from './call-state.ts';

const messageExtra = 'penstock.message_extra';

export function stateOfMessage(extra: JsonRecord): JsonRecord {
  return { type: messageExtra, extra_content: extra };
}

/** Our own wrapping: no entry of `reasoning_details` or `thinking_blocks`. */
export function isExtraState(state: JsonRecord): boolean {
  return state.type === messageExtra || isCallState(state);
}

interface FoundExtras {
  readonly ofCalls: ReadonlyMap<PartOf<'tool-call'>, JsonRecord>;
  readonly ofMessage: JsonRecord | undefined;
}

/** Which extra content goes back with which call of an assistant turn, and with the message? */
export function findExtras(parts: readonly Part[]): FoundExtras {
  const ofCalls = new Map<PartOf<'tool-call'>, JsonRecord>();
  let ofMessage: JsonRecord | undefined;
  for (const [place, part] of parts.entries()) {
    const state = part.type === 'thinking' ? stateOf(part) : undefined;
    const extra = state?.extra_content;
    if (!state || !isRecord(extra)) continue;
    if (state.type === messageExtra) ofMessage = extra;
    else if (isCallState(state)) {
      const isFree = (other: Part): other is PartOf<'tool-call'> =>
        other.type === 'tool-call' && !ofCalls.has(other);
      const call = callOf(state.id, parts.slice(0, place), parts.slice(place + 1), isFree);
      if (call) ofCalls.set(call, extra);
    }
  }
  return { ofCalls, ofMessage };
}

/**
 * Chat clients send all thinking first; other dialects put it right before its call, whose id may
 * have changed: duplicate ids get a number as suffix.
 */
function callOf(
  id: unknown,
  before: readonly Part[],
  behind: readonly Part[],
  isFree: (part: Part) => part is PartOf<'tool-call'>,
): PartOf<'tool-call'> | undefined {
  const near = id === '' ? behind : behind.slice(0, 1);
  const free = [...behind, ...before].filter(isFree);
  return (
    free.find((call) => call.id === id) ??
    near.find(isFree) ??
    behind.filter(isFree).find((call) => call.id.startsWith(`${id}_`))
  );
}

/** The provider's state, either in our form or in the provider's. */
export function stateOf({ opaque }: PartOf<'thinking'>): JsonRecord | undefined {
  return opaque?.state.kind === 'details' && isRecord(opaque.state.value) ? opaque.state.value : undefined;
}
