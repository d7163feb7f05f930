// May this request spend now? Asked of the store that all pods share, or of this pod's own share of each limit; whoever was let in
// is held until it has ended.

import type { LimitName } from '../../core/catalog/limits.ts';
import type { Clock } from '../../core/clock.ts';
import {
  type AskedBudget,
  type BudgetVerdict,
  budgetsAsked,
  judgeShare,
  judgeTogether,
  refusedBudget,
} from './budget.ts';
import { type Glance, glanceOf, nothingLimited, type Sight, sightOfShare, sightTogether } from './glance.ts';
import { GuardedStore, type StoreEvents } from './guarded-store.ts';
import { LedgerReader, type LedgerReaderParts } from './ledger-reader.ts';
import type { Meter } from './meter.ts';
import { type ActualUse, type Judged, type Outcome, refusalOf, standingsOf } from './outcome.ts';
import { OwnBudgets } from './own-budgets.ts';
import { OwnMemory } from './own-memory.ts';
import {
  type Claim,
  type Reservation,
  type ReservationAnswer,
  renewEveryMs,
  type SettledBudget,
  type Settlement,
} from './reservation.ts';
import type { LimitStore } from './store.ts';
import { type Amounts, claimOf, type Subject, type SubjectKind, type Wanted } from './subject.ts';

/** Who asks: of the whole process nothing but this is needed to serve a request. */
export interface Limits {
  /**
   * Undefined: none of the subjects has a limit that concerns the request. A promise only where a store is asked; never rejects.
   *
   * @param lastsMs How long the request can be under way; one that says nothing by then is given up.
   */
  reserve(
    subjects: readonly Subject[],
    wanted: Wanted,
    lastsMs: number,
  ): Outcome | Promise<Outcome> | undefined;
}

/** Where nothing is limited, such as in drills. */
export const noLimits: Limits = { reserve: () => undefined };

interface LimiterEvents extends StoreEvents {
  onLimited(subject: SubjectKind, limit: LimitName | 'budget'): void;
}

interface LimiterParts {
  readonly clock: Clock;
  /** Tells this process from all others. */
  readonly name: string;
  /** Gateways that share each limit while no store is asked. */
  readonly pods: () => number;
  readonly store?: LimitStore | undefined;
  /** How long a request may wait for the store, once. */
  readonly callBudgetMs?: number | undefined;
  /** What becomes of requests with limits while the store does not answer. */
  readonly onStoreError: 'LocalShare' | 'Deny';
  readonly events: LimiterEvents;
  /** Whoever knows what all gateways spent, and how far it has come in our journal; absent: budgets hold for what passes here. */
  readonly ledger?: LedgerParts | undefined;
}

type LedgerParts = Pick<LedgerReaderParts, 'ask' | 'progress' | 'onTurn'>;

/** What is still held so long after its request must have ended was forgotten by us, and is given up. */
const overdueMs = 60_000;

/** Where a reservation is held: the store, or the memory of this process. */
interface Keeper {
  /** @param late In its place, where it cannot be told at once. */
  settle(settlement: Settlement, late: () => Settlement): void;
  renew(places: readonly { readonly key: string; readonly id: string }[]): void;
}

interface Held {
  readonly keeper: Keeper;
  readonly claims: readonly Claim[];
  readonly budgets: readonly AskedBudget[];
  readonly untilMs: number;
}

/** What one caller of the limiter asks for. */
interface Ask {
  readonly judged: readonly Judged[];
  readonly budgets: readonly AskedBudget[];
  readonly wanted: Wanted;
  readonly lastsMs: number;
}

interface Asked extends Ask {
  readonly reservation: Reservation;
}

const unavailable: Outcome = { type: 'unavailable' };

