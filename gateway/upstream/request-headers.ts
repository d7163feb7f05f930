// Which headers does an upstream see? Built from a short list, never copied from the caller. And which of what they
// hold must not come back in what it says?

import type { Secret } from '../table/secret.ts';
import type { ProviderView, TargetView } from '../table/view.ts';
import type { Lease } from './credential.ts';
import { openRedactor } from './redact.ts';

/** The same for every request with one lease. */
interface BaseHeaders {
  /** Names in lower case and values in turn. */
  readonly headers: readonly string[];
  /** Headers of the Provider and of its sign-in: a client cannot set them. */
  readonly ofProvider: ReadonlySet<string>;
}

/** @param accept The media type that is asked for. */
export function baseHeaders({ headers: own }: ProviderView, lease: Lease, accept: string): BaseHeaders {
  const byLease = cached.get(accept) ?? new WeakMap<Lease, BaseHeaders>();
  cached.set(accept, byLease);
  const known = byLease.get(lease);
  if (known) return known;
  // One of each name: the Provider's headers override ours, and its key overrides both.
  const byName = new Map([
    ['content-type', 'application/json'],
    ['accept', accept],
    // Answers are read as they come; a compressed stream would be held back by its compressor.
    ['accept-encoding', 'identity'],
    ['user-agent', 'penstock'],
  ]);
  const ofProvider = new Set<string>();
  const set = (name: string, value: string): void => {
    ofProvider.add(name.toLowerCase());
    byName.set(name.toLowerCase(), value);
  };
  for (const { name, value } of own) set(name, value.reveal());
  const { headers: ofLease } = lease;
  for (let at = 0; at < ofLease.length; at += 2) set(ofLease[at] ?? '', ofLease[at + 1] ?? '');
  const base = { headers: [...byName].flat(), ofProvider };
  byLease.set(lease, base);
  return base;
}

/** By media type, of which there is a handful; kept as long as the lease. */
const cached = new Map<string, WeakMap<Lease, BaseHeaders>>();

/** The text without anything that this provider is reached with: any of its keys, headers, and what its connections take. */
export function redactCredentials(text: string, target: Reached, lease?: Lease): string {
  let redact = redactors.get(target);
  if (!redact) {
    redact = openRedactor(secretsOf(target));
    redactors.set(target, redact);
  }
  const { secrets = [] } = lease ?? {};
  const clean = redact(text);
  return secrets.length === 0 ? clean : openRedactor(secrets.flatMap(wordsOf))(clean);
}

type Reached = Pick<TargetView, 'provider' | 'endpoints'>;

/** Kept as long as the table view they belong to. */
const redactors = new WeakMap<Reached, (text: string) => string>();

function secretsOf({ provider, endpoints }: Reached): readonly string[] {
  // A literal value in the table, such as a version, is no secret.
  const isSecret = (_: unknown, at: number): boolean => provider.entry.headers[at]?.credential !== undefined;
  const secrets = provider.headers.filter(isSecret).map(({ value }) => value);
  const keys = endpoints.flatMap(({ key }) => (key ? [key.secret] : []));
  return [...secrets, ...keys, ...provider.connectionSecrets.values()].flatMap(wordsOf);
}

/** A value may hold its scheme too: `Bearer <key>`. */
function wordsOf(secret: Secret): readonly string[] {
  return secret.reveal().split(/\s+/);
}
