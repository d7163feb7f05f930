// When is the next publish due, and does it revoke access? Changes wait here for the next publish.

import type { Clock } from '../../core/clock.ts';
import { dueMs, noteChange, notePublish, type Pace, RESTING } from '../publish/pace.ts';
import type { Urgency } from '../watch/urgency.ts';
import { createAlarm } from './alarm.ts';

interface PublishPace {
  note(urgency: Urgency): void;
  isWaiting(): boolean;
  /** A publish begins. Gives whether one of its changes takes access away. */
  takeUp(): boolean;
  /** The publish has failed: what takes access away is urgent still. */
  putBack(): void;
  /** How long the first change that takes access away has waited for the current publish; undefined where none does. */
  urgentForMs(): number | undefined;
  stop(): void;
}

export function createPublishPace(clock: Clock, onDue: () => void): PublishPace {
  let pace: Pace = RESTING;
  /** When the first change came that takes access away, of those that are in no table yet. */
  let urgentSinceMs: number | undefined;
  /** The same, of those that the current publish takes up. */
  let takenUpMs: number | undefined;
  const alarm = createAlarm(clock, () => {
    pace = notePublish(pace, clock.now());
    onDue();
  });
  return {
    note(urgency) {
      if (urgency === 'revocation') urgentSinceMs ??= clock.now();
      pace = noteChange(pace, clock.now(), urgency);
      alarm(dueMs(pace));
    },
    isWaiting: () => pace.waiting !== undefined,
    takeUp() {
      takenUpMs = urgentSinceMs;
      urgentSinceMs = undefined;
      return takenUpMs !== undefined;
    },
    putBack() {
      urgentSinceMs = takenUpMs ?? urgentSinceMs;
    },
    urgentForMs: () => (takenUpMs === undefined ? undefined : clock.now() - takenUpMs),
    stop: () => alarm(undefined),
  };
}
