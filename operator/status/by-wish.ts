// Is an object out of service because its owner wants it so, or is something wrong with it? The first is no fault, and nobody has
// to act.

import type { Condition } from '../compile/verdict.ts';

/** `Disabled`, or the `Accepted` that says Suspended. */
export function wishOf(conditions: readonly Condition[]): Condition | undefined {
  return conditions.find(({ type, reason }) => type === 'Disabled' || reason === 'Suspended');
}

/** The first condition that has to be true and is not. */
export function faultOf(conditions: readonly Condition[]): Condition | undefined {
  return conditions.find(
    ({ type, status, reason }) =>
      status !== 'True' &&
      (type === 'Accepted' || type === 'ResolvedRefs' || (type === 'Issued' && !isWaived(reason))),
  );

  /** Nobody waits for the key of an ApiKey that is switched off: it is made when it is switched on. */
  function isWaived(reason: Condition['reason']): boolean {
    return reason === 'SecretPending' && conditions.some(({ type }) => type === 'Disabled');
  }
}
