// May this request begin? One number is compared for each; what it should be is found out by looking at the process ten times a
// second, for as long as there is work.

import type { Clock } from '../../core/clock.ts';
import { hasFairShare, type KeyUse, leavesPlaces, type TenantUse, tenantShare } from './fair-share.ts';
import { HeldBodies, type HeldBody } from './held-bodies.ts';
import {
  calm,
  judgeBusy,
  judgeLoad,
  type LoadBounds,
  type LoadVerdict,
  type ShedReason,
} from './judge-load.ts';
import type { LoadMeter } from './load-meter.ts';

interface AdmissionOptions {
  readonly clock: Clock;
  readonly bounds: LoadBounds;
  /** Bytes of request bodies in flight. */
  readonly bodyBytesMax: number;
  readonly meter: LoadMeter;
  onShed(reason: ShedReason): void;
  /** Whether new connections may be taken has changed. */
  onAccepting(accepts: boolean): void;
  /** With each look: whether the event loop is so busy that long answers are to be read in turn. */
  onLook(isBusy: boolean): void;
}

/** Whose request it is. */
interface Asker {
  readonly key: { readonly id: string };
  readonly namespace: string;
}

const lookEveryMs = 100;

/** Checks for which an idle key is remembered: a caller with a few requests a second counts as present all the time. */
const idleLooksMax = 10;

export class Admission {
  private readonly options: AdmissionOptions;
  private verdict: LoadVerdict;
  private lastLoopDelayMs = 0;
  private inFlight = 0;
  /** Of keys with requests in flight, now or lately. */
  private readonly keys = new Map<string, KeyUse>();
  private readonly tenants = new Map<string, TenantUse>();
  private isBusy = false;
  private readonly bodies: HeldBodies;
  private isLooking = false;
  private lookedAt = 0;
  /** Since the last look. */
  private hasWorked = false;

  constructor(options: AdmissionOptions) {
    this.options = options;
    this.bodies = new HeldBodies(options.bodyBytesMax, options.onShed);
    this.verdict = calm(options.bounds);
  }

  /** Whether one more request may be in flight, from any caller. */
  mayEnter(): boolean {
    this.hasWorked = true;
    if (!this.isLooking) this.startLooking();
    // guard: in-flight-max
    if (this.inFlight < (this.isLate ? this.options.bounds.inFlightMax : this.verdict.inFlightMax))
      return true;
    this.options.onShed(this.verdict.reason);
    return false;
  }

  /** Work is bounded by what the event loop showed. */
  private get isLate(): boolean {
    return this.verdict.reason === 'event_loop';
  }

  /** So many requests are in flight that admission depends on the caller (`mayTake`); below that no request is refused. */
  get isCrowded(): boolean {
    return this.isLate && this.inFlight >= Math.floor(this.verdict.inFlightMax * tenantShare);
  }

  /** Whether several keys have requests in flight, now or lately. */
  get hasOtherKeys(): boolean {
    return this.keys.size > 1;
  }

  /** Whether this key may have one more in flight; nothing is taken. Undefined: a request without a good key. */
  mayTake(asker: Asker | undefined): boolean {
    return this.hasPlace(asker && this.useOf(asker));
  }

  private hasPlace(key: KeyUse | undefined): boolean {
    if (this.leavesPlace(key)) return true;
    this.options.onShed(this.verdict.reason);
    return false;
  }

  private leavesPlace(key: KeyUse | undefined): boolean {
    const { inFlightMax } = this.verdict;
    if (!key) return this.inFlight < inFlightMax;
    return this.isLate
      ? hasFairShare(key, this.tenants.values(), inFlightMax)
      : leavesPlaces(key, inFlightMax - this.inFlight);
  }

  /** Undefined: there is no place. Else it is in flight until `leave`. */
  enter(asker: Asker): KeyUse | undefined {
    if (!this.mayEnter()) return undefined;
    const key = this.useOf(asker);
    if (!this.hasPlace(key)) return undefined;
    this.count(key, 1);
    return key;
  }

  leave(key: KeyUse): void {
    this.count(key, -1);
  }

  private count(key: KeyUse, change: 1 | -1): void {
    this.inFlight += change;
    key.inFlight += change;
    key.tenant.inFlight += change;
  }

  private useOf({ key, namespace }: Asker): KeyUse {
    const known = this.keys.get(key.id);
    if (known) return known;
    const tenant = this.tenants.get(namespace) ?? { inFlight: 0, keys: new Set() };
    this.tenants.set(namespace, tenant);
    const use = { inFlight: 0, idleLooks: 0, tenant };
    tenant.keys.add(use);
    this.keys.set(key.id, use);
    return use;
  }

  private forgetIdle(): void {
    for (const [id, key] of this.keys) {
      key.idleLooks = key.inFlight > 0 ? 0 : key.idleLooks + 1;
      if (key.idleLooks > idleLooksMax) this.keys.delete(id) && key.tenant.keys.delete(key);
    }
    for (const [namespace, { keys }] of this.tenants) if (keys.size === 0) this.tenants.delete(namespace);
    this.bodies.forgetIdle();
  }

  /** Room for one request body of this caller, until it is closed. Only bytes that have come take any. */
  openBody(caller: string): HeldBody {
    return this.bodies.open(caller);
  }

  get bodyBytesInFlight(): number {
    return this.bodies.bytes;
  }

  /** 0 while nothing is in flight. */
  get loopDelayMs(): number {
    return this.lastLoopDelayMs;
  }

  get inFlightMax(): number {
    return this.verdict.inFlightMax;
  }

  private startLooking(): void {
    this.isLooking = true;
    this.lookedAt = this.options.clock.now();
    this.options.meter.start();
    this.lookLater();
  }

  private lookLater(): void {
    this.options.clock.setTimer(lookEveryMs, () => {
      this.look();
      // An idle process needs no timer.
      if (this.hasWorked || this.inFlight > 0 || this.verdict.reason !== 'in_flight') {
        this.hasWorked = false;
        this.lookLater();
        return;
      }
      this.isLooking = false;
      this.lastLoopDelayMs = 0;
      this.keys.clear();
      this.tenants.clear();
      this.options.meter.stop();
    });
  }

  private look(): void {
    const { bounds, clock, meter, onAccepting, onLook } = this.options;
    const now = clock.now();
    const looks = Math.max(1, (now - this.lookedAt) / lookEveryMs);
    this.lookedAt = now;
    const reading = { ...meter.read(bounds.heapShareMax), inFlight: this.inFlight, looks };
    this.lastLoopDelayMs = reading.loopDelayMs ?? this.lastLoopDelayMs;
    const before = this.verdict;
    this.verdict = judgeLoad(before, reading, bounds);
    this.bodies.isMemoryShort = this.verdict.reason === 'heap';
    if (this.verdict.accepts !== before.accepts) onAccepting(this.verdict.accepts);
    this.forgetIdle();
    this.isBusy = judgeBusy(this.isBusy, reading);
    onLook(this.isBusy);
  }
}
