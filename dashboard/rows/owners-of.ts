// What did the owners and teams of keys use? Pure: sums by key, added up by what their ApiKeys say.

import type { OwnersAnswer, UsedBy } from '../api-types.ts';
import type { ListedKey } from './choose-rows.ts';

/** Of the ledger, in dollars. */
export interface KeySum {
  /** `namespace/name`. */
  readonly apiKey: string;
  readonly requests: number;
  readonly tokens: { readonly input: number; readonly output: number };
  readonly costUsd: string;
}

type Measure = 'cost' | 'tokens' | 'requests';

const topMax = 6;
/** Keys without an owner, and those that are deleted. */
const NONE = 'none';

export function ownersOf(sums: readonly KeySum[], keys: readonly ListedKey[], topBy: Measure): OwnersAnswer {
  const rows = new Map(keys.map(({ row }) => [`${row.namespace}/${row.name}`, row]));
  const by = (nameOf: (apiKey: string) => string | undefined) => largest(added(sums, nameOf), topBy);
  return { owners: by((key) => rows.get(key)?.owner), teams: by((key) => rows.get(key)?.team) };
}

function added(sums: readonly KeySum[], nameOf: (apiKey: string) => string | undefined): readonly UsedBy[] {
  const found = new Map<string, UsedBy>();
  for (const { apiKey, requests, tokens, costUsd } of sums) {
    const name = nameOf(apiKey) || NONE;
    const used = {
      name,
      isRest: false,
      requests,
      tokens: tokens.input + tokens.output,
      cost: Number(costUsd),
    };
    found.set(name, plus(found.get(name), used));
  }
  return [...found.values()];
}

function largest(all: readonly UsedBy[], topBy: Measure): readonly UsedBy[] {
  const sorted = all
    .filter((one) => one[topBy] > 0)
    .sort((a, b) => b[topBy] - a[topBy] || (a.name < b.name ? -1 : 1));
  const rest = sorted
    .slice(topMax)
    .reduce<UsedBy | undefined>(
      (sum, one) => ({ ...plus(sum, one), name: 'All others', isRest: true }),
      undefined,
    );
  return [...sorted.slice(0, topMax), ...(rest === undefined ? [] : [rest])];
}

function plus(sum: UsedBy | undefined, one: UsedBy): UsedBy {
  if (sum === undefined) return one;
  return {
    ...sum,
    requests: sum.requests + one.requests,
    tokens: sum.tokens + one.tokens,
    cost: sum.cost + one.cost,
  };
}
