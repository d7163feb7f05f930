// Does a tenant share with other namespaces, which only the platform may?

import type { AllowedNamespaces } from '../../resources/fields.ts';
import type { PlatformSettings } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';

export function notPermitted(
  namespace: string,
  wish: { readonly allowedNamespaces: AllowedNamespaces; readonly visibility?: string },
  platform: PlatformSettings,
): Finding | undefined {
  if (platform.platformNamespaces.includes(namespace)) return undefined;
  const asked = [
    ...(wish.visibility === 'Public' ? ['spec.visibility Public'] : []),
    ...(wish.allowedNamespaces.from === 'Same'
      ? []
      : [`spec.allowedNamespaces.from ${wish.allowedNamespaces.from}`]),
  ];
  if (asked.length === 0) return undefined;
  return {
    reason: 'NotPermitted',
    message:
      `${asked.join(' and ')} may only be used in platform namespaces, and ${namespace} is not one; ` +
      'remove it, or ask the platform team to publish the object in one of theirs',
  };
}
