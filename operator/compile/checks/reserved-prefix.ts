// Does a tenant claim a model id that looks like one of the service itself?

import type { PlatformSettings } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';

export function reservedPrefix(
  namespace: string,
  ids: readonly string[],
  platform: PlatformSettings,
): Finding | undefined {
  if (platform.platformNamespaces.includes(namespace)) return undefined;
  // Upper and lower case count as equal, because readers of a model list overlook the difference.
  const taken = ids.filter((id) => id.toLowerCase().startsWith(`${platform.servicePrefix}/`.toLowerCase()));
  if (taken.length > 0) {
    return {
      reason: 'ReservedPrefix',
      message: `${claimed(taken)}: ids that begin with "${platform.servicePrefix}/" are for platform namespaces, and ${namespace} is not one; ${wayOut(namespace, taken)}`,
    };
  }
  for (const { prefix, namespaces } of platform.reservedPrefixes ?? []) {
    if (namespaces.includes('*') || namespaces.includes(namespace)) continue;
    const others = ids.filter((id) => id.toLowerCase().startsWith(`${prefix}/`));
    if (others.length === 0) continue;
    return {
      reason: 'ReservedPrefix',
      message: `${claimed(others)}: a TenantPolicy reserves ids that begin with "${prefix}/" for other namespaces; ${wayOut(namespace, others)}, or ask the platform team for the prefix`,
    };
  }
  return undefined;
}

function claimed(ids: readonly string[]): string {
  return `the ModelRoute asks for ${ids.map((id) => `"${id}"`).join(', ')}`;
}

function wayOut(namespace: string, [id = '']: readonly string[]): string {
  return `create it with another id, such as "${namespace}/${id.slice(id.indexOf('/') + 1)}"`;
}
