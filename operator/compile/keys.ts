// Compiles one ApiKey into the digests of its keys, or the reason why it has none.

import { hash } from 'node:crypto';
import type { KeyEntry } from '../../core/contract/routing-table.ts';
import type { ApiKey, ApiKeySpec } from '../resources/api-key.ts';
import { issuedSecretName } from '../resources/issued-secret.ts';
import { keyHint } from '../resources/key-material.ts';
import type { Parsed } from '../resources/parse.ts';
import type { PlatformSettings, RawObject, SecretRecord } from '../watch/snapshot.ts';
import type { DigestClaim } from './checks/digest-conflict.ts';
import { digestContested, digestRefused, type RefusedDigest } from './checks/digest-conflict.ts';
import { invalid } from './checks/invalid.ts';
import { metadataNotAllowed } from './checks/metadata-not-allowed.ts';
import { secretPending } from './checks/secret-pending.ts';
import { unsupportedValue } from './checks/unsupported-value.ts';
import { isoTime } from './iso-time.ts';
import { CLOCK_TOLERANCE_MS, findSecretFault, isLongPast, readKeyState, rotationDueMs } from './key-state.ts';
import { buildBudgets, buildLimits, limitsOfTenant, wordsOnLimits } from './limits.ts';
import { compareText, sortedMap } from './order.ts';
import { type ApiKeyVerdict, type Condition, type Finding, fails, holds, notEvaluated } from './verdict.ts';

interface KeyInput {
  readonly object: RawObject;
  readonly parsed: Parsed<ApiKey>;
  /** The Secret under the name that this ApiKey's key is written to, if there is one. */
  readonly secret: SecretRecord | undefined;
  readonly platform: PlatformSettings;
  readonly nowMs: number;
}

export interface CompiledKey extends DigestClaim {
  readonly verdict: ApiKeyVerdict;
  readonly entries: readonly KeyEntry[];
}

const SOON_MS = 7 * 24 * 3_600_000;

/** One key of an ApiKey, issued or imported. */
interface Version {
  readonly sha256: string;
  readonly notAfterMs?: number;
  /** Absent: a valid key of this ApiKey. Next: not valid yet, and no caller has it. */
  readonly role?: 'retiring' | 'next';
  readonly id?: number;
  readonly createdAtMs?: number;
}

/**
 * The moments at which time alone changes the verdict on an ApiKey. Between two of them `compileKey` gives
 * the same result for any `nowMs`.
 */
export function turningPoints(
  parsed: Parsed<ApiKey>,
  secret: SecretRecord | undefined,
  keyPrefix: string,
): number[] {
  if (!parsed.ok) return [];
  const { spec } = parsed.value;
  const ends = [spec.expiresAt, ...(spec.imports ?? []).map(({ notAfter }) => notAfter)].flatMap((time) =>
    time === undefined ? [] : [Date.parse(time)],
  );
  const previous =
    secret === undefined || hasImports(spec)
      ? undefined
      : readKeyState(spec, secret, keyPrefix, Number.NEGATIVE_INFINITY).previous;
  if (previous !== undefined) ends.push(previous.endMs);
  return [...new Set(ends.flatMap((end) => [end - SOON_MS, end, end + CLOCK_TOLERANCE_MS]))];
}

/** The Secret to look up for an ApiKey; none with imports. */
export function secretNameOf(parsed: Parsed<ApiKey>): string | undefined {
  if (!parsed.ok || hasImports(parsed.value.spec)) return undefined;
  return issuedSecretName(parsed.value);
}

