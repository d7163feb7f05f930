// Does the owner of a foreign Provider allow it? A missing Provider gets the same answer: a namespace must not learn which objects
// another namespace has.

import { isShared, type SharedWith } from '../selector.ts';
import type { Finding } from '../verdict.ts';
import { providerName, type TargetUse } from './target-use.ts';

/** @param sharedWith consent of the Provider; undefined if the Provider does not exist. */
export function refNotPermitted(use: TargetUse, sharedWith: SharedWith | undefined): Finding | undefined {
  if (use.provider.namespace === use.namespace) return undefined;
  // guard: provider-sharing
  if (sharedWith !== undefined && isShared(sharedWith, use.namespace)) return undefined;
  return {
    reason: 'RefNotPermitted',
    message:
      `target ${use.target} names Provider ${providerName(use)}, which does not exist or does not allow namespace ` +
      `${use.namespace}; correct the name, or ask its owner to add the namespace to allowedNamespaces`,
  };
}
