// Which headers does an upstream see? Built from a short list, never copied from the caller. And which of what they
// hold must not come back in what it says?

import type { KeyedEndpoint, ProviderView, TargetView } from '../table/view.ts';

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
  // One of each name: what the Provider sets takes the place of ours, and its key that of both.
  const byName = new Map([
    ['content-type', 'application/json'],
    ['accept', isStream ? 'text/event-stream' : 'application/json'],
    // Answers are read as they come; a compressed stream would be held back by its compressor.
    ['accept-encoding', 'identity'],
    ['user-agent', 'penstock'],
    ...provider.headers.map(({ name, value }): [string, string] => [name.toLowerCase(), value.reveal()]),
  ]);
  if (auth && endpoint.key) {
    byName.set(auth.header.toLowerCase(), auth.prefix + endpoint.key.secret.reveal());
  }
  const headers = [...byName].flat();
  cached.set(endpoint, headers);
  return headers;
}

/** Kept as long as the table view they belong to. */
const streamHeaders = new WeakMap<KeyedEndpoint, readonly string[]>();
const plainHeaders = new WeakMap<KeyedEndpoint, readonly string[]>();

/** Shorter values are no secrets, and taking them out would garble what is said. */
const secretLengthMin = 8;

/** The text without anything that this provider is reached with: any of its keys, headers, and what its connections take. */
export function redactCredentials(
  text: string,
  { provider, endpoints }: Pick<TargetView, 'provider' | 'endpoints'>,
): string {
  // What stands in the table as it is, a version for instance, is no secret.
  const isSecret = (_: unknown, at: number): boolean => provider.entry.headers[at]?.credential !== undefined;
  const secrets = provider.headers.filter(isSecret).map(({ value }) => value);
  // A value may hold its scheme too: `Bearer <key>`.
  const keys = endpoints.flatMap(({ key }) => (key ? [key.secret] : []));
  const values = [...secrets, ...keys, ...provider.connectionSecrets.values()]
    .flatMap((secret) => secret.reveal().split(/\s+/))
    .flatMap(asWritten)
    .filter(({ length }) => length >= secretLengthMin);
  return values.reduce((rest, value) => withoutCutEnd(rest.replaceAll(value, redactedMark), value), text);
}

const redactedMark = '[redacted]';

/** As it is, and as it stands where somebody quotes the JSON that it came in. */
function asWritten(value: string): readonly string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  return inJson === value ? [value] : [value, inJson];
}

/** Long texts are cut, perhaps in the midst of a secret. */
function withoutCutEnd(text: string, value: string): string {
  for (let length = value.length - 1; length >= secretLengthMin; length--) {
    if (text.endsWith(value.slice(0, length))) return text.slice(0, -length) + redactedMark;
  }
  return text;
}
