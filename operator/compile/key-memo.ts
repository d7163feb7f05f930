// What do we remember of each ApiKey from one compile to the next? Its result and what that hangs on, in one small value:
// there may be fifty thousand, and the parsed form of each would be as large as all the rest.

import type { PlatformSettings, RawObject, SecretRecord } from '../watch/snapshot.ts';
import type { CompiledKey } from './keys.ts';

/** What one ApiKey tells, each in its own time. */
export interface KeyReader {
  /** The Secret to look up; none with imports. */
  readonly secretName: string | undefined;
  /** When the result changes by itself, given this Secret. */
  turns(secret: SecretRecord | undefined): readonly number[];
  compile(secret: SecretRecord | undefined): CompiledKey;
}

export interface KeyMemoInput {
  /** Looks into the object, at some cost; only called where something has to be computed. */
  read(object: RawObject): KeyReader;
  findSecret(namespace: string, name: string): SecretRecord | undefined;
  readonly platform: PlatformSettings;
  /** How many of these points in time are over. */
  passed(turns: readonly number[]): number;
}

export interface KeyMemo {
  /** One result for each, in their order. */
  compile(objects: readonly RawObject[], input: KeyMemoInput): CompiledKey[];
  /** How many were computed since this was last asked. */
  takeCount(): number;
}

interface Slot {
  readonly secretName: string | undefined;
  readonly secret: SecretRecord | undefined;
  readonly platform: PlatformSettings;
  readonly turns: readonly number[];
  readonly passed: number;
  readonly result: CompiledKey;
}

/** Most keys never change by themselves, and share this. */
const noTurns: readonly number[] = [];

export function createKeyMemo(): KeyMemo {
  // Keyed by identity: it forgets with the object.
  const slots = new WeakMap<RawObject, Slot>();
  // Of the last run, by place: a list in which one object changed needs no search for the others.
  let lastObjects: readonly RawObject[] = [];
  let lastSlots: readonly Slot[] = [];
  let computed = 0;

  return {
    compile(objects, input) {
      const found = objects.map((object, index) => {
        const slot = lastObjects[index] === object ? lastSlots[index] : slots.get(object);
        return isUpToDate(object, slot, input) ? slot : compute(object, slot, input);
      });
      lastObjects = objects;
      lastSlots = found;
      return found.map(({ result }) => result);
    },
    takeCount() {
      const count = computed;
      computed = 0;
      return count;
    },
  };

  function compute(object: RawObject, before: Slot | undefined, input: KeyMemoInput): Slot {
    const { platform, read, passed } = input;
    const { secretName, turns: findTurns, compile } = read(object);
    const secret = secretOf(object, secretName, input);
    const isSameTime = before !== undefined && before.secret === secret && before.platform === platform;
    const turns = isSameTime ? before.turns : stored(findTurns(secret));
    const slot = {
      secretName,
      secret,
      platform,
      turns,
      passed: passed(turns),
      result: compile(secret),
    };
    computed += 1;
    slots.set(object, slot);
    return slot;
  }
}

function isUpToDate(object: RawObject, slot: Slot | undefined, input: KeyMemoInput): slot is Slot {
  return (
    slot !== undefined &&
    slot.secret === secretOf(object, slot.secretName, input) &&
    slot.platform === input.platform &&
    (slot.turns.length === 0 || slot.passed === input.passed(slot.turns))
  );
}

function secretOf(
  { metadata }: RawObject,
  name: string | undefined,
  { findSecret }: KeyMemoInput,
): SecretRecord | undefined {
  return name === undefined ? undefined : findSecret(metadata.namespace, name);
}

function stored(turns: readonly number[]): readonly number[] {
  return turns.length === 0 ? noTurns : turns;
}
