// Is an object in the state that its owner wants? A deliberate suspension is no fault.

import type { ConditionType } from '../../core/catalog/conditions.ts';
import type { Condition, Verdict } from './verdict.ts';

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

  /** A disabled ApiKey is not at fault without a key: its key is issued when it is enabled. */
  function isWaived(reason: Condition['reason']): boolean {
    return reason === 'SecretPending' && conditions.some(({ type }) => type === 'Disabled');
  }
}

/**
 * The first that fails gives the reason. Healthy is left out: an outage elsewhere is no fault of the object. Nor is it one to be
 * out of service by its owner's own wish: once every pod has it so, the object is as it should be, and Ready says why it serves nothing.
 *
 * @param conditions with Programmed.
 */
export function readyCondition(conditions: readonly Condition[], { held }: Pick<Verdict, 'held'>): Condition {
  const find = (type: ConditionType) => conditions.find((condition) => condition.type === type);
  // A form that is held serves, whatever is wrong with the present one.
  const own = held === undefined ? faultOf(conditions) : undefined;
  const wish = wishOf(conditions);
  const fault = own ?? (wish === undefined ? find('Expired') : undefined);
  if (fault !== undefined) return { ...fault, type: 'Ready', status: 'False' };
  const programmed = find('Programmed');
  if (programmed?.status === 'True')
    return { ...(wish ?? { reason: 'Programmed', message: '' }), type: 'Ready', status: 'True' };
  const status = programmed?.status === 'Unknown' ? 'Unknown' : 'False';
  return { ...(programmed ?? { reason: 'Pending', message: '' }), type: 'Ready', status };
}
