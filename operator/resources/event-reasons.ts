// Which events tell of something that is no condition? Every reason, one sentence each; they are API.

export const EVENT_REASONS = {
  KeyRotated: {
    type: 'Normal',
    text: 'A new key took the place of the one before, which works on for the overlap.',
  },
  KeyReplaced: {
    type: 'Warning',
    text: 'The Secret was deleted or its key was replaced, or a rotation was without overlap: another key is in it, and the one before does not work any more.',
  },
  KeyRetired: { type: 'Normal', text: 'The overlap is over: the key before the present one is gone.' },
} as const satisfies Record<string, { readonly type: 'Normal' | 'Warning'; readonly text: string }>;

export type EventReason = keyof typeof EVENT_REASONS;
