// What can a gateway say without a request? Which models a key may use, and the plan for a request.

import { z } from 'zod';
import { spokenNames } from '../catalog/dialects.ts';
import { rateNames, type Window, windowNames } from '../catalog/limits.ts';
import { upstreamDialectSchema } from './routing-table.ts';

/** On the internal port of a gateway, beside the exchange and with its bearer; POST, JSON. */
export const PLAN_PATH = '/internal/v1/plan';
export const CATALOG_PATH = '/internal/v1/catalog';

/** Of a question. */
export const PLAN_BODY_BYTES_MAX = 64 * 1024;

/** How people name the dialects: by the path that they are spoken at. */
export const spokenSchema = z.enum(spokenNames, {
  error: `must be ${spokenNames.slice(0, -1).join(', ')} or ${spokenNames.at(-1)}`,
});

const text = (charactersMax: number) =>
  z.string().min(1, 'must not be empty').max(charactersMax, `must be at most ${charactersMax} characters`);

/** Whose catalog; without an `apiKey`, that of a key of the namespace that may do what any may. */
export const catalogRequestSchema = z.strictObject({
  namespace: text(63),
  /** Name of an ApiKey of the namespace, or `namespace/name`. */
  apiKey: text(320).optional(),
});
export type CatalogRequest = z.infer<typeof catalogRequestSchema>;

export const planRequestSchema = catalogRequestSchema.extend({
  model: text(400),
  dialect: spokenSchema,
  stream: z.boolean().optional(),
  /** The request; absent: one short question. `model` and `stream` are those above. */
  body: z.record(z.string(), z.unknown()).optional(),
});
export type PlanRequest = z.infer<typeof planRequestSchema>;

export const verdictSchema = z.enum(['native', 'translated', 'lossy', 'impossible']);
export type Verdict = z.infer<typeof verdictSchema>;

/** The facts of a target that every caller may see. */
export const plainTargetSchema = z.object({
  /** From 1, in the order in which they would be tried if all before them fail. */
  order: z.int().min(1),
  /** The provider belongs to the asking namespace, so its calls cost nothing here. */
  isOwn: z.boolean(),
  /** Lower is tried first. */
  priority: z.int(),
  /** Share of the first attempts of its priority, from 0 to 1; absent without a draw by weight. */
  share: z.number().optional(),
  verdict: verdictSchema,
  /** Parameters of the request that are left out or weakened there. */
  lostFields: z.array(z.string()),
  state: z.enum(['wouldBeTried', 'wouldBeSkipped']),
  /** Sentences; none names a provider. */
  reasons: z.array(z.string()),
});

/** The rest is the platform's own business. */
export const planTargetSchema = plainTargetSchema.extend({
  /** As the ModelRoute has it. */
  name: z.string(),
  provider: z.string(),
  upstreamModel: z.string(),
  /** Host of the provider's address. */
  endpoint: z.string(),
  providerKey: z.string().optional(),
  /** The dialect used with it; absent without one. */
  upstreamDialect: upstreamDialectSchema.optional(),
});
export type PlanTarget = z.infer<typeof planTargetSchema>;

const limitedSchema = z.enum(['apiKey', 'namespace', 'model']);

/** The limit itself, as the member that says over how long. */
const limitsByWindow = Object.fromEntries(
  windowNames.map((window) => [window, z.number().optional()]),
) as Record<Window, z.ZodOptional<z.ZodNumber>>;

/** How limits stand before the request; nothing of them is reserved. */
const limitsSchema = z.object({
  /** Above 1: without a store, each of this many gateways has a share; `remaining` is that of this one. */
  sharedBy: z.int().min(1),
  rates: z.array(
    z.object({
      of: limitedSchema,
      name: z.enum(rateNames),
      ...limitsByWindow,
      remaining: z.number(),
      /** Until the whole limit is available again. */
      resetMs: z.number(),
    }),
  ),
  concurrency: z.array(z.object({ of: limitedSchema, limit: z.number(), underWay: z.number() })),
  /** In dollars, as text. `remaining` leaves out reservations of requests in flight. */
  budgets: z.array(
    z.object({
      of: z.enum(['apiKey', 'namespace']),
      period: z.enum(['Day', 'Week', 'Month', 'Total']),
      limitUsd: z.string(),
      spentUsd: z.string(),
      heldUsd: z.string(),
      remainingUsd: z.string(),
      resetsAt: z.string().optional(),
    }),
  ),
});

const estimateSchema = z.object({
  /** The gateway's own count, with which limits are held; a provider counts for itself. */
  inputTokens: z.number(),
  /** The most that may be answered. */
  outputTokensMax: z.number(),
  /** Cost of the input alone, at the first target to be tried; absent without a price. */
  costPicodollars: z.number().optional(),
  /** The first target is capacity that is paid for by the hour: its calls cost 0. */
  isProvisioned: z.literal(true).optional(),
  /** With the longest answer, at the most expensive target: a budget must have at least this left. */
  costPicodollarsMax: z.number().optional(),
  /** No body was given: it is of one short question. */
  isOfExample: z.boolean(),
});

/** The error that the caller would get at once. */
const refusalSchema = z.object({ status: z.int(), code: z.string(), message: z.string() });

const headSchema = z.object({
  /** The table generation. */
  generation: z.int().min(0),
  /** The gateway that answered: health, breakers and cooldowns are its own. */
  pod: z.string(),
  model: z.string(),
  dialect: spokenSchema,
  /** Absent if the model leads nowhere. */
  route: z.object({ namespace: z.string(), name: z.string() }).optional(),
  limits: limitsSchema.optional(),
  estimate: estimateSchema.optional(),
  /** Where the request would be refused before any upstream is asked. */
  refusal: refusalSchema.optional(),
});

export const planAnswerSchema = headSchema.extend({ targets: z.array(planTargetSchema) });
export type PlanAnswer = z.infer<typeof planAnswerSchema>;

/** For a user with rights in one namespace: without names of targets and providers. */
export const plainPlanAnswerSchema = headSchema.extend({ targets: z.array(plainTargetSchema) });

/** What becomes of a dialect at a model: the worst that may happen at one of its targets. */
export const spokenVerdictSchema = z.object({
  verdict: verdictSchema,
  /** Features of the model that are left out, weakened or refused. */
  lostFields: z.array(z.string()),
});

export const catalogAnswerSchema = z.object({
  generation: z.int().min(0),
  pod: z.string(),
  /** As `GET /v1/models` tells them, and besides. */
  models: z.array(
    z.looseObject({
      id: z.string(),
      /** Served by providers of the namespace alone. */
      own: z.boolean(),
      dialects: z.record(spokenSchema, spokenVerdictSchema),
    }),
  ),
});
export type CatalogAnswer = z.infer<typeof catalogAnswerSchema>;
