// What has the ledger to tell behind a sequence? One call to its read API.

import { Agent, type IncomingMessage, request } from 'node:http';
import { SPEND_PATH, type SpendReport, spendReportSchema } from '../../gateway/contract/spend.ts';
import type { Clock } from '../../kube/clock.ts';
import { cutText } from '../cut-text.ts';

export interface LedgerCall {
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

/** @param address `http://host:port`. */
export function openLedgerClient(address: string, clock: Clock): { readonly ask: AskLedger; close(): void } {
  // Own connections, kept open: a call follows on the heels of the last.
  const agent = new Agent({ keepAlive: true, scheduling: 'fifo' });
  return { ask: (call) => askLedger(agent, address, clock, call), close: () => agent.destroy() };
}

function askLedger(
  agent: Agent,
  address: string,
  clock: Clock,
  { token, after, signal }: LedgerCall,
): Promise<SpendReport> {
  const { promise, resolve, reject } = Promise.withResolvers<SpendReport>();
  const url = new URL(`${SPEND_PATH}?after=${after}`, address);
  const outgoing = request(url, { agent, headers: { authorization: `Bearer ${token}` } });
  const fail = (message: string): void => {
    reject(new Error(message));
    outgoing.destroy();
  };
  const onAbort = (): void => fail('the call was ended');
  const cancelTimer = clock.setTimer(timeoutMs, () =>
    fail(`it did not answer within ${timeoutMs / 1_000} s`),
  );
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  outgoing.on('error', (error) => fail(`it does not answer (${codeOf(error)})`));
  outgoing.on('response', (incoming) => {
    readAnswer(incoming).then(resolve, (error: unknown) =>
      fail(error instanceof LedgerFault ? error.message : `it broke off (${codeOf(error)})`),
    );
  });
  outgoing.end();
  return promise.finally(() => {
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
  });
}

class LedgerFault extends Error {}

async function readAnswer(incoming: IncomingMessage): Promise<SpendReport> {
  const { statusCode } = incoming;
  if (statusCode === 401) throw new LedgerFault('it does not take the exchange token');
  if (statusCode !== 200) throw new LedgerFault(`it answers with status ${statusCode}`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new LedgerFault(`its answer is longer than ${answerBytesMax} bytes`);
    chunks.push(chunk);
  }
  const parsed = spendReportSchema.safeParse(parseJson(Buffer.concat(chunks).toString()));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new LedgerFault(
    cutText(`its answer is not understood: ${issue?.path.join('.')}: ${issue?.message}`, 200),
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new LedgerFault('its answer is no JSON');
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'no reason given';
}
