// What does a refusal of a token service mean, and what is to do? The code tells it, and sometimes the description, which is looked at and
// never shown: it may repeat what the service was sent.

import { codeInWords, ExchangeError } from './exchange-error.ts';

export interface RefusalWords {
  readonly code: string;
  /** Of the description; absent: any. */
  readonly when?: RegExp;
  /** What is so, and what is to do. */
  readonly words: string;
  /** Changes without a person, though the status is that of a refusal. */
  readonly isPassing?: true;
}

export function refused(
  rows: readonly RefusalWords[],
  { host }: URL,
  status: number,
  code: string,
  description = '',
): ExchangeError {
  const row = rows.find((one) => one.code === code && (one.when?.test(description) ?? true));
  const isRefusal =
    status >= 400 && status < 500 && status !== 408 && status !== 429 && row?.isPassing !== true;
  const fact = `${host} answered ${status}${codeInWords(code)}.`; // guard: token-refusal-unquoted
  const unknown = isRefusal ? 'Look the code up at the service.' : 'Gateways ask again.';
  return new ExchangeError(`${fact} ${row?.words ?? unknown}`, isRefusal);
}
