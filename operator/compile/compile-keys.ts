// Compiles ApiKeys. The cost of a changed key does not depend on the number of keys.

import type { KeyEntry } from '../../core/contract/routing-table.ts';
import { createSorter } from '../lists/sorter.ts';
import { createSubstitution } from '../lists/substitution.ts';
import { parseApiKey } from '../resources/api-key.ts';
import type { PlatformSettings, RawObject, RetiredKey, SecretRecord } from '../watch/snapshot.ts';
import { createDigestConflicts, type FindHolders, type RefusedDigest } from './checks/digest-conflict.ts';
import type { FindByPlace } from './index-by-place.ts';
import { createKeyMemo, type KeyReader } from './key-memo.ts';
import {
  type CompiledKey,
  compileKey,
  notAccepted,
  secretNameOf,
  turningPoints,
  withConflict,
} from './keys.ts';
import { createMemo } from './memo.ts';
import { comparePlace, compareText } from './order.ts';
import { isStaying } from './staying.ts';
import type { ApiKeyVerdict } from './verdict.ts';

/** Unchanged inputs must be identical values (===) to those of the last compile, lists too. */
interface KeysInput {
  readonly apiKeys: readonly RawObject[];
  readonly secrets: readonly SecretRecord[];
  readonly findSecret: FindByPlace<SecretRecord>;
  readonly findHolders: FindHolders;
  readonly retiredKeys: readonly RetiredKey[] | undefined;
  readonly platform: PlatformSettings;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

interface KeysResult {
  /** By digest. */
  readonly entries: KeyEntry[];
  /** By namespace and name. */
  readonly verdicts: readonly ApiKeyVerdict[];
  /** Unix milliseconds at which the same input gives another result. */
  readonly staleAtMs: number | undefined;
}

interface KeysCompiler {
  compile(input: KeysInput): KeysResult;
  /** How many were computed since this was last asked. */
  takeCount(): number;
}

export function createKeysCompiler(): KeysCompiler {
  const remembered = createKeyMemo();
  const findConflicts = createDigestConflicts<CompiledKey>();
  const conflicted = createMemo();
  const withConflicts = createSubstitution<CompiledKey>();
  const sortEntries = createSorter<CompiledKey, KeyEntry>(
    ({ entries }) => entries,
    (a, b) => compareText(a.sha256, b.sha256),
  );
  const sortVerdicts = createSorter<CompiledKey, ApiKeyVerdict>(({ verdict }) => [verdict], comparePlace);

  return {
    compile({ apiKeys, secrets, findSecret, findHolders, retiredKeys, platform, nowMs }) {
      const { keys, nextTurnMs } = remembered.compile({
        objects: apiKeys,
        read: (object) => readKey(object, platform, nowMs),
        failed: notAccepted,
        secrets,
        findSecret,
        platform,
        nowMs,
      });
      const { refused, contested } = findConflicts(keys, findHolders, retiredKeys);
      const inConflict = [...new Set([...refused.keys(), ...contested])].map(
        (key) => [key, formInConflict(key, refused.get(key), contested.has(key))] as const,
      );
      const settled = withConflicts(keys, new Map(inConflict));
      return { entries: sortEntries(settled), verdicts: sortVerdicts(settled), staleAtMs: nextTurnMs };
    },
    takeCount: remembered.takeCount,
  };

  function formInConflict(
    key: CompiledKey,
    refused: readonly RefusedDigest[] | undefined,
    isContested: boolean,
  ) {
    const words = refused?.map(({ digest, why }) => `${digest} ${why}`).join();
    return conflicted.get(key, [words, isContested], () => withConflict(key, refused, isContested));
  }
}

function readKey(object: RawObject, platform: PlatformSettings, nowMs: number): KeyReader | undefined {
  if (!isStaying(object)) return undefined;
  const { keyPrefix } = platform;
  const parsed = parseApiKey(object);
  return {
    secretName: secretNameOf(parsed),
    turns: (secret) => turningPoints(parsed, secret, keyPrefix),
    compile: (secret) => compileKey({ object, parsed, secret, platform, nowMs }),
  };
}
