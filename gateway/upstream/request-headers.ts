// Which headers does an upstream see? Built from a short list, never copied from the caller.

import type { KeyedEndpoint, ProviderView } from '../table/view.ts';

/** Names and values in turn. */
export function buildRequestHeaders(
  provider: ProviderView,
  endpoint: KeyedEndpoint,
  isStream: boolean,
): readonly string[] {
  const cached = isStream ? streamHeaders : plainHeaders;
  const known = cached.get(endpoint);
  if (known) return known;
  const { auth } = provider.entry;
  const headers = [
    'content-type',
    'application/json',
    'accept',
    isStream ? 'text/event-stream' : 'application/json',
    // Answers are read as they come; a compressed stream would be held back by its compressor.
    'accept-encoding',
    'identity',
    'user-agent',
    'penstock',
    ...provider.headers.flatMap(({ name, value }) => [name.toLowerCase(), value.reveal()]),
    ...(auth && endpoint.key ? [auth.header.toLowerCase(), auth.prefix + endpoint.key.secret.reveal()] : []),
  ];
  cached.set(endpoint, headers);
  return headers;
}

/** Kept as long as the table view they belong to. */
const streamHeaders = new WeakMap<KeyedEndpoint, readonly string[]>();
const plainHeaders = new WeakMap<KeyedEndpoint, readonly string[]>();
