// How does a key get a successor? One made here takes the place of the old one in spec.imports; of one that the operator made, the trigger changes.

import { durationMs } from '../words/format.ts';
import type { ApiKey, Import } from '../words/kube.ts';
import { asManifest } from '../words/manifest.ts';
import { mergePatch } from '../words/merge-patch.ts';

const OVERLAPS = [
  { hours: 0, label: 'none: the old key is refused at once' },
  { hours: 1, label: '1 hour' },
  { hours: 24, label: '24 hours' },
  { hours: 168, label: '7 days' },
] as const;

/** The operator's default. */
const usualOverlap = '24h';

/** The most keys of one ApiKey. */
const importsMax = 4;

export function isImported({ spec }: ApiKey): boolean {
  return (spec.imports ?? []).length > 0;
}

/** Whether the ApiKey has this very key. */
export function holds({ spec }: ApiKey, { sha256 }: { readonly sha256: string }): boolean {
  return spec.imports?.some((entry) => entry.sha256 === sha256) ?? false;
}

/** Until when another key of the ApiKey works, RFC 3339; undefined: none does. */
export function endOfOthers(
  { spec }: ApiKey,
  { sha256 }: { readonly sha256: string },
  nowMs: number,
): string | undefined {
  return spec.imports
    ?.filter((entry) => entry.sha256 !== sha256 && Date.parse(entry.notAfter ?? '') > nowMs)
    .map(({ notAfter }) => notAfter)
    .sort()
    .at(-1);
}

/**
 * The keys that stay, each with an end, and the new one.
 * @throws Error where more are in their overlap than an ApiKey has room for.
 */
export function importsWith(
  imports: readonly Import[],
  minted: { readonly sha256: string; readonly hint: string },
  overlapMs: number,
  nowMs: number,
): readonly Import[] {
  const endMs = nowMs + overlapMs;
  const kept = imports
    .filter(({ notAfter }) => overlapMs > 0 && (notAfter === undefined || Date.parse(notAfter) > nowMs))
    .map((entry) => ({
      ...entry,
      // An end that was set before is not moved away.
      notAfter:
        entry.notAfter !== undefined && Date.parse(entry.notAfter) < endMs ? entry.notAfter : rfc3339(endMs),
    }));
  if (kept.length >= importsMax)
    throw new Error(
      `${kept.length} keys of this ApiKey still work, and ${importsMax} are the maximum. Wait until one expires, or rotate without overlap.`,
    );
  return [...kept, { sha256: minted.sha256, hint: minted.hint }];
}

export type Rotation =
  /** Made here. */
  | {
      readonly minted: { readonly sha256: string; readonly hint: string };
      readonly overlapHours: number;
      readonly nowMs: number;
    }
  /** The operator makes it. */
  | {
      readonly minted: undefined;
      /** Undefined: as it is set. */
      readonly overlapHours: number | undefined;
      /** Another text than before. */
      readonly trigger: string;
    };

/** Clocks may differ by so much: the operator makes no third key before the end of the first is past on all of them. */
const clockToleranceMs = 600_000;

/**
 * What the operator waits for before it makes the next key, in words; undefined: for nothing.
 *
 * @param overlap the chosen one, which holds for a current overlap too.
 */
export function waitOf(
  key: ApiKey,
  overlap: string,
  nowMs: number,
  time: (at: string) => string,
): string | undefined {
  const { disabled, expiresAt } = key.spec;
  const dueMs = Math.max(nowMs, endOfPrevious(key, overlapMsOf(key, overlap)) + clockToleranceMs);
  if (expiresAt !== undefined && Date.parse(expiresAt) <= dueMs)
    return `No new key is created: this one expires ${time(expiresAt)}. Set a later expiry first.`;
  if (disabled === true) return 'No new key is created while this one is disabled. Enable it first.';
  if (dueMs === nowMs) return undefined;
  return `The new key is created ${time(new Date(dueMs).toISOString())}, ten minutes after the current overlap. Until then this one works.`;
}