export class Limiter implements Limits {
  private readonly parts: LimiterParts;
  private readonly memory = new OwnMemory();
  private readonly ownBudgets = new OwnBudgets();
  private readonly ledger: LedgerReader | undefined;
  private readonly ownKeeper: Keeper;
  private readonly store: GuardedStore | undefined;
  private readonly held = new Map<string, Held>();
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
    this.ownKeeper = {
      settle: (settlement) => this.memory.settle(settlement, parts.clock.now()),
      renew: (places) => this.memory.renew(places, parts.clock.now()),
    };
  }

  /** Settled when it is known whether the store answers; never rejects. */
  async start(): Promise<void> {
    await this.store?.start();
  }

  /** Reservations that have not been settled. */
  get heldCount(): number {
    return this.held.size;
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
    const judged = judgedFor(subjects, wanted, 1);
    const budgets = this.budgetsAsked(subjects, wanted);
    if (judged.length === 0 && budgets.length === 0) return undefined;
    if (budgets.length > 0 && ledger?.isKnown === false)
      // Nobody spends of what may be spent already.
      return ledger
        .untilKnown()
        .then((isKnown) =>
          isKnown ? (this.reserve(subjects, wanted, lastsMs) ?? unavailable) : unavailable,
        );
    const tooLarge = tooLargeFor(judged, wanted);
    if (tooLarge !== undefined) {
      this.parts.events.onLimited(tooLarge.subject.kind, 'tokens');
      return tooLarge;
    }
    const ask: Ask = { judged, budgets, wanted, lastsMs };
    if (store?.isInUse) return this.ofStore(store, ask);
    return store === undefined ? this.ofShare(ask) : this.withoutStore(ask);
  }

  /** What `reserve` would come to at this moment. Nothing is held, counted, or asked of the ledger; never rejects. */
  async glance(subjects: readonly Subject[], wanted: Wanted): Promise<Glance> {
    const { store, parts } = this;
    const judged = judgedFor(subjects, wanted, 1);
    const budgets = this.budgetsAsked(subjects, wanted);
    if (judged.length === 0 && budgets.length === 0) return nothingLimited;
    const tooLarge = tooLargeFor(judged, wanted);
    const sight =
      (store?.isInUse ? await this.lookTogether(store, judged, budgets) : undefined) ??
      this.lookAtShare(subjects, wanted, budgets);
    const glance = glanceOf(sight);
    if (tooLarge !== undefined) return { ...glance, outcome: tooLarge };
    const isUnknown = budgets.length > 0 && this.ledger?.isKnown === false;
    const isShut = store !== undefined && !store.isInUse && parts.onStoreError === 'Deny';
    return isUnknown || isShut ? { ...glance, outcome: unavailable } : glance;
  }

  private async lookTogether(
    store: GuardedStore,
    judged: readonly Judged[],
    budgets: readonly AskedBudget[],
  ): Promise<Sight | undefined> {
    const answer = await store.look({
      claims: judged.map(({ claim }) => claim),
      budgets: budgets.map(({ claim }) => claim),
      by: this.parts.name,
    });
    return answer && sightTogether(judged, budgets, answer);
  }

  private lookAtShare(subjects: readonly Subject[], wanted: Wanted, budgets: readonly AskedBudget[]): Sight {
    const pods = Math.max(1, this.parts.pods());
    const nowMs = this.parts.clock.now();
    const judged = judgedFor(subjects, wanted, pods);
    const claims = judged.map(({ claim }) => claim);
    return {
      judged,
      nowMs,
      readings: this.memory.look(claims, nowMs),
      budgets: budgets.map((asked) => sightOfShare(asked, this.ownBudgets.read(asked.claim.key), pods)),
      pods,
    };
  }

  private budgetsAsked(subjects: readonly Subject[], wanted: Wanted): readonly AskedBudget[] {
    return budgetsAsked(
      subjects,
      wanted,
      this.parts.clock.wallMs(),
      (subject, budget, bounds) => this.ledger?.spentOf(subject, budget, bounds) ?? 0,
      (key) => this.ownBudgets.read(key),
    );
  }

  /** Of what the ledger says was spent; undefined where nobody has asked. */
  get sumsAgeMs(): number | undefined {
    return this.ledger?.ageMs;
  }

  /** There are budgets: what was spent is asked for before a request has to wait for it. */
  expectBudgets(): void {
    this.ledger?.begin();
  }

  /** Whoever sends a request here now may wait for nothing: what was spent is not known yet, and may be soon. */
  get awaitsSums(): boolean {
    return this.ledger?.isAwaited ?? false;
  }

  /** Settled when the store has heard all that it can. */
  async close(): Promise<void> {
    this.cancelRound?.();
    this.ledger?.close();
    await this.store?.close();
  }

  private async ofStore(store: GuardedStore, ask: Ask): Promise<Outcome> {
    const reservation = this.reservationFor(ask);
    const answer = await store.reserve(reservation);
    if (answer === undefined) return this.withoutStore(ask);
    const refused = this.overBudget(ask, ({ claim }, at) =>
      judgeTogether(claim, answer.budgets?.[at] ?? { spent: 0, held: 0 }),
    );
    if (refused !== undefined) return refused;
    return this.conclude({ ...ask, reservation }, answer, store);
  }

  /** The share is not asked, and yet used: a store that comes and goes must not let through its own and every share besides. */
  private useShare(judged: readonly Judged[], amounts: Amounts, isEnded: boolean): void {
    const { clock, pods } = this.parts;
    const claims = shareOf(judged, { ...amounts, takesPlace: false }, pods());
    this.memory.charge(
      claims.map(({ claim }) => claim),
      clock.now(),
      isEnded,
    );
  }

  private withoutStore(ask: Ask): Outcome {
    return this.parts.onStoreError === 'Deny' ? unavailable : this.ofShare(ask); // guard: store-down-denies
  }

  private ofShare(ask: Ask): Outcome {
    const { clock, pods } = this.parts;
    const refused = this.overBudget(ask, ({ claim }) =>
      judgeShare(claim, this.ownBudgets.read(claim.key), pods()),
    );
    if (refused !== undefined) return refused;
    const judged = pods() <= 1 ? ask.judged : shareOf(ask.judged, ask.wanted, pods());
    const reservation = this.reservationFor({ ...ask, judged });
    const answer = this.memory.reserve(reservation, clock.now());
    return this.conclude({ ...ask, judged, reservation }, answer, this.ownKeeper);
  }

  private overBudget(
    { budgets }: Ask,
    judge: (asked: AskedBudget, at: number) => BudgetVerdict,
  ): Outcome | undefined {
    const refused = refusedBudget(budgets, budgets.map(judge));
    if (refused === undefined) return undefined;
    const { subject, budget, bounds } = refused.asked;
    this.parts.events.onLimited(subject.kind, 'budget');
    return { type: 'over-budget', subject, budget, bounds, isExhausted: refused.isExhausted };
  }

  private reservationFor({ judged, budgets, wanted: { takesPlace } }: Ask): Reservation {
    return {
      ...(takesPlace ? { id: `${this.parts.name}.${++this.count}` } : {}),
      claims: judged.map(({ claim }) => claim),
      ...(budgets.length === 0 ? {} : { budgets: budgets.map(({ claim }) => claim), by: this.parts.name }),
    };
  }

  private conclude(
    { judged, budgets, wanted, reservation, lastsMs }: Asked,
    answer: ReservationAnswer,
    keeper: Keeper,
  ): Outcome {
    const { clock, events } = this.parts;
    const standings = standingsOf(judged, answer);
    if (!answer.isGranted) {
      const refusal = refusalOf(judged, answer);
      if (refusal === undefined) throw new Error('a reservation was refused, and no limit is reached');
      events.onLimited(refusal.subject.kind, refusal.limit);
      return { type: 'refused', ...refusal, standings };
    }
    const { id, claims } = reservation;
    const { requests } = wanted;
    const isElsewhere = keeper !== this.ownKeeper;
    if (isElsewhere) this.useShare(judged, { requests, tokens: 0 }, false);
    this.goRound();
    if (id === undefined) return { type: 'granted', standings, settle() {}, giveBack() {} };
    this.held.set(id, { keeper, claims, budgets, untilMs: clock.now() + lastsMs + overdueMs });
    for (const { claim } of budgets) this.ownBudgets.hold(claim);
    const end = (amountOf: (meter: Meter) => number, ofShare: Amounts, cost = 0): void => {
      if (this.end(id, amountOf, cost) && isElsewhere) this.useShare(judged, ofShare, true);
    };
    return {
      type: 'granted',
      standings,
      settle: ({ tokens, nanodollars }: ActualUse) =>
        end(
          ({ name, amount }) => (name === 'tokens' ? tokens - amount : 0),
          { requests: 0, tokens },
          nanodollars,
        ),
      giveBack: () => end(({ amount }) => -amount, { requests: -requests, tokens: 0 }),
    };
  }

  /**
   * Once: what was given up, or has ended, does not end again.
   *
   * @param cost Nanodollars of its budgets.
   */
  private end(id: string, amountOf: (meter: Meter) => number, cost: number): boolean {
    const held = this.held.get(id);
    if (held === undefined) return false;
    this.held.delete(id);
    for (const { claim } of held.budgets)
      this.ownBudgets.settle(claim, cost, this.parts.ledger?.progress.appended());
    const claims = held.claims.map((claim) => ({
      ...claim,
      meters: claim.meters.map((meter) => ({ ...meter, amount: amountOf(meter) })),
    }));
    const settlementWith = (spent: number): Settlement => ({
      id,
      claims,
      ...(held.budgets.length === 0
        ? {}
        : { budgets: this.settledBudgets(held.budgets, spent), by: this.parts.name }),
    });
    // By then the ledger may have told of it, and others have told the store: what is added to what it keeps would be there twice for
    // good. What is told beside it has the rest.
    const lateCost = this.ledger === undefined ? cost : 0;
    held.keeper.settle(settlementWith(cost), () => settlementWith(lateCost));
    return true;
  }

  private settledBudgets(asked: readonly AskedBudget[], cost: number): readonly SettledBudget[] {
    return asked.map(({ subject, budget, bounds, claim: { key, endMs } }) => ({
      key,
      endMs,
      cost,
      told: {
        known: this.ledger?.spentOf(subject, budget, bounds) ?? 0,
        ownSpent: this.ownBudgets.read(key).spent,
      },
    }));
  }

  /** As long as there is anything to look after. */
  private goRound(): void {
    this.cancelRound ??= this.parts.clock.setTimer(renewEveryMs, () => {
      this.cancelRound = undefined;
      this.lookAfter();
      if (this.held.size + this.memory.size + this.ownBudgets.size > 0) this.goRound();
    });
  }

  private lookAfter(): void {
    const { clock } = this.parts;
    const nowMs = clock.now();
    // What it cost is not known here; the ledger may tell.
    for (const [id, { untilMs }] of this.held) if (untilMs <= nowMs) this.end(id, () => 0, 0);
    const places = Map.groupBy(this.held, ([, { keeper }]) => keeper);
    for (const [keeper, held] of places) {
      // Of budgets only a store has places: what is held here goes with this process.
      const isStore = keeper !== this.ownKeeper;
      keeper.renew(
        held.flatMap(([id, { claims, budgets }]) =>
          [...claims, ...(isStore ? budgets.map(({ claim }) => claim) : [])].map(({ key }) => ({ key, id })),
        ),
      );
    }
    this.memory.sweep(nowMs);
    this.ownBudgets.sweep(clock.wallMs());
  }
}

/** Of what is claimed as a whole, the part of one of so many pods. */
function shareOf(judged: readonly Judged[], wanted: Wanted, pods: number): readonly Judged[] {
  const subjects = judged.map(({ subject }) => subject);
  return judgedFor(subjects, wanted, Math.max(1, pods));
}

function judgedFor(subjects: readonly Subject[], wanted: Wanted, pods: number): readonly Judged[] {
  return subjects.flatMap((subject) => {
    const claim = claimOf(subject, wanted, pods);
    return claim === undefined ? [] : [{ subject, claim }];
  });
}

function tooLargeFor(
  judged: readonly Judged[],
  { tokensMin = 0 }: Wanted,
): Extract<Outcome, { readonly type: 'too-large' }> | undefined {
  for (const { subject } of judged) {
    const limit = subject.limits.tokensPerMinute;
    if (limit !== undefined && tokensMin > limit)
      return { type: 'too-large', subject, limit, tokens: tokensMin };
  }
  return undefined;
}
