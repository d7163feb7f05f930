// May a conversation move to another provider of the same dialect at its next turn, or to another family of
// models?

import type { DialectName } from '../../core/contract/routing-table.ts';
import { familyOf } from '../dialects/state/opaque.ts';
import type { RouteView } from '../table/view.ts';

/**
 * By the table alone, drained targets too: health and draws change from turn to turn, and what is
 * asked here must be known at the turn before.
 */
export function hasSeveralNative({ targets }: RouteView, dialect: DialectName): boolean {
  if (targets.length <= 1) return false;
  const native = targets.filter(({ entry }) => entry.dialects.includes(dialect));
  const [first, ...others] = native;
  if (!first) return false;
  const family = familyOf(first.entry.upstreamModel);
  return others.some(
    ({ provider, entry }) =>
      provider.entry.id !== first.provider.entry.id || familyOf(entry.upstreamModel) !== family,
  );
}
