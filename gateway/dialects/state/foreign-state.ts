// Which parts of a request must not reach a provider that speaks the caller's own dialect? Opaque state
// that another provider issued: this one would refuse it, so it is removed from the bytes. State that
// this provider issued was marked in the answer (`mark-state.ts`) and gets its original form back.
// Nearly every request holds neither; a search of its bytes is enough to see that.

import { opaquePrefix, ownBeginnings } from '../../json/own-beginnings.ts';
import type { Path } from '../../json/read-parts.ts';
import { asRecord, type JsonRecord } from '../../json/record.ts';
import { removeParts } from '../../json/remove-parts.ts';
import { type Replacement, replaceValues } from '../../json/replace-values.ts';
import type { Edit, RequestBody } from '../../json/request-body.ts';
import type { Member } from '../../json/scan-members.ts';
import { type OpaqueState, unpackOpaque } from './opaque.ts';

/** Where a dialect's requests may hold foreign state, and how to recognise it. */
export interface ForeignPlaces {
  /** The top-level member with the turns. */
  readonly member: string;
  /**
   * Whether these bytes may hold a foreign thing that does not begin like what the gateway makes. Asked for every piece of a
   * request, so it must be cheap; may say yes in vain.
   */
  mayHold?(bytes: Buffer): boolean;
  /** What of the turns is foreign to the provider of this origin, and what is its own. */
  find(turns: readonly unknown[], origin: string): FoundState;
}

interface FoundState {
  readonly foreign: readonly Path[];
  /** Its own values as it gave them. */
  readonly own: readonly Replacement[];
}

interface ForeignState {
  /** They take it out of the body, and the marks off the provider's own. */
  readonly edits: readonly Edit[];
  /** As the caller sent them; empty if they hold neither. */
  readonly turns: readonly unknown[];
}

const none: ForeignState = { edits: [], turns: [] };

/** @param origin Of the provider that gets the request. */
export function findForeignState(body: RequestBody, places: ForeignPlaces, origin: string): ForeignState {
  const member = body.member(places.member);
  if (!member || !(holdsOwn(body) || (places.mayHold && mayHold(body.chunks, places.mayHold)))) return none;
  const turns = tryRead(body, member);
  if (!Array.isArray(turns)) return none;
  const { foreign, own } = places.find(turns, origin);
  if (foreign.length === 0 && own.length === 0) return none;
  const text = Buffer.concat(body.chunks).toString('latin1', member.valueStart, member.valueEnd);
  const edits = [...removeParts(text, foreign), ...replaceValues(text, own)].map((edit) => ({
    ...edit,
    from: edit.from + member.valueStart,
    to: edit.to + member.valueStart,
  }));
  return { edits, turns };
}

/** Of nearly every body the scan says no; the bytes of all others are searched. */
function holdsOwn({ mayBeginAsOurs, chunks }: RequestBody): boolean {
  return (
    mayBeginAsOurs && mayHold(chunks, (bytes) => ownBeginnings.some((beginning) => bytes.includes(beginning)))
  );
}

/** The value of a member; undefined if it is not valid JSON, which the upstream says better. */
export function tryRead(body: RequestBody, member: Member): unknown {
  try {
    return body.read(member);
  } catch {
    return undefined;
  }
}

/** State that we packed for this dialect's clients, and did not get from here in this form. */
export function isForeignState(value: unknown, origin: string, kind: TextState['kind']): boolean {
  return isPacked(value) && readOwnState(value, origin, kind) === undefined;
}

/** The state that the provider of this origin gave in this very place; undefined without its mark. */
export function readOwnState(value: unknown, origin: string, kind: TextState['kind']): string | undefined {
  const unpacked = typeof value === 'string' ? unpackOpaque(value) : undefined;
  if (unpacked === undefined || unpacked === 'damaged' || unpacked.origin !== origin) return undefined;
  const { state } = unpacked;
  // One provider may speak several dialects: what it gave in another one means nothing here.
  return state.kind !== 'details' && state.kind === kind ? state.value : undefined;
}

type TextState = Exclude<OpaqueState, { kind: 'details' }>;

export function isPacked(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith(opaquePrefix);
}

/**
 * The foreign entries in one list of every turn. If all entries are foreign, all of `whole` is removed:
 * the list, or the turn that holds it.
 */
export function findInLists(
  turns: readonly unknown[],
  list: string,
  whole: 'list' | 'turn',
  isForeign: (entry: JsonRecord) => boolean,
): Path[] {
  return turns.flatMap((turn, place): Path[] => {
    const entries = asRecord(turn)?.[list];
    if (!Array.isArray(entries)) return [];
    const foreign = [...entries.keys()].filter((at) => {
      const entry = asRecord(entries[at]);
      return entry !== undefined && isForeign(entry);
    });
    if (foreign.length === 0 || foreign.length < entries.length)
      return foreign.map((at) => [place, list, at]);
    return whole === 'turn' ? [[place]] : [[place, list]];
  });
}

/** Also searches the seams between chunks: they may cut a name. */
export function mayHold(chunks: readonly Buffer[], isIn: (bytes: Buffer) => boolean): boolean {
  const [only] = chunks;
  if (chunks.length === 1 && only) return isIn(only);
  let before: Buffer = Buffer.alloc(0);
  for (const chunk of chunks) {
    if (isIn(chunk)) return true;
    const joint = Buffer.concat([before, chunk.subarray(0, jointLength)]);
    if (before.length > 0 && isIn(joint)) return true;
    before =
      chunk.length >= jointLength
        ? chunk.subarray(chunk.length - jointLength)
        : joint.subarray(Math.max(0, joint.length - jointLength));
  }
  return false;
}

/** Longer than every name that is searched for. */
const jointLength = 32;
