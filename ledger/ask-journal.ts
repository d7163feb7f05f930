// Reads the journal of a gateway pod after a cursor, with one call to its internal port.

import type { IncomingMessage } from 'node:http';
import type { Clock } from '../core/clock.ts';
import { JOURNAL_CURSOR_HEADER, JOURNAL_PATH } from '../core/contract/exchange.ts';
import { wayToGateway } from '../core/contract/internal-tls.ts';
import { CallFault, OwnCalls, readBytes } from '../core/kube/own-call.ts';

export interface JournalPod {
  readonly uid: string;
  readonly name: string;
  readonly ip: string;
  /** Of the exchange. */
  readonly port: number;
  /** Of the exchange over TLS; undefined: the pod is of a release that has none. */
  readonly tlsPort?: number | undefined;
}

interface JournalCall {
  readonly pod: JournalPod;
  readonly token: string;
  /** Undefined: from the oldest record on. */
  readonly after: string | undefined;
  /** How long the pod may wait for the first record. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Awaited before the page is read off the connection. */
  readonly beforePage: () => Promise<void>;
}

/** `unknown-cursor`: the cursor is of another journal. */
type JournalAnswer = { readonly bytes: Buffer; readonly cursor: string } | 'unknown-cursor';

/** Errors are fit to be shown: no address, no token, nothing of a body. */
export type AskJournal = (call: JournalCall) => Promise<JournalAnswer>;

/** Beyond what the pod may wait; a page is a mebibyte. */
const lateMs = 20_000;
/** A page holds whole lines, so one that is very long makes it longer. */
const pageBytesMax = 64 * 1024 * 1024;
const cursorCharsMax = 128;

/** @param trusted Authorities, read at each call; undefined: no gateway has a certificate. */
export function openJournalClient(
  clock: Clock,
  trusted?: () => string | undefined,
): { readonly ask: AskJournal; close(): void } {
  const calls = new OwnCalls(clock);
  return {
    ask({ pod, token, after, waitMs, signal, beforePage }) {
      const query = new URLSearchParams({
        waitMs: String(waitMs),
        ...(after === undefined ? {} : { after }),
      });
      return calls.ask({
        ...wayToGateway(pod, `${JOURNAL_PATH}?${query}`, trusted?.()),
        token,
        timeoutMs: waitMs + lateMs,
        signal,
        beforeBody: beforePage,
        read: readPage,
      });
    },
    close: () => calls.close(),
  };
}

async function readPage(answer: IncomingMessage): Promise<JournalAnswer> {
  const { statusCode } = answer;
  if (statusCode === 410) {
    answer.resume();
    return 'unknown-cursor';
  }
  if (statusCode === 401) throw new CallFault('it rejects the exchange token');
  if (statusCode !== 200) throw new CallFault(`it answers with status ${statusCode}`);
  const cursor = answer.headers[JOURNAL_CURSOR_HEADER];
  if (typeof cursor !== 'string' || cursor === '' || cursor.length > cursorCharsMax)
    throw new CallFault('its answer has no cursor');
  return { bytes: await readBytes(answer, pageBytesMax), cursor };
}
