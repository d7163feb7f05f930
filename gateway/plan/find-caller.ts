// Which caller does a plan assume? The named ApiKey, or a key with the rights of any key of the namespace.

import type { CatalogRequest } from '../../core/contract/plan.ts';
import type { KeyEntry } from '../../core/contract/routing-table.ts';
import type { Caller } from '../request/caller.ts';
import { GatewayError, shorten } from '../request/errors.ts';
import type { TableView } from '../table/view.ts';

/** @throws {GatewayError} `invalid_api_key` if the ApiKey would be refused, with what a person would look at. */
export function findCaller(view: TableView, { namespace, apiKey }: CatalogRequest, wallMs: number): Caller {
  if (apiKey === undefined) return { key: anyKeyOf(namespace), namespace };
  const id = apiKey.includes('/') ? apiKey : `${namespace}/${apiKey}`;
  // The asker may not learn which keys exist in other namespaces: such a key gets the same error as a missing one.
  const entries = id.startsWith(`${namespace}/`)
    ? [...view.keys.values()].filter((entry) => entry.id === id)
    : [];
  const live = entries.find(({ notAfterMs }) => notAfterMs === undefined || wallMs < notAfterMs);
  if (live !== undefined) return { key: live, namespace };
  const why =
    entries.length > 0
      ? 'it has expired'
      : 'it does not exist, is disabled, or is not programmed yet; its conditions say which';
  throw new GatewayError(
    'invalid_api_key',
    `The ApiKey '${shorten(id)}' does not work at this gateway: ${why}.`,
  );
}

/** Its digest is that of no key. */
function anyKeyOf(namespace: string): KeyEntry {
  return { sha256: '0'.repeat(64), id: `${namespace}/` };
}
