// How does opaque state get its mark in an answer that otherwise passes untouched? Only where a
// route has several providers that speak the caller's dialect: without a mark, it is unknown which of
// them gave it when it comes back (`foreign-state.ts`).

import type { Path } from '../../json/read-parts.ts';
import type { JsonRecord } from '../../json/record.ts';
import { withReplaced } from '../../json/replace-values.ts';
import { type OpaqueState, packOpaque } from './opaque.ts';

/** State and its path. */
export interface PlacedState {
  readonly path: Path;
  readonly state: OpaqueState;
}

/** Where the events of a dialect hold opaque state. */
export interface StatePlaces {
  /** A word that every delta with state contains; undefined: deltas hold no state. */
  readonly deltaWord?: string;
  /** Asked for every event that is looked at, so it must be cheap; may say yes in vain. */
  mayHold(name: string, data: string): boolean;
  find(name: string, event: JsonRecord): readonly PlacedState[];
}

export interface EventMarks {
  readonly places: StatePlaces;
  /** Of the provider that answers. */
  readonly origin: string;
}

export function markAnswer(body: Buffer, states: readonly PlacedState[], origin: string): Buffer {
  if (states.length === 0) return body;
  return Buffer.from(markStates(body.toString('latin1'), states, origin), 'latin1');
}

/** @param text A JSON object as latin1 of its UTF-8 bytes. */
export function markStates(text: string, states: readonly PlacedState[], origin: string): string {
  if (states.length === 0) return text;
  const replacements = states.map(({ path, state }) => ({
    path,
    text: JSON.stringify(packOpaque(origin, state)),
  }));
  return withReplaced(text, replacements, text.indexOf('{'));
}
