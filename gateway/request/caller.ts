// Which caller sends the request, and with which rights? One of the nouns that cross the stages.

import type { KeyEntry, ProviderEntry } from '../../core/contract/routing-table.ts';

export interface Caller {
  readonly key: KeyEntry;
  /** The tenant. */
  readonly namespace: string;
}

/** Whether it is the tenant's own (BYOK), which it pays itself. */
export function ownsProvider(
  { namespace }: Pick<Caller, 'namespace'>,
  provider: { readonly namespace: string; readonly entry: Pick<ProviderEntry, 'isPlatform'> },
): boolean {
  return !provider.entry.isPlatform && provider.namespace === namespace;
}
