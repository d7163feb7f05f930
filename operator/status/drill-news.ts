// What is there to tell of the drill of a ModelRoute? Another result than before. Read from its status as it was and as it is to
// be, so that nothing has to be remembered.

import { EVENT_REASONS, type EventReason } from '../resources/event-reasons.ts';
import type { ModelRouteStatus } from '../resources/model-route.ts';
import type { EventFact } from './events.ts';
import type { ObjectStatus } from './object-status.ts';

const REASON_OF = {
  Passed: 'DrillPassed',
  Failed: 'DrillFailed',
  NotRun: 'DrillNotRun',
} as const satisfies Record<string, EventReason>;

/** @param after of the same ModelRoute, as `before` is. */
export function drillNews(before: ObjectStatus | undefined, after: ObjectStatus): EventFact[] {
  const then: ModelRouteStatus = before ?? {};
  const now: ModelRouteStatus = after;
  const { result, message = '' } = now.drill ?? {};
  if (result === undefined || result === then.drill?.result) return [];
  const reason = REASON_OF[result];
  return [{ type: EVENT_REASONS[reason].type, reason, action: 'Drill', note: message }];
}
