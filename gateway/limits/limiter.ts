// May this request spend now? Decided in the store that all pods share, or by this pod's own share of each limit. An admitted request
// keeps its reservation until it has ended.

import type { LimitName } from '../../core/catalog/limits.ts';
import type { Clock } from '../../core/clock.ts';
import { OpenList } from '../stream/open-list.ts';
import { type BudgetVerdict, judgeShare, judgeTogether, refusedBudget } from './budget.ts';
import { type Glance, glanceOf, nothingLimited, type SeenBudget } from './glance.ts';
import { type Ended, GuardedStore, type StoreEvents } from './guarded-store.ts';
import { LedgerReader, type LedgerReaderParts } from './ledger-reader.ts';
import {
  type ActualUse,
  type LimitState,
  type Looked,
  limitStatesOf,
  type Outcome,
  refusalOf,
} from './outcome.ts';
import { type AskedBudget, OwnBudgets } from './own-budgets.ts';
import { OwnMemory } from './own-memory.ts';
import {
  type BudgetClaim,
  type BudgetReading,
  type Place,
  type ReservationAnswer,
  renewEveryMs,
  type Settlement,
} from './reservation.ts';
import type { Seat } from './seat.ts';
import type { LimitStore } from './store.ts';
import type { Amounts, Subject, SubjectKind, Wanted } from './subject.ts';

/** The facts of the process that a reservation needs. */
export interface Limits {
  /**
   * Undefined: none of the subjects has a limit that concerns the request. A promise only where a store is asked; never rejects.
   *
   * @param lastsMs The longest time that the request can be in flight; after it, the reservation is released.
   */
  reserve(
    subjects: readonly Subject[],
    wanted: Wanted,
    lastsMs: number,
  ): Outcome | Promise<Outcome> | undefined;
}

/** If nothing is limited, such as in drills. */
export const noLimits: Limits = { reserve: () => undefined };

interface LimiterEvents extends StoreEvents {
  onLimited(subject: SubjectKind, limit: LimitName | 'budget'): void;
}

interface LimiterParts {
  readonly clock: Clock;
  /** Tells this process from all others. */
  readonly name: string;
  /** Gateways that share each limit while no store is in use. */
  readonly pods: () => number;
  readonly store?: LimitStore | undefined;
  /** How long a request may wait for the store, once. */
  readonly callBudgetMs?: number | undefined;
  /** What becomes of requests with limits while the store does not answer. */
  readonly onStoreError: 'LocalShare' | 'Deny';
  readonly events: LimiterEvents;
  /** The ledger: spending of all gateways, and its cursor in our journal. Absent: budgets count only what passes this pod. */
  readonly ledger?: LedgerParts | undefined;
}

type LedgerParts = Pick<LedgerReaderParts, 'ask' | 'progress' | 'onTurn'>;

/** A reservation that is this much older than the longest request was leaked, and is released. */
const overdueMs = 60_000;

const unavailable: Outcome = { type: 'unavailable' };
const nothing: Amounts = { requests: 0, tokens: 0 };
const noBudgets: readonly AskedBudget[] = [];
const noLimitStates: readonly LimitState[] = [];
const notFound: BudgetReading = { spent: 0, held: 0 };

/** The amounts and subjects of one reservation; once granted, it is held until the request has ended. */
class Held implements Ended {
  readonly type = 'granted';
  limitStates = noLimitStates;
  readonly seats: readonly Seat[];
  readonly budgets: readonly AskedBudget[];
  readonly wanted: Wanted;
  readonly lastsMs: number;
  /** Number of gateways that share the limits; for limits in a store, 1. */
  pods = 1;
  /** Names it in the store; empty: it is held in this process. */
  id = '';
  reserved: Amounts;
  used = nothing;
  cost = 0;
  untilMs = 0;
  /** Among all that are held. */
  place = -1;
  private readonly limiter: Limiter;

  constructor(
    limiter: Limiter,
    seats: readonly Seat[],
    budgets: readonly AskedBudget[],
    wanted: Wanted,
    lastsMs: number,
  ) {
    this.limiter = limiter;
    this.seats = seats;
    this.budgets = budgets;
    this.wanted = wanted;
    this.lastsMs = lastsMs;
    this.reserved = wanted;
  }

  settle({ tokens, nanodollars = 0 }: ActualUse): void {
    this.limiter.end(this, { requests: this.wanted.requests, tokens }, nanodollars);
  }

  giveBack(): void {
    this.limiter.end(this, nothing, 0);
  }

  settlement(isLate: boolean): Settlement {
    return this.limiter.settlementOf(this, isLate);
  }
}

