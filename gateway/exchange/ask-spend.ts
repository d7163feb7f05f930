// How much was spent, by the ledger's account? One call to its read API, on a connection that stays open.

import type { Clock } from '../../core/clock.ts';
import { type LedgerPlace, wayToLedger } from '../../core/contract/internal-tls.ts';
import { SPEND_DAY_HEADER, SPEND_PATH, type SpendPage, spendPageSchema } from '../../core/contract/spend.ts';
import { CallFault, OwnCalls, readBytes } from '../../core/kube/own-call.ts';

export interface SpendClient {
  /** Rejects if the ledger does not answer within five seconds, or not with a page. */
  ask(after: number, day: string): Promise<SpendPage>;
  /** Cancels the call in flight. */
  close(): void;
}

const timeoutMs = 5_000;
/** A thousand keys to a page. */
const pageBytesMax = 16 * 1024 * 1024;

/** @param token The bearer; undefined while it is not known. */
export function openSpendClient(
  ledger: LedgerPlace,
  token: () => string | undefined,
  clock: Clock,
): SpendClient {
  const calls = new OwnCalls(clock);
  const end = new AbortController();
  return {
    async ask(after, day) {
      const bearer = token();
      if (bearer === undefined) throw new Error('the token of the exchange is not known yet');
      return await calls.ask({
        ...wayToLedger(ledger, `${SPEND_PATH}?after=${after}`),
        token: bearer,
        headers: { [SPEND_DAY_HEADER]: day },
        timeoutMs,
        signal: end.signal,
        async read(answer) {
          if (answer.statusCode !== 200) throw new CallFault(`it answers with status ${answer.statusCode}`);
          return readSpendPage((await readBytes(answer, pageBytesMax)).toString('utf8'));
        },
      });
    },
    close() {
      end.abort();
      calls.close();
    },
  };
}

/** @throws {CallFault} If the text is not a page of spend. */
function readSpendPage(text: string): SpendPage {
  try {
    return spendPageSchema.parse(JSON.parse(text));
  } catch {
    throw new CallFault('its answer is not understood');
  }
}
