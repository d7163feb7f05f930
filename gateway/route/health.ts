// What has this pod learnt about each upstream? Kept per provider, per provider and model, and per
// key; never shared between pods: a shared breaker would be a shared failure.

import type { UpstreamHealth } from '../contract/exchange.ts';
import type { TableView } from '../table/view.ts';
import {
  type Circuit,
  type CircuitLimits,
  closedCircuit,
  mayTry,
  onContent,
  onFailure,
  onSuccess,
  onTried,
} from './circuit.ts';
import type { Candidate } from './plan.ts';

/** Why a key rests: rate limits pass by themselves, the others want a person. */
export type RestReason = 'rate-limit' | 'out-of-money' | 'rejected';

/** What a finished attempt says about the upstream. */
export type HealthSignal =
  | { readonly type: 'success' }
  /** The address does not answer. */
  | { readonly type: 'endpoint-failure' }
  /** This model at this provider failed. */
  | { readonly type: 'target-failure' }
  /** This key must rest. */
  | { readonly type: 'key-rest'; readonly forMs: number; readonly reason: RestReason }
  /** Says nothing: a caller's mistake, a caller that went away. */
  | { readonly type: 'none' };

/** Whom a health id stands for. */
interface KeyAtProvider {
  readonly provider: string;
  /** Absent where the provider takes none. */
  readonly key?: string;
}

interface Rest extends KeyAtProvider {
  readonly untilMs: number;
  readonly reason: RestReason;
}

/** What has not answered for so long, to twice as long, is no longer reported as working. */
const answerMemoryMs = 600_000;

/** Lines of one report; troubles come first, and the rest is left out. */
const reportLinesMax = 1_000;

const restStates = {
  'rate-limit': 'rate-limited',
  'out-of-money': 'out-of-money',
  rejected: 'rejected',
} as const satisfies Record<RestReason, UpstreamHealth['state']>;

export class Health {
  private readonly circuits = new Map<string, Circuit>();
  /** By health id of the key. */
  private readonly rests = new Map<string, Rest>();
  /** By health id: who has answered lately. Two spans of time, of which the older one is forgotten as a whole. */
  private answered = new Map<string, KeyAtProvider>();
  private answeredBefore = new Map<string, KeyAtProvider>();
  private answeredSinceMs = 0;
  private changes = 0;

  isUsable(candidate: Candidate, nowMs: number): boolean {
    if (this.circuits.size === 0 && this.rests.size === 0) return true;
    if (this.restReason(candidate, nowMs)) return false;
    return circuitIds(candidate).every((id) => mayTry(this.circuits.get(id) ?? closedCircuit, nowMs));
  }

  /** Called before each attempt: takes the one trial of a half-open circuit. */
  onStart(candidate: Candidate, nowMs: number): void {
    if (this.circuits.size === 0) return;
    for (const id of circuitIds(candidate)) {
      const circuit = this.circuits.get(id);
      if (circuit) this.circuits.set(id, onTried(circuit, nowMs));
    }
  }

  /** Called with the first content of a stream: others need not wait for its end to try. */
  onContent(candidate: Candidate, nowMs: number): void {
    if (this.circuits.size === 0) return;
    for (const id of circuitIds(candidate)) {
      const circuit = this.circuits.get(id);
      const next = circuit && onContent(circuit, nowMs);
      if (next === undefined || next === circuit) continue;
      this.circuits.set(id, next);
      this.changes++;
    }
  }

  onEnd(candidate: Candidate, signal: HealthSignal, nowMs: number): void {
    const [endpointId, targetId] = circuitIds(candidate);
    switch (signal.type) {
      case 'success':
        if (!this.answered.has(candidate.endpoint.healthId)) this.remember(candidate);
        if (this.circuits.size === 0) return;
        this.succeed(endpointId, nowMs);
        this.succeed(targetId, nowMs);
        return;
      case 'endpoint-failure':
        this.fail(endpointId, candidate.target.provider.entry.breaker, nowMs);
        this.releaseTrial(targetId);
        return;
      case 'target-failure':
        this.fail(targetId, candidate.target.provider.entry.breaker, nowMs);
        this.releaseTrial(endpointId);
        return;
      case 'key-rest':
        this.rest(candidate, nowMs + signal.forMs, signal.reason);
        this.releaseTrial(endpointId);
        this.releaseTrial(targetId);
        return;
      case 'none':
        this.releaseTrial(endpointId);
        this.releaseTrial(targetId);
        return;
    }
  }

  /** A key that was rejected rests as long as its credential is the same: with another one it begins anew. */
  adopt({ routes }: Pick<TableView, 'routes'>): void {
    if (this.rests.size === 0) return;
    const ids = new Set(
      routes.flatMap(({ targets }) =>
        targets.flatMap(({ endpoints }) => endpoints.map(({ healthId }) => healthId)),
      ),
    );
    for (const id of this.rests.keys()) {
      if (ids.has(id)) continue;
      this.rests.delete(id);
      this.changes++;
    }
  }

