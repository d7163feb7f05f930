// Which events tell of something that is no condition? Every reason, one sentence each; they are API.

export const EVENT_REASONS = {
  KeyRotated: {
    of: 'ApiKey',
    type: 'Normal',
    text: 'The key was rotated; the previous key stays valid for the overlap.',
  },
  KeyReplaced: {
    of: 'ApiKey',
    type: 'Warning',
    text: 'The Secret was deleted, its key was replaced, or a rotation had no overlap. The previous key is invalid.',
  },
  KeyRetired: {
    of: 'ApiKey',
    type: 'Normal',
    text: 'The overlap ended: the previous key is invalid.',
  },
  BudgetWarning: {
    of: 'ApiKey',
    type: 'Warning',
    text: 'Spend passed the warnPercent of a budget; reported once per period.',
  },
  BudgetExceeded: {
    of: 'ApiKey',
    type: 'Warning',
    text: 'A budget with the action Warn is used up; calls go on. Reported once per period.',
  },
  TenantBudgetWarning: {
    of: 'the namespace',
    type: 'Warning',
    text: 'Spend passed the warnPercent of a namespace budget.',
  },
  TenantBudgetExhausted: {
    of: 'the namespace',
    type: 'Warning',
    text: 'A namespace budget is used up. With the action Block, all of its keys are rejected, and the TenantPolicy has the condition BudgetExhausted.',
  },
  LedgerAway: {
    of: 'the pointer',
    type: 'Warning',
    text: 'The ledger has not reported for a minute: status.usage and BudgetExhausted of ApiKeys are not updated until it answers. Nothing else depends on it.',
  },
  LedgerBack: {
    of: 'the pointer',
    type: 'Normal',
    text: 'The ledger reports spend again.',
  },
  DrillPassed: {
    of: 'ModelRoute',
    type: 'Normal',
    text: 'A failover drill passed after a failure or for the first time: the next target took over in time.',
  },
  DrillFailed: {
    of: 'ModelRoute',
    type: 'Warning',
    text: 'A failover drill failed after a success or for the first time. The note says what to change.',
  },
  DrillNotRun: {
    of: 'ModelRoute',
    type: 'Warning',
    text: 'A failover drill is due, and no gateway pod could run it for a minute; it runs as soon as one can.',
  },
  AbsenceHeld: {
    of: 'the pointer',
    type: 'Warning',
    text: 'Objects are missing without a delete event: their entries stay in the table until confirmed. The note has the number and the command.',
  },
  AbsenceOver: {
    of: 'the pointer',
    type: 'Normal',
    text: 'The missing objects are back, or their absence was confirmed.',
  },
  Pinned: {
    of: 'the pointer',
    type: 'Warning',
    text: 'The table is pinned to an earlier generation. Changes of objects do not enter it, except revocations.',
  },
  Unpinned: {
    of: 'the pointer',
    type: 'Normal',
    text: 'The table is unpinned and follows the objects.',
  },
  PinImpossible: {
    of: 'the pointer',
    type: 'Warning',
    text: 'The table cannot be pinned to the generation in the annotation. The current table stays, except revocations, until the annotation is changed or removed.',
  },
} as const satisfies Record<
  string,
  {
    /** The object of the event: one of Penstock's kinds, the namespace of a tenant, or the pointer Secret. */
    readonly of: 'ApiKey' | 'ModelRoute' | 'the namespace' | 'the pointer';
    readonly type: 'Normal' | 'Warning';
    readonly text: string;
  }
>;

export type EventReason = keyof typeof EVENT_REASONS;
export type TableEventReason = {
  [R in EventReason]: (typeof EVENT_REASONS)[R]['of'] extends 'the pointer' ? R : never;
}[EventReason];
