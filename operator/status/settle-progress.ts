// Is an object that is not Ready in progress, or does it need a change by hand? For tools that read statuses by the rules of kstatus
// (Helm, Flux): the first is in progress, the second has failed, and progress has a time limit.
//
//   Ready ───────────────────────────────────────────────► neither
//   the operator or the gateways work on it ─────────────► Reconciling ── 10 min ──► Stalled
//   a referenced object may not have arrived yet ────────► Reconciling ── 1 min ───► Stalled
//   anything else: needs a change by hand ───────────────► Stalled

import type { Reason } from '../../core/catalog/conditions.ts';
import type { Condition } from '../compile/verdict.ts';
import type { ObjectStatus } from './object-status.ts';

interface SettledProgress {
  /** `Reconciling` or `Stalled`; absent where the object is ready. */
  readonly condition?: Condition;
  /** When the result changes with time alone. */
  readonly againMs?: number;
}

const workMs = 600_000;
const arrivalMs = 60_000;

/** How long it is worth waiting. Objects that are applied together come in any order, and Secrets from elsewhere come late. */
const PATIENCE_MS: Partial<Record<Reason, number>> = {
  Pending: workMs,
  SecretPending: workMs,
  SecretNotFound: arrivalMs,
  KeyNotFound: arrivalMs,
  RefNotFound: arrivalMs,
  RefNotPermitted: arrivalMs,
  ProviderNotReady: arrivalMs,
  NoUsableTarget: arrivalMs,
};

export function settleProgress(
  ready: Condition,
  generation: number | undefined,
  present: ObjectStatus | undefined,
  nowMs: number,
): SettledProgress {
  if (ready.status === 'True') return {};
  const said = (type: string) =>
    present?.conditions?.find(
      (one) => one.type === type && one.status === 'True' && one.observedGeneration === generation,
    );
  // A stalled object stays stalled until it changes: a new leader must not start another wait.
  if (said('Stalled')?.reason === ready.reason)
    return { condition: { ...ready, type: 'Stalled', status: 'True' } };
  const sinceMs = Date.parse(said('Reconciling')?.lastTransitionTime ?? '') || nowMs;
  const untilMs = sinceMs + (PATIENCE_MS[ready.reason] ?? 0);
  if (untilMs <= nowMs) return { condition: { ...ready, type: 'Stalled', status: 'True' } };
  return { condition: { ...ready, type: 'Reconciling', status: 'True' }, againMs: untilMs };
}
