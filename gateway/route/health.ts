// What has this pod learnt about each upstream? Kept per address of a provider, per model there, and per
// key; never shared between pods: a shared breaker would be a shared failure.

import type { TargetCalls, UpstreamHealth } from '../../core/contract/exchange.ts';
import type { TableView } from '../table/view.ts';
import { AnsweredLately, answerMemoryMs } from './answered-lately.ts';
import {
  type Circuit,
  type CircuitLimits,
  closedCircuit,
  isForgettable,
  mayTry,
  onAnswered,
  onFailure,
  onReleased,
  onStreamEnded,
  onStreamFailure,
  onTried,
  phaseOf,
  shareOf,
} from './circuit.ts';
import type { CooldownReason } from './cooldown.ts';
import { keyAtProvider, modelAtProvider, reportHealth, reportLinesMax } from './health-report.ts';
import { type CoolingKey, KeyCooldowns } from './key-cooldowns.ts';
import { LastAnswers } from './last-answers.ts';
import { OwnFailures } from './own-failures.ts';
import type { Candidate } from './plan.ts';
import { RecentCalls } from './recent-calls.ts';
import { RetryBudget } from './retry-budget.ts';

/** What a finished attempt says about the upstream. */
export type HealthSignal =
  | { readonly type: 'success' }
  /** The address does not answer; `cause` is one word for it. */
  | { readonly type: 'endpoint-failure'; readonly cause: string }
  /**
   * This model at this provider failed, or its stream broke off after the first content. `mayBeCallers`: the caller's request may
   * be the cause.
   */
  | { readonly type: 'target-failure'; readonly cause: string; readonly mayBeCallers?: boolean }
  /** The provider does not know the model. */
  | { readonly type: 'misconfigured'; readonly cause?: string }
  | KeyCooldown
  /** The key or identity lacks a right: counts as a failed call of the target, but for no breaker and no cooldown. */
  | { readonly type: 'denied'; readonly cause: string }
  /** Says nothing: a caller's mistake, a caller that went away. */
  | { readonly type: 'none' };

/** This key goes into cooldown. */
interface KeyCooldown {
  readonly type: 'key-cooldown';
  /** Of a rate limit: it puts the whole key into cooldown, not only for this model. */
  readonly isAccount?: boolean;
  readonly reason: CooldownReason;
  readonly cause?: string;
  readonly forMs: number;
  /** The provider asks for no wait at all: `forMs` is the longest that our own rule comes to. */
  readonly isOwnRule?: boolean;
}

/** The least bad of those that are all out of service is tried this often. */
const lastResortEveryMs = 1_000;

/** What is counted of a target, or of a key. */
class Cell {
  /** Attempts in flight. */
  inFlight = 0;
  /** Of a target. */
  readonly budget = new RetryBudget();
  /** Of a target. */
  readonly calls = new RecentCalls();
}

/** One attempt in flight. */
export interface Watched {
  readonly candidate: Candidate;
  readonly target: Cell;
  readonly key: Cell;
  readonly caller: string;
  readonly startedAtMs: number;
  hasContent: boolean;
}

/** One circuit that is not closed, or was not until lately. */
interface BreakerReading {
  readonly provider: string;
  /** Absent: the endpoint as a whole. */
  readonly upstreamModel?: string;
  readonly phase: 'open' | 'half-open' | 'slow-start';
}

/** A breaker of one candidate that is not closed. */
export interface BreakerOfCandidate extends Pick<BreakerReading, 'phase'> {
  readonly of: 'provider' | 'model';
  /** Half-open, and the one trial is in flight. */
  readonly isOnTrial: boolean;
  /** While it is open. */
  readonly forMs: number;
}

interface CooldownReading extends CoolingKey {
  readonly reason: CooldownReason;
  readonly forMs: number;
}

export class Health {
  private readonly random: () => number;
  private readonly circuits = new Map<string, Circuit>();
  private readonly cooldowns = new KeyCooldowns();
  /** By health id of the target and of the key. Looked up when an attempt begins, and not again. */
  private readonly cells = new Map<string, Cell>();
  /** Last tries of a target while all were out of service, by the target's health id. */
  private readonly lastResorts = new Map<string, number>();
  /** Targets whose provider said that it does not know the model; until it answers, or so long. */
  private readonly misconfigured = new Map<string, number>();
  private readonly answered = new AnsweredLately();
  private readonly lastAnswers = new LastAnswers();
  private readonly ownFailures = new OwnFailures();
  /** By health id of the targets of the newest table; undefined before there was a second one. */
  private limits: ReadonlyMap<string, CircuitLimits> | undefined;
  /** Health ids of the keys of the newest table; undefined as above. */
  private keys: ReadonlySet<string> | undefined;
  private phases = '';
  private changes = 0;

