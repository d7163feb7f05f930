// What does the environment say? Read once, validated, frozen.

import { z } from 'zod';
import { threadsDefault } from '../../core/egress/lookup-lanes.ts';
import { anyAddress } from '../../core/telemetry/process-server.ts';
import { readTelemetrySettings, type TelemetrySettings } from '../../core/telemetry/settings.ts';
import type { DoorBounds } from '../admission/bounds.ts';
import { matchAddresses } from '../admission/connections.ts';
import { callBudgetMsDefault } from '../limits/guarded-store.ts';
import type { StoreAddress } from '../limits/store.ts';
import {
  type IdentityEnvironment,
  identityVariables,
  readIdentityEnvironment,
} from '../upstream/identity/environment.ts';

const port = z.coerce.number().int().min(0).max(65_535);
const milliseconds = z.coerce.number().int().min(0);

const count = z.coerce.number().int().min(1);

const settingsSchema = z.object({
  /** Address and port of the client-facing server. */
  PENSTOCK_HOST: z
    .string()
    .min(1)
    .default(() => anyAddress()),
  PENSTOCK_PORT: port.default(8080),
  /** Folder with `tls.crt` and `tls.key`, as a Secret is mounted; without it that server speaks plain HTTP. */
  PENSTOCK_TLS_DIR: z.string().min(1).optional(),
  /** Port of metrics and health, on the same address. */
  PENSTOCK_METRICS_PORT: port.default(9090),
  /** Port of the exchange with the operator, on the same address; used where the table comes from Secrets. */
  PENSTOCK_INTERNAL_PORT: port.default(9091),
  /** The routing table as a file; replaced by renaming a new one over it. */
  PENSTOCK_TABLE_FILE: z.string().min(1).optional(),
  /** Or in Secrets: `namespace/name` of the pointer. */
  PENSTOCK_TABLE_SECRET: z
    .string()
    .regex(/^[^/]+\/[^/]+$/, 'must be namespace/name of the pointer Secret')
    .optional(),
  /** Folder of the pod's own copy of the table, for starts while the API server is away. */
  PENSTOCK_TABLE_COPY_DIR: z.string().min(1).optional(),
  /** What the kubelet gives every pod. */
  PENSTOCK_SERVICE_ACCOUNT_DIR: z.string().min(1).default('/var/run/secrets/kubernetes.io/serviceaccount'),
  KUBERNETES_SERVICE_HOST: z.string().min(1).optional(),
  KUBERNETES_SERVICE_PORT: port.optional(),
  /** Folder of the ledger journal. */
  PENSTOCK_JOURNAL_DIR: z.string().min(1),
  /** Bytes of records that it may hold; above, the oldest go to the log and are counted. */
  PENSTOCK_JOURNAL_BYTES_MAX: count.optional(),
  /** How long a draining gateway keeps accepting, until every load balancer has removed it. */
  PENSTOCK_DRAIN_ACCEPT_MS: milliseconds.default(10_000),
  /** How long running streams may take to end after that. */
  PENSTOCK_DRAIN_GRACE_MS: milliseconds.default(600_000),
  /** Threads of the process for lookups of names, files and compression; Node.js itself reads it. */
  UV_THREADPOOL_SIZE: z.coerce.number().int().min(1).max(1024).default(threadsDefault),
  /** Whether answers name the provider that served them. */
  PENSTOCK_SHOW_PROVIDER: z.enum(['true', 'false']).default('true'),
  /** Pages that may ask from the browser, the dashboard's among them. Without it, no page of another address may. */
  PENSTOCK_ALLOWED_ORIGINS: z
    .string()
    .transform((text) => text.split(',').flatMap((part) => part.trim() || []))
    .refine(
      (origins) => origins.every(isOrigin),
      'must be addresses such as https://penstock.example.com, without a path, separated by commas',
    )
    .default([]),
  /** Requests in flight; further ones get 503. */
  PENSTOCK_REQUESTS_IN_FLIGHT_MAX: count.optional(),
  /** Bytes of request bodies in flight; without it, a quarter of the memory that the container may have. */
  PENSTOCK_BODY_BYTES_IN_FLIGHT_MAX: count.optional(),
  /** Connections of clients, in total and from one address; further ones are closed at once. */
  PENSTOCK_CONNECTIONS_MAX: count.optional(),
  PENSTOCK_CONNECTIONS_PER_ADDRESS_MAX: count.optional(),
  /** Bad keys that one address may send in a minute before it gets 429 instead of 401; 0: any number. */
  PENSTOCK_FAILED_KEYS_PER_MINUTE: z.coerce.number().int().min(0).optional(),
  /** Addresses of trusted proxies, as CIDRs: no bound on their connections, and their X-Forwarded-For is believed. */
  PENSTOCK_PROXIES: z
    .string()
    .transform((text) => text.split(',').flatMap((part) => part.trim() || []))
    .refine(areAddresses, 'must be addresses or CIDRs, separated by commas')
    .optional(),
  /** The Valkey or Redis in which limits are kept for all gateways; without it each keeps its share of them. */
  PENSTOCK_LIMITS_STORE_URL: z
    .string()
    .refine(
      isStoreUrl,
      'must be redis://host:port, or rediss:// with TLS, and the number of a database as its path',
    )
    .refine(hasNoPassword, 'must hold no password; set PENSTOCK_LIMITS_STORE_PASSWORD')
    .optional(),
  PENSTOCK_LIMITS_STORE_PASSWORD: z.string().min(1).optional(),
  /** Prefix of every key in it. */
  PENSTOCK_LIMITS_STORE_PREFIX: z
    .string()
    .regex(/^[\w./-]{1,128}$/, 'must be up to 128 letters, digits and any of ._/-')
    .default('penstock'),
  /** How long a request may wait for it, once, in milliseconds; a store that takes longer is not asked for a while. */
  PENSTOCK_LIMITS_STORE_BUDGET_MS: z.coerce.number().int().min(5).max(5_000).default(callBudgetMsDefault),
  /** While it does not answer: each gateway keeps its share of the limits, or limited requests are rejected. */
  PENSTOCK_LIMITS_ON_STORE_ERROR: z.enum(['LocalShare', 'Deny']).default('LocalShare'),
  /** How many gateways share limits, if no operator tells how many are ready. */
  PENSTOCK_LIMITS_GATEWAYS: count.default(1),
  /** The ledger's read API, which knows what all gateways spent; without it, each gateway counts budgets for itself. */
  PENSTOCK_LEDGER_ADDRESS: z
    .url({ protocol: /^http$/, error: 'must be http://host:port of the ledger' })
    .optional(),
  /** The same over TLS. */
  PENSTOCK_LEDGER_TLS_ADDRESS: z
    .url({ protocol: /^https$/, error: 'must be https://host:port of the ledger' })
    .optional(),
  /** Where operator and ledger ask over TLS; without it, in plain HTTP alone. */
  PENSTOCK_INTERNAL_TLS_PORT: port.optional(),
  /** Whether pods of a release without TLS may ask too; false: plain HTTP is answered on loopback alone. */
  PENSTOCK_INTERNAL_PLAIN: z.enum(['true', 'false']).default('true'),
  /** Whether every ledger record is sent as an event over OTLP too; needs an endpoint (core/telemetry/settings.ts). */
  PENSTOCK_USAGE_EVENTS: z.enum(['true', 'false']).default('false'),
  /** Whether tokens are exported in the histogram that the conventions had before, too. */
  PENSTOCK_LEGACY_TOKEN_HISTOGRAM: z.enum(['true', 'false']).default('false'),
  /** How long the event loop may hang before the process ends; 0: for ever. */
  PENSTOCK_WATCHDOG_MS: milliseconds.default(10_000),
});

