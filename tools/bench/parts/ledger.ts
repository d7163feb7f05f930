// What has the measured ledger stored? Its process, its progress, and when it has caught up.

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Launcher } from '../launcher.ts';

export type BenchLedger = {
  /** Of the gateway whose internal port this is. */
  stored(port: number): number;
  /** Resolves when nothing more has come for a while: what it reads later costs the gateway time in another's window. */
  caughtUp(): Promise<void>;
};

const QUIET_MS = 400;
const CATCH_UP_MS_MAX = 20_000;

const progressSchema = z.object({ port: z.number(), records: z.number() });

/** Pulls the journals at these ports; retries a port that is not open yet. */
export async function startBenchLedger(
  launcher: Launcher,
  workFolder: string,
  core: number | undefined,
  ports: readonly number[],
): Promise<BenchLedger> {
  const ledger = await launcher.start({
    name: 'ledger',
    command: process.execPath,
    args: [
      join(import.meta.dirname, 'ledger-process.ts'),
      join(workFolder, 'ledger.sqlite'),
      ...ports.map(String),
    ],
    ...(core === undefined ? {} : { core }),
    stdout: 'lines',
  });
  const records = new Map<number, number>();
  let lastAtMs = performance.now();
  const reading = async (): Promise<void> => {
    for await (const line of ledger.lines) {
      const progress = progressSchema.parse(JSON.parse(line));
      records.set(progress.port, progress.records);
      lastAtMs = performance.now();
    }
  };
  const read = reading();
  // The awaiting code reports the failure; until then it must not be an unhandled rejection.
  read.catch(() => undefined);
  return {
    stored: (port) => records.get(port) ?? 0,
    async caughtUp() {
      const endsAtMs = performance.now() + CATCH_UP_MS_MAX;
      const askedAtMs = performance.now();
      for (;;) {
        if (ledger.hasExited()) {
          await read;
          throw new Error(`the ledger ended: ${ledger.logTail()}`);
        }
        const nowMs = performance.now();
        if (nowMs - Math.max(lastAtMs, askedAtMs) >= QUIET_MS) return;
        if (nowMs > endsAtMs) throw new Error(`the ledger does not catch up within ${CATCH_UP_MS_MAX} ms`);
        await delay(50);
      }
    },
  };
}