  /** @param random From 0 (inclusive) to 1 (exclusive). */
  constructor(random: () => number) {
    this.random = random;
  }

  isUsable(candidate: Candidate, nowMs: number): boolean {
    if (this.circuits.size === 0 && this.cooldowns.isEmpty) return true;
    if (this.cooldownReason(candidate, nowMs)) return false;
    return this.circuitsOf(candidate).every((circuit) => mayTry(circuit, nowMs));
  }

  /** Whether the next attempt is a trial; not for failures that give no verdict. */
  awaitsTrial(candidate: Candidate, nowMs: number): boolean {
    if (!this.cooldowns.isEmpty && cooldownIds(candidate).some((id) => this.cooldowns.isDue(id, nowMs)))
      return true;
    return this.circuitsOf(candidate).some((circuit) => phaseOf(circuit, nowMs) === 'half-open');
  }

  /** Whether its breakers are closed, slow start included; the cooldown of its key does not matter. */
  isClosed(candidate: Candidate, nowMs: number): boolean {
    return this.circuitsOf(candidate).every((circuit) => {
      const phase = phaseOf(circuit, nowMs);
      return phase === 'closed' || phase === 'slow-start';
    });
  }

  /** Whether fewer requests than allowed were repeated at the target lately. */
  hasBudget({ target }: Candidate, nowMs: number): boolean {
    return this.cells.get(target.healthId)?.budget.mayRepeat(nowMs) ?? true;
  }

  /**
   * The panic rule: if no candidate is usable, the position of the one whose open breaker closes soonest, if it
   * has not been tried as the last resort within a second. Keys in cooldown, and trials in flight, are no last resort.
   *
   * @param isPassedOver Candidates that are unusable for another reason than the upstream's health.
   */
  lastResort(
    candidates: readonly Candidate[],
    nowMs: number,
    isPassedOver: (position: number) => boolean = () => false,
  ): number | undefined {
    let best: { readonly position: number; readonly untilMs: number } | undefined;
    for (const [position, candidate] of candidates.entries()) {
      if (isPassedOver(position) || this.cooldownReason(candidate, nowMs)) continue;
      const shut = this.circuitsOf(candidate).filter((circuit) => !mayTry(circuit, nowMs));
      if (shut.some((circuit) => phaseOf(circuit, nowMs) !== 'open')) continue;
      const untilMs = Math.max(...shut.map(({ openUntilMs }) => openUntilMs));
      if (best === undefined || untilMs < best.untilMs) best = { position, untilMs };
    }
    const id = best && candidates[best.position]?.target.healthId;
    if (best === undefined || id === undefined) return undefined;
    const triedAtMs = this.lastResorts.get(id) ?? Number.NEGATIVE_INFINITY;
    return nowMs - triedAtMs < lastResortEveryMs ? undefined : best.position;
  }

  /** The part of its usual calls that a target is to get, from 0 to 1. */
  shareOf({ provider, healthId }: Pick<Candidate['target'], 'provider' | 'healthId'>, nowMs: number): number {
    if (this.circuits.size === 0) return 1;
    const share = (id: string): number => shareOf(this.circuits.get(id) ?? closedCircuit, nowMs);
    return Math.min(share(provider.healthId), share(healthId));
  }

  /** Attempts of this pod in flight at a target or with a key, by its health id. */
  inFlight(healthId: string): number {
    return this.cells.get(healthId)?.inFlight ?? 0;
  }

  /**
   * Called before each attempt: takes the one trial of a half-open circuit, and of a key that has rested.
   *
   * @param isRepetition The same candidate was asked before, for the same request.
   * @param caller The ApiKey that asks.
   */
  onStart(candidate: Candidate, isRepetition: boolean, nowMs: number, caller = ''): Watched {
    const { target, endpoint } = candidate;
    const ofTarget = this.cell(target.healthId);
    const ofKey = this.cell(endpoint.healthId);
    ofTarget.budget.onAsked(isRepetition, nowMs);
    ofTarget.inFlight++;
    ofKey.inFlight++;
    if (!this.cooldowns.isEmpty) for (const id of cooldownIds(candidate)) this.cooldowns.onStart(id, nowMs);
    if (this.circuits.size > 0) {
      const isOpen = this.circuitsOf(candidate).some((circuit) => phaseOf(circuit, nowMs) === 'open');
      if (isOpen) this.lastResorts.set(target.healthId, nowMs);
      for (const id of circuitIds(candidate)) this.change(id, (circuit) => onTried(circuit, nowMs));
    }
    return { candidate, target: ofTarget, key: ofKey, caller, startedAtMs: nowMs, hasContent: false };
  }

