// What do the compile tests ask of a table and its verdicts?

import type { ConditionType } from '../../../core/catalog/conditions.ts';
import type { RouteEntry, TableContent } from '../../../core/contract/routing-table.ts';
import type { CompileResult } from '../../../operator/compile/compile.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { Condition, Verdict } from '../../../operator/compile/verdict.ts';
import type { Snapshot } from '../../../operator/watch/snapshot.ts';

export const NOW_MS = Date.parse('2026-06-01T00:00:00Z');

export function compileOnce(snapshot: Snapshot, nowMs = NOW_MS): CompileResult {
  return createCompiler()(snapshot, nowMs);
}

/** @throws where there is no such verdict or condition: then the test asks the wrong question. */
export function condition(
  { verdicts }: CompileResult,
  kind: Verdict['kind'],
  place: string,
  type: ConditionType,
): Condition {
  const verdict = verdicts.find((one) => one.kind === kind && `${one.namespace}/${one.name}` === place);
  const found = verdict?.conditions.find((one) => one.type === type);
  if (found === undefined) throw new Error(`no condition ${type} on ${kind} ${place}`);
  return found;
}

/** The routes that keys of a namespace can reach by an id, as a gateway looks it up: own ones go first. */
export function reachable(table: TableContent, namespace: string, model: string): RouteEntry[] {
  const named = table.routes.filter((route) => route.model === model || route.aliases.includes(model));
  const own = named.filter(({ id }) => id.startsWith(`${namespace}/`));
  return own.length > 0 ? own : named.filter((route) => isVisible(route, namespace));
}

export function isVisible(route: RouteEntry, namespace: string): boolean {
  return (
    route.id.startsWith(`${namespace}/`) || route.sharedWith === '*' || route.sharedWith.includes(namespace)
  );
}
