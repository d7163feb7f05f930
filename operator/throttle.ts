// A client for the API server with a rate limit, priority for urgent calls, and counters.

import type { Clock } from '../core/clock.ts';
import { type KubeClient, KubeError, type KubeRequest } from '../core/kube/client.ts';
import { createTokenBucket } from './token-bucket.ts';

interface ThrottleOptions {
  readonly clock: Clock;
  readonly callsPerSecond: number;
  /** Calls that may follow each other without a wait after a quiet time. */
  readonly callsBurst: number;
  /** Of the API server, in metrics. */
  readonly host: string;
  readonly metrics?: CallMetrics;
}

/** What becomes of calls. `code` is the HTTP status, `2xx` of a success, `<error>` where no answer came. */
export interface CallMetrics {
  waited(method: string, host: string, waitedMs: number): void;
  ended(method: string, host: string, code: string, tookMs: number): void;
}

interface ThrottledClient extends KubeClient {
  /** The same client; its calls go before all others that wait. */
  readonly urgent: KubeClient;
}

interface Waiting {
  start(): void;
}

/** Streams are counted and not held back: each is one request for many minutes. */
export function throttleClient(client: KubeClient, options: ThrottleOptions): ThrottledClient {
  const { clock, host, metrics } = options;
  const bucket = createTokenBucket(clock, options.callsPerSecond, options.callsBurst);
  const urgentLine = new Set<Waiting>();
  const line = new Set<Waiting>();
  let cancelTimer: (() => void) | undefined;

  function startWaiting(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    for (const waiting of [...urgentLine, ...line]) {
      if (!bucket.take()) break;
      urgentLine.delete(waiting);
      line.delete(waiting);
      waiting.start();
    }
    if (urgentLine.size + line.size > 0) cancelTimer = clock.setTimer(bucket.waitMs(), startWaiting);
  }

  async function takeTurn(queue: Set<Waiting>, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (urgentLine.size + line.size === 0 && bucket.take()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { start: resolve };
    const leave = (): void => {
      queue.delete(waiting);
      reject(signal?.reason);
    };
    queue.add(waiting);
    if (cancelTimer === undefined) cancelTimer = clock.setTimer(bucket.waitMs(), startWaiting);
    signal?.addEventListener('abort', leave, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  async function counted<T>(request: KubeRequest, send: () => Promise<T>): Promise<T> {
    const startedAtMs = clock.now();
    const ended = (code: string): void =>
      metrics?.ended(request.method, host, code, clock.now() - startedAtMs);
    try {
      const answer = await send();
      ended('2xx');
      return answer;
    } catch (error) {
      ended(error instanceof KubeError && error.status > 0 ? String(error.status) : '<error>');
      throw error;
    }
  }

  function clientOf(queue: Set<Waiting>): KubeClient {
    return {
      async call(request) {
        const arrivedAtMs = clock.now();
        await takeTurn(queue, request.signal);
        metrics?.waited(request.method, host, clock.now() - arrivedAtMs);
        return await counted(request, () => client.call(request));
      },
      stream: (request) => counted(request, () => client.stream(request)),
      close() {
        cancelTimer?.();
        cancelTimer = undefined;
        client.close();
        // Waiting calls are sent after all; the closed client rejects them with the reason.
        for (const waiting of [...urgentLine, ...line]) waiting.start();
        urgentLine.clear();
        line.clear();
      },
    };
  }

  return { ...clientOf(line), urgent: clientOf(urgentLine) };
}
