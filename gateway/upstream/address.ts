// Seat: where does one request to an upstream go? Most provider types append their dialect's path to the base URL. Others have
// the model in the path, a path of their own for streams, or a query.

import type { OperationName } from '../../core/catalog/operations.ts';
import type { UpstreamDialectName } from '../../core/contract/routing-table.ts';
import type { ProviderView } from '../table/view.ts';

/** The parts of an upstream request that decide its address and its framing. */
export interface UpstreamAsk {
  /** The upstream's name for the model, not encoded for a path. */
  readonly model: string;
  readonly dialect: UpstreamDialectName;
  readonly operation: OperationName;
  /** The upstream request asks for a stream; the client may get a plain answer. */
  readonly isStream: boolean;
  /** The dialect's own path for the operation, after a base URL that ends in `/v1`. */
  readonly path: string;
  /** The part of the client's query that is forwarded, with its `?`; empty: none. */
  readonly query: string;
}

export interface Address {
  /** Of the Provider's base URL, with a port that is not the scheme's: credentials are bound to it, so nothing is sent elsewhere. */
  readonly host: string;
  /** As it is sent, encoded. */
  readonly path: string;
  /** With its `?`, as it is sent; empty: none. */
  readonly query: string;
}

export type AddressFor = (provider: ProviderView, ask: UpstreamAsk) => Address;

/** The path of the dialect after the base URL, with the client's query. */
export const dialectAddress: AddressFor = ({ host, basePath }, { path, query }) => ({
  host,
  path: basePath + path,
  query,
});