export class Limiter implements Limits {
  private readonly parts: LimiterParts;
  private readonly memory = new OwnMemory();
  private readonly ownBudgets = new OwnBudgets();
  private readonly ledger: LedgerReader | undefined;
  private readonly store: GuardedStore | undefined;
  private readonly held = new OpenList<Held>();
  private count = 0;
  private cancelRound: (() => void) | undefined;

  constructor(parts: LimiterParts) {
    this.parts = parts;
    this.ledger =
      parts.ledger &&
      new LedgerReader({
        ...parts.ledger,
        clock: parts.clock,
        onSeen: (records) => this.ownBudgets.see(records),
      });
    this.store = parts.store && new GuardedStore(parts.store, parts.clock, parts.events, parts.callBudgetMs);
  }

  /** Settled when it is known whether the store answers; never rejects. */
  async start(): Promise<void> {
    await this.store?.start();
  }

  /** Reservations that have not been settled. */
  get heldCount(): number {
    return this.held.items.length;
  }

  get mode(): 'local' | 'store' {
    return this.store?.isInUse ? 'store' : 'local';
  }

  reserve(
    subjects: readonly Subject[],
    wanted: Wanted,
    lastsMs: number,
  ): Outcome | Promise<Outcome> | undefined {
    const { store, ledger } = this;
    const seats = this.seatsAsked(subjects, wanted);
    const budgets = this.budgetsAsked(subjects, wanted);
    if (seats.length === 0 && budgets.length === 0) return undefined;
    if (budgets.length > 0 && ledger?.isKnown === false)
      // Unknown spending may have used the budget up: the request waits for the ledger's sums.
      return ledger
        .untilKnown()
        .then((isKnown) =>
          isKnown ? (this.reserve(subjects, wanted, lastsMs) ?? unavailable) : unavailable,
        );
    const tooLarge = tooLargeFor(seats, wanted);
    if (tooLarge !== undefined) {
      this.parts.events.onLimited(tooLarge.subject.kind, tooLarge.name);
      return tooLarge;
    }
    const ask = new Held(this, seats, budgets, wanted, lastsMs);
    if (store?.isInUse) return this.ofStore(store, ask);
    return store === undefined ? this.ofShare(ask) : this.withoutStore(ask);
  }

  /** What `reserve` would come to at this moment. Nothing is held, counted, or asked of the ledger; never rejects. */
  async glance(subjects: readonly Subject[], wanted: Wanted): Promise<Glance> {
    const { store, parts } = this;
    const seats = this.seatsAsked(subjects, wanted);
    const budgets = this.budgetsAsked(subjects, wanted);
    if (seats.length === 0 && budgets.length === 0) return nothingLimited;
    const ask = new Held(this, seats, budgets, wanted, 0);
    const tooLarge = tooLargeFor(seats, wanted);
    const glance =
      (store?.isInUse ? await this.glanceAtStore(store, ask) : undefined) ?? this.glanceAtShare(ask);
    if (tooLarge !== undefined) return { ...glance, outcome: tooLarge };
    const isUnknown = budgets.length > 0 && this.ledger?.isKnown === false;
    const isShut = store !== undefined && !store.isInUse && parts.onStoreError === 'Deny';
    return isUnknown || isShut ? { ...glance, outcome: unavailable } : glance;
  }

  private async glanceAtStore(store: GuardedStore, ask: Held): Promise<Glance | undefined> {
    const { seats, budgets, wanted } = ask;
    const claims = this.budgetClaims(ask);
    const answer = await store.look({
      claims: seats,
      amounts: wanted,
      budgets: claims,
      by: this.parts.name,
    });
    if (answer === undefined) return undefined;
    note(seats, wanted, answer);
    const seen = budgets.map((asked, at): SeenBudget => {
      const reading = answer.budgets?.[at] ?? notFound;
      const spent = Math.max(reading.spent, reading.reckoned ?? 0);
      return { asked, spent, held: reading.held, verdict: verdictOf(claims[at], reading) };
    });
    return glanceOf(ask, seen);
  }

  private glanceAtShare(ask: Held): Glance {
    ask.pods = this.pods();
    const { seats, budgets, pods } = ask;
    this.memory.look(seats, pods, this.parts.clock.now());
    const seen = budgets.map((asked): SeenBudget => {
      const { spent, held } = asked.own;
      return { asked, spent: this.known(asked) + spent, held, verdict: this.judgeShare(ask, asked) };
    });
    return glanceOf(ask, seen);
  }

  private pods(): number {
    return Math.max(1, this.parts.pods());
  }

  private seatsAsked(subjects: readonly Subject[], wanted: Wanted): readonly Seat[] {
    const seats = this.memory.seatsOf(subjects);
    for (const seat of seats) if (!seat.concerns(wanted)) return concernedOf(seats, wanted);
    return seats;
  }

