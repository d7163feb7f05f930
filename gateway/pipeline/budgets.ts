// Out of whose budgets is a request paid, what can it cost them at most, and what did it cost in the end?

import { costPicodollars } from '../../core/contract/cost.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { Price } from '../../core/contract/routing-table.ts';
import { nanodollarsOf } from '../limits/nanodollars.ts';
import type { Subject } from '../limits/subject.ts';
import type { Candidate, Plan } from '../route/plan.ts';
import { isOwnProvider } from './client-headers.ts';
import type { SpendEstimate } from './estimate-spend.ts';
import type { Exchange } from './parts.ts';

type Payer = Pick<Exchange, 'caller'>;

/** The ApiKey's own, and those of its namespace; nothing where nobody has set one. */
export function budgetSubjects({ caller, view }: Pick<Exchange, 'caller' | 'view'>): readonly Subject[] {
  const { budgets, id } = caller.key;
  const ofTenant = view.tenantBudgets.get(caller.namespace);
  if (budgets === undefined && ofTenant === undefined) return none;
  return [
    ...(budgets === undefined ? [] : [{ kind: 'api-key' as const, id, limits: {}, budgets }]),
    ...(ofTenant === undefined
      ? []
      : [{ kind: 'tenant' as const, id: caller.namespace, limits: {}, budgets: ofTenant }]),
  ];
}

const none: readonly Subject[] = [];

/** Tokens that are taken to fit into a model of which nobody has said it: as much as most of those take that are made for documents. */
const contextLengthDefault = 200_000;

type Tokens = Pick<SpendEstimate, 'input' | 'output'>;

/** At the dearest of the candidates, in nanodollars; 0 where the caller pays all of their providers itself. */
export function costAtMost(
  exchange: Payer,
  { candidates, route }: Pick<Plan, 'candidates' | 'route'>,
  { input, inputMost, output }: Tokens & Pick<SpendEstimate, 'inputMost'>,
): number {
  const costs = candidates.map((candidate) => {
    const { contextLength = route.entry.contextLength ?? contextLengthDefault } = candidate.target.entry;
    const { tokens, calls } = inputMost ?? { tokens: input, calls: 1 };
    const most = Math.max(input, Math.min(tokens, contextLength * calls));
    return costOfCandidate(exchange, candidate, { input: most, output });
  });
  return nanodollarsOf(Math.max(0, ...costs));
}

function costOfCandidate(exchange: Payer, candidate: Candidate, estimate: Tokens): number {
  const { price } = candidate.target.entry;
  return price === null || isOwnProvider(exchange, candidate) ? 0 : dearest(estimate, price);
}

/** Nobody knows yet whether the input is read from a cache or written to it, for how long, and what of the output is reasoning. */
function dearest({ input, output }: Tokens, price: Price): number {
  const writes = [
    { cacheWrite: 0 },
    { cacheWrite: input },
    { cacheWrite: input, cacheWriteHour: input },
  ] as const;
  const costs = writes.flatMap((written) =>
    [0, output].map((reasoning) => {
      try {
        return costPicodollars({ input, cachedInput: 0, ...written, output, reasoning }, price);
      } catch {
        // Beyond all that is counted; no budget has room for it.
        return Number.MAX_SAFE_INTEGER;
      }
    }),
  );
  return Math.max(...costs);
}

/** What the caller pays for an attempt, in picodollars; what failed before it was delivered, and calls of its own provider, cost it nothing. */
export function costOfCaller({
  payer,
  costPicodollars,
}: Pick<LedgerRecord, 'payer' | 'costPicodollars'>): number {
  return payer === 'tenant' ? (costPicodollars ?? 0) : 0;
}