/** The variables that are read. */
export const settingNames: readonly string[] = [...Object.keys(settingsSchema.shape), ...identityVariables];

/** Where the routing table comes from. */
export type TableSettings =
  | { readonly type: 'file'; readonly path: string }
  | {
      readonly type: 'secret';
      readonly pointer: { readonly namespace: string; readonly name: string };
      readonly copyFolder: string | undefined;
      readonly serviceAccountFolder: string;
      readonly apiHost: string;
      readonly apiPort: number;
    };

export interface GatewaySettings {
  readonly host: string;
  readonly port: number;
  /** Undefined: plain HTTP. */
  readonly tlsFolder: string | undefined;
  readonly metricsPort: number;
  readonly internalPort: number;
  /** Undefined: no TLS. */
  readonly internalTlsPort: number | undefined;
  readonly hasInternalPlain: boolean;
  readonly table: TableSettings;
  readonly journalFolder: string;
  readonly journalBytesMax: number | undefined;
  readonly drainAcceptMs: number;
  readonly drainGraceMs: number;
  readonly showProvider: boolean;
  readonly allowedOrigins: readonly string[];
  readonly lookups: { readonly threads: number };
  /** Only the bounds that are set. */
  readonly bounds: Partial<DoorBounds>;
  readonly watchdogMs: number;
  readonly limits: LimitSettings;
  /** Undefined: no ledger. */
  readonly ledgerAddress: string | undefined;
  /** Undefined: the ledger is asked in plain HTTP. */
  readonly ledgerTlsAddress: string | undefined;
  /** Undefined: nothing is sent. */
  readonly telemetry: TelemetrySettings | undefined;
  readonly hasUsageEvents: boolean;
  readonly hasLegacyTokens: boolean;
  readonly identity: IdentityEnvironment;
}

