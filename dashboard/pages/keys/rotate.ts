// How does a key get a successor? One made here takes the place of the old one in spec.imports; of one that the operator made, the trigger changes.

import type { ApiKey, Import } from '../words/kube.ts';
import { asManifest } from '../words/manifest.ts';
import { mergePatch } from '../words/merge-patch.ts';

export const OVERLAPS = [
  { hours: 0, label: 'none: the old key stops at once' },
  { hours: 1, label: '1 hour' },
  { hours: 24, label: '24 hours' },
  { hours: 168, label: '7 days' },
] as const;

/** As many as one ApiKey stands for. */
const importsMax = 4;

export function isImported({ spec }: ApiKey): boolean {
  return (spec.imports ?? []).length > 0;
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
      `${kept.length} keys of this ApiKey still work, and it has room for ${importsMax}; wait for the end of one, or rotate without overlap`,
    );
  return [...kept, { sha256: minted.sha256, hint: minted.hint }];
}

export interface Rotation {
  readonly overlapHours: number;
  readonly nowMs: number;
  /** Made here; undefined: the operator makes it. */
  readonly minted: { readonly sha256: string; readonly hint: string } | undefined;
}

/** A merge patch. @throws Error where an ApiKey has no room for one key more. */
export function rotatedPatch(key: ApiKey, { overlapHours, nowMs, minted }: Rotation) {
  if (minted === undefined) return rotationPatch(overlapHours, nowMs);
  const imports = importsWith(key.spec.imports ?? [], minted, overlapHours * 3_600_000, nowMs);
  return { spec: { imports } };
}

/** The same, to be applied by somebody else. @throws as `rotatedPatch`. */
export function rotatedManifest(key: ApiKey, rotation: Rotation): object {
  return asManifest('ApiKey', mergePatch(key, rotatedPatch(key, rotation)) as ApiKey);
}

export interface KeyVersion {
  readonly id: string;
  /** How people recognise it: its hint, or the beginning of its hash. */
  readonly name: string;
  /** `Active`, `Retiring` in its overlap, or `Expired`. */
  readonly state: string;
  readonly notAfter: string | undefined;
}

/** The keys that an ApiKey stands for, the newest first. Of those made elsewhere the spec tells, of the operator's own the status. */
export function versionsOf({ spec, status }: ApiKey, nowMs: number): readonly KeyVersion[] {
  const imports = (spec.imports ?? []).map(({ sha256, hint, notAfter }) => ({
    id: sha256,
    name: hint ?? sha256.slice(0, 8),
    state: notAfter === undefined ? 'Active' : Date.parse(notAfter) > nowMs ? 'Retiring' : 'Expired',
    notAfter,
  }));
  const issued = (status?.versions ?? []).map(({ id, fingerprint, state, notAfter }) => ({
    id: String(id),
    name: fingerprint.slice(0, 8),
    state,
    notAfter,
  }));
  return [...imports.reverse(), ...issued];
}

/** For a key that lies in a Secret: another text than before makes a new one. */
export function rotationPatch(overlapHours: number, nowMs: number) {
  return {
    spec: {
      rotation: {
        trigger: `dashboard-${rfc3339(nowMs)}`,
        overlap: overlapHours === 0 ? '0s' : `${overlapHours}h`,
      },
    },
  };
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
