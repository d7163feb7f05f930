// Where are limits kept that this process enforces alone? A cell for each subject, in memory; time comes in with each call.

import { type Cell, haveRoomFor, Seat } from './seat.ts';
import type { Amounts, Subject, Wanted } from './subject.ts';

export class OwnMemory {
  private readonly cells = new Map<string, Cell>();
  private readonly seats = new WeakMap<Subject, Seat>();
  /** Of subjects that are checked together. */
  private readonly rows = new WeakMap<readonly Subject[], readonly Seat[]>();

  /** Subjects of which anything is known. */
  get size(): number {
    return this.cells.size;
  }

  seatsOf(subjects: readonly Subject[]): readonly Seat[] {
    let row = this.rows.get(subjects);
    if (row === undefined) {
      row = subjects.map((subject) => this.seatOf(subject));
      this.rows.set(subjects, row);
    }
    return row;
  }

  seatOf(subject: Subject): Seat {
    const known = this.seats.get(subject);
    if (known !== undefined) return known;
    const seat = new Seat(subject);
    this.seats.set(subject, seat);
    return seat;
  }

  /** As a reservation would find it; nothing is changed. */
  look(seats: readonly Seat[], pods: number, nowMs: number): void {
    for (const seat of seats) {
      this.find(seat);
      seat.look(pods, nowMs);
    }
  }

  /** False: there is no room at one of them, and nothing is taken of any. */
  reserve(seats: readonly Seat[], wanted: Wanted, pods: number, nowMs: number): boolean {
    this.look(seats, pods, nowMs);
    if (!haveRoomFor(seats, wanted, pods)) return false; // guard: all-limits-or-none
    for (const seat of seats) {
      this.keep(seat);
      seat.take(wanted, pods, nowMs);
    }
    return true;
  }

  /** Counts a request here that was admitted, or settled, elsewhere. */
  charge(seats: readonly Seat[], amounts: Amounts, pods: number, nowMs: number, isEnded: boolean): void {
    for (const seat of seats) {
      this.keep(seat);
      seat.charge(amounts, pods, nowMs, isEnded);
    }
  }

  /** Forgets subjects with nothing used and nothing in flight. */
  sweep(nowMs: number): void {
    for (const [key, cell] of this.cells) {
      if (!cell.isEmptyAt(nowMs)) continue;
      cell.isKept = false;
      this.cells.delete(key);
    }
  }

  /** Looks again for a subject that was not found before. */
  private find(seat: Seat): void {
    if (!seat.cell.isKept) seat.cell = this.cells.get(seat.key) ?? seat.cell;
  }

  private keep(seat: Seat): void {
    this.find(seat);
    const { key, cell } = seat;
    if (cell.isKept) return;
    cell.isKept = true;
    this.cells.set(key, cell);
  }
}