export interface LimitSettings {
  /** Absent: each gateway keeps its share of the limits. */
  readonly store: StoreAddress | undefined;
  /** How long a request may wait for the store, once. */
  readonly callBudgetMs: number;
  readonly onStoreError: 'LocalShare' | 'Deny';
  /** Gateways that share limits, if no operator reports the number of ready ones. */
  readonly gateways: number;
}

/** @throws {Error} naming every variable that is missing or wrong, and what it should be. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): GatewaySettings {
  const parsed = settingsSchema.safeParse(environment);
  if (!parsed.success) {
    throw misfit(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`));
  }
  const { data } = parsed;
  return Object.freeze({
    host: data.PENSTOCK_HOST,
    port: data.PENSTOCK_PORT,
    tlsFolder: data.PENSTOCK_TLS_DIR,
    metricsPort: data.PENSTOCK_METRICS_PORT,
    internalPort: data.PENSTOCK_INTERNAL_PORT,
    internalTlsPort: data.PENSTOCK_INTERNAL_TLS_PORT,
    hasInternalPlain: data.PENSTOCK_INTERNAL_PLAIN === 'true',
    table: readTableSettings(data),
    journalFolder: data.PENSTOCK_JOURNAL_DIR,
    journalBytesMax: data.PENSTOCK_JOURNAL_BYTES_MAX,
    drainAcceptMs: data.PENSTOCK_DRAIN_ACCEPT_MS,
    drainGraceMs: data.PENSTOCK_DRAIN_GRACE_MS,
    showProvider: data.PENSTOCK_SHOW_PROVIDER === 'true',
    allowedOrigins: data.PENSTOCK_ALLOWED_ORIGINS,
    lookups: { threads: data.UV_THREADPOOL_SIZE },
    bounds: readBounds(data),
    watchdogMs: data.PENSTOCK_WATCHDOG_MS,
    limits: readLimitSettings(data),
    ledgerAddress: data.PENSTOCK_LEDGER_ADDRESS,
    ledgerTlsAddress: data.PENSTOCK_LEDGER_TLS_ADDRESS,
    telemetry: readTelemetrySettings(environment, 'penstock-gateway'),
    hasUsageEvents: data.PENSTOCK_USAGE_EVENTS === 'true',
    hasLegacyTokens: data.PENSTOCK_LEGACY_TOKEN_HISTOGRAM === 'true',
    identity: readIdentityEnvironment(environment),
  });
}

function readBounds(data: z.infer<typeof settingsSchema>): Partial<DoorBounds> {
  const named: { readonly [Name in keyof DoorBounds]?: DoorBounds[Name] | undefined } = {
    inFlightMax: data.PENSTOCK_REQUESTS_IN_FLIGHT_MAX,
    bodyBytesMax: data.PENSTOCK_BODY_BYTES_IN_FLIGHT_MAX,
    connectionsMax: data.PENSTOCK_CONNECTIONS_MAX,
    connectionsPerAddressMax: data.PENSTOCK_CONNECTIONS_PER_ADDRESS_MAX,
    failedKeysPerMinute: data.PENSTOCK_FAILED_KEYS_PER_MINUTE,
    proxies: data.PENSTOCK_PROXIES,
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

function readLimitSettings(data: z.infer<typeof settingsSchema>): LimitSettings {
  const url = data.PENSTOCK_LIMITS_STORE_URL;
  return {
    store:
      url === undefined
        ? undefined
        : {
            url,
            password: data.PENSTOCK_LIMITS_STORE_PASSWORD,
            prefix: data.PENSTOCK_LIMITS_STORE_PREFIX,
          },
    callBudgetMs: data.PENSTOCK_LIMITS_STORE_BUDGET_MS,
    onStoreError: data.PENSTOCK_LIMITS_ON_STORE_ERROR,
    gateways: data.PENSTOCK_LIMITS_GATEWAYS,
  };
}

function isStoreUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, hash } = new URL(text);
  return (
    /^rediss?:$/.test(protocol) && hostname !== '' && /^(\/\d*)?$/.test(pathname) && search + hash === ''
  );
}

function hasNoPassword(text: string): boolean {
  return !URL.canParse(text) || new URL(text).password === '';
}

/** Apps with pages of their own have schemes of their own: `app://obsidian.md`, `tauri://localhost`. To URL such origins are opaque. */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text)
    ? URL.parse(text)?.origin === text
    : /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9.-]+$/.test(text);
}

