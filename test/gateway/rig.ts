// A running gateway with a table of its own and upstreams that do what the test says.

import { createHash } from 'node:crypto';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type {
  ProviderEntry,
  RouteEntry,
  RoutingTable,
  TargetEntry,
} from '../../core/contract/routing-table.ts';
import { openMemoryJournal } from '../../gateway/meter/journal.ts';
import type { GatewayOptions } from '../../gateway/process/options.ts';
import { type RunningGateway, startGateway } from '../../gateway/process/start.ts';
import { TableHolder } from '../../gateway/table/holder.ts';
import { offerTable } from '../../gateway/table/sources/memory.ts';
import { keepSecret } from '../support/reported-secrets.ts';

/** The key that every rig knows. */
export const testKey = `psk_${'k'.repeat(49)}`;

export interface RigTarget extends Partial<TargetEntry> {
  /** Base URL of the upstream, ending in `/v1`. */
  readonly baseUrl: string;
  readonly provider?: string;
  readonly providerEntry?: Partial<ProviderEntry>;
  /** Credentials of the provider, by key name. */
  readonly keys?: Readonly<Record<string, string>>;
}

export interface Rig {
  readonly gateway: RunningGateway;
  readonly holder: TableHolder;
  readonly url: string;
  /** Base URL for OpenAI clients. */
  readonly baseUrl: string;
  readonly records: LedgerRecord[];
  readonly failures: unknown[];
  /** Puts another table into use; the generation counts up by itself. */
  offer(table: Partial<RoutingTable>): void;
  close(): Promise<void>;
}

export const loopback: RoutingTable['settings'] = {
  servicePrefix: 'penstock',
  keyPrefix: 'psk_',
  egressAllow: [{ cidr: '127.0.0.0/8', namespaces: ['*'] }],
};

/** A table with one route `m` in namespace `team`, served by the targets in the order given. */
export function tableOf(targets: readonly RigTarget[], route: Partial<RouteEntry> = {}): RoutingTable {
  const entries = targets.map((target, index) => ({
    target,
    id: target.provider ?? `platform/p${index}`,
    name: target.name ?? `t${index}`,
    index,
  }));
  for (const { keys } of targets) Object.values(keys ?? {}).forEach(keepSecret);
  return {
    format: 1,
    minReader: 1,
    epoch: 1,
    generation: 1,
    settings: loopback,
    credentials: entries.flatMap(({ target, id }) =>
      Object.entries(target.keys ?? {}).map(([name, value]) => ({
        id: `${id}/${name}`,
        value,
        fingerprint: createHash('sha256').update(value).digest('hex').slice(0, 16),
        hosts: [new URL(target.baseUrl).host],
      })),
    ),
    providers: entries.map(({ target, id }) => providerEntry(id, target)),
    routes: [
      {
        id: 'team/m',
        model: 'm',
        aliases: [],
        ownedBy: 'team',
        createdAt: 1_700_000_000,
        visibility: 'Listed',
        sharedWith: [],
        endpoints: ['openai-chat', 'openai-completions', 'openai-responses', 'anthropic-messages'],
        capabilities: ['Streaming', 'Tools'],
        timeouts: {},
        failover: {
          retryOn: [
            'ConnectFailure',
            'Timeout',
            'RateLimited',
            'ServerError',
            'Overloaded',
            'AuthFailure',
            'ModelNotFound',
            'ContextLengthExceeded',
          ],
          maxAttempts: 3,
          attemptsPerTarget: 1,
          backoffBaseMs: 100,
          backoffMaxMs: 2_000,
          honorRetryAfter: true,
        },
        targets: entries.map(({ target, id, name, index }) => targetEntry(target, id, name, index)),
        ...route,
      },
    ],
    keys: [keyEntry(testKey, 'team/key')],
  };
}

export function keyEntry(key: string, id: string): RoutingTable['keys'][number] {
  return { sha256: createHash('sha256').update(key).digest('hex'), id };
}

/** A test keeps the event loop busy by itself, and sends many bad keys. */
const unhurried: NonNullable<GatewayOptions['bounds']> = {
  turnMaxMs: Number.POSITIVE_INFINITY,
  loopDelayMaxMs: Number.POSITIVE_INFINITY,
  failedKeysPerMinute: 0,
};

export async function startRig(
  table: RoutingTable | undefined,
  options: Partial<GatewayOptions> = {},
): Promise<Rig> {
  const holder = new TableHolder();
  const records: LedgerRecord[] = [];
  const failures: unknown[] = [];
  let generation = 0;
  const offer = (next: Partial<RoutingTable>): void => {
    generation++;
    offerTable(holder, { ...tableOf([]), routes: [], ...table, ...next, generation });
  };
  if (table) offer(table);
  const gateway = await startGateway({
    host: '127.0.0.1',
    port: 0,
    metricsPort: 0,
    holder,
    journal: openMemoryJournal((record) => records.push(record)),
    showProvider: true,
    drainAcceptMs: 0,
    drainGraceMs: 0,
    onFailure: (error) => failures.push(error),
    // Each gateway of a test begins with loading the vocabulary, beside many others.
    countPatienceMs: 60_000,
    ...options,
    bounds: { ...unhurried, ...options.bounds },
  });
  return {
    gateway,
    holder,
    url: gateway.url,
    baseUrl: `${gateway.url}/v1`,
    records,
    failures,
    offer,
    close: () => gateway.drain(),
  };
}

function providerEntry(id: string, { baseUrl, keys, providerEntry: more }: RigTarget): ProviderEntry {
  return {
    id,
    type: 'OpenAICompatible',
    baseUrl,
    dialects: ['openai-chat', 'openai-completions'],
    isPlatform: true,
    ...(keys ? { auth: { header: 'Authorization', prefix: 'Bearer ' } } : {}),
    keys: Object.keys(keys ?? {}).map((name) => ({
      name,
      credential: `${id}/${name}`,
      weight: 1,
      priority: 0,
    })),
    headers: [],
    timeouts: {},
    breaker: { consecutiveFailures: 5, openForMs: 5_000, maxOpenMs: 25_000, rateLimitCooldownMs: 20_000 },
    ...more,
  };
}

function targetEntry(target: RigTarget, provider: string, name: string, index: number): TargetEntry {
  const { baseUrl: _, keys: __, providerEntry: ___, provider: ____, ...entry } = target;
  return {
    upstreamModel: `upstream-${index}`,
    priority: index,
    weight: 1,
    dialects: ['openai-chat', 'openai-completions'],
    price: { input: 1_000_000, output: 2_000_000, source: 'target' },
    timeouts: {},
    parameters: {},
    ...entry,
    provider,
    name,
  };
}
