// What is limited, and what does one request ask of those limits?

import type { Measure } from '../../core/catalog/limits.ts';
import type { Budget } from '../../core/contract/budget.ts';
import type { RateLimits } from '../../core/contract/routing-table.ts';

export type SubjectKind = 'api-key' | 'tenant' | 'model-route' | 'provider' | 'provider-key';

/** The same object for as long as a table has it: what is found out about it once is kept by it. */
export interface Subject {
  readonly kind: SubjectKind;
  /** `namespace/name`; for a provider key followed by its own name, for a tenant the namespace alone. */
  readonly id: string;
  readonly limits: RateLimits;
  readonly budgets?: readonly Budget[] | undefined;
}

/** What a request is expected to use of limits. */
export type Amounts = Readonly<Record<Measure, number>>;

export interface Wanted extends Amounts {
  /** The certain part of the tokens: a limit below it would never let the request pass. */
  readonly tokensMin?: number;
  /** What its owner may have to pay for what is known of it; absent or 0: budgets are no matter of it. */
  readonly nanodollars?: number;
  /** At most, with the part that cannot be known in advance; absent: no more. */
  readonly nanodollarsMax?: number | undefined;
  /** The request is in flight for a while, and settled at its end. */
  readonly takesPlace: boolean;
}