  private budgetsAsked(
    subjects: readonly Subject[],
    { nanodollars = 0, takesPlace }: Wanted,
  ): readonly AskedBudget[] {
    if (nanodollars === 0 || !takesPlace) return noBudgets;
    const wallMs = this.parts.clock.wallMs();
    let asked = noBudgets;
    for (const subject of subjects) {
      if (subject.budgets === undefined) continue;
      const more = this.ownBudgets.askedOf(subject, wallMs);
      asked = asked.length === 0 ? more : [...asked, ...more];
    }
    return asked;
  }

  /** Spending by the ledger's sums; 0 without a ledger. */
  private known({ own }: AskedBudget): number {
    return this.ledger?.spentOf(own.subject, own, own.bounds) ?? 0;
  }

  /** Age of the ledger's sums; undefined if they were never needed. */
  get sumsAgeMs(): number | undefined {
    return this.ledger?.ageMs;
  }

  /** Called when the table has budgets: reads the ledger's sums before a request has to wait for them. */
  expectBudgets(): void {
    this.ledger?.begin();
  }

  /** Requests would wait in vain here now: the sums of the ledger are not known yet. They may be soon. */
  get awaitsSums(): boolean {
    return this.ledger?.isAwaited ?? false;
  }

  /** Settled when the store has heard all that it can. */
  async close(): Promise<void> {
    this.cancelRound?.();
    this.ledger?.close();
    await this.store?.close();
  }

  private async ofStore(store: GuardedStore, ask: Held): Promise<Outcome> {
    const { seats, budgets, wanted } = ask;
    const id = wanted.takesPlace ? `${this.parts.name}.${++this.count}` : undefined;
    const claims = this.budgetClaims(ask);
    const answer = await store.reserve({
      id,
      claims: seats,
      amounts: wanted,
      budgets: claims,
      by: this.parts.name,
    });
    if (answer === undefined) return this.withoutStore(ask);
    note(seats, wanted, answer);
    if (!answer.isGranted) {
      const verdicts = budgets.map((_, at) => verdictOf(claims[at], answer.budgets?.[at]));
      return this.overBudget(budgets, verdicts) ?? this.refuse(ask);
    }
    this.useShare(seats, wanted.requests, 0, false);
    ask.id = id ?? '';
    return this.grant(ask);
  }

  /** The share is not checked, but it is charged: an unstable store must not grant its own limit and every share as well. */
  private useShare(seats: readonly Seat[], requests: number, tokens: number, isEnded: boolean): void {
    const pods = this.pods();
    const nowMs = this.parts.clock.now();
    this.memory.charge(seats, { requests, tokens }, pods, nowMs, isEnded);
  }

  private withoutStore(ask: Held): Outcome {
    return this.parts.onStoreError === 'Deny' ? unavailable : this.ofShare(ask); // guard: store-down-denies
  }

  private ofShare(ask: Held): Outcome {
    const { seats, wanted, budgets } = ask;
    ask.pods = this.pods();
    if (budgets.length > 0) {
      this.ownBudgets.find(budgets);
      const refused = this.overOwnBudget(ask);
      if (refused !== undefined) return refused;
    }
    const isGranted = this.memory.reserve(seats, wanted, ask.pods, this.parts.clock.now());
    return isGranted ? this.grant(ask) : this.refuse(ask);
  }

  private overOwnBudget(ask: Held): Outcome | undefined {
    const { budgets } = ask;
    for (const asked of budgets)
      if (this.judgeShare(ask, asked) !== 'granted')
        return this.overBudget(
          budgets,
          budgets.map((one) => this.judgeShare(ask, one)),
        );
    return undefined;
  }

  private judgeShare({ wanted: { nanodollars = 0 }, pods }: Held, asked: AskedBudget): BudgetVerdict {
    const { limit, own } = asked;
    return judgeShare({ limit, known: this.known(asked), amount: nanodollars }, own, pods);
  }

  private overBudget(
    budgets: readonly AskedBudget[],
    verdicts: readonly BudgetVerdict[],
  ): Outcome | undefined {
    const refused = refusedBudget(budgets, verdicts);
    if (refused === undefined) return undefined;
    const { subject, budget, own } = refused.asked;
    this.parts.events.onLimited(subject.kind, 'budget');
    return { type: 'over-budget', subject, budget, bounds: own.bounds, isExhausted: refused.isExhausted };
  }

  private refuse(looked: Looked): Outcome {
    const refusal = refusalOf(looked);
    if (refusal === undefined) throw new Error('a reservation was refused, and no limit is reached');
    this.parts.events.onLimited(refusal.subject.kind, refusal.limit);
    return { type: 'refused', ...refusal, limitStates: limitStatesOf(looked, false, false) };
  }

