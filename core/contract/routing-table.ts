// What does the operator tell every gateway? The routing table: its schema, its type, its version.
// Owned by its reader: the running pod decides what it can understand. The operator runs its own
// output through the same parser before it publishes.

import { z } from 'zod';
import { dialectNames, isUpstreamOnly, upstreamDialectNames } from '../catalog/dialects.ts';
import { type LimitMember, limitMembers } from '../catalog/limits.ts';
import { isProviderType, PROVIDER_TYPES } from '../catalog/provider-types.ts';
import { budgetSchema } from './budget.ts';

/** The table format this code writes. Raised only by a change an older reader would misread. */
export const TABLE_FORMAT = 1;

/**
 * The newest format this code reads. It runs ahead of `TABLE_FORMAT`: every gateway learns to read an entry before
 * any table holds one, see `neededFormat`.
 */
export const READER_FORMAT = 4;

/** How a client speaks. One folder of `gateway/dialects` each. */
export const dialectNameSchema = z.enum(dialectNames);
export type DialectName = z.infer<typeof dialectNameSchema>;

/** How an upstream speaks: one of the client dialects, or an upstream-only dialect. */
export const upstreamDialectSchema = z.enum(upstreamDialectNames);
export type UpstreamDialectName = z.infer<typeof upstreamDialectSchema>;

const milliseconds = z.int().min(0);
const picodollars = z.int().min(0);
const objectId = z.string().regex(/^[^/]+\/[^/]+$/, 'must be namespace/name');

/**
 * Timers of one upstream call, in milliseconds. Each is optional; the nearest block wins
 * (target, then route, then provider, then the gateway's defaults).
 */
const timeoutsSchema = z.object({
  connectMs: milliseconds.optional(),
  firstEventMs: milliseconds.optional(),
  lastFirstEventMs: milliseconds.optional(),
  livenessMs: milliseconds.optional(),
  progressMs: milliseconds.optional(),
  totalMs: milliseconds.optional(),
  clientWriteMs: milliseconds.optional(),
});
export type Timeouts = z.infer<typeof timeoutsSchema>;

/**
 * How much may pass in all pods together; what is absent has no limit. An older gateway does not read them, wherever they
 * stand, and lets all through.
 */
const rateLimitsSchema = z.object(
  Object.fromEntries(limitMembers.map((member) => [member, z.int().min(1).optional()])) as Record<
    LimitMember,
    z.ZodOptional<z.ZodInt>
  >,
);
export type RateLimits = z.infer<typeof rateLimitsSchema>;

const ratesSchema = z.object({
  input: picodollars,
  cachedInput: picodollars.optional(),
  cacheWrite: picodollars.optional(),
  /** An older gateway charges them as the others. */
  cacheWriteHour: picodollars.optional(),
  output: picodollars,
  reasoning: picodollars.optional(),
});

/**
 * What tokens cost, in integer picodollars (1 USD = 10^12) per token. An absent kind costs what its
 * parent kind costs: cached and cache-write tokens as input, those written for an hour as those written, reasoning tokens as output.
 * `tiers` replace the rates for a whole call whose input is longer than `aboveInputTokens`.
 */
export const priceSchema = ratesSchema.extend({
  perRequest: picodollars.optional(),
  tiers: z.array(ratesSchema.partial().extend({ aboveInputTokens: z.int().min(1) })).optional(),
  /** Where the price was found, for the ledger: `target`, `route` or `catalog`; or `provisioned`, where capacity is paid and calls are not. */
  source: z.string().min(1),
  /** Which entry of which catalog it is, where that is the source. */
  catalog: z
    .object({
      name: z.string().min(1),
      version: z.string().min(1),
      provider: z.string().min(1),
      model: z.string().min(1),
      /** The entry is of another place, and this one costs so much more; the rates above are with it. */
      surchargePercent: z.int().min(1).max(1000).optional(),
    })
    .optional(),
});
export type Price = z.infer<typeof priceSchema>;

