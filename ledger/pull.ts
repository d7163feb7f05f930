// Pulls the records of every gateway pod, with one loop per pod: asks for records after the cursor, stores them together with the next
// cursor, and only then acknowledges them by asking after it.
//
//   cursor of the store --> ask --page--> store --> ask ...
//                            |  \--cursor unknown--> ask from the oldest on
//                            +--failed, or not stored--> wait --> ask behind the same cursor
//
// Few pages are in memory at a time, however many pods there are: the others stay at their pods.

import type { Clock } from '../core/clock.ts';
import { EXCHANGE_WAIT_MS_MAX } from '../core/contract/exchange.ts';
import { type Backoff, backoffMs } from '../core/kube/backoff.ts';
import { wait } from '../core/kube/wait.ts';
import type { AskJournal, JournalPod } from './ask-journal.ts';
import { readPage } from './read-page.ts';
import { Semaphore } from './semaphore.ts';
import type { LedgerStore, Taken } from './store/store.ts';

export interface PullOptions {
  readonly store: Pick<LedgerStore, 'cursorOf' | 'take'>;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  readonly ask: AskJournal;
  /** The bearer token, read for each call; undefined before there is one. */
  tokenOf(): string | undefined;
  readonly report: PullReport;
  /** How long a pod may keep us waiting. */
  readonly waitMs?: number;
}

export interface PullReport {
  /** A page is stored. */
  taken(pod: JournalPod, taken: Taken & { readonly skipped: number }): void;
  /** Lines of a page were put aside; `reason` is that of the first. */
  quarantined(pod: JournalPod, lines: number, reason: string): void;
  /** The cursor was of another journal: the pod's journal is read from its oldest record on. */
  restarted(pod: JournalPod): void;
  /** The pod's journal cannot be read; called once for each reason. */
  failed(pod: JournalPod, reason: string): void;
  recovered(pod: JournalPod): void;
}

export interface PodLag {
  readonly pod: JournalPod;
  /** Milliseconds since when records may be unstored; 0 if all are stored. */
  readonly lagMs: number;
  readonly failure: string | undefined;
}

export interface Pulls {
  /** Pods that have a journal; one that is not among them is asked no more. */
  setPods(pods: readonly JournalPod[]): void;
  lags(): readonly PodLag[];
  /** Ends every loop; what is being stored is waited for. */
  close(): Promise<void>;
}

interface Pull {
  readonly pod: JournalPod;
  readonly end: AbortController;
  readonly running: Promise<void>;
  /** In the time of the clock: all that was written before is stored. */
  readAllAtMs: number;
  isBehind: boolean;
  failure: string | undefined;
}

const backoff: Backoff = { firstMs: 200, lastMs: 10_000 };
/** A draining pod answers long polls at once; this gap keeps the loop from spinning. */
const quietMs = 250;
/** One page is stored while the next ones are fetched. A page is a mebibyte, and several as rows. */
const pagesMax = 4;
/** Above this, more is likely to be there already. */
const fullPageBytes = 512 * 1024;

export function startPulls(options: PullOptions): Pulls {
  const { store, clock, report } = options;
  const waitMs = options.waitMs ?? EXCHANGE_WAIT_MS_MAX;
  const pulls = new Map<string, Pull>();
  const ending = new Set<Promise<void>>();
  const pages = new Semaphore(pagesMax);

  return {
    setPods(pods) {
      const wanted = new Map(pods.map((pod) => [pod.uid, pod]));
      for (const [uid, { pod }] of pulls) {
        const now = wanted.get(uid);
        if (now === undefined || now.ip !== pod.ip || now.port !== pod.port) stop(uid);
      }
      for (const [uid, pod] of wanted) if (!pulls.has(uid)) pulls.set(uid, startPull(pod));
    },
    lags: () =>
      [...pulls.values()].map(({ pod, isBehind, readAllAtMs, failure }) => ({
        pod,
        lagMs: isBehind ? clock.now() - readAllAtMs : 0,
        failure,
      })),
    async close() {
      for (const uid of [...pulls.keys()]) stop(uid);
      await Promise.all(ending);
    },
  };

  function stop(uid: string): void {
    const pull = pulls.get(uid);
    if (pull === undefined) return;
    pulls.delete(uid);
    pull.end.abort();
    const { running } = pull;
    ending.add(running);
    void running.finally(() => ending.delete(running));
  }

  function startPull(pod: JournalPod): Pull {
    const end = new AbortController();
    // Another address of the same pod: its records may not be stored by two loops in turns.
    const before = Promise.all(ending);
    const pull: Pull = {
      pod,
      end,
      readAllAtMs: clock.now(),
      isBehind: true,
      failure: undefined,
      running: before.then(() => run(pod, end.signal, () => pull)),
    };
    return pull;
  }

  async function run(pod: JournalPod, signal: AbortSignal, self: () => Pull): Promise<void> {
    let cursor: string | undefined;
    let isKnown = false;
    let failures = 0;
    while (!signal.aborted) {
      const askedAtMs = clock.now();
      try {
        if (!isKnown) cursor = await store.cursorOf(pod.uid);
        isKnown = true;
        const next = await step(pod, cursor, signal, self());
        if (self().failure !== undefined) report.recovered(pod);
        self().failure = undefined;
        failures = 0;
        const isQuiet = next === cursor;
        cursor = next;
        if (isQuiet) await wait(clock, Math.max(0, quietMs - (clock.now() - askedAtMs)), signal);
      } catch (error) {
        if (signal.aborted) return;
        const reason = error instanceof Error ? error.message : 'it failed';
        const pull = self();
        pull.isBehind = true;
        if (pull.failure !== reason) report.failed(pod, reason);
        pull.failure = reason;
        await wait(clock, backoffMs(backoff, failures++, options.random()), signal);
      }
    }
  }

  /** The cursor behind all that is stored now. */
  async function step(
    pod: JournalPod,
    after: string | undefined,
    signal: AbortSignal,
    pull: Pull,
  ): Promise<string | undefined> {
    const token = options.tokenOf();
    if (token === undefined)
      throw new Error('the pointer Secret has not been read yet, and so no token is known');
    const askedAtMs = clock.now();
    // guard: pages-in-flight-bounded
    using permit = pages.open();
    const answer = await options.ask({
      pod,
      token,
      after,
      waitMs,
      signal,
      beforePage: () => permit.acquire(),
    });
    if (answer === 'unknown-cursor') {
      if (after === undefined) throw new Error('it reports no start of its journal');
      report.restarted(pod);
      return undefined;
    }
    const { bytes, cursor } = answer;
    if (bytes.length > 0) {
      if (cursor === after) throw new Error('it sent records without a new cursor');
      const { skipped, ...lines } = readPage(bytes);
      // guard: page-acknowledged
      const taken = await store.take({ source: pod.uid, cursor, ...lines }, clock.wallMs());
      report.taken(pod, { ...taken, skipped });
      if (taken.asides > 0) report.quarantined(pod, taken.asides, lines.asides[0]?.reason ?? 'it came late');
    } else if (cursor !== after) {
      await store.take({ source: pod.uid, cursor, entries: [], asides: [] }, clock.wallMs());
    }
    pull.isBehind = bytes.length >= fullPageBytes;
    if (!pull.isBehind) pull.readAllAtMs = askedAtMs;
    return cursor;
  }
}
