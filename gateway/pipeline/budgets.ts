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

/** Assumed for a model of unknown context length: most models made for long documents take as much. */
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

/** Before the answer it is unknown whether input is read from a cache or written to it, and how much of the output is reasoning. */
function dearest(input: number, output: number, price: Price): number {
  const rates = ratesFor(input, price);
  const ofInput = input * Math.max(rates.input, rates.cacheWrite, rates.cacheWriteHour);
  const ofOutput = output * Math.max(rates.output, rates.reasoning);
  // Beyond all that is counted; no budget has room for it.
  return Math.min(ofInput + ofOutput + (price.perRequest ?? 0), Number.MAX_SAFE_INTEGER);
}

/** The caller's cost of an attempt, in picodollars: 0 for an attempt that failed before delivery, and for the caller's own provider. */
export function costOfCaller({
  payer,
  costPicodollars,
}: Pick<LedgerRecord, 'payer' | 'costPicodollars'>): number {
  return payer === 'tenant' ? (costPicodollars ?? 0) : 0;
}
