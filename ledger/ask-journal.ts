// What has a gateway pod written behind a cursor? One call to its internal port.

import { Agent, type IncomingMessage, request } from 'node:http';
import { JOURNAL_CURSOR_HEADER, JOURNAL_PATH } from '../gateway/contract/exchange.ts';
import type { Clock } from '../kube/clock.ts';

export interface JournalPod {
  readonly uid: string;
  readonly name: string;
  readonly ip: string;
  /** Of the exchange. */
  readonly port: number;
}

export interface JournalCall {
  readonly pod: JournalPod;
  readonly token: string;
  /** Undefined: from the oldest record on. */
  readonly after: string | undefined;
  /** How long the pod may wait for the first record. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

/** `unknown-cursor`: the journal is another one than the cursor is of. */
export type JournalAnswer = { readonly bytes: Buffer; readonly cursor: string } | 'unknown-cursor';

/** Errors are fit to be shown: no address, no token, nothing of a body. */
export type AskJournal = (call: JournalCall) => Promise<JournalAnswer>;

/** Beyond what the pod may wait; a page is a mebibyte. */
const lateMs = 20_000;
/** A page holds whole lines, so one that is very long makes it longer. */
const pageBytesMax = 64 * 1024 * 1024;
const cursorCharsMax = 128;

export function openJournalClient(clock: Clock): { readonly ask: AskJournal; close(): void } {
  // Own connections, kept open: a call follows on the heels of the last.
  const agent = new Agent({ keepAlive: true, scheduling: 'fifo' });
  return { ask: (call) => askPod(agent, clock, call), close: () => agent.destroy() };
}

function askPod(agent: Agent, clock: Clock, call: JournalCall): Promise<JournalAnswer> {
  const { pod, token, after, waitMs, signal } = call;
  const query = new URLSearchParams({ waitMs: String(waitMs), ...(after === undefined ? {} : { after }) });
  const { promise, resolve, reject } = Promise.withResolvers<JournalAnswer>();
  const outgoing = request({
    agent,
    host: pod.ip,
    port: pod.port,
    path: `${JOURNAL_PATH}?${query}`,
    headers: { authorization: `Bearer ${token}` },
  });
  const fail = (message: string): void => {
    reject(new Error(message));
    outgoing.destroy();
  };
  const onAbort = (): void => fail('the call was ended');
  const cancelTimer = clock.setTimer(waitMs + lateMs, () =>
    fail(`it did not answer within ${(waitMs + lateMs) / 1_000} s`),
  );
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  outgoing.on('error', (error) => fail(`it does not answer (${codeOf(error)})`));
  outgoing.on('response', (incoming) => {
    readAnswer(incoming).then(resolve, (error: unknown) => {
      fail(error instanceof JournalFault ? error.message : `it broke off (${codeOf(error)})`);
    });
  });
  outgoing.end();
  return promise.finally(() => {
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
  });
}

class JournalFault extends Error {}

async function readAnswer(incoming: IncomingMessage): Promise<JournalAnswer> {
  const { statusCode } = incoming;
  if (statusCode === 410) {
    incoming.resume();
    return 'unknown-cursor';
  }
  if (statusCode === 401) throw new JournalFault('it does not take the exchange token');
  if (statusCode !== 200) throw new JournalFault(`it answers with status ${statusCode}`);
  const cursor = incoming.headers[JOURNAL_CURSOR_HEADER];
  if (typeof cursor !== 'string' || cursor === '' || cursor.length > cursorCharsMax)
    throw new JournalFault('its answer has no cursor');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming) {
    bytes += chunk.length;
    if (bytes > pageBytesMax) throw new JournalFault(`its answer is longer than ${pageBytesMax} bytes`);
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks), cursor };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'no reason given';
}
