// How does a client that drops thinking send back what the provider needs with a call? In the id of the call, which every client
// sends back with the call and with its result. An id of Messages has no length limit; LiteLLM does the same.
//
//   <id>_penstock1_<origin>_<base64url of JSON>

import { parseJson } from '../../../core/parse-json.ts';
import { isRecord, type JsonRecord } from '../../json/record.ts';
import type { MarkedState } from './opaque.ts';

const callExtra = 'penstock.call_extra';
export const callStateMark = '_penstock1_';

/** @param id Of the call, as the upstream gave it; perhaps empty. */
export function stateOfCall(id: string, extra: JsonRecord): JsonRecord {
  return { type: callExtra, id, extra_content: extra };
}

export function isCallState(value: unknown): value is JsonRecord {
  return isRecord(value) && value.type === callExtra;
}

/** Whether the state came with the call that follows it; ids that were given twice have got a number. */
export function belongsTo(opaque: MarkedState | undefined, callId: string): opaque is MarkedState {
  const value = opaque?.state.value;
  return isCallState(value) && (value.id === '' || value.id === callId || callId.startsWith(`${value.id}_`));
}

/** The id that the client gets. */
export function packCallId(id: string, { origin = '', state }: MarkedState): string {
  const extra = isCallState(state.value) ? state.value.extra_content : undefined;
  return `${id}${callStateMark}${origin}_${Buffer.from(JSON.stringify(extra)).toString('base64url')}`;
}

/** The id without what was packed into it, and that; an id that a client has cut or changed has nothing. */
export function unpackCallId(given: string): { readonly id: string; readonly opaque?: MarkedState } {
  const at = given.lastIndexOf(callStateMark);
  if (at <= 0) return { id: given };
  const id = given.slice(0, at);
  const [origin = '', ...packed] = given.slice(at + callStateMark.length).split('_');
  const extra = parseJson(Buffer.from(packed.join('_'), 'base64url').toString('utf8'));
  if (!isRecord(extra)) return { id };
  return { id, opaque: { origin, state: { kind: 'details', value: stateOfCall(id, extra) } } };
}
