// Compares the verdicts of two runs. Pure: which verdicts differ, and which statuses have to be checked.

import type { ApiKeyVerdict, Verdict } from '../compile/verdict.ts';
import type { FormOf } from '../hold/forms.ts';
import type { Waits } from '../hold/waits.ts';
import { keysWithOtherVerdicts, type Verdicts } from './verdicts.ts';

export interface Judgement {
  readonly verdicts: Verdicts;
  readonly waits: Waits;
  /** What the table in use holds. */
  readonly formOf: FormOf;
}

/** Objects by `Kind/namespace/name`. */
export interface Differences {
  readonly gone: readonly (readonly [key: string, last: Verdict])[];
  /** New, or another verdict than before. */
  readonly apiKeys: readonly (readonly [key: string, verdict: ApiKeyVerdict])[];
  readonly forStatus: readonly string[];
}

/**
 * @param changed objects with another form than before in the table.
 * @param unsettled objects that could not be published before, though nothing else is new about them.
 */
export function compareJudgements(
  before: Judgement,
  now: Judgement,
  changed: ReadonlySet<string>,
  unsettled: ReadonlySet<string>,
): Differences {
  const gone: (readonly [string, Verdict])[] = [];
  const apiKeys: (readonly [string, ApiKeyVerdict])[] = [];
  const forStatus: string[] = [];
  const inQuestion = [...changed, ...unsettled, ...before.waits.keys(), ...now.waits.keys()];
  for (const key of new Set([...keysWithOtherVerdicts(before.verdicts, now.verdicts), ...inQuestion])) {
    const known = before.verdicts.get(key);
    const verdict = now.verdicts.get(key);
    if (verdict === undefined) {
      if (known !== undefined) gone.push([key, known]);
      continue;
    }
    const isOther = !isSameVerdict(known, verdict);
    if (isOther && verdict.kind === 'ApiKey') apiKeys.push([key, verdict]);
    const waitsOtherwise = before.waits.get(key)?.message !== now.waits.get(key)?.message;
    if (isOther || changed.has(key) || unsettled.has(key) || waitsOtherwise) forStatus.push(key);
  }
  return { gone, apiKeys, forStatus };
}

/** Verdicts on ApiKeys keep their identity; the few others are compared by what they say. */
export function isSameVerdict(a: Verdict | undefined, b: Verdict): boolean {
  return a === b || (b.kind !== 'ApiKey' && JSON.stringify(a) === JSON.stringify(b));
}
