// What do operator and gateway pod tell each other? One long-poll: the operator says what it knows, the pod
// answers as soon as it has something new to say, or when the wait is over.

import { z } from 'zod';

/** On the internal port of a gateway; POST, JSON, `Authorization: Bearer <exchangeToken>`. */
export const EXCHANGE_PATH = '/internal/v1/exchange';
/** Beside it; GET with `?after=<cursor>`, same bearer: ledger records as JSON lines. */
export const JOURNAL_PATH = '/internal/v1/journal';
/** Header of a journal answer: the cursor after the last record in it. */
export const JOURNAL_CURSOR_HEADER = 'x-penstock-journal-cursor';

/** The longest a pod may keep the operator waiting. */
export const EXCHANGE_WAIT_MS_MAX = 30_000;

const version = z.object({ epoch: z.int().min(0), generation: z.int().min(0) });
/** Which table: a newer one has a higher epoch, or the same epoch and a higher generation. */
export type TableVersion = z.infer<typeof version>;

/** The fault that a drill simulates at its first target. */
export const drillFaultSchema = z.enum(['ServerError', 'RateLimited', 'Hang', 'Reset', 'CutStream']);
export type DrillFault = z.infer<typeof drillFaultSchema>;

/** A failover to play: no upstream is asked, nothing is billed. */
const drillOrderSchema = z.object({
  /** Of this run; a pod runs each id once. */
  id: z.string().min(1).max(400),
  /** `namespace/name` of the ModelRoute. */
  route: z.string().min(1).max(320),
  /** A `DrillFault`; an older pod answers that it does not know a new one. */
  fault: z.string().min(1).max(64),
  /** From the fault to the first content of the next target. */
  takeoverWithinMs: z.int().min(0),
});
export type DrillOrder = z.infer<typeof drillOrderSchema>;

/** Orders in one request. */
export const DRILL_ORDERS_MAX = 16;

export const exchangeRequestSchema = z.object({
  /** The `state` of the last answer of this pod; it answers at once where it has another. Absent: at once. */
  seen: z.string().max(64).optional(),
  /** How long it may wait for something new to say. */
  waitMs: z.int().min(0).max(EXCHANGE_WAIT_MS_MAX),
  /** Gateway pods that are ready now. */
  readyPods: z.int().min(0),
  /**
   * Drills for this pod to run. Each request repeats an order until the pod has reported its outcome. Older pods ignore
   * orders, and are recognised by an answer without `drills`.
   */
  drills: z.array(drillOrderSchema).max(DRILL_ORDERS_MAX).optional(),
});
export type ExchangeRequest = z.infer<typeof exchangeRequestSchema>;

/** What one pod has learnt about one provider, or about one key of it. */
const upstreamHealthSchema = z.object({
  /** `namespace/name` of the Provider. */
  provider: z.string().min(1),
  /** Name of the provider key; absent: this is about its endpoint or a model at it. */
  key: z.string().min(1).optional(),
  /** Where one model at the provider is meant. */
  upstreamModel: z.string().min(1).optional(),
  state: z.enum([
    /** Answers. */
    'working',
    /** The breaker is open or half-open: nothing is sent but a trial now and then. */
    'open',
    /** The key is in cooldown after a rate limit. */
    'rate-limited',
    /** The key is in cooldown because its account is out of money. */
    'out-of-money',
    /** The provider refuses the key. */
    'rejected',
  ]),
  /**
   * Of a breaker that is neither closed nor open: `half-open` beside `open`, `slow-start` beside `working`. An older
   * operator does not read it, and goes by `state`.
   */
  phase: z.enum(['half-open', 'slow-start']).optional().catch(undefined),
  /** Why the breaker opened, in one word of the ledger's `failure`. An older operator does not read it. */
  cause: z.string().max(64).optional().catch(undefined),
  /** Unix milliseconds at which it may be tried again. */
  untilMs: z.int().min(0).optional(),
});
export type UpstreamHealth = z.infer<typeof upstreamHealthSchema>;

