// Is an upstream healthy, after this check and those before it? Pure.

import type { HealthCheck } from '../compile/health-check.ts';

export interface CheckRecord {
  /** Unknown until the first success, or enough failures. */
  readonly state: 'unknown' | 'healthy' | 'unhealthy';
  /** Outcomes of the same kind at the end, of those that speak against `state`. */
  readonly against: number;
  /** Message of the last failure; empty after a success. */
  readonly message: string;
}

export const UNCHECKED: CheckRecord = { state: 'unknown', against: 0, message: '' };

type Thresholds = Pick<HealthCheck, 'unhealthyThreshold' | 'healthyThreshold'>;

export function settleCheck(
  record: CheckRecord,
  failure: string | undefined,
  limits: Thresholds,
): CheckRecord {
  const message = failure ?? '';
  const says = failure === undefined ? 'healthy' : 'unhealthy';
  if (says === record.state) return { state: says, against: 0, message };
  const against = record.against + 1;
  const needed =
    says === 'unhealthy'
      ? limits.unhealthyThreshold
      : record.state === 'unknown'
        ? 1
        : limits.healthyThreshold;
  return against >= needed ? { state: says, against: 0, message } : { state: record.state, against, message };
}
