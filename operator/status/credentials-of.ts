// Did the gateway pods get what they exchange the credentials of a Provider for, and as whom? Their reports, as one word per Provider.

import type { CredentialState } from '../../core/contract/exchange.ts';
import type { ProviderVerdict } from '../compile/verdict.ts';
import type { PodAnswers } from '../pods/pods-state.ts';
import type { GatewayPod } from '../watch/gateway-pods.ts';

export interface ProviderCredentials {
  /** Partly: some credentials, or those of some pods, were refused. */
  readonly reason: 'CredentialsExchanged' | 'CredentialsRefused' | 'CredentialsPartlyRefused';
  /** The identity, or the failure. */
  readonly message: string;
}

/** Undefined: no pod has reported any yet. */
export type CredentialsOf = (verdict: ProviderVerdict) => ProviderCredentials | undefined;

/** Sorts the reports of all pods by Provider, once for many questions. */
export function indexCredentials(pods: readonly GatewayPod[], answers: PodAnswers): CredentialsOf {
  const lines = pods.flatMap(({ uid }) => {
    const answer = answers.get(uid);
    // The last answer of a silent pod may be out of date.
    return answer?.failure === undefined ? (answer?.response?.credentials ?? []) : [];
  });
  const byProvider = Map.groupBy(lines, ({ provider }) => provider);
  return ({ namespace, name }) => {
    const own = byProvider.get(`${namespace}/${name}`);
    return own && credentialsOf(own);
  };
}

function credentialsOf(lines: readonly CredentialState[]): ProviderCredentials {
  const failed = lines.filter(({ state }) => state === 'failed');
  if (failed.length === 0)
    return {
      reason: 'CredentialsExchanged',
      // Not everything that gives credentials says whose they are.
      message: joinedInOrder(lines.map(asWhom), ', ') || 'gateways are signed in',
    };
  return {
    reason: failed.length === lines.length ? 'CredentialsRefused' : 'CredentialsPartlyRefused',
    message: joinedInOrder(failed.map(whyNot), ' '),
  };
}

function asWhom({ key, identity }: CredentialState): string {
  if (identity === undefined) return '';
  return key === undefined ? `as ${identity}` : `key ${key} as ${identity}`;
}

function whyNot({ key, message = 'the exchange failed' }: CredentialState): string {
  return key === undefined ? message : `key ${key}: ${message}`;
}

/** The same in whichever order the pods are heard. */
function joinedInOrder(words: readonly string[], separator: string): string {
  return [...new Set(words)]
    .filter((one) => one !== '')
    .sort()
    .join(separator);
}
