// Penstock's gateway, everything on: keys, routes, prices, journal, metrics, from a table file.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type KeyEntry, parseRoutingTable, type RoutingTable } from '../../../core/contract/routing-table.ts';
import { podFlags, podMemoryMib } from './pod-flags.ts';
import { freePort } from './ports.ts';
import { pinned, runningTarget, type Target } from './target.ts';

const root = join(import.meta.dirname, '../../..');
/** The bundle of `npm run build` is what images run; without one the source is. */
const entryPoints = [join(root, 'dist/gateway.js'), join(root, 'gateway/main.ts')];

const namespace = 'bench';
const servicePrefix = 'penstock';
/** Other callers and routes around the ones used. */
export type TableSize = { keys: number; routes: number };

/** Lookups in a table of one would prove nothing. */
const usualSize: TableSize = { keys: 10_000, routes: 200 };

export const gateway: Target = gatewayWith(usualSize);

/** @param more Further environment variables. */
export function gatewayWith(size: TableSize, more: Readonly<Record<string, string>> = {}): Target {
  return {
    name: 'gateway',
    describe: async () => `${findEntryPoint().slice(root.length + 1)} on Node ${process.version}`,
    async start(context) {
      const [port, metricsPort] = [await freePort(), await freePort()];
      const folder = join(context.workFolder, `gateway-${port}`);
      const tableFile = join(folder, 'table.json');
      const journalFolder = join(folder, 'journal');
      await mkdir(journalFolder, { recursive: true });
      await writeFile(tableFile, JSON.stringify(benchTable(context.upstream.port, context.models, size)));
      const launched = await context.launcher.start({
        name: 'gateway',
        command: process.execPath,
        args: [...podFlags(podMemoryMib), ...(context.nodeArgs ?? []), findEntryPoint()],
        env: {
          NODE_ENV: 'production',
          PENSTOCK_HOST: '127.0.0.1',
          PENSTOCK_PORT: String(port),
          PENSTOCK_METRICS_PORT: String(metricsPort),
          PENSTOCK_TABLE_FILE: tableFile,
          PENSTOCK_JOURNAL_DIR: journalFolder,
          // No load balancer has to hear of its end, and its last streams are the benchmark's own.
          PENSTOCK_DRAIN_ACCEPT_MS: '0',
          PENSTOCK_DRAIN_GRACE_MS: '1000',
          ...more,
        },
        cwd: folder,
        // It drains before it ends; a profile is only written by an orderly exit.
        graceMs: 15_000,
        ...pinned(context),
      });
      return {
        ...runningTarget('gateway', port, launched),
        authorization: `Bearer ${benchKey}`,
        modelName: publicModel,
      };
    },
  };
}

function findEntryPoint(): string {
  const found = entryPoints.find((file) => existsSync(file));
  if (found === undefined) {
    throw new Error('there is no gateway to measure: neither dist/gateway.js nor gateway/main.ts exists');
  }
  return found;
}

/** The key of all loads: the first in the table. */
export const benchKey = keyNumber(0);

/** A key of the usual shape; it opens nothing but the mock. */
function keyNumber(number: number): string {
  const digits = createHash('sha256').update(`bench key ${number}`).digest('hex');
  return `psk_${digits.slice(0, 49)}`;
}

/** Of models whose calls go through limits that they never reach. */
const limitedSuffix = /-limited$/;
const isLimited = (model: string): boolean => limitedSuffix.test(model);
export const wideLimits = {
  requestsPerMinute: 100_000_000,
  tokensPerMinute: 1_000_000_000_000,
  maxConcurrentRequests: 1_000_000,
};

export function publicModel(upstreamModel: string): string {
  return `${servicePrefix}/bench-${upstreamModel}`;
}

/** One provider (the mock), one route per scripted model, each priced, and many keys. */
export function benchTable(
  upstreamPort: number,
  models: readonly string[],
  size: TableSize = usualSize,
): RoutingTable {
  const credentialValue = 'bench-upstream-credential';
  const routes = [...models, ...Array.from({ length: size.routes }, (_, i) => `other-${i}`)];
  const table: RoutingTable = {
    format: 1,
    minReader: 1,
    epoch: 1,
    generation: 1,
    settings: {
      servicePrefix,
      keyPrefix: 'psk_',
      egressAllow: [{ cidr: '127.0.0.0/8', namespaces: ['*'] }],
    },
    providers: [
      ...[{}, { limits: wideLimits }].map((more) => ({
        ...more,
        id: `${namespace}/${'limits' in more ? 'limited' : 'mock'}`,
        type: 'OpenAI',
        baseUrl: `http://127.0.0.1:${upstreamPort}/v1`,
        dialects: ['openai-chat' as const],
        isPlatform: true,
        auth: { header: 'authorization', prefix: 'Bearer ' },
        keys: [{ name: 'default', credential: `${namespace}/mock/default`, weight: 1, priority: 0 }],
        headers: [],
        timeouts: {},
        breaker: {
          consecutiveFailures: 5,
          openForMs: 5_000,
          maxOpenMs: 25_000,
          rateLimitCooldownMs: 30_000,
        },
      })),
    ],
    credentials: [
      {
        id: `${namespace}/mock/default`,
        value: credentialValue,
        fingerprint: createHash('sha256').update(credentialValue).digest('hex').slice(0, 16),
        hosts: [`127.0.0.1:${upstreamPort}`],
      },
    ],
    routes: routes.map((model) => ({
      id: `${namespace}/${model}`,
      ...(isLimited(model) ? { limits: wideLimits } : {}),
      model: publicModel(model),
      aliases: [],
      ownedBy: servicePrefix,
      createdAt: 1_700_000_000,
      visibility: 'Public',
      sharedWith: '*',
      endpoints: ['openai-chat', 'openai-completions', 'openai-responses', 'anthropic-messages'],
      capabilities: [],
      timeouts: {},
      failover: {
        retryOn: ['ConnectFailure', 'Timeout', 'RateLimited', 'ServerError', 'Overloaded', 'AuthFailure'],
        maxAttempts: 3,
        attemptsPerTarget: 1,
        backoffBaseMs: 50,
        backoffMaxMs: 1_000,
        honorRetryAfter: true,
      },
      targets: [
        {
          name: 'mock',
          provider: `${namespace}/${isLimited(model) ? 'limited' : 'mock'}`,
          upstreamModel: model.replace(limitedSuffix, ''),
          priority: 0,
          weight: 1,
          dialects: ['openai-chat'],
          price: { input: 150_000, output: 600_000, source: 'target' },
          timeouts: {},
          parameters: {},
        },
      ],
    })),
    keys: Array.from({ length: size.keys + 1 }, (_, i) => keyEntry(i)),
  };
  // Refused here with the field's name, rather than by a gateway that does not start.
  return parseRoutingTable(table);
}

function keyEntry(number: number): KeyEntry {
  return {
    sha256: createHash('sha256').update(keyNumber(number)).digest('hex'),
    id: `${namespace}/key-${number}`,
  };
}
