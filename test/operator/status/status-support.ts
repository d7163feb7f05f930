// What do the tests of statuses start from? A verdict out of a real compile, pods that run a generation, and a status as it
// would stand in the object.

import type { ConditionType } from '../../../core/catalog/conditions.ts';
import type { ExchangeResponse, UpstreamHealth } from '../../../core/contract/exchange.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { Verdict } from '../../../operator/compile/verdict.ts';
import { type PodAnswer, type PodsState, podsState } from '../../../operator/pods/pods-state.ts';
import {
  decideStatus,
  type StatusDecision,
  type StatusFacts,
} from '../../../operator/status/decide-status.ts';
import type { ObjectStatus } from '../../../operator/status/object-status.ts';
import type { GatewayPod } from '../../../operator/watch/gateway-pods.ts';
import type { RawObject, Snapshot } from '../../../operator/watch/snapshot.ts';
import { snapshot } from '../make.ts';

export const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
export const NOW = '2026-06-01T00:00:00Z';

/** The verdict on the one object of that kind in the snapshot. */
export function judge<K extends Verdict['kind']>(
  kind: K,
  parts: Partial<Snapshot>,
): Extract<Verdict, { kind: K }> {
  const { verdicts } = createCompiler()(snapshot(parts), NOW_MS);
  const found = verdicts.find((one): one is Extract<Verdict, { kind: K }> => one.kind === kind);
  if (found === undefined) throw new Error(`no verdict on a ${kind}`);
  return found;
}

export function pod(name: string): GatewayPod {
  return { uid: `uid-${name}`, name, ip: '127.0.0.1', port: 9091 };
}

export function runs(generation: number, more: Partial<ExchangeResponse> = {}): PodAnswer {
  const response: ExchangeResponse = {
    state: `s${generation}`,
    table: { epoch: 1, generation, sinceMs: 0, source: 'api' },
    formats: { min: 1, max: 1 },
    health: [],
    ...more,
  };
  return { response, atMs: NOW_MS };
}

export function reports(...health: UpstreamHealth[]): PodAnswer {
  return runs(1, { health });
}

/** Pods `a`, `b`, … with these answers; undefined: not heard yet. */
export function fleet(...answers: readonly (PodAnswer | undefined)[]): PodsState {
  return podsState(...heard(answers));
}

export function heard(
  answers: readonly (PodAnswer | undefined)[],
): [pods: GatewayPod[], answers: Map<string, PodAnswer>] {
  const pods = answers.map((_, index) => pod(String.fromCharCode(97 + index)));
  const entries = answers.flatMap((answer, index): [string, PodAnswer][] => {
    const { uid } = pods[index] ?? pod('none');
    return answer === undefined ? [] : [[uid, answer]];
  });
  return [pods, new Map(entries)];
}

export type Look = Partial<Omit<StatusFacts, 'object' | 'verdict'>>;

/** Looks at an object at `NOW_MS`, with two pods that run generation 7, in which its form first appeared. */
export function look(object: RawObject, verdict: Verdict, facts: Look = {}): StatusDecision {
  return decideStatus({
    object,
    verdict,
    since: 7,
    pods: fleet(runs(7), runs(7)),
    nowMs: NOW_MS,
    waitingSinceMs: undefined,
    ...facts,
  });
}

/** @throws where something else than a write was decided. */
export function written(decision: StatusDecision): ObjectStatus {
  if (decision.type !== 'write') throw new Error(`no write but ${JSON.stringify(decision)}`);
  return decision.status;
}

/** The object after that write, as it comes back from the server. */
export function withStatus(object: RawObject, status: ObjectStatus): RawObject {
  return { ...object, status: JSON.parse(JSON.stringify(status)) };
}

/** "True Programmed", with the message where there is one: "False Pending: no gateway pod is ready". */
export function say(status: ObjectStatus, type: ConditionType): string | undefined {
  const found = status.conditions?.find((one) => one.type === type);
  if (found === undefined) return undefined;
  return `${found.status} ${found.reason}${found.message === '' ? '' : `: ${found.message}`}`;
}
