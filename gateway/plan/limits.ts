// How do limits stand before a request? What its caller may know of them: not the quotas of providers.

import { RATES } from '../../core/catalog/limits.ts';
import type { PlanAnswer } from '../../core/contract/plan.ts';
import type { Glance } from '../limits/glance.ts';
import type { Subject } from '../limits/subject.ts';

export function describeLimits(
  { limitStates, places, budgets, pods }: Glance,
  wallMs: number,
): NonNullable<PlanAnswer['limits']> {
  return {
    sharedBy: pods,
    rates: limitStates.map(({ subject, name, limit, remaining, resetMs }) => ({
      of: limitedOf(subject),
      name,
      [RATES[name].window]: limit,
      remaining,
      resetMs: Math.max(0, resetMs),
    })),
    concurrency: places.map(({ subject, limit, inFlight: underWay }) => ({
      of: limitedOf(subject),
      limit,
      underWay,
    })),
    budgets: budgets.map(({ subject, period, limit, spent, held, endMs }) => ({
      of: subject.kind === 'tenant' ? 'namespace' : 'apiKey',
      period,
      limitUsd: usdOf(limit),
      spentUsd: usdOf(spent),
      heldUsd: usdOf(held),
      remainingUsd: usdOf(Math.max(0, limit - spent - held)),
      ...(endMs === undefined || endMs < wallMs ? {} : { resetsAt: new Date(endMs).toISOString() }),
    })),
  };
}

function limitedOf({ kind }: Subject): 'apiKey' | 'namespace' | 'model' {
  if (kind === 'tenant') return 'namespace';
  return kind === 'api-key' ? 'apiKey' : 'model';
}

/** Nanodollars to a decimal string of dollars, exactly. */
function usdOf(nanodollars: number): string {
  const digits = String(Math.round(nanodollars)).padStart(10, '0');
  const fraction = digits.slice(-9).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -9) : `${digits.slice(0, -9)}.${fraction}`;
}
