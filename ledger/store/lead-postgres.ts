// Which of several ledgers takes records off the gateways? The one whose connection holds a lock of the database. It writes over that very
// connection, so that one that has lost the lock cannot write any more, whatever it believes.

import type { Client } from 'pg';
import { systemClock } from '../../core/clock.ts';
import { wait } from '../../core/kube/wait.ts';
import type { Duty } from './store.ts';

export interface Leadership {
  /** The connection with the lock; undefined: this one does not lead. */
  client(): Client | undefined;
  /** Gives the lock back. */
  close(): Promise<void>;
}

/** Ours among the advisory locks of the database; another one is held for each transaction. */
const lock = Buffer.from('penstocl').readBigInt64BE().toString();
const retryMs = 1_000;
/** A server gives the lock of a node that is gone to another after some ten seconds. */
const keepAlive = {
  tcp_keepalives_idle: '4',
  tcp_keepalives_interval: '2',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '10000',
  client_connection_check_interval: '2000',
};
const setKeepAlive = `SELECT set_config(name, given.value, false) FROM pg_settings JOIN json_each_text('${JSON.stringify(keepAlive)}') AS given ON given.key = name`;

/** @param open A connection that has not been made yet. */
export function leadPostgres(open: () => Client, duty: Duty): Leadership {
  const end = new AbortController();
  const ended = new Promise<void>((resolve) => end.signal.addEventListener('abort', () => resolve()));
  let leading: Client | undefined;

  async function standOnce(): Promise<void> {
    const client = open();
    const lost = Promise.withResolvers<string>();
    client.on('error', (error) => lost.resolve(error.message));
    client.on('end', () => lost.resolve('the connection has ended'));
    try {
      await client.connect();
      await client.query(setKeepAlive);
      for (;;) {
        const { rows } = await client.query<{ leads: boolean }>(
          `SELECT pg_try_advisory_lock(${lock}) AS leads`,
        );
        if (rows[0]?.leads === true) break;
        await wait(systemClock, retryMs, end.signal);
        if (end.signal.aborted) return;
      }
      leading = client;
      duty.onElected();
      const reason = await Promise.race([lost.promise, ended]);
      leading = undefined;
      if (reason !== undefined) duty.onLost(reason);
    } catch {
      // The database cannot be reached; every read reports the reason.
    } finally {
      await client.end().catch(() => {});
    }
  }

  const running = (async () => {
    while (!end.signal.aborted) {
      await standOnce();
      await wait(systemClock, retryMs, end.signal);
    }
  })();
  return {
    client: () => leading,
    async close() {
      end.abort();
      await running;
    },
  };
}
