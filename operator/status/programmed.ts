// In which table generation did the present form of each object first appear?

import { isRecord } from '../../core/kube/object.ts';
import type { Verdict } from '../compile/verdict.ts';
import type { RawPolicy } from '../watch/snapshot.ts';
import { conditionsOf } from './object-status.ts';

interface Published {
  /** The table generation in force, which says what these verdicts say; newly written or not. */
  readonly generation: number;
  /** By `Kind/namespace/name`. */
  readonly verdicts: { get(key: string): Verdict | undefined; keys(): Iterable<string> };
  /**
   * Identifies an object's entries in the table: their identity or a fingerprint, compared by `Object.is`; undefined if there are none.
   */
  formOf(verdict: Verdict): unknown;
  /** The only ones whose form may be another than in the call before, or that came or went; absent: all of them. */
  readonly changed?: ReadonlySet<string>;
  /**
   * Asked once about each object that the tracker has not met: the generation of its present form as an
   * earlier leader recorded it, see `recordedGeneration`. Undefined where the stored table held another form.
   */
  recorded?(verdict: Verdict): number | undefined;
}

/** A table whose publish has an unknown result. */
type Attempted = Pick<Published, 'verdicts' | 'formOf'>;

export interface ProgrammedTracker {
  /** To be called after each publish, also where there was nothing to write. Forgets objects without a verdict. */
  onPublished(published: Published): void;
  /**
   * The table may be in the cluster: only the answer was lost, or keys were revoked ahead of it. Objects with another form in it are
   * counted from the next publish on, even if they return to their earlier form.
   */
  onAttempted(attempted: Attempted): void;
  /**
   * Undefined: no table with this form was published yet. The form is asked for, so that a verdict newer than
   * the last publish is not taken for one that is out already.
   */
  since(key: string, form: unknown): number | undefined;
}

export function createProgrammedTracker(): ProgrammedTracker {
  const forms = new Map<string, { readonly form: unknown; readonly since: number }>();
  /** Result of the last call. */
  let last: number | undefined;

  return {
    onPublished({ generation, verdicts, formOf, changed, recorded }) {
      // Where numbers have fallen, no form may count from a later one.
      const isWhole = changed === undefined || last === undefined || generation < last;
      last = generation;
      for (const key of isWhole ? new Set([...verdicts.keys(), ...forms.keys()]) : changed) {
        const verdict = verdicts.get(key);
        if (verdict === undefined) {
          forms.delete(key);
          continue;
        }
        const known = forms.get(key);
        const form = formOf(verdict);
        if (known !== undefined) {
          const since = Object.is(known.form, form) ? Math.min(known.since, generation) : generation;
          forms.set(key, { form, since });
          continue;
        }
        // Never later than now: the numbering may have been restarted.
        const since = Math.min(recorded?.(verdict) ?? generation, generation);
        forms.set(key, { form, since });
      }
    },
    onAttempted({ verdicts, formOf }) {
      for (const [key, known] of forms) {
        const verdict = verdicts.get(key);
        if (verdict === undefined) continue;
        const form = formOf(verdict);
        if (!Object.is(known.form, form)) forms.set(key, { form, since: Number.POSITIVE_INFINITY });
      }
    },
    since(key, form) {
      const known = forms.get(key);
      if (known === undefined || !Object.is(known.form, form)) return undefined;
      return known.since === Number.POSITIVE_INFINITY ? undefined : known.since;
    },
  };
}

/**
 * The generation that the object's own status names, where it speaks about the present spec and says that
 * every pod ran it. Only to be trusted where the stored table holds the same entries as the new one.
 */
export function recordedGeneration({ metadata, status }: RawPolicy): number | undefined {
  if (!isRecord(status) || status.observedGeneration !== metadata.generation) return undefined;
  const isProgrammed = conditionsOf(status).some((one) => one.type === 'Programmed' && one.status === 'True');
  const generation = isRecord(status.programmed) ? status.programmed.tableGeneration : undefined;
  return isProgrammed && typeof generation === 'number' ? generation : undefined;
}
