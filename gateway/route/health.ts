// What has this pod learnt about each upstream? Kept per provider, per provider and model, and per
// key; never shared between pods: a shared breaker would be a shared failure.

import {
  type Circuit,
  type CircuitLimits,
  closedCircuit,
  mayTry,
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

export class Health {
  private readonly circuits = new Map<string, Circuit>();
  /** By health id of the key. */
  private readonly rests = new Map<string, { readonly untilMs: number; readonly reason: RestReason }>();

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

  onEnd(candidate: Candidate, signal: HealthSignal, nowMs: number): void {
    const [endpointId, targetId] = circuitIds(candidate);
    switch (signal.type) {
      case 'success':
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
        this.rests.set(candidate.endpoint.healthId, { untilMs: nowMs + signal.forMs, reason: signal.reason });
        this.releaseTrial(endpointId);
        this.releaseTrial(targetId);
        return;
      case 'none':
        this.releaseTrial(endpointId);
        this.releaseTrial(targetId);
        return;
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

  /** A trial that ended without a verdict: the next request makes another. */
  private releaseTrial(id: string): void {
    const circuit = this.circuits.get(id);
    if (circuit) this.circuits.set(id, { ...circuit, trialSinceMs: undefined });
  }

  private succeed(id: string, nowMs: number): void {
    const circuit = this.circuits.get(id);
    if (!circuit) return;
    const next = onSuccess(circuit, nowMs);
    if (next) this.circuits.set(id, next);
    else this.circuits.delete(id);
  }

  private fail(id: string, limits: CircuitLimits, nowMs: number): void {
    this.circuits.set(id, onFailure(this.circuits.get(id) ?? closedCircuit, limits, nowMs));
  }
}

function circuitIds({ target }: Candidate): readonly [endpointId: string, targetId: string] {
  const provider = target.provider.entry.id;
  return [provider, `${provider}#${target.entry.upstreamModel}`];
}