  /** Called with the first content of a stream: others need not wait for its end to try. */
  onContent(watched: Watched, nowMs: number): void {
    watched.hasContent = true;
    this.answer(watched, nowMs);
  }

  /** Called once for every attempt that was started. */
  onEnd(watched: Watched, signal: HealthSignal, nowMs: number): void {
    const { candidate, startedAtMs } = watched;
    const { target, endpoint } = candidate;
    watched.target.inFlight--;
    watched.key.inFlight--;
    if (!this.cooldowns.isEmpty)
      for (const id of cooldownIds(candidate)) this.cooldowns.onEnd(id, startedAtMs);
    const { breaker } = target.provider.entry;
    const limits = this.limits === undefined ? breaker : this.limits.get(target.healthId);
    // It began under an older table, and says nothing about an upstream of the present one.
    if (limits === undefined) return;
    const endpointId = target.provider.healthId;
    const targetId = target.healthId;
    count(watched, signal, nowMs);
    switch (signal.type) {
      case 'success':
        if (!this.answered.isNoted(endpoint.healthId)) this.remember(candidate);
        if (this.misconfigured.size > 0 && this.misconfigured.delete(targetId)) this.changes++;
        if (!watched.hasContent) this.answer(watched, nowMs);
        else if (this.circuits.size > 0) {
          this.change(endpointId, (circuit) => onStreamEnded(circuit, startedAtMs));
          this.change(targetId, (circuit) => onStreamEnded(circuit, startedAtMs));
        }
        if (this.circuits.size > 0) {
          this.forget(endpointId, nowMs);
          this.forget(targetId, nowMs);
        }
        return;
      case 'endpoint-failure':
        this.fail(endpointId, limits, watched, signal.cause, nowMs);
        this.release(targetId, startedAtMs);
        return;
      case 'target-failure':
        if (signal.mayBeCallers && !watched.hasContent && this.isCallersOwn(watched, nowMs)) {
          this.release(endpointId, startedAtMs);
          this.release(targetId, startedAtMs);
          return;
        }
        if (watched.hasContent) this.breakOff(targetId, limits, watched, signal.cause, nowMs);
        else this.fail(targetId, limits, watched, signal.cause, nowMs);
        this.release(endpointId, startedAtMs);
        return;
      case 'key-cooldown':
        this.coolDown(watched, signal, nowMs);
        this.release(endpointId, startedAtMs);
        this.release(targetId, startedAtMs);
        return;
      case 'misconfigured':
        if (!this.misconfigured.has(targetId)) this.changes++;
        this.misconfigured.set(targetId, nowMs);
        this.release(endpointId, startedAtMs);
        this.release(targetId, startedAtMs);
        return;
      case 'denied':
      case 'none':
        this.release(endpointId, startedAtMs);
        this.release(targetId, startedAtMs);
        return;
    }
  }

  /** Keeps the state of all that the new table still has: another address starts afresh, and so does a key with another credential. */
  adopt({ routes }: Pick<TableView, 'routes'>): void {
    const limits = new Map<string, CircuitLimits>();
    const [addresses, circuits, keys] = [new Set<string>(), new Set<string>(), new Set<string>()];
    for (const { provider, healthId, endpoints } of routes.flatMap((route) => route.targets)) {
      const { breaker } = provider.entry;
      limits.set(healthId, breaker);
      addresses.add(provider.healthId);
      if (breaker.consecutiveFailures > 0) circuits.add(provider.healthId).add(healthId);
      for (const endpoint of endpoints) keys.add(endpoint.healthId);
    }
    this.limits = limits;
    this.keys = keys;
    this.changes += this.cooldowns.keepOnly(keys);
    this.lastAnswers.keepOnly(keys);
    for (const id of this.circuits.keys()) if (!circuits.has(id)) this.circuits.delete(id);
    for (const id of this.misconfigured.keys()) {
      if (!limits.has(id) && this.misconfigured.delete(id)) this.changes++;
    }
    this.changes += this.answered.keepOnly(addresses);
    for (const [id, { calls }] of this.cells) if (!limits.has(id) && calls.forget()) this.changes++;
  }

