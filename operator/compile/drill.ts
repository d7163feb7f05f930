// The failover drill of a ModelRoute, if it has one.

import type { DrillFault } from '../../core/contract/exchange.ts';
import { toMs } from '../resources/duration.ts';
import { DRILL_NOW_ANNOTATION, type ModelRoute } from '../resources/model-route.ts';

export interface Drill {
  /** Five cron fields, in UTC. */
  readonly schedule: string;
  readonly fault: DrillFault;
  readonly takeoverWithinMs: number;
  /** Another value than that of the last run asks for a run now. */
  readonly trigger?: string;
}

const triggerCharsMax = 256;

export function drillOf({ metadata, spec }: ModelRoute): Drill | undefined {
  if (spec.drill === undefined) return undefined;
  const { schedule, fault, takeoverWithin } = spec.drill;
  const trigger = metadata.annotations?.[DRILL_NOW_ANNOTATION];
  return {
    schedule,
    fault,
    takeoverWithinMs: toMs(takeoverWithin),
    ...(trigger === undefined ? {} : { trigger: trigger.slice(0, triggerCharsMax) }),
  };
}
