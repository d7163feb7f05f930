// What does a refusal of a token service mean, and what is to do? The code tells it, and sometimes the description, which is looked at and
// never shown: it may repeat what the service was sent.

import { codeInWords, ExchangeError } from './exchange-error.ts';

export interface RefusalWords {
  readonly code: string;
  /** Of the description; absent: any. */
  readonly when?: RegExp;
  /** What is so, and what is to do. */
  readonly words: string;
}

export function refused(
  rows: readonly RefusalWords[],
  { host }: URL,
  status: number,
  code: string,
  description = '',
): ExchangeError {
  const row = rows.find((one) => one.code === code && (one.when?.test(description) ?? true));
  const isRefusal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  const fact = `${host} answered ${status}${codeInWords(code)}.`; // guard: token-refusal-unquoted
  return new ExchangeError(row ? `${fact} ${row.words}` : fact, isRefusal);
}
