// Compiles limits and budgets of a spec for the table and for the text of the status.

import { type LimitMember, limitMembers } from '../../core/catalog/limits.ts';
import type { Budget } from '../../core/contract/budget.ts';
import type { RateLimits } from '../../core/contract/routing-table.ts';
import type { ApiKeySpec } from '../resources/api-key.ts';
import type { PlatformSettings, TenantBudgets, TenantLimits } from '../watch/snapshot.ts';
import { compareText } from './order.ts';
import { scaled } from './price.ts';

/** As a schema gives them: what is left out is undefined. */
type LimitsSpec = { readonly [Name in LimitMember]?: number | undefined };

/** Nothing where nothing is limited. */
export function buildLimits(spec: LimitsSpec = {}): { readonly limits?: RateLimits } {
  const limits: { [Name in LimitMember]?: number } = {};
  for (const member of limitMembers) {
    const limit = spec[member];
    if (limit !== undefined) limits[member] = limit;
  }
  return Object.keys(limits).length === 0 ? {} : { limits };
}

/** Of an ApiKey, or of a namespace. */
type BudgetSpec = Pick<NonNullable<ApiKeySpec['budgets']>[number], 'period' | 'limit' | 'action'>;

const MICRODOLLAR_DECIMALS = 6;

/** The blocking budgets: gateways need not know about budgets that only warn. Left out without any. */
export function buildBudgets(
  specs: readonly BudgetSpec[] = [],
  wanted: BudgetSpec['action'] = 'Block',
): { readonly budgets?: Budget[] } {
  const budgets = specs
    .filter(({ action }) => action === wanted)
    .map(({ period, limit }) => ({ period, limitMicrodollars: scaled(limit, MICRODOLLAR_DECIMALS) }))
    .sort((a, b) => compareText(a.period, b.period));
  return budgets.length === 0 ? {} : { budgets };
}

interface BudgetsOfTenant {
  readonly namespace: string;
  readonly budgets: Budget[];
}

/** Blocking budgets, and budgets that warn; each left out without any. */
export function buildTenantBudgets(tenants: readonly TenantBudgets[] = []): {
  readonly tenantBudgets?: BudgetsOfTenant[];
  readonly tenantWarnings?: BudgetsOfTenant[];
} {
  const budgetsThat = (action: BudgetSpec['action']): BudgetsOfTenant[] =>
    tenants
      .flatMap(({ namespace, budgets: specs }) => {
        const { budgets } = buildBudgets(specs, action);
        return budgets === undefined ? [] : [{ namespace, budgets }];
      })
      .sort((a, b) => compareText(a.namespace, b.namespace));
  const [tenantBudgets, tenantWarnings] = [budgetsThat('Block'), budgetsThat('Warn')];
  return {
    ...(tenantBudgets.length === 0 ? {} : { tenantBudgets }),
    ...(tenantWarnings.length === 0 ? {} : { tenantWarnings }),
  };
}

/** Nothing where no tenant has one. */
export function buildTenantLimits(tenants: readonly TenantLimits[] = []): {
  readonly tenantLimits?: { readonly namespace: string; readonly limits: RateLimits }[];
} {
  const tenantLimits = tenants
    .map(({ namespace, limits }) => ({ namespace, limits }))
    .sort((a, b) => compareText(a.namespace, b.namespace));
  return tenantLimits.length === 0 ? {} : { tenantLimits };
}

/** Of a namespace, as the platform says them. */
export function limitsOfTenant(
  namespace: string,
  { tenantLimits = [] }: Pick<PlatformSettings, 'tenantLimits'>,
): RateLimits | undefined {
  return tenantLimits.find((tenant) => tenant.namespace === namespace)?.limits;
}

/** Whether the platform has set the namespace a budget that blocks. */
export function hasTenantBudget(
  namespace: string,
  { tenantBudgets = [] }: Pick<PlatformSettings, 'tenantBudgets'>,
): boolean {
  return tenantBudgets.some(
    (tenant) => tenant.namespace === namespace && buildBudgets(tenant.budgets).budgets !== undefined,
  );
}

/** For the message of the condition Accepted: how exactly they are kept, where that is not exactly. */
export function wordsOnLimits(
  specs: readonly (LimitsSpec | undefined)[],
  { hasExactLimits = false }: Pick<PlatformSettings, 'hasExactLimits'>,
): string {
  if (hasExactLimits || specs.every((spec) => buildLimits(spec).limits === undefined)) return '';
  return (
    'limits are enforced by shares: each ready gateway allows its share, and at most one request more; ' +
    'set the chart value limits.store.url to enforce them exactly'
  );
}
