// What can be asked of an API server, and what can it answer? The one door that every process of ours uses;
// who opens it (a kubeconfig, a service account) decides how calls are authenticated.

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the root of the server, such as `/api/v1/namespaces/team-a/secrets/ci-bot-key`. */
  readonly path: string;
  /** Members that are undefined are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default `application/json`; a PATCH says which kind of patch it is. */
  readonly contentType?: string;
  /** Default `application/json`. */
  readonly accept?: string;
  /** For the whole call, default 30 s; of a stream, until its head has come. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Bearer token of the person in whose name the call is made; the connection's own credentials are not sent then. */
  readonly bearer?: string;
}

/** Any answer, one of success or not. */
export interface KubeAnswer {
  readonly status: number;
  /** Parsed JSON; undefined if there was none. */
  readonly body: unknown;
}

/** The body of an answer as it comes. */
export interface KubeStream {
  readonly body: AsyncIterable<Buffer>;
  /** Ends it and lets go of its connection. */
  close(): void;
}

/** One authenticated connection pool to one API server. */
export interface KubeClient {
  /**
   * The parsed JSON of a successful answer. The caller checks its content.
   *
   * @throws {KubeError}
   */
  call(request: KubeRequest): Promise<unknown>;
  /** For watches. @throws {KubeError} for any status but success. */
  stream(request: KubeRequest): Promise<KubeStream>;
  /** Ends every connection, those in use too. */
  close(): void;
}

/** A call that did not succeed. The message names method, path and what the server said; never a token. */
export class KubeError extends Error {
  /** HTTP status; 0 if no answer came. */
  readonly status: number;
  /** `reason` of the Status object, such as `AlreadyExists` or `Expired`; `Unreachable` or `Timeout` if no answer came. */
  readonly reason: string;
  /** What `Retry-After` asked for. */
  readonly retryAfterMs: number | undefined;

  constructor(
    status: number,
    reason: string,
    message: string,
    options: { readonly retryAfterMs?: number | undefined; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'KubeError';
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404;
}

/** Another client has changed the object, or created one with that name. */
export function isConflict(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409;
}
