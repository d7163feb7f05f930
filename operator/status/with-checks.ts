// How is an upstream, by what the pods learnt from their calls and by the operator's own checks? Calls weigh more: they are what
// it is for. A check speaks where no call was made, and tells what calls do not.

import { type CheckFindings, FOUND_EARLIER } from '../probe/prober.ts';
import type { KeyTrouble, ProviderHealth } from './health-of.ts';

const UNKNOWN: ProviderHealth = {
  reason: 'NoTraffic',
  healthyPods: 0,
  totalPods: 0,
  failing: new Set(),
  calls: new Map(),
  unknownModels: new Set(),
  keys: new Map(),
  answeredKeys: new Set(),
  troubles: [],
};

/**
 * @param calls undefined while not every pod was heard.
 * @param usedKeys names of the keys that are in use.
 */
export function withChecks(
  calls: ProviderHealth | undefined,
  checks: CheckFindings | undefined,
  usedKeys: readonly string[],
): ProviderHealth | undefined {
  if (checks === undefined) return calls;
  const { endpoint, refusedKeys } = checks;
  const { answeredKeys } = calls ?? UNKNOWN;
  const refused = usedKeys.filter((name) => refusedKeys.has(name) && !answeredKeys.has(name));
  const known = { ...(calls ?? UNKNOWN), ...lastErrorOf(checks, refused) };
  const isCalled = known.reason !== 'NoTraffic';
  const keys = new Map([
    ...refused.map((name): [string, KeyTrouble] => [
      name,
      {
        state: 'Invalid',
        message: `the upstream rejects this key (${refusedKeys.get(name)}); put a valid key into its Secret`,
      },
    ]),
    ...known.keys,
  ]);
  // A listing costs nothing: it is answered without money too, and tells of a key only whether it is refused.
  const hasExhausted = [...known.keys.values()].some(({ state }) => state === 'Exhausted');
  const areUseless = usedKeys.every((name) => refused.includes(name) || isUseless(known.keys.get(name)));
  if (known.reason === 'Healthy' && hasExhausted && areUseless)
    return { ...known, keys, reason: 'CredentialExhausted', failing: '*' };
  if (endpoint.state === 'unhealthy') {
    const check = `the check of the operator fails: ${endpoint.message}`;
    if (known.reason !== 'Healthy' && isCalled) return { ...known, keys };
    if (isCalled) return { ...known, keys, reason: 'PartiallyHealthy', message: check };
    return { ...known, keys, reason: 'Unhealthy', message: check, failing: '*' };
  }
  if (isCalled) return { ...known, keys };
  if (refused.length > 0 && refused.length === usedKeys.length)
    return { ...known, keys, reason: 'AuthenticationFailed', failing: '*' };
  if (endpoint.state === 'unknown') return { ...known, keys };
  return {
    ...known,
    keys,
    reason: 'Healthy',
    message: 'the check of the operator succeeds; no recent call',
  };
}

function isUseless(trouble: KeyTrouble | undefined): boolean {
  return trouble?.state === 'Exhausted' || trouble?.state === 'Invalid';
}

/** @param refused names of keys. */
function lastErrorOf(
  { endpoint, refusedKeys }: CheckFindings,
  refused: readonly string[],
): Pick<ProviderHealth, 'lastError'> {
  const ofKeys = refused.map((name) => refusedKeys.get(name));
  const lastError = [endpoint.message, ...ofKeys].find((text) => text && text !== FOUND_EARLIER);
  return lastError === undefined ? {} : { lastError };
}