export function compileKey({ object, parsed, secret, platform, nowMs }: KeyInput): CompiledKey {
  const { keyPrefix } = platform;
  if (!parsed.ok) return notAccepted(object, invalid(parsed.problems));
  const apiKey = parsed.value;
  const { metadata, spec } = apiKey;
  const unsupported = unsupportedValue('ApiKey', spec);
  if (unsupported !== undefined) return notAccepted(object, unsupported);

  const issued = hasImports(spec)
    ? importedVersions(spec, nowMs)
    : issuedVersions(apiKey, secret, keyPrefix, nowMs);
  const end = lastEnd(issued.versions);
  const isOver = end !== undefined && end <= nowMs;
  // Gateways end a key by their own clocks; what this clock calls ended may not be so yet.
  const entries = spec.disabled
    ? []
    : issued.versions
        .filter(({ notAfterMs }) => notAfterMs === undefined || !isLongPast(notAfterMs, nowMs))
        .map((version) => buildEntry(apiKey, version));
  const next = issued.versions.find(({ role }) => role === 'next');
  const unwritten = hasImports(spec) ? undefined : metadataNotAllowed(apiKey, platform);
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    createdAt: metadata.creationTimestamp ?? '',
    digests: issued.versions.map(({ sha256 }) => sha256),
    entries,
    verdict: {
      kind: 'ApiKey',
      namespace: metadata.namespace,
      name: metadata.name,
      ...(metadata.generation === undefined ? {} : { generation: metadata.generation }),
      conditions: [
        holds(
          'Accepted',
          'Accepted',
          wordsOnLimits([spec.limits, limitsOfTenant(metadata.namespace, platform)], platform),
        ),
        issued.condition,
        ...(unwritten === undefined ? [] : [holds('Degraded', unwritten.reason, unwritten.message)]),
        ...(spec.disabled
          ? [
              holds(
                'Disabled',
                'DisabledBySpec',
                'spec.disabled is true, so callers get 401; set it to false',
              ),
            ]
          : []),
        ...timeConditions(isOver, end, nowMs),
      ],
      isInTable: entries.length > 0,
      ...(hasImports(spec) ? {} : { secretName: issuedSecretName(apiKey) }),
      needsSecret: issued.needsSecret,
      ...(issued.hint === undefined ? {} : { keyHint: issued.hint }),
      versions: issued.versions
        .filter((version) => version !== next)
        .map((version) => describeVersion(version, nowMs)),
      ...(next === undefined || entries.length === 0 ? {} : { next: next.sha256 }),
      ...(issued.trigger === undefined ? {} : { observedTrigger: issued.trigger }),
      ...(end === undefined ? {} : { expiresAt: isoTime(end) }),
      ...(issued.rotationMs === undefined ? {} : { nextRotationAt: isoTime(issued.rotationMs) }),
    },
  };
}

/** Takes the digests away that belong to another ApiKey, and says so on both sides. */
export function withConflict(
  key: CompiledKey,
  refused: readonly RefusedDigest[] | undefined,
  isContested: boolean,
): CompiledKey {
  const lost = new Set(refused?.map(({ digest }) => digest));
  const entries = key.entries.filter(({ sha256 }) => !lost.has(sha256));
  const findings = [
    ...(refused === undefined ? [] : [digestRefused(refused)]),
    ...(isContested ? [digestContested()] : []),
  ];
  const [first] = findings;
  if (first === undefined) return key;
  // With an uncontested digest left, the ApiKey still works and stays accepted.
  const hasOwn = key.digests.some((digest) => !lost.has(digest));
  const conditions = key.verdict.conditions.map((condition) =>
    condition.type === 'Accepted' && !hasOwn ? fails('Accepted', first) : condition,
  );
  const message = findings.map((finding) => finding.message).join('; ');
  const { next, ...verdict } = key.verdict;
  return {
    ...key,
    entries,
    verdict: {
      ...verdict,
      ...(next === undefined || lost.has(next) ? {} : { next }),
      conditions: [...conditions, holds('Conflicted', 'DigestConflict', message)],
      isInTable: entries.length > 0,
      versions: key.verdict.versions.filter(
        ({ fingerprint }) => !lost.values().some((digest) => digest.startsWith(fingerprint)),
      ),
    },
  };
}

function hasImports(spec: ApiKeySpec): boolean {
  return spec.imports !== undefined && spec.imports.length > 0;
}

interface Issued {
  readonly condition: Condition;
  readonly versions: readonly Version[];
  readonly needsSecret: boolean;
  readonly hint?: string;
  readonly trigger?: string;
  /** When the next key is made. */
  readonly rotationMs?: number;
}

function importedVersions(spec: ApiKeySpec, nowMs: number): Issued {
  const versions = (spec.imports ?? [])
    .toSorted((a, b) => compareText(a.sha256, b.sha256))
    .map(({ sha256, notAfter }) => ({ sha256, ...endOf(spec.expiresAt, notAfter) }));
  const hint = newestHint(spec.imports ?? [], nowMs);
  return {
    condition: holds('Issued', 'Imported'),
    versions,
    needsSecret: false,
    ...(hint === undefined ? {} : { hint }),
  };
}

/** New keys are appended to those in their overlap, so the last one is the newest. An ended key counts only if all have ended. */
function newestHint(imports: NonNullable<ApiKeySpec['imports']>, nowMs: number): string | undefined {
  const working = imports.filter(({ notAfter }) => notAfter === undefined || Date.parse(notAfter) > nowMs);
  return (working.length === 0 ? imports : working).findLast(({ hint }) => hint !== undefined)?.hint;
}

