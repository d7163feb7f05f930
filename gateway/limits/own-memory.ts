// Where are limits kept that this process enforces by itself? Levels and places by subject, in memory; time comes in with each
// call.

import { type Level, type Meter, meterAt, usedAfter, usedAt } from './meter.ts';
import {
  type Claim,
  isGranted,
  leaseMs,
  type Reading,
  type Reservation,
  type ReservationAnswer,
  type Settlement,
} from './reservation.ts';

interface SubjectState {
  readonly levels: Map<string, Level & { readonly leakPerMs: number }>;
  /** When the lease of each reservation under way is over, by its id. */
  readonly places: Map<string, number>;
}

export class OwnMemory {
  private readonly subjects = new Map<string, SubjectState>();

  /** Subjects of which anything is known. */
  get size(): number {
    return this.subjects.size;
  }

  reserve({ id, claims }: Reservation, nowMs: number): ReservationAnswer {
    const readings = claims.map((claim) => this.read(claim, nowMs));
    const granted = isGranted(claims, readings); // guard: all-limits-or-none
    if (granted) {
      for (const [at, claim] of claims.entries()) {
        const state = this.stateOf(claim.key);
        for (const [of, meter] of claim.meters.entries())
          keep(state, meter, (readings[at]?.used[of] ?? 0) + meter.amount, nowMs);
        if (id !== undefined) state.places.set(id, nowMs + leaseMs);
      }
    }
    return { isGranted: granted, nowMs, readings };
  }

  /** As a reservation would find it; nothing is changed. */
  look(claims: readonly Claim[], nowMs: number): readonly Reading[] {
    return claims.map(({ key, meters }) => {
      const state = this.subjects.get(key);
      return {
        used: meters.map((meter) => usedAt(state?.levels.get(meter.name), meter, nowMs)),
        held: [...(state?.places.values() ?? [])].filter((untilMs) => untilMs > nowMs).length,
      };
    });
  }

  /** What is not held any more was settled before, or its lease is over: it changes nothing. */
  settle({ id, claims }: Settlement, nowMs: number): void {
    for (const { key, meters } of claims) {
      const state = this.subjects.get(key);
      if (state === undefined) continue;
      endLeases(state, nowMs);
      if (!state.places.delete(id)) continue;
      for (const given of meters) {
        const level = state.levels.get(given.name);
        const meter = meterAt(given, level);
        keep(state, meter, usedAfter(usedAt(level, meter, nowMs), meter.amount, meter.capacity), nowMs);
      }
    }
  }

  /**
   * Counts what was let through elsewhere: it uses up what is here, and is never owed here.
   *
   * @param claims below 0: amounts that are given back.
   * @param isEnded It was let through earlier, perhaps by another limit.
   */
  charge(claims: readonly Claim[], nowMs: number, isEnded: boolean): void {
    for (const { key, meters } of claims) {
      const state = this.stateOf(key);
      for (const given of meters) {
        const level = state.levels.get(given.name);
        const meter = isEnded ? meterAt(given, level) : given;
        const used = usedAt(level, meter, nowMs);
        const after = Math.max(0, used + meter.amount);
        keep(state, meter, Math.min(after, Math.max(used, meter.capacity)), nowMs);
      }
    }
  }

  renew(places: readonly { readonly key: string; readonly id: string }[], nowMs: number): void {
    for (const { key, id } of places) {
      const state = this.stateOf(key);
      state.places.delete(id);
      state.places.set(id, nowMs + leaseMs);
    }
  }

  /** Forgets subjects of which nothing is used and nothing under way. */
  sweep(nowMs: number): void {
    for (const [key, state] of this.subjects) {
      endLeases(state, nowMs);
      const isEmpty = [...state.levels.values()].every((level) => usedAt(level, level, nowMs) === 0);
      if (isEmpty && state.places.size === 0) this.subjects.delete(key);
    }
  }

  private read({ key, meters }: Claim, nowMs: number): Reading {
    const state = this.subjects.get(key);
    if (state === undefined) return { used: meters.map(() => 0), held: 0 };
    endLeases(state, nowMs);
    return {
      used: meters.map((meter) => usedAt(state.levels.get(meter.name), meter, nowMs)),
      held: state.places.size,
    };
  }

  private stateOf(key: string): SubjectState {
    const known = this.subjects.get(key);
    if (known !== undefined) return known;
    const state: SubjectState = { levels: new Map(), places: new Map() };
    this.subjects.set(key, state);
    return state;
  }
}

function keep({ levels }: SubjectState, { name, limit, leakPerMs }: Meter, used: number, atMs: number): void {
  levels.set(name, { used, atMs, limit, leakPerMs });
}

/** Leases are all of one length and a renewal puts its place at the end, so that the first that is not over ends the search. */
function endLeases({ places }: SubjectState, nowMs: number): void {
  for (const [id, untilMs] of places) {
    if (untilMs > nowMs) return;
    places.delete(id);
  }
}
