// Plans the next write to the Secret of an ApiKey, or none. Pure, from the ApiKey, the last read Secret, the time, and whether every
// gateway knows the staged key. The API server refuses a write if the Secret has changed, so a stale or repeated plan does no harm.
//
//                        due                        every gateway knows it             overlap is over
//   apiKey A ──────────────► apiKey A, next B ──────────────────────► apiKey B, previous A ─────────► apiKey B
//            stage                             promote (in one write)                       retire

import { isDeepStrictEqual } from 'node:util';
import { isoTime } from '../compile/iso-time.ts';
import {
  dataKeyOf,
  findSecretFault,
  type KeyState,
  readKeyState,
  rotationDueMs,
} from '../compile/key-state.ts';
import type { ApiKey } from '../resources/api-key.ts';
import { toMs } from '../resources/duration.ts';
import { issuedSecretAnnotations, issuedSecretLabels } from '../resources/issued-secret.ts';
import { BASE_URL_KEY, NEXT_KEY, PREVIOUS_KEY, SECRET_NOTES } from '../resources/key-secret-names.ts';
import { API_GROUP, API_VERSION } from '../resources/metadata.ts';
import type { SecretOwner, SecretRecord } from '../watch/snapshot.ts';

export interface KeyFacts {
  /** As it was checked; it has a uid. */
  readonly apiKey: ApiKey;
  /** Undefined: the Secret does not exist. */
  readonly secret: SecretRecord | undefined;
  readonly keyPrefix: string;
  readonly baseUrl: string | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Number of the newest key that this ApiKey is known to have had; 0 for none. */
  readonly lastVersion: number;
  /** Does every ready gateway pod know this key? True also without a ready pod: then no request can be refused. */
  isOut(key: string): boolean;
  /** From a cryptographic source; called for a write that brings one. */
  makeKey(): string;
}

/** Members that are null go; what is not named stays as it is. */
export interface SecretChange {
  readonly labels: Texts;
  readonly annotations: Texts;
  /** Not encoded. */
  readonly data: Texts;
  /** The whole list. */
  readonly owners?: readonly SecretOwner[];
}

type Texts = Readonly<Record<string, string | null>>;

export type KeyStep = 'note' | 'stage' | 'unstage' | 'promote' | 'retire' | 'tend';

export type KeyPlan =
  /** Look again then, though nothing happens. */
  | { readonly type: 'nothing'; readonly atMs?: number }
  | { readonly type: 'create'; readonly secret: NewSecret }
  | { readonly type: 'change'; readonly step: KeyStep; readonly change: SecretChange };

export interface NewSecret {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly data: Readonly<Record<string, string>>;
  readonly owners: readonly SecretOwner[];
}

export function planKeySecret(facts: KeyFacts): KeyPlan {
  const { apiKey, secret, keyPrefix, nowMs } = facts;
  const { spec } = apiKey;
  if ((spec.imports ?? []).length > 0) return { type: 'nothing' };
  if (secret === undefined) {
    return spec.disabled ? { type: 'nothing' } : { type: 'create', secret: newSecret(facts) };
  }
  const fault = findSecretFault(apiKey, secret, keyPrefix);
  if (fault !== undefined) return { type: 'nothing' };

  const state = readKeyState(spec, secret, keyPrefix, nowMs);
  const turn = nextTurn(facts, secret, state);
  const change = withTending(facts, secret, turn ?? nothingTurns);
  if (turn !== undefined) return { type: 'change', step: turn.step, change };
  if (!isEmpty(change)) return { type: 'change', step: 'tend', change };
  const dueMs = rotationDueMs(spec, state);
  // A staged key waits for gateways, not for a time.
  return dueMs === undefined || dueMs <= nowMs ? { type: 'nothing' } : { type: 'nothing', atMs: dueMs };
}

/** What happens to the keys; labels and the like come beside it. */
interface Turn {
  readonly step: KeyStep;
  readonly annotations: Texts;
  readonly data: Texts;
}

const nothingTurns: Omit<Turn, 'step'> = { annotations: {}, data: {} };

