// Is the store healthy enough to ask? A circuit breaker: each call has a deadline; the first failure closes the store for a while, and
// probes reopen it. While it is closed, calls fail at once: no request waits for a dead store, and none fails because of it.

import type { Clock } from '../../core/clock.ts';
import type { Place, Reservation, ReservationAnswer, Settlement } from './reservation.ts';
import type { LimitStore } from './store.ts';

/** Default for the longest single wait of a request for the store. */
export const callBudgetMsDefault = 25;

const probePauseMs = { first: 100, longest: 2_000 } as const;

/** A connection that was silent for this many probes is dropped: its server may have vanished without closing it. */
const silentProbesMax = 3;

/** Most settlements kept for an unreachable store; further reservations end by their lease. */
const unsettledMax = 10_000;

/** Limits one batch, so that other pods need not wait long. */
const renewedAtOnce = 500;

type StoreFailure = 'timeout' | 'error';

export interface StoreEvents {
  /** After each call that was answered in time. */
  onCall(durationMs: number): void;
  onFailure(reason: StoreFailure): void;
  /** The store is in use again, or no longer. `why`: the client's own words, without secrets. */
  onTurn(isInUse: boolean, why: string): void;
}

/** A reservation that has ended. */
export interface Ended {
  readonly id: string;
  /** @param isLate The store could not be updated when the request ended. */
  settlement(isLate: boolean): Settlement;
}

/** How long a question waits that no request waits for. */
const lookMs = 500;

/** A free seat. */
const probePlace = { key: 'probe', id: 'probe' } as const;

export class GuardedStore {
  private readonly store: LimitStore;
  private readonly clock: Clock;
  private readonly events: StoreEvents;
  private readonly callBudgetMs: number;
  private isOpen = false;
  private isOver = false;
  /** Settlements still to be sent to the store, by the id of the reservation. */
  private readonly unsettled = new Map<string, Ended>();
  private readonly inFlight = new Set<Promise<unknown>>();
  /** In the order in which they were made, from the first on that is not answered. */
  private readonly calls: Call[] = [];
  private isWatching = false;
  private probePause: number = probePauseMs.first;
  private silentProbes = 0;
  private cancelProbe = (): void => {};

  constructor(store: LimitStore, clock: Clock, events: StoreEvents, callBudgetMs = callBudgetMsDefault) {
    this.store = store;
    this.clock = clock;
    this.events = events;
    this.callBudgetMs = callBudgetMs;
  }

  get isInUse(): boolean {
    return this.isOpen;
  }

  /** Settled when it is known whether the store answers; never rejects. */
  async start(): Promise<void> {
    try {
      await this.store.connect();
      await this.store.renew([probePlace]);
      this.turn(true, 'it answers');
    } catch (error) {
      this.turn(false, wordsOf(error));
    }
  }

  /** Undefined if the store does not answer in time: then nothing is held there. */
  async reserve(reservation: Reservation): Promise<ReservationAnswer | undefined> {
    const answer = await this.within(this.store.reserve(reservation));
    if (answer !== undefined) {
      this.probePause = probePauseMs.first;
      return answer;
    }
    // The store may have executed it, and only its answer is late.
    const { id, claims, amounts, budgets = [] } = reservation;
    if (id === undefined) return undefined;
    const unspent = budgets.map(({ key, endMs }) => ({ key, endMs, cost: 0 }));
    const givenBack = { id, claims, amounts, used: nothing, budgets: unspent };
    this.settleLater({ id, settlement: () => givenBack });
    return undefined;
  }

  /** Undefined if it does not answer in time, which does not open the circuit. */
  look(reservation: Reservation): Promise<ReservationAnswer | undefined> {
    return new Promise((resolve) => {
      const cancel = this.clock.setTimer(lookMs, () => resolve(undefined));
      this.store
        .look(reservation)
        .then(resolve, () => resolve(undefined))
        .finally(cancel);
    });
  }

  /** Does not wait. Settlements that fail now are sent when the store is back. */
  settle(ended: Ended, isLate = false): void {
    if (!this.isOpen) {
      this.settleLater(ended);
      return;
    }
    this.track(
      this.within(this.store.settle(ended.settlement(isLate))).then((heardMs) => {
        if (heardMs === undefined) this.settleLater(ended);
      }),
    );
  }