/** Unix milliseconds; minus infinity without a previous key, or without an overlap. */
function endOfPrevious({ status }: ApiKey, overlapMs: number): number {
  const versions = status?.versions ?? [];
  const previous = versions.find(({ state }) => state !== 'Active');
  if (previous === undefined || overlapMs === 0) return Number.NEGATIVE_INFINITY;
  const issuedAt = versions.find(({ state }) => state === 'Active')?.createdAt;
  const ends = [Date.parse(previous.notAfter ?? ''), Date.parse(issuedAt ?? '') + overlapMs];
  return Math.min(...ends.filter((endMs) => !Number.isNaN(endMs)));
}

/** A merge patch. @throws Error where an ApiKey has no room for one key more. */
export function rotatedPatch(key: ApiKey, rotation: Rotation) {
  const { minted, overlapHours } = rotation;
  if (minted !== undefined) {
    const { nowMs } = rotation;
    const imports = importsWith(key.spec.imports ?? [], minted, overlapHours * 3_600_000, nowMs);
    return { spec: { imports } };
  }
  // An overlap that is written here holds for every later rotation, planned ones too.
  const overlap =
    overlapHours === undefined ? {} : { overlap: overlapHours === 0 ? '0s' : `${overlapHours}h` };
  return { spec: { rotation: { trigger: rotation.trigger, ...overlap } } };
}

export function triggerAt(nowMs: number): string {
  return `dashboard-${rfc3339(nowMs)}`;
}

/** In hours, those that can be chosen; '' leaves what is set. The first one is the usual choice. */
export function overlapsFor(key: ApiKey): readonly { readonly value: string; readonly label: string }[] {
  const options = OVERLAPS.map(({ hours, label }) => ({ value: String(hours), label }));
  if (isImported(key)) return options;
  const { interval, overlap = usualOverlap } = key.spec.rotation ?? {};
  const intervalMs = interval === undefined ? Number.POSITIVE_INFINITY : durationMs(interval);
  const setMs = durationMs(overlap);
  return [
    { value: '', label: `as configured: ${setMs === 0 ? 'none' : overlap}` },
    // The API server refuses an overlap that is not shorter than the interval.
    ...options.filter(({ value }) => {
      const ms = Number(value) * 3_600_000;
      return ms !== setMs && ms < intervalMs;
    }),
  ];
}

/** Whether the old key stops at once. */
export function isWithoutOverlap(key: ApiKey, overlap: string): boolean {
  return overlapMsOf(key, overlap) === 0;
}

function overlapMsOf({ spec }: ApiKey, overlap: string): number {
  return overlap === '' ? durationMs(spec.rotation?.overlap ?? usualOverlap) : Number(overlap) * 3_600_000;
}

/** The same change as a manifest, for another user to apply. @throws as `rotatedPatch`. */
export function rotatedManifest(key: ApiKey, rotation: Rotation): object {
  return asManifest('ApiKey', mergePatch(key, rotatedPatch(key, rotation)) as ApiKey);
}

interface KeyVersion {
  readonly id: string;
  /** How people recognise it: its hint, or the beginning of its hash. */
  readonly name: string;
  /** `Active`, `Retiring` in its overlap, or `Expired`. */
  readonly state: string;
  readonly notAfter: string | undefined;
}

/** The keys of an ApiKey, the newest first. Of those made elsewhere the spec tells, which the status only repeats; of the operator's own the status. */
export function versionsOf(key: ApiKey, nowMs: number): readonly KeyVersion[] {
  const { spec, status } = key;
  if (isImported(key))
    return (spec.imports ?? []).toReversed().map(({ sha256, hint, notAfter }) => ({
      id: sha256,
      name: hint ?? sha256.slice(0, 8),
      state: notAfter === undefined ? 'Active' : Date.parse(notAfter) > nowMs ? 'Retiring' : 'Expired',
      notAfter,
    }));
  return (status?.versions ?? []).map(({ id, fingerprint, state, notAfter }) => ({
    id: String(id),
    name: fingerprint.slice(0, 8),
    state,
    notAfter,
  }));
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
