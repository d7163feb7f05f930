// How is the ledger's read API reached? One call over HTTP with the person's token, bounded in time and size.

import { readFile } from 'node:fs/promises';
import type { Clock } from '../core/clock.ts';
import { CallFault, OwnCalls, readBytes } from '../core/kube/own-call.ts';
import { type Ledger, LedgerAway } from './cluster.ts';

const timeoutMs = 15_000;
const answerBytesMax = 16 * 2 ** 20;

export interface OpenLedger extends Ledger {
  close(): void;
}

/**
 * @param url such as `http://penstock-ledger:8080`.
 * @param caFile what its certificate is judged by where that is https; read for each call, as the kubelet renews it.
 */
export function openLedger(url: string, clock: Clock, caFile?: string): OpenLedger {
  const calls = new OwnCalls(clock);
  const isTls = url.startsWith('https:');
  return {
    async ask({ path, search, body, token, signal }) {
      try {
        return await calls.ask({
          to: new URL(`${path}${search}`, url),
          ...(isTls ? { trust: { trusted: await readCa(caFile) } } : {}),
          token,
          timeoutMs,
          signal,
          ...(body === undefined ? {} : { body }),
          async read(answer) {
            const text = (await readBytes(answer, answerBytesMax)).toString('utf8');
            return { status: answer.statusCode ?? 0, text };
          },
        });
      } catch (error) {
        if (error instanceof CallFault) throw new LedgerAway(error.message);
        throw error;
      }
    },
    close: () => calls.close(),
  };
}

/** @throws {CallFault} without the file. */
async function readCa(file: string | undefined): Promise<string> {
  try {
    return await readFile(file ?? '', 'utf8');
  } catch {
    throw new CallFault('there is no authority yet to check its certificate');
  }
}