function issuedVersions(
  apiKey: ApiKey,
  secret: SecretRecord | undefined,
  keyPrefix: string,
  nowMs: number,
): Issued {
  const { spec } = apiKey;
  if (secret === undefined) {
    const condition = fails('Issued', secretPending(issuedSecretName(apiKey), spec.disabled));
    return { condition, versions: [], needsSecret: !spec.disabled };
  }
  const fault = findSecretFault(apiKey, secret, keyPrefix);
  if (fault !== undefined) return { condition: fails('Issued', fault), versions: [], needsSecret: false };
  const state = readKeyState(spec, secret, keyPrefix, nowMs);
  const { present, previous, next, version, issuedAtMs, trigger } = state;
  const end = endOf(spec.expiresAt);
  const dueMs = rotationDueMs(spec, state);
  return {
    condition: holds('Issued', 'SecretCreated'),
    versions: [
      {
        sha256: hash('sha256', present),
        ...end,
        ...(version === undefined ? {} : { id: version }),
        ...(issuedAtMs === undefined ? {} : { createdAtMs: issuedAtMs }),
      },
      ...(previous === undefined
        ? []
        : [
            {
              sha256: hash('sha256', previous.key),
              notAfterMs: Math.max(0, previous.endMs),
              role: 'retiring' as const,
              ...(version === undefined || version === 1 ? {} : { id: version - 1 }),
            },
          ]),
      ...(next === undefined ? [] : [{ sha256: hash('sha256', next), ...end, role: 'next' as const }]),
    ],
    needsSecret: false,
    hint: keyHint(keyPrefix, present),
    ...(trigger === undefined ? {} : { trigger }),
    // One that is due since the key was issued is in progress.
    ...(dueMs === undefined || issuedAtMs === undefined || dueMs <= issuedAtMs ? {} : { rotationMs: dueMs }),
  };
}

/** The earliest of several ends, if there is any. */
function endOf(...times: readonly (string | undefined)[]): { notAfterMs?: number } {
  const ends = times.flatMap((time) => (time === undefined ? [] : [Date.parse(time)]));
  return ends.length === 0 ? {} : { notAfterMs: Math.max(0, Math.min(...ends)) };
}

function describeVersion(
  { sha256, notAfterMs, role, id, createdAtMs }: Version,
  nowMs: number,
): ApiKeyVerdict['versions'][number] {
  const isOver = notAfterMs !== undefined && notAfterMs <= nowMs;
  return {
    ...(id === undefined ? {} : { id }),
    fingerprint: sha256.slice(0, 16),
    state: isOver ? 'Expired' : role === 'retiring' ? 'Retiring' : 'Active',
    ...(createdAtMs === undefined ? {} : { createdAt: isoTime(createdAtMs) }),
    ...(notAfterMs === undefined ? {} : { notAfter: isoTime(notAfterMs) }),
  };
}

/** When the last key ends; undefined if one of them never does. The end of a retiring key is not the end of the ApiKey. */
function lastEnd(versions: readonly Version[]): number | undefined {
  let last: number | undefined;
  for (const { notAfterMs, role } of versions) {
    if (role === 'retiring') continue;
    if (notAfterMs === undefined) return undefined;
    last = Math.max(last ?? 0, notAfterMs);
  }
  return last;
}

function timeConditions(isOver: boolean, end: number | undefined, nowMs: number): Condition[] {
  if (end === undefined) return [];
  if (isOver)
    return [
      holds(
        'Expired',
        'PastExpiry',
        `expired at ${isoTime(end)}; set a later spec.expiresAt or notAfter of an import, or make a new ApiKey`,
      ),
    ];
  if (end - nowMs > SOON_MS) return [];
  return [
    holds(
      'ExpiringSoon',
      'NearExpiry',
      `expires at ${isoTime(end)}; set a later spec.expiresAt or notAfter of an import, or move its callers to a new ApiKey`,
    ),
  ];
}

function buildEntry({ metadata, spec }: ApiKey, { sha256, notAfterMs }: Version): KeyEntry {
  // An object that was stored with the old name of the field keeps its attributes.
  const { models, owner, attributes = spec.metadata } = spec;
  return {
    sha256,
    id: `${metadata.namespace}/${metadata.name}`,
    ...(notAfterMs === undefined ? {} : { notAfterMs }),
    ...(models === undefined
      ? {}
      : {
          models: {
            allow: [...(models.allow ?? [])].sort(compareText),
            deny: [...(models.deny ?? [])].sort(compareText),
          },
        }),
    ...(owner === undefined
      ? {}
      : {
          owner: {
            ...(owner.name === undefined ? {} : { name: owner.name }),
            ...(owner.email === undefined ? {} : { email: owner.email }),
            ...(owner.team === undefined ? {} : { team: owner.team }),
          },
        }),
    ...(attributes === undefined ? {} : { metadata: sortedMap(attributes) }),
    ...buildLimits(spec.limits),
    ...buildBudgets(spec.budgets),
  };
}

export function notAccepted(object: RawObject, fault: Finding): CompiledKey {
  const { namespace, name, generation } = object.metadata;
  return {
    namespace,
    name,
    createdAt: '',
    digests: [],
    entries: [],
    verdict: {
      kind: 'ApiKey',
      namespace,
      name,
      ...(typeof generation === 'number' ? { generation } : {}),
      conditions: [fails('Accepted', fault), notEvaluated('Issued')],
      isInTable: false,
      needsSecret: false,
      versions: [],
    },
  };
}
