// Contents of tables, of any size, in the order in which the compile gives them.

import { hash } from 'node:crypto';
import type {
  Credential,
  KeyEntry,
  ProviderEntry,
  RouteEntry,
  TableContent,
  TargetEntry,
} from '../../../core/contract/routing-table.ts';
import { compareText } from '../../../operator/compile/order.ts';

export function keyEntry(number: number, fields: Partial<KeyEntry> = {}): KeyEntry {
  return {
    sha256: hash('sha256', `key ${number}`),
    id: `team-${number % 50}/key-${number}`,
    notAfterMs: 1_900_000_000_000 + number,
    models: { allow: ['chat', 'penstock/*'], deny: [] },
    owner: { name: `owner ${number}`, team: `team-${number % 50}` },
    ...fields,
  };
}

/** With the one key `main` from a credential of its own. */
export function providerEntry(number: number, fields: Partial<ProviderEntry> = {}): ProviderEntry {
  const id = `team-${number % 50}/provider-${number}`;
  return {
    id,
    type: 'OpenAI',
    baseUrl: 'https://api.example/v1',
    dialects: ['openai-chat'],
    isPlatform: false,
    auth: { header: 'authorization', prefix: 'Bearer ' },
    keys: [{ name: 'main', credential: `${id}/main`, weight: 1, priority: 0 }],
    headers: [],
    timeouts: {},
    breaker: { consecutiveFailures: 5, openForMs: 1_000, maxOpenMs: 60_000, rateLimitCooldownMs: 1_000 },
    ...fields,
  };
}

export function credential(id: string, fields: Partial<Credential> = {}): Credential {
  const value = `sk-${hash('sha256', id)}`;
  return { id, value, fingerprint: hash('sha256', value).slice(0, 16), hosts: ['api.example'], ...fields };
}

export function target(provider: string, fields: Partial<TargetEntry> = {}): TargetEntry {
  return {
    name: provider.replace('/', '-'),
    provider,
    upstreamModel: 'gpt-x',
    priority: 0,
    weight: 1,
    dialects: ['openai-chat'],
    price: null,
    timeouts: {},
    parameters: {},
    ...fields,
  };
}

export function routeEntry(
  number: number,
  targets: readonly TargetEntry[],
  fields: Partial<RouteEntry> = {},
): RouteEntry {
  return {
    id: `team-${number % 50}/route-${number}`,
    model: `model-${number}`,
    aliases: [],
    ownedBy: 'team',
    createdAt: 1_700_000_000,
    visibility: 'Listed',
    sharedWith: [],
    endpoints: ['openai-chat'],
    capabilities: ['stream', 'tools'],
    timeouts: {},
    failover: {
      retryOn: ['ConnectFailure', 'Timeout'],
      maxAttempts: 3,
      attemptsPerTarget: 1,
      backoffBaseMs: 50,
      backoffMaxMs: 1_000,
      honorRetryAfter: true,
    },
    targets: [...targets],
    ...fields,
  };
}

export interface ContentSize {
  readonly keys?: number;
  /** Each with a target at one of the providers. */
  readonly routes?: number;
  readonly providers?: number;
}

export function makeContent({
  keys = 0,
  routes = 0,
  providers = routes > 0 ? 1 : 0,
}: ContentSize): TableContent {
  const providerEntries = numbers(providers).map((number) => providerEntry(number));
  return {
    settings: { servicePrefix: 'penstock', keyPrefix: 'psk_', egressAllow: [] },
    providers: providerEntries.toSorted(byId),
    credentials: providerEntries
      .flatMap((provider) => provider.keys.map((key) => credential(key.credential)))
      .toSorted(byId),
    routes: numbers(routes)
      .map((number) => routeEntry(number, [target(providerEntry(number % providers).id)]))
      .toSorted(byId),
    keys: sortKeys(numbers(keys).map((number) => keyEntry(number))),
  };
}

export function withKeys(content: TableContent, keys: readonly KeyEntry[]): TableContent {
  return { ...content, keys: sortKeys(keys) };
}

export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function sortKeys(keys: readonly KeyEntry[]): KeyEntry[] {
  return keys.toSorted((a, b) => compareText(a.sha256, b.sha256));
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return compareText(a.id, b.id);
}
