// What does the condition Healthy of a Provider say? Pure.

import type { Condition } from '../compile/verdict.ts';
import type { ProviderHealth } from './health-of.ts';

export const HEALTH_MESSAGES: Readonly<Record<ProviderHealth['reason'], string>> = {
  Healthy: '',
  PartiallyHealthy: 'calls of some gateway pods, or for some models, fail; see status.health',
  Unhealthy: 'calls to the upstream fail; check host and port of spec.baseURL, and that the server runs',
  AuthenticationFailed: 'the upstream rejects every key; put valid keys into the Secrets',
  CredentialExhausted:
    'every key is out of credit or rejected; top up the accounts, or put other keys into the Secrets',
  NoTraffic: 'no recent call',
};

export function healthCondition(
  reason: ProviderHealth['reason'],
  message = HEALTH_MESSAGES[reason],
): Condition {
  const status = reason === 'Healthy' ? 'True' : reason === 'NoTraffic' ? 'Unknown' : 'False';
  return { type: 'Healthy', status, reason, message };
}