  /** Why the candidate's key is in cooldown, or on trial after one; undefined if it may be used. */
  cooldownReason(candidate: Candidate, nowMs: number): CooldownReason | undefined {
    const id = this.restId(candidate, nowMs);
    return id === undefined ? undefined : this.cooldowns.reasonOf(id, nowMs);
  }

  /** Whether the candidate's key is in cooldown for its model only. */
  restsForModel(candidate: Candidate, nowMs: number): boolean {
    const id = this.restId(candidate, nowMs);
    return id !== undefined && id !== candidate.endpoint.healthId;
  }

  /** When to check again whether the candidate's key may be used; undefined without a cooldown. */
  restMs(candidate: Candidate, nowMs: number): number | undefined {
    const waits = cooldownIds(candidate).flatMap((id) => this.cooldowns.lookAgainMs(id, nowMs) ?? []);
    return waits.length === 0 ? undefined : Math.max(...waits);
  }

  /**
   * How long its key is still in cooldown after a rate limit, if nothing else rules the candidate out.
   *
   * @param hasWaited A request that has waited for the key waits for its trial too.
   */
  coolsForMs(candidate: Candidate, nowMs: number, hasWaited: boolean): number | undefined {
    if (this.cooldownReason(candidate, nowMs) !== 'rate-limit') return undefined;
    if (this.isOnTrial(candidate, nowMs) && !hasWaited) return undefined;
    return this.isClosed(candidate, nowMs) ? this.restMs(candidate, nowMs) : undefined;
  }

  /** Whether the trial call of its key is in flight. */
  isOnTrial(candidate: Candidate, nowMs: number): boolean {
    return cooldownIds(candidate).some((id) => this.cooldowns.isOnTrial(id, nowMs));
  }

  /** Its breakers that are not closed, of the provider's address and of the model there. */
  breakersOf(candidate: Candidate, nowMs: number): readonly BreakerOfCandidate[] {
    return this.circuitsOf(candidate).flatMap((circuit, at) => {
      const phase = phaseOf(circuit, nowMs);
      if (phase === 'closed') return [];
      const of = at === 0 ? ('provider' as const) : ('model' as const);
      return [{ of, phase, isOnTrial: !mayTry(circuit, nowMs), forMs: circuit.openUntilMs - nowMs }];
    });
  }

  /** The shortest time until one of the candidates may be tried again, in milliseconds. */
  usableInMs(candidates: readonly Candidate[], nowMs: number): number {
    const waits = candidates.map((candidate) => {
      const until = [
        ...cooldownIds(candidate).map((id) => this.cooldowns.untilMs(id)),
        ...circuitIds(candidate).map((id) => this.circuits.get(id)?.openUntilMs ?? 0),
      ];
      return Math.max(0, ...until.map((time) => time - nowMs));
    });
    return waits.length === 0 ? 0 : Math.min(...waits);
  }

  /** Changes when a report would: a number to compare, not to read. */
  revision(nowMs: number): number {
    this.cooldowns.forget(nowMs);
    this.lastAnswers.forget(nowMs, answerMemoryMs);
    this.ownFailures.forget(nowMs);
    for (const [id, saidAtMs] of this.misconfigured) {
      if (nowMs - saidAtMs < answerMemoryMs) continue;
      this.misconfigured.delete(id);
      this.changes++;
    }
    if (this.answered.forgetOld(nowMs)) this.changes++;
    for (const id of this.circuits.keys()) this.forget(id, nowMs);
    for (const [id, { inFlight, budget, calls }] of this.cells) {
      if (calls.hasNews(nowMs)) this.changes++;
      if (inFlight === 0 && budget.isSpent(nowMs) && calls.isEmpty) this.cells.delete(id);
    }
    for (const [id, triedAtMs] of this.lastResorts) {
      if (nowMs - triedAtMs >= lastResortEveryMs) this.lastResorts.delete(id);
    }
    // Circuits and cooldowns also change with time alone.
    const phases = [
      ...[...this.circuits].map(([id, circuit]) => `${id} ${phaseOf(circuit, nowMs)} ${circuit.openUntilMs}`),
      ...this.cooldowns.untrusted(nowMs, answerMemoryMs).map(([id]) => id),
    ].join();
    if (phases !== this.phases) this.changes++;
    this.phases = phases;
    return this.changes;
  }

