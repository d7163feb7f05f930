// May people be sent to this pod? Once they can sign in there.

import type { Log } from '../core/kube/log.ts';
import { type Oidc, SignInFailed } from './sign-in.ts';

/** Where nobody is sent: it is only asked whether a sign-in could begin. */
const nowhere = 'https://localhost/';

/**
 * Gives what is missing, in words; undefined: nothing.
 *
 * An issuer that was never found is a setting that is wrong, or a network that is closed: a rollout stops there, and the pods before it
 * go on. Found once, it is not looked at again, and neither Kubernetes nor the ledger ever is: where one of them is away, the pages say so,
 * whereas without any pod that is ready people would see the error of a proxy, and nobody would be helped by it, as all pods
 * miss the same. Pages that were not built end the process at its start.
 */
export function openReadiness(oidc: Pick<Oidc, 'begin'> | undefined, log: Log): () => string | undefined {
  let isFound = oidc === undefined;
  let isLooking = false;
  let reason: string | undefined;

  async function look({ begin }: Pick<Oidc, 'begin'>): Promise<void> {
    isLooking = true;
    try {
      await begin(nowhere);
      isFound = true;
    } catch (error) {
      const said = error instanceof SignInFailed ? error.message : String(error);
      if (said !== reason) log('warn', 'the issuer cannot be found; retrying', { reason: said });
      reason = said;
    } finally {
      isLooking = false;
    }
  }

  const missing = (): string | undefined => {
    if (isFound || oidc === undefined) return undefined;
    // The caller keeps the time; a slow issuer delays nobody.
    if (!isLooking) void look(oidc);
    return `the OpenID Connect issuer has not been found yet${reason === undefined ? '' : ` (${reason})`}`;
  };
  // What is there already is known when the first asks.
  missing();
  return missing;
}