  /** Why the candidate's key rests; undefined where it does not. */
  restReason({ endpoint }: Candidate, nowMs: number): RestReason | undefined {
    const rest = this.rests.get(endpoint.healthId);
    return rest && nowMs < rest.untilMs ? rest.reason : undefined;
  }

  /** The shortest time until one of the candidates may be tried again, in milliseconds. */
  usableInMs(candidates: readonly Candidate[], nowMs: number): number {
    const waits = candidates.map((candidate) => {
      const until = [
        this.rests.get(candidate.endpoint.healthId)?.untilMs ?? 0,
        ...circuitIds(candidate).map((id) => this.circuits.get(id)?.openUntilMs ?? 0),
      ];
      return Math.max(0, ...until.map((time) => time - nowMs));
    });
    return waits.length === 0 ? 0 : Math.min(...waits);
  }

  /** Changes when a report would: a number to compare, not to read. */
  revision(nowMs: number): number {
    for (const [id, { untilMs }] of this.rests) {
      if (nowMs < untilMs) continue;
      this.rests.delete(id);
      this.changes++;
    }
    if (nowMs - this.answeredSinceMs >= answerMemoryMs) {
      if (this.answeredBefore.size > 0) this.changes++;
      this.answeredBefore = this.answered;
      this.answered = new Map();
      this.answeredSinceMs = nowMs;
    }
    return this.changes;
  }

  /**
   * All that is known, in the words of the exchange.
   *
   * @param unixOffsetMs What makes a time of the clock Unix milliseconds.
   */
  report(nowMs: number, unixOffsetMs: number): readonly UpstreamHealth[] {
    const until = (untilMs: number): { untilMs: number } => ({
      untilMs: Math.max(0, Math.round(untilMs + unixOffsetMs)),
    });
    const open = [...this.circuits].filter(([, { openings, isAnswering }]) => openings > 0 && !isAnswering);
    const resting = [...this.rests].filter(([, { untilMs }]) => nowMs < untilMs);
    const silent = new Set([...open, ...resting].map(([id]) => id));
    const working = new Map([...this.answeredBefore, ...this.answered]);
    return [
      ...open.map(([id, { openUntilMs }]): UpstreamHealth => {
        const [provider = id, upstreamModel] = splitCircuitId(id);
        const model = upstreamModel === undefined ? {} : { upstreamModel };
        return { provider, ...model, state: 'open', ...until(openUntilMs) };
      }),
      ...resting.map(
        ([, { provider, key, untilMs, reason }]): UpstreamHealth => ({
          ...keyAtProvider(provider, key),
          state: restStates[reason],
          ...until(untilMs),
        }),
      ),
      ...[...working]
        .filter(([id, { provider }]) => !silent.has(id) && !silent.has(provider))
        .map(
          ([, { provider, key }]): UpstreamHealth => ({ ...keyAtProvider(provider, key), state: 'working' }),
        ),
    ].slice(0, reportLinesMax);
  }

  private remember({ target, endpoint }: Candidate): void {
    const { healthId, key } = endpoint;
    if (!this.answeredBefore.has(healthId)) this.changes++;
    this.answered.set(healthId, keyAtProvider(target.provider.entry.id, key?.name));
  }

  private rest({ target, endpoint }: Candidate, untilMs: number, reason: RestReason): void {
    const { healthId, key } = endpoint;
    const provider = target.provider.entry.id;
    this.changes++;
    this.rests.set(healthId, { ...keyAtProvider(provider, key?.name), untilMs, reason });
    // It works again when it has answered again, not when its time is up; what it answered to with a former
    // credential is no answer to this one.
    for (const answers of [this.answered, this.answeredBefore]) {
      for (const [id, at] of answers)
        if (at.provider === provider && at.key === key?.name) answers.delete(id);
    }
  }

  /** A trial that ended without a verdict: the next request makes another. */
  private releaseTrial(id: string): void {
    const circuit = this.circuits.get(id);
    if (circuit) this.circuits.set(id, { ...circuit, trialSinceMs: undefined });
  }

  private succeed(id: string, nowMs: number): void {
    const circuit = this.circuits.get(id);
    if (!circuit) return;
    const next = onSuccess(circuit, nowMs);
    if (circuit.openings > 0) this.changes++;
    if (next) this.circuits.set(id, next);
    else this.circuits.delete(id);
  }

  private fail(id: string, limits: CircuitLimits, nowMs: number): void {
    const circuit = this.circuits.get(id) ?? closedCircuit;
    const next = onFailure(circuit, limits, nowMs);
    this.circuits.set(id, next);
    if (next.openUntilMs !== circuit.openUntilMs) this.changes++;
  }
}

function circuitIds({ target }: Candidate): readonly [endpointId: string, targetId: string] {
  const provider = target.provider.entry.id;
  return [provider, `${provider}#${target.entry.upstreamModel}`];
}

/** The name of a provider holds no `#`; that of a model may. */
function splitCircuitId(id: string): readonly [provider: string, upstreamModel?: string] {
  const at = id.indexOf('#');
  return at < 0 ? [id] : [id.slice(0, at), id.slice(at + 1)];
}

function keyAtProvider(provider: string, key: string | undefined): KeyAtProvider {
  return key === undefined ? { provider } : { provider, key };
}
