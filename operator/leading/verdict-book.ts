// The verdict on every object in a term, and the table generation since which it is in use.

import type { Verdict } from '../compile/verdict.ts';
import type { NamesOf } from '../compile/verdict-names.ts';
import type { FormOf } from '../hold/forms.ts';
import type { Wait } from '../hold/waits.ts';
import type { Kind } from '../resources/resource.ts';
import { createProgrammedTracker, recordedGeneration } from '../status/programmed.ts';
import type { Cluster } from '../watch/cluster.ts';
import type { TableRun } from './bring-out.ts';
import { compareJudgements, type Differences, isSameVerdict, type Judgement } from './differences.ts';
import { keysWithOtherVerdicts, NO_VERDICTS, type Verdicts } from './verdicts.ts';

export type PublishedRun = Extract<TableRun, { type: 'published' }>;
export type FailedRun = Extract<TableRun, { type: 'failed' }>;

/** Objects by `Kind/namespace/name`. */
export interface VerdictBook {
  get(key: string): Verdict | undefined;
  judged(): Verdicts;
  /** Why the object is not in the table as it is now. */
  waitOf(key: string): Wait | undefined;
  /** The table generation in which the form that was judged first appeared; undefined while it is in none. */
  sinceOf(key: string, verdict: Verdict): number | undefined;
  /** Objects of a kind that serve in their last good form. */
  heldForms(kind: Kind): number;
  /** A table may have been published, but the answer was lost. */
  noteAttempted(run: FailedRun): void;
  notePublished(run: PublishedRun): void;
  judgePublished(run: PublishedRun): Differences;
  /** Faults of an object are reported even if the table cannot be written. */
  judgeFailed(run: FailedRun): Differences;
  /** Objects that some pod does not run in their present form, as far as was known at the last look. */
  unsettled(): Iterable<string>;
  noteSettled(key: string, isSettled: boolean): void;
}

const noneChanged: ReadonlySet<string> = new Set();

export function createVerdictBook(cluster: Pick<Cluster, 'object'>, namesOf: NamesOf): VerdictBook {
  const tracker = createProgrammedTracker();
  const unsettled = new Set<string>();
  let now: Judgement = { verdicts: NO_VERDICTS, waits: new Map(), formOf: () => undefined };
  /** The verdicts of the table in use; newer verdicts are of forms that are not published yet. */
  let published = NO_VERDICTS;
  const formIn = (of: FormOf, verdict: Verdict) => of(verdict.kind, namesOf(verdict).id);

  return {
    get: (key) => now.verdicts.get(key),
    judged: () => now.verdicts,
    waitOf: (key) => now.waits.get(key),
    sinceOf(key, verdict) {
      const isOut = isSameVerdict(published.get(key), verdict);
      return isOut ? tracker.since(key, formIn(now.formOf, verdict)) : undefined;
    },
    heldForms(kind) {
      let count = 0;
      for (const verdict of now.verdicts.routing.values())
        if (verdict.kind === kind && verdict.held !== undefined) count += 1;
      return count;
    },
    noteAttempted({ judged, attempted }) {
      tracker.onAttempted({ verdicts: judged, formOf: (verdict) => formIn(attempted, verdict) });
    },
    notePublished({ generation, judged, forms, found }) {
      tracker.onPublished({
        generation,
        verdicts: judged,
        formOf: (verdict) => formIn(forms.of, verdict),
        changed: new Set([...forms.changed, ...keysWithOtherVerdicts(published, judged)]),
        recorded(verdict) {
          const object = cluster.object(verdict.kind, verdict.namespace, verdict.name);
          const isSame = found !== undefined && formIn(found, verdict) === formIn(forms.of, verdict);
          return isSame && object !== undefined ? recordedGeneration(object) : undefined;
        },
      });
      published = judged;
    },
    judgePublished: ({ judged, waits, forms }) =>
      judge({ verdicts: judged, waits, formOf: forms.of }, forms.changed),
    judgeFailed: ({ judged, waits }) => judge({ verdicts: judged, waits, formOf: now.formOf }, noneChanged),
    unsettled: () => unsettled,
    noteSettled(key, isSettled) {
      if (isSettled) unsettled.delete(key);
      else unsettled.add(key);
    },
  };

  function judge(next: Judgement, changed: ReadonlySet<string>): Differences {
    const differences = compareJudgements(now, next, changed, unsettled);
    now = next;
    for (const [key] of differences.gone) unsettled.delete(key);
    return differences;
  }
}