  /** Circuits that are not closed. */
  breakers(nowMs: number): readonly BreakerReading[] {
    return [...this.circuits].flatMap(([id, circuit]) => {
      const phase = phaseOf(circuit, nowMs);
      return phase === 'closed' ? [] : [{ ...modelAtProvider(id), phase }];
    });
  }

  /** Keys in cooldown. */
  coolingKeys(nowMs: number): readonly CooldownReading[] {
    return this.cooldowns
      .coolingDown(nowMs)
      .map(([, { at, reason, untilMs }]) => ({ ...at, reason, forMs: untilMs - nowMs }));
  }

  /** Targets whose provider does not know the model. */
  misconfiguredTargets(): readonly { readonly provider: string; readonly upstreamModel: string }[] {
    return [...this.misconfigured.keys()].slice(0, reportLinesMax).flatMap((id) => {
      const { provider, upstreamModel } = modelAtProvider(id);
      return upstreamModel === undefined ? [] : [{ provider, upstreamModel }];
    });
  }

  /** The result of the recent calls of each target, failing ones first. @param unixOffsetMs As below. */
  targetCalls(nowMs: number, unixOffsetMs: number): readonly TargetCalls[] {
    const lines = [...this.cells].flatMap(([id, cell]): TargetCalls[] => {
      const reading = cell.calls.read(nowMs);
      const { provider, upstreamModel } = modelAtProvider(id);
      if (reading === undefined || upstreamModel === undefined) return [];
      const { state, calls, failed, cause, sinceMs } = reading;
      const why = {
        ...(cause === undefined ? {} : { cause }),
        sinceMs: Math.max(0, Math.round(sinceMs + unixOffsetMs)),
      };
      return [{ provider, upstreamModel, state, calls, failed, ...(state === 'answering' ? {} : why) }];
    });
    return lines.sort((a, b) => callsOrder[a.state] - callsOrder[b.state]).slice(0, reportLinesMax);
  }

  /**
   * All that is known, in the words of the exchange.
   *
   * @param unixOffsetMs What makes a time of the clock Unix milliseconds.
   */
  report(nowMs: number, unixOffsetMs: number): readonly UpstreamHealth[] {
    const { circuits, cooldowns, answered } = this;
    return reportHealth(
      { circuits, coolingDown: cooldowns.untrusted(nowMs, answerMemoryMs), answered: answered.all() },
      { nowMs, unixOffsetMs },
    );
  }

  private cell(id: string): Cell {
    let cell = this.cells.get(id);
    if (cell === undefined) {
      cell = new Cell();
      this.cells.set(id, cell);
    }
    return cell;
  }

  private remember({ target, endpoint }: Candidate): void {
    const { healthId, key } = endpoint;
    const { entry, healthId: address } = target.provider;
    if (this.answered.note(healthId, { ...keyAtProvider(entry.id, key?.name), address })) this.changes++;
  }

  private coolDown(watched: Watched, signal: KeyCooldown, nowMs: number): void {
    const { candidate, caller, startedAtMs } = watched;
    const { target, endpoint } = candidate;
    const [keyId, modelId] = cooldownIds(candidate);
    // A former value of the key is never used again, so no call would find that it works.
    if (this.keys?.has(keyId) === false) return;
    const isModels = signal.reason === 'rate-limit' && signal.isAccount !== true;
    const model = isModels ? target.healthId : undefined;
    // Old news: what was asked later has been answered.
    if (startedAtMs < this.lastAnswers.youngestStartMs(keyId, model)) return;
    const { reason, forMs, isOwnRule = false } = signal;
    const refuse = (id: string, at: CoolingKey, ofModel: string | undefined): void => {
      const othersAtMs = this.lastAnswers.othersAtMs(caller, keyId, ofModel);
      const refusal = { reason, forMs, isOwnRule, caller, startedAtMs, othersAtMs };
      this.cooldowns.onRefused(id, { keyId, at }, refusal, nowMs);
    };
    const at = keyAtProvider(target.provider.entry.id, endpoint.key?.name);
    // Two models of one key that are limited at once: it is the account that is.
    const isKeys = !isModels || this.cooldowns.coolsDownForOther(keyId, modelId, nowMs);
    if (isModels) refuse(modelId, { ...at, upstreamModel: target.entry.upstreamModel }, model);
    if (isKeys) refuse(keyId, at, undefined);
    this.changes++;
    // It works again when it has answered again, not when its time is up; what it answered to with a former
    // credential is no answer to this one.
    if (isKeys || !this.lastAnswers.hasOtherThan(keyId, target.healthId)) this.answered.forgetKey(at);
  }

