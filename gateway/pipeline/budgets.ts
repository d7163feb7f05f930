// Out of whose budgets is a request paid, what can it cost them at most, and what did it cost in the end?

import { ratesFor } from '../../core/contract/cost.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { Price } from '../../core/contract/routing-table.ts';
import { nanodollarsOf } from '../limits/nanodollars.ts';
import type { Plan } from '../route/plan.ts';
import { isOwnProvider } from './client-headers.ts';
import type { SpendEstimate } from './estimate-spend.ts';
import type { Exchange } from './parts.ts';

type Payer = Pick<Exchange, 'caller'>;

/** From the ApiKey's own, or from those of its namespace. */
export function isPaidFromBudget({ caller, view }: Pick<Exchange, 'caller' | 'view'>): boolean {
  return caller.key.budgets !== undefined || view.tenantBudgets.has(caller.namespace);
}

/** Tokens that are taken to fit into a model of which nobody has said it: as much as most of those take that are made for documents. */
const contextLengthDefault = 200_000;

type Tokens = Pick<SpendEstimate, 'input' | 'output'>;

/** At the most expensive of the candidates, in nanodollars; 0 if the caller's own providers serve all of them. */
export function costAtMost(
  exchange: Payer,
  { candidates, route }: Pick<Plan, 'candidates' | 'route'>,
  { input, inputMost, output }: Tokens & Pick<SpendEstimate, 'inputMost'>,
): number {
  let most = 0;
  for (const candidate of candidates) {
    const { price, contextLength } = candidate.target.entry;
    if (price === null || isOwnProvider(exchange, candidate)) continue;
    const length = contextLength ?? route.entry.contextLength ?? contextLengthDefault;
    const inputOfAll = inputMost === undefined ? input : Math.min(inputMost.tokens, length * inputMost.calls);
    most = Math.max(most, dearest(Math.max(input, inputOfAll), output, price));
  }
  return nanodollarsOf(most);
}

/** Nobody knows yet whether the input is read from a cache or written to it, for how long, and what of the output is reasoning. */
function dearest(input: number, output: number, price: Price): number {
  const rates = ratesFor(input, price);
  const ofInput = input * Math.max(rates.input, rates.cacheWrite, rates.cacheWriteHour);
  const ofOutput = output * Math.max(rates.output, rates.reasoning);
  // Beyond all that is counted; no budget has room for it.
  return Math.min(ofInput + ofOutput + (price.perRequest ?? 0), Number.MAX_SAFE_INTEGER);
}

/** What the caller pays for an attempt, in picodollars; what failed before it was delivered, and calls of its own provider, cost it nothing. */
export function costOfCaller({
  payer,
  costPicodollars,
}: Pick<LedgerRecord, 'payer' | 'costPicodollars'>): number {
  return payer === 'tenant' ? (costPicodollars ?? 0) : 0;
}