  private grant(ask: Held): Outcome {
    ask.limitStates = limitStatesOf(ask, true, false);
    this.goRound();
    const { wanted, budgets, lastsMs } = ask;
    if (!wanted.takesPlace) return ask;
    ask.untilMs = this.parts.clock.now() + lastsMs + overdueMs;
    this.held.add(ask);
    this.ownBudgets.hold(budgets, mostOf(wanted));
    return ask;
  }

  /** Once: what has ended, or was given up, does not end again. */
  end(held: Held, used: Amounts, cost: number): void {
    if (!this.held.remove(held)) return;
    held.used = used;
    held.cost = cost;
    const { seats, budgets, wanted, reserved, pods } = held;
    if (budgets.length > 0)
      this.ownBudgets.settle(budgets, mostOf(wanted), cost, this.parts.ledger?.progress.appended());
    if (held.id === '') {
      const nowMs = this.parts.clock.now();
      for (const seat of seats) seat.settle(reserved, used, pods, nowMs);
      return;
    }
    this.store?.settle(held);
    this.useShare(seats, used.requests - reserved.requests, used.tokens, true);
  }

  /** The settlement that the store gets for a request that has ended. */
  settlementOf({ id, seats, budgets, reserved, used, cost }: Held, isLate: boolean): Settlement {
    const settlement = { id, claims: seats, amounts: reserved, used };
    if (budgets.length === 0) return settlement;
    // A late cost may already be in the ledger's sums and, through other pods, in the store: adding it to the store would count it twice
    // for good. The `reported` figures cover it.
    const keptCost = isLate && this.ledger !== undefined ? 0 : cost;
    return {
      ...settlement,
      budgets: budgets.map((asked) => ({
        key: asked.own.key,
        endMs: asked.own.bounds.endMs,
        cost: keptCost,
        reported: { known: this.known(asked), ownSpent: asked.own.spent },
      })),
      by: this.parts.name,
    };
  }

  private budgetClaims({
    budgets,
    wanted: { nanodollars = 0, nanodollarsMax },
  }: Held): readonly BudgetClaim[] {
    return budgets.map((asked) => ({
      key: asked.own.key,
      limit: asked.limit,
      known: this.known(asked),
      own: { spent: asked.own.spent, held: asked.own.held },
      amount: nanodollars,
      hold: nanodollarsMax,
      endMs: asked.own.bounds.endMs,
    }));
  }

  /** As long as there is anything to look after. */
  private goRound(): void {
    this.cancelRound ??= this.parts.clock.setTimer(renewEveryMs, () => {
      this.cancelRound = undefined;
      this.lookAfter();
      if (this.heldCount + this.memory.size + this.ownBudgets.size > 0) this.goRound();
    });
  }

  private lookAfter(): void {
    const { clock } = this.parts;
    const nowMs = clock.now();
    const places: Place[] = [];
    for (const held of [...this.held.items]) {
      const { id, untilMs, seats, budgets } = held;
      if (untilMs <= nowMs) this.giveUp(held);
      else if (id !== '') {
        for (const { key } of seats) places.push({ key, id });
        for (const { own } of budgets) places.push({ key: own.key, id });
      }
    }
    this.store?.renew(places);
    this.memory.sweep(nowMs);
    this.ownBudgets.sweep(clock.wallMs());
  }

  /** The request's use is unknown here, so its reservation counts as used; its cost may come from the ledger. */
  private giveUp(held: Held): void {
    held.reserved = nothing;
    this.end(held, nothing, 0);
  }
}

function concernedOf(seats: readonly Seat[], wanted: Wanted): readonly Seat[] {
  return seats.filter((seat) => seat.concerns(wanted));
}

function mostOf({ nanodollars = 0, nanodollarsMax = nanodollars }: Wanted): number {
  return nanodollarsMax;
}

/** As it was asked: what this process holds may be more by now. */
function verdictOf(claim: BudgetClaim | undefined, reading = notFound): BudgetVerdict {
  return claim === undefined ? 'granted' : judgeTogether(claim, reading);
}

/** Stores the readings of the store where refusals and headers look for them. */
function note(seats: readonly Seat[], wanted: Wanted, { readings }: ReservationAnswer): void {
  for (const [at, seat] of seats.entries()) {
    const reading = readings[at];
    if (reading === undefined) continue;
    seat.held = reading.held;
    let of = 0;
    for (const rate of seat.rates) if (rate.amountOf(wanted) > 0) rate.found = reading.used[of++] ?? 0;
  }
}

function tooLargeFor(
  seats: readonly Seat[],
  { tokensMin = 0 }: Wanted,
): Extract<Outcome, { readonly type: 'too-large' }> | undefined {
  for (const { subject, rates } of seats)
    for (const { name, counts, limit } of rates)
      if (counts === 'tokens' && tokensMin > limit)
        return { type: 'too-large', subject, name, limit, tokens: tokensMin };
  return undefined;
}