/** A secret value of a provider, and the hosts it may be sent to. Never logged. */
export const credentialSchema = z.object({
  /** `namespace/provider/name`; unique in the table. */
  id: z.string().min(1),
  value: z.string().min(1),
  /** First 16 hex digits of the SHA-256 of the value: tells versions apart without showing them. */
  fingerprint: z.string().regex(/^[0-9a-f]{16}$/),
  /** Exact `host` or `host:port` names; the default port of the scheme is left out. */
  hosts: z.array(z.string().min(1)).min(1),
  /**
   * Where the value was read: a Secret of the Provider's namespace, and the key in it. For the operator alone, which has
   * to know whose consent a form hangs on that is used longer than its object asks for it.
   */
  from: z.object({ secret: z.string().min(1), key: z.string().min(1) }).optional(),
});
export type Credential = z.infer<typeof credentialSchema>;

/** How the upstream proves who it is, and the gateway to it. Absent: by the public authorities, from TLS 1.2 on. */
const upstreamTlsSchema = z.object({
  /** PEM certificates to trust instead of the public authorities. */
  ca: z.string().min(1).optional(),
  /** Presented where the upstream asks for one. */
  clientCertificate: z
    .object({
      /** PEM, the leaf first. */
      chain: z.string().min(1),
      /** Credential with the PEM private key. */
      key: z.string().min(1),
    })
    .optional(),
  /** Name to ask for and to expect, if it is not the host of `baseUrl`. */
  serverName: z.string().min(1).optional(),
  minVersion: z.enum(['TLSv1.2', 'TLSv1.3']).optional(),
  /** Neither certificate nor name is verified: any server is trusted. */
  insecureSkipVerify: z.literal(true).optional(),
});
export type UpstreamTls = z.infer<typeof upstreamTlsSchema>;

/** What every connection to the upstream is tunnelled through: HTTP CONNECT, or SOCKS5 that resolves names itself. */
const upstreamProxySchema = z.object({
  protocol: z.enum(['http', 'https', 'socks5']),
  /** Host name or address literal; IPv6 in brackets. */
  hostname: z.string().min(1),
  port: z.int().min(1).max(65_535),
  /** Credentials; their `hosts` name `hostname:port` of the proxy. */
  username: z.string().min(1).optional(),
  password: z.string().min(1).optional(),
});
export type UpstreamProxy = z.infer<typeof upstreamProxySchema>;

/** An upstream: where it is, what it speaks, with which credentials. */
export const providerEntrySchema = z.object({
  id: objectId,
  /** The custom resource's `spec.type`, for ledger and metrics; in the gateway it chooses the seats on the way upstream, and nothing else. */
  type: z.string().min(1),
  displayName: z.string().optional(),
  /** Absolute http(s) address without a trailing slash; dialect paths are appended. */
  baseUrl: z.string().min(1),
  dialects: z.array(upstreamDialectSchema).min(1),
  /**
   * What it calls the output limit and the end user in chat completions: `current` as OpenAI does today,
   * `common` as all vendors know them, and it knows no other names; absent: it may know the current ones, and is asked by the common ones.
   */
  chatNames: z.enum(['current', 'common']).optional(),
  /** It takes the messages of a chat in one order only: after a tool's comes the assistant's, and system text comes first or after the user's. */
  chatOrder: z.literal('strict').optional(),
  /** Messages: it takes images and files as base64 alone. */
  messagesSources: z.literal('base64').optional(),
  /** Messages: it refuses the schema of an answer, so that a tool takes its place; of a caller of messages the schema is sent as it came. */
  messagesSchemas: z.literal('by-tool').optional(),
  /** Members of a request by which its caller would have another model than the target's; of a caller they are not sent. */
  modelMembers: z.array(z.string().min(1)).optional(),
  /** True if the provider belongs to the platform; false: a tenant's own (BYOK). */
  isPlatform: z.boolean(),
  /** How a key is presented; absent if the upstream takes none. */
  auth: z.object({ header: z.string().min(1), prefix: z.string() }).optional(),
  /** Usable keys only: disabled, missing and refused ones are left out by the operator. */
  keys: z.array(
    z.object({
      name: z.string().min(1),
      credential: z.string().min(1),
      weight: z.int().min(0),
      priority: z.int().min(0),
      /** The quota that the upstream gives this key. */
      limits: rateLimitsSchema.optional(),
    }),
  ),
  /** Extra request headers: a literal value, or a credential's. */
  headers: z.array(
    z.object({ name: z.string().min(1), value: z.string().optional(), credential: z.string().optional() }),
  ),
  /**
   * Options that the type's own way upstream reads. An older gateway ignores an option that it does not know: it drops
   * `sessionTags` silently, and callers share one session.
   */
  settings: z.record(z.string().min(1), z.string()).optional(),
  /** Needs a reader of format 2: an older one would leave it out, and trust whom it should not. */
  tls: upstreamTlsSchema.optional(),
  /** Needs a reader of format 2: an older one would go past the proxy. */
  proxy: upstreamProxySchema.optional(),
  timeouts: timeoutsSchema,
  /** Passive health: when a pod stops using this provider for a while. */
  breaker: z.object({
    /** 0 switches the breaker off. */
    consecutiveFailures: z.int().min(0),
    openForMs: milliseconds,
    maxOpenMs: milliseconds,
    rateLimitCooldownMs: milliseconds,
  }),
  /** Of the whole upstream, all keys together. */
  limits: rateLimitsSchema.optional(),
});
export type ProviderEntry = z.infer<typeof providerEntrySchema>;

