// May people be sent to this pod? Once they can sign in there.

import type { Log } from '../core/kube/log.ts';
import { type Oidc, SignInFailed } from './sign-in.ts';

/** A browser is never sent there: this only checks that a sign-in could begin. */
const nowhere = 'https://localhost/';

/**
 * Gives what is missing, in words; undefined: nothing.
 *
 * An issuer that was never found means a wrong setting or a closed network: the rollout stops, and the old pods go on serving. Once found,
 * the issuer is not checked again, and Kubernetes and the ledger never are: all pods would lose readiness together, and users would see a
 * proxy's error page instead of a page that names the outage. Missing built pages end the process at its start.
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
    // Answers at once: a slow issuer must not delay the probe.
    if (!isLooking) void look(oidc);
    return `the OpenID Connect issuer has not been found yet${reason === undefined ? '' : ` (${reason})`}`;
  };
  // Asks at the start, so that the first probe may already have an answer.
  missing();
  return missing;
}
