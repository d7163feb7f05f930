// What does the operator write of messages into the entry of a Provider, because of its type?

import { PROVIDER_TYPES, type ProviderType } from '../../core/catalog/provider-types.ts';
import type { ProviderEntry } from '../../core/contract/routing-table.ts';

export function messagesFactsOf(
  type: ProviderType,
): Pick<ProviderEntry, 'messagesSources' | 'messagesSchemas'> {
  const { messagesSources, messagesSchemas } = PROVIDER_TYPES[type];
  return {
    ...(messagesSources && { messagesSources: messagesSources.value }),
    ...(messagesSchemas && { messagesSchemas: messagesSchemas.value }),
  };
}