  /**
   * Whether a failure is taken for the caller's own: others are answered by the same model, and it is not the first of this caller since
   * it was answered itself.
   */
  private isCallersOwn({ candidate: { target }, caller }: Watched, nowMs: number): boolean {
    const othersAtMs = target.endpoints.map(({ healthId }) =>
      this.lastAnswers.othersAtMs(caller, healthId, target.healthId),
    );
    return this.ownFailures.onFailure(target.healthId, caller, Math.max(...othersAtMs), nowMs);
  }

  /** The cooldown of the candidate's key, whole or for its model: the longer one. */
  private restId(candidate: Candidate, nowMs: number): string | undefined {
    if (this.cooldowns.isEmpty) return undefined;
    const [keyId, modelId] = cooldownIds(candidate).filter(
      (id) => this.cooldowns.reasonOf(id, nowMs) !== undefined,
    );
    if (keyId === undefined || modelId === undefined) return keyId;
    return this.cooldowns.untilMs(modelId) > this.cooldowns.untilMs(keyId) ? modelId : keyId;
  }

  private circuitsOf(candidate: Candidate): readonly Circuit[] {
    return circuitIds(candidate).map((id) => this.circuits.get(id) ?? closedCircuit);
  }

  private answer({ candidate, target: cell, caller, startedAtMs }: Watched, nowMs: number): void {
    const { target, endpoint } = candidate;
    cell.calls.onAnswered();
    this.lastAnswers.note(endpoint.healthId, target.healthId, caller, startedAtMs, nowMs);
    if (!this.cooldowns.isEmpty)
      for (const id of cooldownIds(candidate)) this.cooldowns.onAnswered(id, startedAtMs);
    this.ownFailures.onAnswered(target.healthId, caller);
    if (this.circuits.size === 0) return;
    for (const id of circuitIds(candidate)) {
      this.change(id, (circuit) => onAnswered(circuit, startedAtMs, nowMs));
    }
  }

  private release(id: string, startedAtMs: number): void {
    this.change(id, (circuit) => onReleased(circuit, startedAtMs));
  }

  private change(id: string, step: (circuit: Circuit) => Circuit): void {
    const circuit = this.circuits.get(id);
    if (circuit) this.circuits.set(id, step(circuit));
  }

  private forget(id: string, nowMs: number): void {
    const circuit = this.circuits.get(id);
    if (circuit && isForgettable(circuit, nowMs)) this.circuits.delete(id);
  }

  private fail(id: string, limits: CircuitLimits, watched: Watched, cause: string, nowMs: number): void {
    const { startedAtMs } = watched;
    const circuit = this.circuits.get(id) ?? closedCircuit;
    this.circuits.set(id, onFailure(circuit, limits, { startedAtMs, cause }, nowMs, this.random()));
  }

  private breakOff(id: string, limits: CircuitLimits, watched: Watched, cause: string, nowMs: number): void {
    const { startedAtMs } = watched;
    const circuit = this.circuits.get(id) ?? closedCircuit;
    this.circuits.set(id, onStreamFailure(circuit, limits, { startedAtMs, cause }, nowMs, this.random()));
  }
}

const callsOrder = { failing: 0, partly: 1, answering: 2 } as const;

/** A success was counted with its answer. */
function count({ target: { calls }, hasContent }: Watched, signal: HealthSignal, nowMs: number): void {
  switch (signal.type) {
    case 'endpoint-failure':
    case 'target-failure':
    case 'misconfigured':
      calls.onFailed(signal.cause, hasContent, nowMs);
      return;
    case 'key-cooldown':
      if (signal.reason === 'rate-limit') calls.onLimited(signal.cause, nowMs);
      else calls.onFailed(signal.cause, hasContent, nowMs);
      return;
    case 'denied':
      // One caller's requests may be all that is denied: where others are answered, the target does not fail.
      calls.onLimited(signal.cause, nowMs);
      return;
    case 'success':
    case 'none':
      return;
  }
}

function circuitIds({ target }: Candidate): readonly [endpointId: string, targetId: string] {
  return [target.provider.healthId, target.healthId];
}

/** Of a key as a whole, and of the key for one model. */
function cooldownIds({ target, endpoint }: Candidate): readonly [keyId: string, modelId: string] {
  return [endpoint.healthId, `${endpoint.healthId} ${target.healthId}`];
}