function nextTurn(facts: KeyFacts, secret: SecretRecord, state: KeyState): Turn | undefined {
  const { apiKey, nowMs } = facts;
  const { spec } = apiKey;
  // Written by hand, by an earlier version, or kept after an ApiKey: from here on its time counts.
  if (state.issuedAtMs === undefined) {
    const made = secret.createdAt === undefined ? Number.NaN : Date.parse(secret.createdAt);
    const sinceMs = Number.isNaN(made) ? nowMs : Math.min(made, nowMs);
    const version = state.version ?? Math.max(1, facts.lastVersion);
    return { step: 'note', data: {}, annotations: notesOf(spec, sinceMs, version) };
  }
  const isLeftOver =
    Object.hasOwn(secret.data, PREVIOUS_KEY) ||
    Object.hasOwn(secret.annotations, SECRET_NOTES.previousNotAfter);
  if (state.previous === undefined && isLeftOver) {
    return {
      step: 'retire',
      data: Object.hasOwn(secret.data, PREVIOUS_KEY) ? { [PREVIOUS_KEY]: null } : {},
      annotations: { [SECRET_NOTES.previousNotAfter]: null },
    };
  }
  const hasStaged = Object.hasOwn(secret.data, NEXT_KEY);
  if (hasStaged && spec.rotation === undefined) {
    return { step: 'unstage', data: { [NEXT_KEY]: null }, annotations: {} };
  }
  const isAlive = !spec.disabled && (spec.expiresAt === undefined || Date.parse(spec.expiresAt) > nowMs);
  // While a key is in its overlap there is no third one.
  if (!isAlive || state.previous !== undefined) return undefined;
  if (state.next !== undefined) {
    return facts.isOut(state.next) ? promote(facts, state, state.next) : undefined;
  }
  const dueMs = rotationDueMs(spec, state);
  if (dueMs === undefined || dueMs > nowMs) return undefined;
  return { step: 'stage', data: { [NEXT_KEY]: facts.makeKey() }, annotations: {} };
}

function promote({ apiKey, nowMs }: KeyFacts, { present, version = 1 }: KeyState, next: string): Turn {
  const { spec } = apiKey;
  const overlapMs = spec.rotation === undefined ? 0 : toMs(spec.rotation.overlap);
  return {
    step: 'promote',
    data: {
      [dataKeyOf(spec)]: next,
      [NEXT_KEY]: null,
      ...(overlapMs === 0 ? {} : { [PREVIOUS_KEY]: present }),
    },
    annotations: {
      ...notesOf(spec, nowMs, version + 1),
      ...(overlapMs === 0 ? {} : { [SECRET_NOTES.previousNotAfter]: isoTime(nowMs + overlapMs) }),
    },
  };
}

/** A trigger that is there when a key comes is no reason for another one. */
function notesOf({ rotation }: ApiKey['spec'], issuedAtMs: number, version: number): Record<string, string> {
  return {
    [SECRET_NOTES.issuedAt]: isoTime(issuedAtMs),
    [SECRET_NOTES.version]: String(version),
    ...(rotation?.trigger === undefined ? {} : { [SECRET_NOTES.trigger]: rotation.trigger }),
  };
}

function newSecret(facts: KeyFacts): NewSecret {
  const { apiKey, baseUrl, nowMs, lastVersion } = facts;
  const { spec } = apiKey;
  return {
    labels: issuedSecretLabels(apiKey),
    annotations: {
      ...issuedSecretAnnotations(apiKey),
      ...notesOf(spec, nowMs, lastVersion + 1),
      ...fromSpecNote(apiKey),
    },
    // The key goes last: a data key that is called like the address is the user's wish.
    data: {
      ...(baseUrl === undefined ? {} : { [BASE_URL_KEY]: baseUrl }),
      [dataKeyOf(spec)]: facts.makeKey(),
    },
    owners: spec.secret?.retain === true ? [] : [ownerOf(apiKey, true)],
  };
}