/**
 * Whether its keys are exchanged for bearer tokens, of a type whose plain keys are in another header. In this very case: the operator writes the
 * name of a plain key's header in lower case.
 */
export function isExchangedKey({ auth }: Pick<ProviderEntry, 'auth'>): boolean {
  return auth?.header === 'Authorization';
}

/**
 * The oldest reader format that does what this entry says. A table with such an entry is for gateways that all read
 * that format; the rest of the table is for every one.
 */
export function neededFormat({
  type,
  dialects,
  auth,
  settings,
  tls,
  proxy,
}: Pick<ProviderEntry, 'type' | 'dialects' | 'auth' | 'settings' | 'tls' | 'proxy'>): 1 | 2 | 3 | 4 {
  const { hasOwnSeats, signInFormat } = isProviderType(type) ? PROVIDER_TYPES[type] : {};
  // An older gateway would send the key of a type that it does not know, or knows as one of plain keys, as it is.
  const signsIn = settings?.identity !== undefined || isExchangedKey({ auth });
  if (signInFormat !== undefined && signsIn) return signInFormat;
  if (hasOwnSeats || dialects.some(isUpstreamOnly)) return 3;
  return tls === undefined && proxy === undefined ? 1 : 2;
}

/** Ids of all credentials that an entry refers to. */
export function credentialsOf({ keys, headers, tls, proxy }: ProviderEntry): string[] {
  return [
    ...keys.map(({ credential }) => credential),
    ...headers.map(({ credential }) => credential),
    tls?.clientCertificate?.key,
    proxy?.username,
    proxy?.password,
  ].filter((id) => id !== undefined);
}

/** Request members that decide what is asked, of whom, and how it is answered: no target gives a default for them. */
export const callersOwnMembers: readonly string[] = [
  'model',
  'messages',
  'prompt',
  'input',
  'n',
  'stream',
  'stream_options',
];

/** One provider and model that can serve a route. */
const targetEntrySchema = z.object({
  name: z.string().min(1),
  provider: objectId,
  upstreamModel: z.string().min(1),
  /** Lower is tried first; targets of equal priority share by weight. */
  priority: z.int().min(0),
  weight: z.int().min(0),
  /** Dialects that may be used with this target, best first. */
  dialects: z.array(upstreamDialectSchema).min(1),
  /** Null: the price is unknown; tokens are recorded, the cost stays null. */
  price: priceSchema.nullable(),
  /**
   * Tokens that fit into the model, where a catalog knows it. An older gateway does not read it, and tries every target
   * after one whose model was too small.
   */
  contextLength: z.int().min(1).optional(),
  timeouts: timeoutsSchema,
  /** Request members sent when the caller gives none of that name; none that is the caller's own to say. */
  parameters: z
    .record(z.string(), z.unknown())
    .refine((parameters) => callersOwnMembers.every((name) => !Object.hasOwn(parameters, name)), {
      message: `must not hold any of ${callersOwnMembers.join(', ')}`,
    }),
});
export type TargetEntry = z.infer<typeof targetEntrySchema>;

/** Which failures of an attempt may move a request on to the next candidate. */
export const retryReasonSchema = z.enum([
  'ConnectFailure',
  'Timeout',
  'RateLimited',
  'ServerError',
  'Overloaded',
  'AuthFailure',
  'ModelNotFound',
  'ContextLengthExceeded',
  'ContentFiltered',
]);
export type RetryReason = z.infer<typeof retryReasonSchema>;

