// By which identity does a Provider sign in at a cloud, and what do gateways read of it? The settings of an entry say both, so that a form
// that is held can be judged by them again.

import { CLOUDS, type CloudName, cloudNames, isCloudName } from '../../core/catalog/clouds.ts';
import { isProviderType, PROVIDER_TYPES } from '../../core/catalog/provider-types.ts';
import { isExchangedKey, type ProviderEntry } from '../../core/contract/routing-table.ts';
import type { ProviderSpec } from '../resources/provider.ts';
import type { IdentityUse } from './checks/identity-not-allowed.ts';
import type { ProviderVerdict } from './verdict.ts';

type Auth = ProviderSpec['auth'];

/** The cloud whose credentials a Provider has without a Secret. */
function keylessCloud({ type, keys }: Auth): CloudName | undefined {
  return isCloudName(type) && keys === undefined ? type : undefined;
}

/** True where it is out of service without a usable key. */
export function needsKey(auth: Auth): boolean {
  return auth.type !== 'None' && keylessCloud(auth) === undefined;
}

/** Sorted by name. */
export function identitySettings(auth: Auth): Readonly<Record<string, string>> {
  if (!isCloudName(auth.type)) return {};
  const { member, settings } = CLOUDS[auth.type];
  const said: Readonly<Record<string, string | undefined>> = auth[member] ?? {};
  const own = Object.entries(settings).flatMap(([field, setting]) => {
    const value = said[field];
    return value === undefined ? [] : [[setting, value] as const];
  });
  const cloud = keylessCloud(auth);
  return Object.fromEntries([...(cloud === undefined ? [] : [['identity', cloud] as const]), ...own].sort());
}

/** Undefined where it has keys, or needs none. */
export function identityOf({ settings = {} }: Pick<ProviderEntry, 'settings'>): IdentityUse | undefined {
  const cloud = cloudNames.find((name) => name === settings.identity);
  if (cloud === undefined) return undefined;
  const { role, settings: names } = CLOUDS[cloud];
  return { cloud, role: settings[names[role] ?? ''] };
}

/** For the verdict: do gateways exchange its keys, or an identity of their own, for what requests are signed with? */
export function exchangeOf({
  type,
  settings = {},
  auth,
}: Pick<ProviderEntry, 'type' | 'settings' | 'auth'>): Pick<ProviderVerdict, 'isExchanged'> {
  const isServiceAccount =
    isProviderType(type) && PROVIDER_TYPES[type].signIn === 'GCP' && isExchangedKey({ auth });
  const isExchanged =
    isServiceAccount || ['identity', 'roleArn', 'tenantId'].some((name) => settings[name] !== undefined);
  return isExchanged ? { isExchanged } : {};
}
