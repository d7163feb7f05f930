// Remembers the result of each ApiKey and its inputs between compilations, so that one change costs one key of fifty thousand.

import { changed, differing } from '../lists/differing.ts';
import type { PlatformSettings, RawObject, SecretRecord } from '../watch/snapshot.ts';
import { contain } from './contain.ts';
import { type FindByPlace, placeOf } from './index-by-place.ts';
import type { CompiledKey } from './keys.ts';
import type { Finding } from './verdict.ts';

/** What one ApiKey tells, each in its own time. */
export interface KeyReader {
  /** The Secret to look up; none with imports. */
  readonly secretName: string | undefined;
  /** When the result changes with time alone, given this Secret; each in Unix milliseconds. */
  turns(secret: SecretRecord | undefined): readonly number[];
  compile(secret: SecretRecord | undefined): CompiledKey;
}

interface KeyMemoInput {
  readonly objects: readonly RawObject[];
  /** Undefined: the object is being deleted. Parses it, which is costly; only called where something has to be computed. */
  read(object: RawObject): KeyReader | undefined;
  /** What becomes of an object at which our own code fails. */
  failed(object: RawObject, fault: Finding): CompiledKey;
  readonly secrets: readonly SecretRecord[];
  readonly findSecret: FindByPlace<SecretRecord>;
  readonly platform: PlatformSettings;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

interface RememberedKeys {
  /** One for each object that is not being deleted; in no order. */
  readonly keys: readonly CompiledKey[];
  /** The next time at which some result changes with time alone. */
  readonly nextTurnMs: number | undefined;
}

interface KeyMemo {
  compile(input: KeyMemoInput): RememberedKeys;
  /** How many were computed since this was last asked. */
  takeCount(): number;
}

interface Slot {
  readonly result: CompiledKey;
  /** `namespace/name` of the Secret that was looked up. */
  readonly secretPlace: string | undefined;
}

/** A span in which time alone changes no result; without its end. */
interface Calm {
  readonly fromMs: number;
  readonly untilMs: number;
}

export function createKeyMemo(): KeyMemo {
  const slots = new Map<RawObject, Slot>();
  /** Objects whose result depends on a Secret, by the Secret's place. */
  const seekers = new Map<string, Set<RawObject>>();
  /** The turns of those that change by themselves. */
  const timed = new Map<RawObject, readonly number[]>();
  /** Around the last run; undefined: to be computed again. */
  let calm: Calm | undefined;
  let lastMs = 0;
  let lastObjects: readonly RawObject[] = [];
  let lastSecrets: readonly SecretRecord[] = [];
  let lastPlatform: PlatformSettings | undefined;
  let keys: readonly CompiledKey[] = [];
  let computed = 0;

  return {
    compile(input) {
      const { objects, secrets, platform, nowMs } = input;
      const { gone, added } = differing(lastObjects, objects);
      const bySecrets = differing(lastSecrets, secrets);
      const stale = new Set([
        ...(platform === lastPlatform ? [] : slots.keys()),
        ...[...bySecrets.gone, ...bySecrets.added].flatMap((secret) => [
          ...(seekers.get(placeOf(secret)) ?? []),
        ]),
        ...turnedSince(nowMs),
      ]);
      const left = new Set([...gone, ...stale]);
      const outdated = [...left].flatMap((object) => slots.get(object)?.result ?? []);
      for (const object of left) forget(object);
      for (const object of gone) stale.delete(object);
      const fresh = [...stale, ...added].flatMap((object) => compute(object, input) ?? []);
      keys = changed(keys, { gone: outdated, added: fresh });
      [lastObjects, lastSecrets, lastPlatform, lastMs] = [objects, secrets, platform, nowMs];
      calm ??= calmAround(nowMs, timed.values());
      return { keys, nextTurnMs: Number.isFinite(calm.untilMs) ? calm.untilMs : undefined };
    },
    takeCount() {
      const count = computed;
      computed = 0;
      return count;
    },
  };

  function turnedSince(nowMs: number): readonly RawObject[] {
    if (calm !== undefined && calm.fromMs <= nowMs && nowMs < calm.untilMs) return [];
    calm = undefined;
    return [...timed]
      .filter(([, turns]) => turns.some((turn) => turn <= lastMs !== turn <= nowMs))
      .map(([object]) => object);
  }

  function compute(object: RawObject, { read, failed, findSecret }: KeyMemoInput): CompiledKey | undefined {
    const { namespace } = object.metadata;
    const broken = (fault: Finding): KeyReader => ({
      secretName: undefined,
      turns: () => [],
      compile: () => failed(object, fault),
    });
    const reader = contain(() => read(object), broken);
    if (reader === undefined) return undefined;
    const { secretName } = reader;
    const secret = secretName === undefined ? undefined : findSecret(namespace, secretName);
    const secretPlace = secretName === undefined ? undefined : placeOf({ namespace, name: secretName });
    if (secretPlace !== undefined) {
      const others = seekers.get(secretPlace);
      if (others) others.add(object);
      else seekers.set(secretPlace, new Set([object]));
    }
    const { turns, result } = contain(
      () => ({ turns: reader.turns(secret), result: reader.compile(secret) }),
      (fault) => ({ turns: [], result: failed(object, fault) }),
    );
    if (turns.length > 0) {
      timed.set(object, turns);
      calm = undefined;
    }
    slots.set(object, { result, secretPlace });
    computed += 1;
    return result;
  }

  function forget(object: RawObject): void {
    const place = slots.get(object)?.secretPlace;
    slots.delete(object);
    if (timed.delete(object)) calm = undefined;
    if (place === undefined) return;
    const seeking = seekers.get(place);
    seeking?.delete(object);
    if (seeking?.size === 0) seekers.delete(place);
  }
}

function calmAround(nowMs: number, timed: Iterable<readonly number[]>): Calm {
  let [fromMs, untilMs] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const turns of timed) {
    for (const turn of turns) {
      if (turn <= nowMs) fromMs = Math.max(fromMs, turn);
      else untilMs = Math.min(untilMs, turn);
    }
  }
  return { fromMs, untilMs };
}