/** A public model id, its callers, and the ordered targets that serve it. */
export const routeEntrySchema = z.object({
  id: objectId,
  model: z.string().min(1),
  aliases: z.array(z.string().min(1)),
  displayName: z.string().optional(),
  description: z.string().optional(),
  ownedBy: z.string().min(1),
  /** Unix seconds; the `created` of the model list. */
  createdAt: z.int().min(0),
  /** Public: listed without a key. Hidden: callable, never listed. */
  visibility: z.enum(['Public', 'Listed', 'Hidden']),
  /** Namespaces besides the route's own whose keys may call it; `*`: all namespaces. */
  sharedWith: z.union([z.literal('*'), z.array(z.string().min(1))]),
  /** Client-facing dialects. */
  endpoints: z.array(dialectNameSchema).min(1),
  capabilities: z.array(z.string()),
  contextLength: z.int().min(1).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  timeouts: timeoutsSchema,
  /**
   * Deny: targets without a price serve only the owner of their provider. Absent: their requests have no cost. A gateway
   * older than this member serves them, and the records say that the cost is unknown.
   */
  unpriced: z.enum(['MeterOnly', 'Deny']).optional(),
  /**
   * Assured: an answer is held and given out whole, so that any failure moves on to the next target. Absent:
   * as it comes. An older gateway leaves it out: it streams, and what breaks off ends with an error.
   */
  delivery: z.enum(['Stream', 'Assured']).optional(),
  /**
   * The beginning of a stream is held until so many content events have come, or so long after the first; with
   * neither, or without it, nothing is. An older gateway leaves it out.
   */
  holdBack: z.object({ events: z.int().min(1).optional(), durationMs: milliseconds.optional() }).optional(),
  /** Always: plain answers are fetched as streams. Absent: as they were asked for. An older gateway leaves it out. */
  upstreamStreaming: z.enum(['Auto', 'Always']).optional(),
  /** Requested: answers name the model that was asked for. Absent: as the upstream says. An older gateway leaves it out. */
  responseModel: z.enum(['Served', 'Requested']).optional(),
  failover: z.object({
    retryOn: z.array(retryReasonSchema),
    maxAttempts: z.int().min(1),
    attemptsPerTarget: z.int().min(1),
    backoffBaseMs: milliseconds,
    backoffMaxMs: milliseconds,
    honorRetryAfter: z.boolean(),
    /** What calls have in common that belong on one target. An older gateway does not read it, and draws by weight. */
    affinity: z.enum(['ApiKey', 'PromptPrefix']).optional(),
  }),
  /** Of the model, all callers together. */
  limits: rateLimitsSchema.optional(),
  targets: z.array(targetEntrySchema).min(1),
});
export type RouteEntry = z.infer<typeof routeEntrySchema>;

/**
 * A model id that a route holds and that nothing serves now: its callers hear that it is out of service, not that there is no
 * such model. An older gateway does not read it, and answers as to an unknown model.
 */
export const unavailableRouteSchema = routeEntrySchema
  .pick({
    model: true,
    id: true,
    aliases: true,
    displayName: true,
    description: true,
    ownedBy: true,
    createdAt: true,
    visibility: true,
    sharedWith: true,
    capabilities: true,
    contextLength: true,
    maxOutputTokens: true,
  })
  .extend({
    /** `Suspended` or `NoUsableTarget`; a reader takes any other word for the second. */
    reason: z.string().min(1),
  });
export type UnavailableRoute = z.infer<typeof unavailableRouteSchema>;

/** An API key: its digest and its rights. The key itself is never in the table. */
export const keyEntrySchema = z.object({
  /** SHA-256 of the key, 64 lower-case hex digits. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  id: objectId,
  /** Unix milliseconds after which the key no longer works; gateways check it themselves. */
  notAfterMs: z.int().min(0).optional(),
  /** Exact ids or a prefix with a trailing `*`; an empty allow list allows all that is visible. */
  models: z.object({ allow: z.array(z.string()), deny: z.array(z.string()) }).optional(),
  /** Copied to the ledger records of this key. */
  owner: z
    .object({ name: z.string().optional(), email: z.string().optional(), team: z.string().optional() })
    .optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  /** Of all entries with this id together. */
  limits: rateLimitsSchema.optional(),
  /**
   * A request is refused once one of them is used up, counted over all entries with this id. Budgets that only warn are not here; the
   * operator handles them. Gateways older than this member ignore it and admit all requests.
   */
  budgets: z.array(budgetSchema).min(1).optional(),
});
export type KeyEntry = z.infer<typeof keyEntrySchema>;