function areAddresses(ranges: readonly string[]): boolean {
  try {
    matchAddresses(ranges);
    return true;
  } catch {
    return false;
  }
}

function readTableSettings(data: z.infer<typeof settingsSchema>): TableSettings {
  const { PENSTOCK_TABLE_FILE: path, PENSTOCK_TABLE_SECRET: secret } = data;
  if (path !== undefined && secret !== undefined) {
    throw misfit([
      'PENSTOCK_TABLE_FILE and PENSTOCK_TABLE_SECRET are both set; a table comes from one place',
    ]);
  }
  if (path !== undefined) return { type: 'file', path };
  if (secret === undefined) {
    throw misfit([
      'neither PENSTOCK_TABLE_FILE nor PENSTOCK_TABLE_SECRET is set; one of them says where the routing table is',
    ]);
  }
  const { KUBERNETES_SERVICE_HOST: apiHost, KUBERNETES_SERVICE_PORT: apiPort } = data;
  if (apiHost === undefined || apiPort === undefined) {
    throw misfit([
      'PENSTOCK_TABLE_SECRET needs KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, which every pod has',
    ]);
  }
  const [namespace = '', name = ''] = secret.split('/');
  return Object.freeze({
    type: 'secret',
    pointer: { namespace, name },
    copyFolder: data.PENSTOCK_TABLE_COPY_DIR,
    serviceAccountFolder: data.PENSTOCK_SERVICE_ACCOUNT_DIR,
    apiHost,
    apiPort,
  });
}

function misfit(faults: readonly string[]): Error {
  return new Error(`Invalid environment: ${faults.join('; ')}`);
}
