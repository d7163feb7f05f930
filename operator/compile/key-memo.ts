// What do we remember of each ApiKey from one compile to the next? Its result and what that hangs on, in one small value:
// there may be fifty thousand, and the parsed form of each would be as large as all the rest.

import type { PlatformSettings, RawObject, SecretRecord } from '../watch/snapshot.ts';
import type { CompiledKey } from './keys.ts';

/** What one ApiKey tells, each in its own time. */
export interface KeyReader {
  /** The Secret to look up; none with imports. */
  secretName: string | undefined;
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
  compile(object: RawObject, input: KeyMemoInput): CompiledKey;
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
  let computed = 0;
  return {
    compile(object, { read, findSecret, platform, passed }) {
      const slot = slots.get(object);
      let reader: KeyReader | undefined;
      const look = (): KeyReader => {
        reader ??= read(object);
        return reader;
      };
      const secretName = slot === undefined ? look().secretName : slot.secretName;
      const secret = secretName === undefined ? undefined : findSecret(object.metadata.namespace, secretName);
      const known = slot?.secret === secret && slot?.platform === platform ? slot : undefined;
      const turns = known?.turns ?? stored(look().turns(secret));
      const count = passed(turns);
      if (known?.passed === count) return known.result;
      const result = look().compile(secret);
      computed += 1;
      slots.set(object, { secretName, secret, platform, turns, passed: count, result });
      return result;
    },
    takeCount() {
      const count = computed;
      computed = 0;
      return count;
    },
  };
}

function stored(turns: readonly number[]): readonly number[] {
  return turns.length === 0 ? noTurns : turns;
}
