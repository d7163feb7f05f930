// What does the condition CredentialsValid of a Provider say? Pure.

import type { Condition, Verdict } from '../compile/verdict.ts';
import type { ProviderCredentials } from './credentials-of.ts';
import type { ObjectStatus } from './object-status.ts';

const PENDING = 'no gateway pod has reported yet whether the cloud accepts the credentials; wait';

/**
 * At most one, and none where nothing is exchanged.
 *
 * @param fresh undefined while no pod has reported: then the present condition is kept, so that a new leader says no other thing.
 */
export function credentialsCondition(
  verdict: Verdict,
  fresh: ProviderCredentials | undefined,
  present: ObjectStatus | undefined,
): readonly Condition[] {
  if (verdict.kind !== 'Provider' || verdict.isExchanged !== true) return [];
  const before = present?.conditions?.find(({ type }) => type === 'CredentialsValid');
  const isOfThisForm = before?.observedGeneration === verdict.generation;
  const { reason, message } =
    fresh ?? (isOfThisForm && isReason(before?.reason) ? { ...before, reason: before.reason } : pending);
  return [{ type: 'CredentialsValid', status: STATUS[reason], reason, message }];
}

const STATUS = {
  CredentialsExchanged: 'True',
  CredentialsRefused: 'False',
  CredentialsPartlyRefused: 'False',
  CredentialsPending: 'Unknown',
} as const;

const pending = { reason: 'CredentialsPending', message: PENDING } as const;

function isReason(reason: string | undefined): reason is keyof typeof STATUS {
  return reason !== undefined && Object.hasOwn(STATUS, reason);
}
