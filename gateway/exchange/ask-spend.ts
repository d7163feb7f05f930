// What has the ledger to tell of spending? One call to its read API, on a connection that stays open.

import { Agent, type IncomingMessage, request } from 'node:http';
import { SPEND_PATH, type SpendPage, spendPageSchema } from '../contract/spend.ts';

export interface SpendClient {
  /** Rejects where the ledger does not answer within five seconds, or not with a page. */
  ask(after: number): Promise<SpendPage>;
  close(): void;
}

const answerWithinMs = 5_000;
/** A thousand keys to a page. */
const pageBytesMax = 16 * 1024 * 1024;

/** @param token The bearer; undefined while it is not known. */
export function openSpendClient(ledgerAddress: string, token: () => string | undefined): SpendClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return { ask: (after) => askPage(agent, ledgerAddress, token(), after), close: () => agent.destroy() };
}

async function askPage(
  agent: Agent,
  ledgerAddress: string,
  token: string | undefined,
  after: number,
): Promise<SpendPage> {
  if (token === undefined) throw new Error('the token of the exchange is not known yet');
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const signal = AbortSignal.timeout(answerWithinMs);
  const outgoing = request(new URL(`${SPEND_PATH}?after=${after}`, ledgerAddress), {
    agent,
    signal,
    headers: { authorization: `Bearer ${token}` },
  });
  outgoing.on('error', reject);
  outgoing.on('response', resolve);
  outgoing.end();
  const incoming = await promise;
  if (incoming.statusCode !== 200) {
    incoming.resume();
    throw new Error(`the ledger answers with status ${incoming.statusCode}`);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming) {
    bytes += chunk.length;
    if (bytes > pageBytesMax) throw new Error('the answer of the ledger is too long');
    chunks.push(chunk);
  }
  return spendPageSchema.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
}
