// Where are tokens counted that the upstream has not counted? In a thread that starts with the first answer without counts, and ends after a
// while without one. No request waits for it; only ledger records do.

import { Worker } from 'node:worker_threads';
import type { Clock } from '../../core/clock.ts';
import { sampleMax, sampleRequest } from './sample-tokens.ts';
import type { CountAnswer, CountOrder } from './token-thread.ts';

/** An attempt without counts. */
interface Uncounted {
  /** The request's body, as it arrived. */
  readonly request: readonly Buffer[];
  readonly requestBytes: number;
  /** The answer's text, or its beginning; undefined if none was kept. */
  readonly answer: string | undefined;
  /** Characters of the whole answer, if only its beginning is kept. */
  readonly answerLength?: number | undefined;
}

export interface Counted {
  readonly input: number;
  /** Absent if there was no text. */
  readonly output?: number;
}

/** Whether the vocabulary is that of the model, or near to it. Other vendors' vocabularies are not available offline. */
export function isCountable(upstreamModel: string): boolean {
  return /^(?:.*\/)?(?:gpt-|chatgpt-|o\d(?:-|$))/i.test(upstreamModel);
}

/** Starting the thread takes a part of it. A text that takes longer is not worth it. */
const patienceUsualMs = 2_000;
/** Further ones are estimated without it. */
const waitingMax = 64;
/** The thread is kept for so long after it was last asked. */
const idleMs = 300_000;

export class TokenCounter {
  private readonly clock: Clock;
  private readonly patienceMs: number;
  private worker: Worker | undefined;
  private cancelIdle: (() => void) | undefined;
  private readonly waiting = new Map<number, (counted: Counted | undefined) => void>();
  private readonly open = new Set<Promise<unknown>>();
  private serial = 0;

  constructor(clock: Clock, patienceMs = patienceUsualMs) {
    this.clock = clock;
    this.patienceMs = patienceMs;
  }

  /** Undefined if it cannot be counted in time. Never rejects. */
  count(uncounted: Uncounted): Promise<Counted | undefined> {
    if (this.waiting.size >= waitingMax) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<Counted | undefined>();
    const id = this.serial++;
    const cancel = this.clock.setTimer(this.patienceMs, () => this.end());
    this.waiting.set(id, (counted) => {
      this.waiting.delete(id);
      cancel();
      resolve(counted);
    });
    this.open.add(promise);
    void promise.then(() => this.open.delete(promise));
    this.ask(orderOf(id, uncounted));
    return promise;
  }

  /** Resolves when nothing is being counted. */
  async settled(): Promise<void> {
    while (this.open.size > 0) await Promise.all(this.open);
  }

  /** Cancels the count in progress. */
  end(): void {
    this.cancelIdle?.();
    const { worker } = this;
    this.worker = undefined;
    void worker?.terminate();
    for (const settle of [...this.waiting.values()]) settle(undefined);
  }

  private ask(order: CountOrder): void {
    this.worker ??= this.start();
    this.cancelIdle?.();
    this.cancelIdle = this.clock.setTimer(idleMs, () => this.end());
    this.worker.postMessage(order);
  }

  private start(): Worker {
    // In an image it is a bundle beside that of the gateway.
    const file = `./token-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`;
    const worker = new Worker(new URL(file, import.meta.url), { execArgv: [], env: {} });
    worker.unref();
    worker.on('message', ({ id, input, output }: CountAnswer) =>
      this.waiting.get(id)?.({ input, ...(output === undefined ? {} : { output }) }),
    );
    // Without a thread everything is estimated as before.
    worker.on('error', () => {
      if (this.worker === worker) this.end();
    });
    return worker;
  }
}

function orderOf(
  id: number,
  { request, requestBytes, answer, answerLength = answer?.length ?? 0 }: Uncounted,
): CountOrder {
  return {
    id,
    request: sampleRequest(request, requestBytes),
    answer: answer?.slice(0, sampleMax),
    answerLength,
  };
}
