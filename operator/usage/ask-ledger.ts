// Asks the ledger's read API for changes after a sequence.

import type { Clock } from '../../core/clock.ts';
import { type LedgerPlace, wayToLedger } from '../../core/contract/internal-tls.ts';
import { SPEND_PATH, type SpendReport, spendReportSchema } from '../../core/contract/spend.ts';
import { CallFault, OwnCalls } from '../../core/kube/own-call.ts';
import { readAnswer } from '../read-answer.ts';

interface LedgerCall {
  /** The exchange token. */
  readonly token: string;
  readonly after: number;
  readonly signal: AbortSignal;
}

/** Errors are fit to be shown: no address, no token, nothing of a body. */
export type AskLedger = (call: LedgerCall) => Promise<SpendReport>;

const timeoutMs = 15_000;
/** A thousand keys are half a mebibyte. */
const answerBytesMax = 16 * 1024 * 1024;

export function openLedgerClient(
  place: LedgerPlace,
  clock: Clock,
): { readonly ask: AskLedger; close(): void } {
  const calls = new OwnCalls(clock);
  return {
    ask: ({ token, after, signal }) =>
      calls.ask({
        ...wayToLedger(place, `${SPEND_PATH}?after=${after}`),
        token,
        timeoutMs,
        signal,
        async read(answer) {
          const { statusCode } = answer;
          if (statusCode === 401) throw new CallFault('it rejects the exchange token');
          if (statusCode !== 200) throw new CallFault(`it answers with status ${statusCode}`);
          return await readAnswer(answer, spendReportSchema, answerBytesMax);
        },
      }),
    close: () => calls.close(),
  };
}
