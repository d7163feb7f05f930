// What has this pod learnt about each upstream? Kept per provider, per provider and model, and per
// key; never shared between pods: a shared breaker would be a shared failure.

import { type Circuit, type CircuitLimits, closedCircuit, mayTry, onFailure, onTried } from './circuit.ts';
import type { Candidate } from './plan.ts';

/** What a finished attempt says about the upstream. */
export type HealthSignal =
  | { readonly type: 'success' }
  /** The address does not answer. */
  | { readonly type: 'endpoint-failure' }
  /** This model at this provider failed. */
  | { readonly type: 'target-failure' }
  /** This key must rest: rate limited, out of money, rejected. */
  | { readonly type: 'key-rest'; readonly forMs: number }
  /** Says nothing: a caller's mistake, a caller that went away. */
  | { readonly type: 'none' };

export class Health {
  private readonly circuits = new Map<string, Circuit>();
  /** By health id of the key; the time it may be used again. */
  private readonly restingUntil = new Map<string, number>();

  isUsable(candidate: Candidate, nowMs: number): boolean {
    if (this.circuits.size === 0 && this.restingUntil.size === 0) return true;
    const until = this.restingUntil.get(candidate.endpoint.healthId);
    if (until !== undefined && nowMs < until) return false;
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
        if (this.circuits.size > 0) {
          this.circuits.delete(endpointId);
          this.circuits.delete(targetId);
        }
        if (this.restingUntil.size > 0) this.restingUntil.delete(candidate.endpoint.healthId);
        return;
      case 'endpoint-failure':
        this.fail(endpointId, candidate.target.provider.entry.breaker, nowMs);
        return;
      case 'target-failure':
        this.fail(targetId, candidate.target.provider.entry.breaker, nowMs);
        return;
      case 'key-rest':
        this.restingUntil.set(candidate.endpoint.healthId, nowMs + signal.forMs);
        return;
      case 'none':
        return;
    }
  }

  /** The shortest time until one of the candidates may be tried again, in milliseconds. */
  usableInMs(candidates: readonly Candidate[], nowMs: number): number {
    const waits = candidates.map((candidate) => {
      const until = [
        this.restingUntil.get(candidate.endpoint.healthId) ?? 0,
        ...circuitIds(candidate).map((id) => this.circuits.get(id)?.openUntilMs ?? 0),
      ];
      return Math.max(0, ...until.map((time) => time - nowMs));
    });
    return waits.length === 0 ? 0 : Math.min(...waits);
  }

  private fail(id: string, limits: CircuitLimits, nowMs: number): void {
    this.circuits.set(id, onFailure(this.circuits.get(id) ?? closedCircuit, limits, nowMs));
  }
}

function circuitIds({ target }: Candidate): readonly [endpointId: string, targetId: string] {
  const provider = target.provider.entry.id;
  return [provider, `${provider}#${target.entry.upstreamModel}`];
}
