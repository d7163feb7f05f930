// What do pages and server tell each other? The JSON of every answer below `/api/`; types alone, so that pages can import them.

/** The server's own refusals. Kubernetes' Status objects and the ledger's errors are passed on unchanged. */
export interface ErrorAnswer {
  readonly error: { readonly message: string; readonly code: ErrorCode };
}

export type ErrorCode =
  | 'not_signed_in'
  | 'unknown_token'
  | 'token_too_long'
  | 'too_many_attempts'
  | 'too_many_questions'
  | 'foreign_origin'
  | 'csrf_missing'
  | 'unknown_host'
  | 'not_found'
  | 'invalid_parameter'
  | 'invalid_body'
  | 'headers_too_large'
  | 'sign_in_failed'
  /** The issuer has ended the session: no next token came. */
  | 'renewal_refused'
  | 'cluster_unreachable'
  | 'ledger_unreachable'
  | 'no_ledger'
  | 'ledger_older'
  | 'issuer_unreachable'
  | 'internal';

/** `GET /api/session`, and the answer to a sign-in. */
export interface SessionAnswer {
  readonly mode: 'kubernetes' | 'local';
  readonly user: { readonly name: string; readonly groups: readonly string[] };
  /** RFC 3339. */
  readonly expiresAt: string;
  /** Goes into `x-penstock-csrf` of whatever is no GET. */
  readonly csrf: string;
  /** Namespace of a ServiceAccount; null for any other user. */
  readonly namespace: string | null;
  /** The gateway as programs outside reach it, without `/v1`; null: not set. */
  readonly gatewayUrl: string | null;
  /** What keys of this installation begin with, such as `psk_`. */
  readonly keyPrefix: string;
  readonly hasLedger: boolean;
  readonly version: string;
  /** Of a laptop: why no change of its manifests is taken now, in the words of its terminal; left out: they are taken. */
  readonly heldBack?: readonly string[];
}

/** `GET /api/session` without a session: 401. */
export interface SignedOutAnswer extends ErrorAnswer {
  readonly signIn: {
    readonly mode: 'kubernetes' | 'local';
    /** What prints a token that can be pasted. */
    readonly tokenCommand: string;
    /** Begun by going to `/api/oidc/start?to=<path>`. */
    readonly oidc: { readonly name: string } | null;
  };
}

/** `GET /api/namespaces` */
export interface NamespacesAnswer {
  readonly namespaces: readonly string[];
  /** False: the person may not list them, and may know more. */
  readonly isComplete: boolean;
}

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';
export type Kind = 'apikeys' | 'providers' | 'modelroutes';
export type RightName = `${Verb} ${Kind}` | 'create secrets';

export interface Right {
  readonly allowed: boolean;
  /** In kubectl's words, such as `create apikeys.penstock.dev in namespace team-a`; null where it is allowed. */
  readonly missing: string | null;
}

export interface RightsAnswer {
  readonly rights: Readonly<Record<RightName, Right>>;
}

/**
 * `Disabling`: disabled, but gateways may still serve it. `Rejected`: it does not work until a user changes it. The last two are of
 * keys that are ready otherwise.
 */
export type KeyState =
  | 'Ready'
  | 'Pending'
  | 'Disabling'
  | 'Disabled'
  | 'Expired'
  | 'Rejected'
  | 'BudgetUsedUp'
  | 'ExpiresSoon';
export type KeySort = 'name' | 'owner' | 'lastUsed' | 'spend' | 'expires';

/** `GET /api/rows/apikeys?namespace=&q=&state=&sort=&order=&limit=&offset=` */
export interface KeyRowsAnswer {
  readonly rows: readonly KeyRow[];
  /** Number of all matching keys, on this page or not. */
  readonly total: number;
  /** When Kubernetes was asked, RFC 3339. */
  readonly at: string;
  /** Version of the last change in it. Another pod may have later changes already, and report them over its streams. */
  readonly resourceVersion: number;
  /** Where spend is from: the ledger of this second, or the slow report in the status of each key. */
  readonly spendFrom: 'ledger' | 'status';
  /** There are more keys than are looked through; choose a namespace. */
  readonly isTruncated: boolean;
}

export interface KeyRow {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Empty where none is given, as is the team. */
  readonly displayName: string;
  readonly owner: string;
  readonly team: string;
  /** How people recognise the key: its prefix and last four characters; empty where unknown. */
  readonly hint: string;
  /** Start of the key, such as `psk_`. */
  readonly prefix: string;
  /** RFC 3339, as all times here. */
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  /** Dollars as decimal strings; null where nothing is known. */
  readonly spend: {
    readonly day: string | null;
    readonly month: string | null;
    readonly total: string | null;
  } | null;
  /** As in the spec. */
  readonly budgets: readonly KeyBudget[];
  /** As in the spec. */
  readonly limits: Readonly<Record<string, unknown>> | null;
  /** As in the spec. */
  readonly models: { readonly allow: readonly string[]; readonly deny: readonly string[] };
  readonly state: KeyState;
  /** Of the condition that decides the state; empty before there is one. */
  readonly reason: string;
  readonly message: string;
  readonly isImported: boolean;
}

/** `GET /api/owners?namespace=&from=&to=&topBy=`: what the keys of each were used for; the largest, and all others together at the end. */
export interface OwnersAnswer {
  readonly owners: readonly UsedBy[];
  readonly teams: readonly UsedBy[];
}

export interface UsedBy {
  /** `none`: of keys without an owner, or deleted ones. */
  readonly name: string;
  readonly isRest: boolean;
  readonly requests: number;
  readonly tokens: number;
  /** Dollars. */
  readonly cost: number;
}

export interface KeyBudget {
  readonly period: string;
  /** Dollars. */
  readonly limit: string;
  /** Dollars spent in the present period as the status says it; null: not stated. */
  readonly spend: string | null;
  readonly action: string;
}

/**
 * `GET /api/watch?kind=&namespace=`: server-sent events.
 *
 * - `reset`: a `WatchReset`. Whatever was known may be old; ask for the list again. The first event is one, so nothing is lost between.
 * - `change`: a `WatchChange`.
 * - `end`: a `WatchEnd`; nothing follows, and a reader must not reconnect automatically.
 */
export interface WatchChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** As Kubernetes has it. */
  readonly object: Readonly<Record<string, unknown>>;
}

export interface WatchReset {
  /** Changes are reported from this version on. */
  readonly resourceVersion: string;
}

export interface WatchEnd {
  /** `session`: it is over; `refused`: the right is gone. */
  readonly reason: 'session' | 'refused';
}
