// How do the pages call their server? One function for reads and changes, and one kind of error with a sentence.

import type { SessionAnswer } from '../../api-types.ts';
import { serverClock } from './server-clock.ts';

const notOurs = 'The answer did not come from the dashboard. Check your connection.';

export class ApiError extends Error {
  /** 0: no answer. */
  readonly status: number;
  readonly code: string;
  /** What else the answer holds: of a 401 how to sign in. */
  readonly body: unknown;

  constructor(status: number, code: string, message: string, body?: unknown) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface Api {
  /** @throws ApiError */
  call<Answer>(path: string, call?: Call): Promise<Answer>;
}

/**
 * @param session of the user; undefined before the sign-in.
 * @param whenOver is called when the session has ended, or is no longer that of this browser.
 */
export function openApi(
  session: Pick<SessionAnswer, 'csrf'> | undefined,
  whenOver: (why: ApiError) => void,
): Api {
  return {
    async call<Answer>(path: string, call: Call = {}): Promise<Answer> {
      try {
        return await send<Answer>(path, call, session?.csrf);
      } catch (error) {
        if (error instanceof ApiError && isOver(error)) whenOver(error);
        throw error;
      }
    },
  };
}

/** Signing in again is asked for where the session is gone, not where a right is missing. */
function isOver({ status, code }: ApiError): boolean {
  return status === 401 || code === 'csrf_missing';
}

/** @throws ApiError */
async function send<Answer>(
  path: string,
  { method = 'GET', query, body, signal }: Call,
  csrf: string | undefined,
): Promise<Answer> {
  const sentMs = Date.now();
  const response = await fetch(`/api/${path}${searchOf(query)}`, {
    method,
    credentials: 'same-origin',
    cache: 'no-store',
    headers: {
      accept: 'application/json',
      ...(csrf === undefined ? {} : { 'x-penstock-csrf': csrf }),
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
    },
    ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'offline', 'The dashboard cannot be reached. Check your connection.');
  });
  serverClock.hear(response.headers.get('date'), sentMs);
  const answer: unknown = response.status === 204 ? undefined : await response.json().catch(() => undefined);
  const refusal = response.ok ? undefined : errorOf(response.status, answer);
  // Our server answers in JSON, and its 404 has a code. Anything else comes from a portal or a proxy in between, which has not passed the
  // request on.
  const isForeign = refusal ? refusal.code === 'status_404' : answer === undefined && response.status !== 204;
  if (isForeign) throw new ApiError(0, 'offline', notOurs);
  if (refusal) throw refusal;
  return answer as Answer;
}

/**
 * @returns undefined if it does not exist.
 * @throws ApiError where that is not known.
 */
export async function findObject<Kind>(api: Api, path: string): Promise<Kind | undefined> {
  try {
    return await api.call<Kind>(path);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

export function searchOf(query: Call['query'] = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') search.set(name, String(value));
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Ours are `{error: {message, code}}`; those of Kubernetes are a Status. */
export function errorOf(status: number, answer: unknown): ApiError {
  const body = (answer ?? {}) as {
    readonly error?: { readonly message?: string; readonly code?: string };
    readonly kind?: string;
    readonly message?: string;
    readonly reason?: string;
  };
  const message = body.error?.message ?? (body.kind === 'Status' ? body.message : undefined);
  const code = body.error?.code ?? body.reason ?? `status_${status}`;
  return new ApiError(status, code, message ?? `The server answered ${status} without a reason.`, answer);
}
