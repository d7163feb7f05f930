// How do the tests of what is held run an operator's compile from table to table?

import type { TableContent } from '../../../core/contract/routing-table.ts';
import { type CompileResult, createCompiler } from '../../../operator/compile/compile.ts';
import { createVerdictNames } from '../../../operator/compile/verdict-names.ts';
import { createLastForms } from '../../../operator/hold/last-forms.ts';
import { retireKeys } from '../../../operator/hold/retire-keys.ts';
import { createGatherer } from '../../../operator/leading/verdicts.ts';
import type { RawObject, RetiredKey, Snapshot } from '../../../operator/watch/snapshot.ts';
import { NOW_MS } from './support.ts';

const HOUR_MS = 3_600_000;

/**
 * As `bring-out` calls it; every table is published at once.
 *
 * @param found the table that another leader has left.
 */
export function startTerm(holdMs = HOUR_MS, found?: TableContent) {
  const compile = createCompiler();
  let objects: readonly RawObject[] = [];
  const forms = createLastForms({
    holdMs,
    objectOf: (kind, ofNamespace, name) =>
      objects.find(
        (one) => one.kind === kind && one.metadata.namespace === ofNamespace && one.metadata.name === name,
      ),
  });
  const gather = createGatherer(createVerdictNames());
  let content = found;
  let retired: readonly RetiredKey[] = [];
  return (now: Snapshot, nowMs = NOW_MS): CompileResult => {
    objects = [...now.providers, ...now.modelRoutes];
    const compileWith = (retiredKeys: readonly RetiredKey[]) =>
      compile({ ...now, retiredKeys }, nowMs, forms.of(content));
    const last = content?.keys ?? [];
    const { table } = compileWith(retired);
    retired = retireKeys({ retired, last, next: table.keys, released: [], nowMs });
    const result = compileWith(retired);
    const { routing } = gather(result.verdicts);
    forms.onCompiled(routing);
    forms.onPublished(routing, new Map());
    content = result.table;
    return result;
  };
}