/** Results of the calls of one model at a provider, in the last five to ten minutes. */
const targetCallsSchema = z.object({
  /** `namespace/name` of the Provider. */
  provider: z.string().min(1),
  upstreamModel: z.string().min(1),
  /** `failing`: none is answered now. `partly`: some fail. */
  state: z.enum(['answering', 'partly', 'failing']),
  /** Up to the last change of `state` or `cause`: a further call alone is no news. */
  calls: z.int().min(1),
  failed: z.int().min(0),
  /** Code of the last failure, as in the ledger's `failure`. */
  cause: z.string().max(64).optional(),
  /** Unix milliseconds since when no call was answered. */
  sinceMs: z.int().min(0).optional(),
});
export type TargetCalls = z.infer<typeof targetCallsSchema>;

/** Characters of `message` below. */
export const CREDENTIAL_MESSAGE_MAX = 500;

/** Result of the last exchange of one exchanged credential: a cloud identity, a role, a service account. */
const credentialStateSchema = z.object({
  /** `namespace/name` of the Provider. */
  provider: z.string().min(1),
  /** Name of the provider key; absent: the gateway's own identity. */
  key: z.string().min(1).optional(),
  /** `failed`: the last exchange was refused, or the service is away and what was given before has ended. Else `valid`. */
  state: z.enum(['valid', 'failed']),
  /** The gateway's identity at the provider: an ARN, an e-mail address, the id of an application. Never a secret. */
  identity: z.string().min(1).max(2_048).optional(),
  /** Message of a failure: our words, with the remedy, and the service's code; never the service's text. */
  message: z.string().min(1).max(CREDENTIAL_MESSAGE_MAX).optional(),
});
export type CredentialState = z.infer<typeof credentialStateSchema>;

/** Result of one drill. */
export const drillOutcomeSchema = z.object({
  /** As in the order. */
  id: z.string().min(1),
  isPassed: z.boolean(),
  /** Name of the target that answered. */
  servedBy: z.string().min(1).optional(),
  /** From the fault to the first content of that target. */
  takeoverMs: z.int().min(0).optional(),
  /** The observation, in words for the owner of the route. */
  message: z.string().min(1).max(1_000),
});
export type DrillOutcome = z.infer<typeof drillOutcomeSchema>;

export const exchangeResponseSchema = z.object({
  /** Fingerprint of the members below; changes with them. */
  state: z.string().min(1).max(64),
  /** The table in use; absent before the first. */
  table: version
    .extend({
      /** Unix milliseconds at which it came into use. */
      sinceMs: z.int().min(0),
      /** Where it came from: the API server, or the pod's own copy of what it once read. */
      source: z.enum(['api', 'copy', 'file']),
    })
    .optional(),
  /** The newest table that was refused, while no newer one is in use. */
  rejected: version
    .partial()
    .extend({ reason: z.string().min(1).max(2_000) })
    .optional(),
  /** Formats of table and manifest that this pod reads. */
  formats: z.object({ min: z.int().min(1), max: z.int().min(1) }),
  /** Providers and keys that traffic went to lately. */
  health: z.array(upstreamHealthSchema),
  /** Results of recent calls, by target. Absent in the answers of older pods; older operators do not read it. */
  targets: z.array(targetCallsSchema).optional(),
  /**
   * Models that their provider said, within ten minutes, it does not know, and has not served since. Absent in the answers
   * of older pods; older operators do not read it.
   */
  misconfigured: z
    .array(z.object({ provider: z.string().min(1), upstreamModel: z.string().min(1) }))
    .optional(),
  /**
   * Credentials that are exchanged for others, those that no exchange has ended for left out. Absent in the answers of older pods;
   * older operators do not read it.
   */
  credentials: z.array(credentialStateSchema).optional().catch(undefined),
  /** Finished drills of those that were ordered. Absent in pods of a version without drills. */
  drills: z.array(drillOutcomeSchema).optional(),
});
export type ExchangeResponse = z.infer<typeof exchangeResponseSchema>;
