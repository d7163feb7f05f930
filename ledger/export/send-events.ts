// Sends every record to a receiver at least once, in batches over HTTP. The cursor is stored with the records, and moves only after the
// receiver has accepted a batch.

import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Clock } from '../../core/clock.ts';
import { readRetryAfterMs } from '../../core/egress/retry-after.ts';
import { type Backoff, backoffMs } from '../../core/kube/backoff.ts';
import { wait } from '../../core/kube/wait.ts';
import type { LedgerStore } from '../store/store.ts';
import { BATCH_TYPE, buildBatch, idOf } from './cloud-events.ts';

export interface SendOptions {
  readonly store: Pick<LedgerStore, 'records' | 'sinkCursor' | 'setSinkCursor'>;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  readonly url: string;
  /** Bearer. */
  readonly token: string | undefined;
  /** Names the installation, in every event. */
  readonly source: string;
  onSent(records: number): void;
  /** Called for each failed batch, which is kept and retried. */
  onFailed(reason: string): void;
  /** The record is too large for the receiver even alone: others go on without it. It stays in the ledger as long as any record. */
  onLeftOut(record: LeftOut): void;
}

interface LeftOut {
  readonly id: string;
  /** Size of a batch with only this record. */
  readonly bodyBytes: number;
}

/** Under which name the cursor is kept. */
export const EVENTS_SINK = 'events';

const batchMax = 100;
/** After a batch that was too large, batches are smaller for this long: a full batch each time would fail every second try. */
const smallerForMs = 3_600_000;
const idleMs = 1_000;
const timeoutMs = 30_000;
/** A receiver that asks for more than this is asked again after it: a date that is wrong by years must not hold back bills for years. */
const retryAfterMsMax = 24 * 3_600_000;
const backoff: Backoff = { firstMs: 1_000, lastMs: 60_000 };

export interface EventSender {
  /** For how long the receiver has taken nothing although there is something for it; 0 where it takes what comes. */
  untakenMs(): number;
  close(): Promise<void>;
}

export function sendEvents(options: SendOptions): EventSender {
  const { store, clock } = options;
  const end = new AbortController();
  const { signal } = end;
  let batch = batchMax;
  /** Clock time. */
  let smallerUntil = 0;
  let failures = 0;
  /** Clock time of the first batch since something was taken. */
  let untakenSince: number | undefined;

  const step = async (): Promise<number> => {
    const after = await store.sinkCursor(EVENTS_SINK);
    const records = await store.records({ after, limit: batch });
    const last = records.at(-1);
    if (last === undefined) return idleMs;
    untakenSince ??= clock.now();
    const body = buildBatch(
      records.map(({ line }) => line),
      options.source,
    );
    const answer = await post(options, body, signal);
    if (answer.status >= 200 && answer.status < 300) {
      await store.setSinkCursor(EVENTS_SINK, last.sequence);
      untakenSince = undefined;
      options.onSent(records.length);
      if (clock.now() >= smallerUntil) batch = batchMax;
      return 0;
    }
    // A receiver with a smaller size limit gets smaller batches.
    if (answer.status === 413 && records.length > 1) {
      batch = Math.ceil(records.length / 2);
      smallerUntil = clock.now() + smallerForMs;
    } else if (answer.status === 413) {
      await store.setSinkCursor(EVENTS_SINK, last.sequence);
      options.onLeftOut({ id: idOf(last.line), bodyBytes: Buffer.byteLength(body) });
      untakenSince = undefined;
      // The next ones are large again, since it was the cause. A receiver that finds everything too large gets all halvings with their pauses for each.
      batch = batchMax;
      smallerUntil = 0;
      return backoffMs(backoff, failures, options.random());
    }
    throw new Refused(`it answers with status ${answer.status}`, answer.retryAfterMs);
  };

  const running = (async () => {
    while (!signal.aborted) {
      try {
        const pauseMs = await step();
        failures = 0;
        if (pauseMs > 0) await wait(clock, pauseMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        options.onFailed(error instanceof Error ? error.message : 'it failed');
        const ownMs = backoffMs(backoff, failures++, options.random());
        const askedMs = error instanceof Refused ? error.retryAfterMs : 0;
        await wait(clock, Math.max(ownMs, askedMs), signal);
      }
    }
  })();
  return {
    untakenMs: () => (untakenSince === undefined ? 0 : clock.now() - untakenSince),
    async close() {
      end.abort();
      await running;
    },
  };
}

class Refused extends Error {
  readonly retryAfterMs: number;
  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

function post(
  { clock, url, token }: SendOptions,
  body: string,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly retryAfterMs: number }> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? requestHttps : requestHttp;
    const outgoing = send(url, {
      method: 'POST',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      headers: {
        'content-type': BATCH_TYPE,
        'content-length': Buffer.byteLength(body),
        'user-agent': 'penstock-ledger',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
    });
    outgoing.on('error', (error) => reject(new Error(`it does not answer (${codeOf(error)})`)));
    outgoing.on('response', (incoming: IncomingMessage) => {
      // Only the status counts; the body may be anything.
      incoming.on('error', () => {});
      incoming.resume();
      const askedMs = readRetryAfterMs(incoming.headers, clock.wallMs()) ?? 0;
      resolve({ status: incoming.statusCode ?? 0, retryAfterMs: Math.min(retryAfterMsMax, askedMs) });
    });
    outgoing.end(body);
  });
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