/** The change of the keys, and with it whatever else is not as the ApiKey asks for it. */
function withTending(facts: KeyFacts, secret: SecretRecord, turn: Omit<Turn, 'step'>): SecretChange {
  const { apiKey, baseUrl } = facts;
  const before = readFromSpec(secret);
  const wantedLabels = issuedSecretLabels(apiKey);
  const wantedAnnotations = { ...issuedSecretAnnotations(apiKey), ...fromSpecNote(apiKey) };
  const gone = (names: readonly string[], wanted: object, present: object): Texts =>
    Object.fromEntries(
      names
        .filter((name) => !Object.hasOwn(wanted, name) && Object.hasOwn(present, name))
        .map((name) => [name, null]),
    );
  const noteNames = Object.hasOwn(secret.annotations, SECRET_NOTES.fromSpec) ? [SECRET_NOTES.fromSpec] : [];
  const owners = ownersFor(apiKey, secret);
  const isAddressFree = baseUrl !== undefined && dataKeyOf(apiKey.spec) !== BASE_URL_KEY;
  return {
    labels: {
      ...gone(before.labels, wantedLabels, secret.labels),
      ...differing(wantedLabels, secret.labels),
    },
    annotations: {
      ...gone([...before.annotations, ...noteNames], wantedAnnotations, secret.annotations),
      ...differing(wantedAnnotations, secret.annotations),
      ...turn.annotations,
    },
    data: {
      ...(isAddressFree ? differing({ [BASE_URL_KEY]: baseUrl }, secret.data) : {}),
      ...turn.data,
    },
    ...(owners === undefined ? {} : { owners }),
  };
}

/** Undefined where they are right as they are. */
function ownersFor(apiKey: ApiKey, { owners = [] }: SecretRecord): readonly SecretOwner[] | undefined {
  const { uid } = apiKey.metadata;
  const isOurs = (owner: SecretOwner) => owner.uid === uid;
  if (apiKey.spec.secret?.retain === true) {
    return owners.some(isOurs) ? owners.filter((owner) => !isOurs(owner)) : undefined;
  }
  if (owners.some(isOurs)) return undefined;
  return [...owners, ownerOf(apiKey, !owners.some(({ controller }) => controller === true))];
}

/** Without blockOwnerDeletion, which needs rights over finalizers. */
function ownerOf({ metadata: { name, uid = '' } }: ApiKey, controller: boolean): SecretOwner {
  return { apiVersion: `${API_GROUP}/${API_VERSION}`, kind: 'ApiKey', name, uid, controller };
}

interface FromSpec {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

/** Distinguishes labels that the spec no longer has from those that others have set. */
function fromSpecNote({ spec }: ApiKey): Record<string, string> {
  const names: FromSpec = {
    labels: Object.keys(spec.secret?.labels ?? {}).sort(),
    annotations: Object.keys(spec.secret?.annotations ?? {}).sort(),
  };
  if (names.labels.length + names.annotations.length === 0) return {};
  return {
    [SECRET_NOTES.fromSpec]: [
      ...markNames('label', names.labels),
      ...markNames('annotation', names.annotations),
    ].join(' '),
  };
}

function markNames(mark: string, names: readonly string[]): string[] {
  return names.map((name) => `${mark}:${name}`);
}

function readFromSpec({ annotations }: SecretRecord): FromSpec {
  const words = (annotations[SECRET_NOTES.fromSpec] ?? '').split(' ');
  const named = (mark: string) =>
    words.flatMap((word) => (word.startsWith(`${mark}:`) ? [word.slice(mark.length + 1)] : []));
  // Labels and annotations of the operator's own group never come from the spec, even if the note was edited by hand.
  const theirs = (names: readonly string[]) => names.filter((name) => !name.startsWith(`${API_GROUP}/`));
  return { labels: theirs(named('label')), annotations: theirs(named('annotation')) };
}

function differing(
  wanted: Readonly<Record<string, string>>,
  present: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(wanted).filter(
      ([name, value]) => !Object.hasOwn(present, name) || present[name] !== value,
    ),
  );
}

function isEmpty(change: SecretChange): boolean {
  return isDeepStrictEqual(change, { labels: {}, annotations: {}, data: {} });
}
