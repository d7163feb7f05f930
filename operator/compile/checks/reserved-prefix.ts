// Does a tenant claim a model id that looks like one of the service itself?

import type { PlatformSettings } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';

export function reservedPrefix(
  namespace: string,
  ids: readonly string[],
  platform: PlatformSettings,
): Finding | undefined {
  if (platform.platformNamespaces.includes(namespace)) return undefined;
  const reserved = `${platform.servicePrefix}/`.toLowerCase();
  // In any case: people who read a model list do not see the difference.
  const taken = ids.filter((id) => id.toLowerCase().startsWith(reserved));
  if (taken.length === 0) return undefined;
  return {
    reason: 'ReservedPrefix',
    message:
      `${taken.map((id) => `"${id}"`).join(', ')}: ids that begin with "${platform.servicePrefix}/" are for platform ` +
      `namespaces, and ${namespace} is none; create it anew with another id, such as "${namespace}/${taken[0]?.slice(reserved.length)}"`,
  };
}