  renew(places: readonly Place[]): void {
    if (!this.isOpen) return;
    for (let at = 0; at < places.length; at += renewedAtOnce)
      this.track(this.within(this.store.renew(places.slice(at, at + renewedAtOnce))));
  }

  /** Settled when the store has heard all that it can. */
  async close(): Promise<void> {
    this.isOver = true;
    this.cancelProbe();
    await Promise.all(this.inFlight);
    this.store.close();
  }

  /** The call's value, undefined if it fails or takes too long. */
  private within<T>(work: Promise<T>): Promise<T | undefined> {
    const { clock, events } = this;
    const startedAt = clock.now();
    return new Promise((resolve) => {
      const call: Call = { startedAt, isOver: false, giveUp: () => resolve(undefined) };
      this.calls.push(call);
      this.watch(this.callBudgetMs);
      work.then(
        (value) => {
          if (call.isOver) return;
          call.isOver = true;
          this.forgetAnswered();
          events.onCall(clock.now() - startedAt);
          resolve(value);
        },
        (error: unknown) => {
          if (!call.isOver) this.giveUp(call, 'error', wordsOf(error));
        },
      );
    });
  }

  /** One timer for all calls: the oldest is the first that can be late. */
  private watch(ms: number): void {
    if (this.isWatching) return;
    this.isWatching = true;
    const dueAt = this.clock.now() + ms;
    this.clock.setTimer(ms, () => {
      const now = this.clock.now();
      // If our own timer is late, the calls may have been written only now, because a turn writes at its end. Otherwise their answers have
      // arrived: sockets are read between two timers.
      const graceMs = now - dueAt >= 1 ? this.callBudgetMs : 1;
      this.clock.setTimer(graceMs, () => this.giveUpBefore(now - this.callBudgetMs));
    });
  }

  private giveUpBefore(dueAt: number): void {
    this.isWatching = false;
    const { calls, callBudgetMs } = this;
    for (const call of calls)
      if (!call.isOver && call.startedAt <= dueAt)
        this.giveUp(call, 'timeout', `it has not answered within ${callBudgetMs} ms`);
    this.forgetAnswered();
    const [oldest] = calls;
    if (oldest) this.watch(Math.max(0, oldest.startedAt + callBudgetMs - this.clock.now()));
  }

  private forgetAnswered(): void {
    while (this.calls[0]?.isOver) this.calls.shift();
  }

  private giveUp(call: Call, reason: StoreFailure, why: string): void {
    call.isOver = true;
    this.fail(reason, why);
    call.giveUp();
  }

  private fail(reason: StoreFailure, why: string): void {
    this.events.onFailure(reason);
    if (this.isOpen) this.turn(false, why);
  }

  private turn(isOpen: boolean, why: string): void {
    this.isOpen = isOpen;
    this.events.onTurn(isOpen, why);
    if (isOpen) this.silentProbes = 0;
    else this.probeLater();
  }

  private probeLater(): void {
    if (this.isOver) return;
    this.cancelProbe();
    this.cancelProbe = this.clock.setTimer(this.probePause, () => this.track(this.probe()));
    this.probePause = Math.min(this.probePause * 2, probePauseMs.longest);
  }

  /** Writes: a replica, or a store that is full, can be read and is of no use. */
  private async probe(): Promise<void> {
    const heardMs = await this.within(this.store.renew([probePlace]));
    if (this.isOver) return;
    if (heardMs !== undefined) {
      this.turn(true, 'it answers again');
      for (const ended of this.unsettled.values()) this.settle(ended, true);
      this.unsettled.clear();
      return;
    }
    this.silentProbes += 1;
    if (this.silentProbes % silentProbesMax === 0) this.store.reconnect();
    this.probeLater();
  }

  private settleLater(ended: Ended): void {
    if (this.unsettled.size < unsettledMax) this.unsettled.set(ended.id, ended);
  }

  private track(work: Promise<unknown>): void {
    this.inFlight.add(work);
    void work.finally(() => this.inFlight.delete(work));
  }
}

const nothing = { requests: 0, tokens: 0 } as const;

/** A call without an answer so far. */
interface Call {
  readonly startedAt: number;
  isOver: boolean;
  giveUp(): void;
}

/** Only the error's message: other members that the client adds may hold the password. */
function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : 'it failed';
}