/** Faults that the operator's own checks found: advice that orders candidates, and never removes one. */
export const healthHintSchema = z.object({
  provider: objectId,
  /** A key that the provider refuses; absent: the provider itself does not answer. */
  key: z.string().min(1).optional(),
});
export type HealthHint = z.infer<typeof healthHintSchema>;

/** Hints in one table. With more troubles than that, an order of targets has no use any more. */
export const HINTS_MAX = 500;

/** Output of the compile: everything of the table but its number. */
export const tableContentSchema = z.object({
  settings: z.object({
    /** Models of the service itself are named `<servicePrefix>/…`. */
    servicePrefix: z.string().min(1),
    /** Every key begins with it. */
    keyPrefix: z.string().min(1),
    /** Address ranges, normally refused, that named namespaces may reach (`*`: all). */
    egressAllow: z.array(z.object({ cidr: z.string().min(1), namespaces: z.array(z.string().min(1)) })),
    /**
     * Ranges of public space that are refused like private ones, unless the list above opens them. A gateway that does not know this
     * reaches them, as all did before.
     */
    egressDeny: z.array(z.string().min(1)).optional(),
    /** Budgets for the ApiKeys of a namespace together. An older gateway does not read them, and lets all requests through. */
    tenantBudgets: z
      .array(z.object({ namespace: z.string().min(1), budgets: z.array(budgetSchema).min(1) }))
      .optional(),
    /** Budgets that only warn: the ledger reports them, and gateways ignore them. */
    tenantWarnings: z
      .array(z.object({ namespace: z.string().min(1), budgets: z.array(budgetSchema).min(1) }))
      .optional(),
    /** How much may pass for the ApiKeys of a namespace together, as the platform says it. */
    tenantLimits: z.array(z.object({ namespace: z.string().min(1), limits: rateLimitsSchema })).optional(),
  }),
  providers: z.array(providerEntrySchema),
  credentials: z.array(credentialSchema),
  routes: z.array(routeEntrySchema),
  /** Never for routes in service. */
  unavailable: z.array(unavailableRouteSchema).optional(),
  keys: z.array(keyEntrySchema),
});
export type TableContent = z.infer<typeof tableContentSchema>;

const routingTableSchema = tableContentSchema.extend({
  hints: z.array(healthHintSchema).max(HINTS_MAX).optional(),
  /** The format it was written in; a newer one may be readable still, see `minReader`. */
  format: z.int().min(1),
  /** The oldest reader format that understands this table. */
  minReader: z.int().min(1),
  epoch: z.int().min(0),
  /** The table generation: answers carry it as `x-penstock-generation`. Never goes backwards within an epoch. */
  generation: z.int().min(0),
});
export type RoutingTable = z.infer<typeof routingTableSchema>;

/** Why a table was refused: `too-new` keeps the old one until this pod is upgraded; `invalid` names the first fault. */
export class TableRefusedError extends Error {
  readonly reason: 'too-new' | 'invalid';
  constructor(reason: 'too-new' | 'invalid', message: string) {
    super(message);
    this.name = 'TableRefusedError';
    this.reason = reason;
  }
}

/**
 * Turns unknown data into a routing table.
 *
 * @throws {TableRefusedError} with `too-new` when `minReader` is above this reader, else `invalid`.
 */
export function parseRoutingTable(data: unknown): RoutingTable {
  const head = z.object({ minReader: z.int() }).safeParse(data);
  if (head.success && head.data.minReader > READER_FORMAT) {
    throw new TableRefusedError(
      'too-new',
      `the table needs a reader of format ${head.data.minReader}, this gateway reads format ${READER_FORMAT}; upgrade the gateway`,
    );
  }
  const parsed = routingTableSchema.safeParse(data);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new TableRefusedError('invalid', `table field ${issue?.path.join('.')}: ${issue?.message}`);
}
