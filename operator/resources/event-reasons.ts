// Which events tell of something that is no condition? Every reason, one sentence each; they are API.

export const EVENT_REASONS = {
  KeyRotated: {
    of: 'ApiKey',
    type: 'Normal',
    text: 'A new key took the place of the one before, which works on for the overlap.',
  },
  KeyReplaced: {
    of: 'ApiKey',
    type: 'Warning',
    text: 'The Secret was deleted or its key was replaced, or a rotation was without overlap: another key is in it, and the one before does not work any more.',
  },
  KeyRetired: {
    of: 'ApiKey',
    type: 'Normal',
    text: 'The overlap is over: the key before the present one is gone.',
  },
  BudgetWarning: {
    of: 'ApiKey',
    type: 'Warning',
    text: 'So much of a budget is spent that its warnPercent is passed; told once in a period.',
  },
  BudgetExceeded: {
    of: 'ApiKey',
    type: 'Warning',
    text: 'A budget with the action Warn is used up; calls go on. Told once in a period.',
  },
  TenantBudgetWarning: {
    of: 'the namespace',
    type: 'Warning',
    text: 'So much of a budget that the platform gives a namespace is spent that its warnPercent is passed.',
  },
  TenantBudgetExhausted: {
    of: 'the namespace',
    type: 'Warning',
    text: 'A budget that the platform gives a namespace is used up. With the action Block all of its keys are refused, and the TenantPolicy says BudgetExhausted.',
  },
  LedgerAway: {
    of: 'the pointer',
    type: 'Warning',
    text: 'The ledger has told nothing for a minute: status.usage and BudgetExhausted of ApiKeys stay as they are until it answers. Nothing else waits for it.',
  },
  LedgerBack: {
    of: 'the pointer',
    type: 'Normal',
    text: 'The ledger tells what is spent again.',
  },
  DrillPassed: {
    of: 'ModelRoute',
    type: 'Normal',
    text: 'A failover drill passed, and the one before did not, or there was none: the next target took over in time.',
  },
  DrillFailed: {
    of: 'ModelRoute',
    type: 'Warning',
    text: 'A failover drill failed, and the one before did not, or there was none. The note says what to change.',
  },
  DrillNotRun: {
    of: 'ModelRoute',
    type: 'Warning',
    text: 'A failover drill is due, and no gateway pod could run it for a minute; it runs as soon as one can.',
  },
  AbsenceHeld: {
    of: 'the pointer',
    type: 'Warning',
    text: 'Objects are missing and nobody saw them deleted: their entries stay in the table until that is confirmed. The note says how many, and how to confirm it.',
  },
  AbsenceOver: {
    of: 'the pointer',
    type: 'Normal',
    text: 'No entries are held any more for objects that are missing: they are back, or their absence was confirmed.',
  },
  Pinned: {
    of: 'the pointer',
    type: 'Warning',
    text: 'The table is pinned to an earlier generation and follows the objects no more, but for keys that stop working.',
  },
  Unpinned: {
    of: 'the pointer',
    type: 'Normal',
    text: 'The table is not pinned any more and follows the objects.',
  },
  PinImpossible: {
    of: 'the pointer',
    type: 'Warning',
    text: 'The table cannot be pinned to what the annotation asks for: the one in use stays, but for keys that stop working, until the annotation is another or taken off.',
  },
} as const satisfies Record<
  string,
  {
    /** What it is told of: an object of ours, the namespace of a tenant, or the Secret that points at the table. */
    readonly of: 'ApiKey' | 'ModelRoute' | 'the namespace' | 'the pointer';
    readonly type: 'Normal' | 'Warning';
    readonly text: string;
  }
>;

export type EventReason = keyof typeof EVENT_REASONS;
export type TableEventReason = {
  [R in EventReason]: (typeof EVENT_REASONS)[R]['of'] extends 'the pointer' ? R : never;
}[EventReason];
