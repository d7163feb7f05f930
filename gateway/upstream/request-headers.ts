// Which headers does an upstream see? Built from a short list, never copied from the caller. And which of what they
// hold must not come back in what it says?

import type { KeyedEndpoint, ProviderView, TargetView } from '../table/view.ts';
import { openRedactor } from './redact.ts';

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

/** The text without anything that this provider is reached with: any of its keys, headers, and what its connections take. */
export function redactCredentials(text: string, target: Reached): string {
  let redact = redactors.get(target);
  if (!redact) {
    redact = openRedactor(secretsOf(target));
    redactors.set(target, redact);
  }
  return redact(text);
}

type Reached = Pick<TargetView, 'provider' | 'endpoints'>;

/** Kept as long as the table view they belong to. */
const redactors = new WeakMap<Reached, (text: string) => string>();

function secretsOf({ provider, endpoints }: Reached): readonly string[] {
  // What stands in the table as it is, a version for instance, is no secret.
  const isSecret = (_: unknown, at: number): boolean => provider.entry.headers[at]?.credential !== undefined;
  const secrets = provider.headers.filter(isSecret).map(({ value }) => value);
  const keys = endpoints.flatMap(({ key }) => (key ? [key.secret] : []));
  // A value may hold its scheme too: `Bearer <key>`.
  return [...secrets, ...keys, ...provider.connectionSecrets.values()].flatMap((secret) =>
    secret.reveal().split(/\s+/),
  );
}
