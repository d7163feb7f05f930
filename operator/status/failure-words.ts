// What does a failure of an upstream mean, by one word of the ledger's `failure`? The fact, and what to do.

import { CHECK_SERVICE, STATUS_ACTIONS, UPSTREAM_FAILURES } from '../../core/catalog/upstream-failures.ts';

interface FailureWords {
  readonly fact: string;
  readonly action: string;
}

/** @param cause of a newer gateway pod, it may be a word that is not known here. */
export function failureWords(cause = ''): FailureWords {
  const status = /^status_([1-5](?:\d\d|xx))$/.exec(cause)?.[1];
  if (status !== undefined)
    return { fact: `HTTP ${status}`, action: STATUS_ACTIONS[status] ?? CHECK_SERVICE };
  const { fact = 'no answer', action = CHECK_SERVICE } = knownFailure(cause);
  return { fact, action };
}

function knownFailure(cause: string): { readonly fact?: string; readonly action?: string } {
  return (Object.hasOwn(UPSTREAM_FAILURES, cause) ? UPSTREAM_FAILURES[cause] : undefined) ?? {};
}
