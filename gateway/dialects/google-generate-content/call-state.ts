// What does Gemini want back with a call? The thought signature that came with it, and the id where it gave one. It travels in the form
// of Google's own chat completions (`extra_content.google.thought_signature`), so that either API of Google reads it.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import { stateOfCall } from '../state/call-state.ts';
import type { MarkedState } from '../state/opaque.ts';

interface CallState {
  readonly signature: string;
  /** Empty: it gave none. Undefined: not known. */
  readonly id: string | undefined;
}

export function markCall(origin: string, id: string, signature: string): MarkedState {
  const value = stateOfCall(id, { google: { thought_signature: signature, id } });
  return { origin, state: { kind: 'details', value } };
}

/** @param extra The extra content of a call; undefined if it holds no signature. */
export function readCallState(extra: JsonRecord | undefined): CallState | undefined {
  const { thought_signature: signature, id } = asRecord(extra?.google) ?? {};
  if (typeof signature !== 'string' || signature === '') return undefined;
  return { signature, id: typeof id === 'string' ? id : undefined };
}

/** Gemini accepts this for a call without a signature: another provider made the call, or the client has lost the signature. */
export const noSignature = 'skip_thought_signature_validator';
