// How do the pages ask their server? One function for questions and changes, and one kind of error, in words.

import { serverClock } from './server-clock.ts';

export class ApiError extends Error {
  /** 0: nobody answered. */
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

/** @param whenSignedOut is told when the session has ended, or is no longer that of this browser, and why. */
export function openApi(csrf: string, whenSignedOut: (why: ApiError) => void): Api {
  return {
    async call<Answer>(path: string, { method = 'GET', query, body, signal }: Call = {}): Promise<Answer> {
      const sentMs = Date.now();
      const response = await fetch(`/api/${path}${searchOf(query)}`, {
        method,
        credentials: 'same-origin',
        cache: 'no-store',
        headers: {
          accept: 'application/json',
          ...(csrf === '' ? {} : { 'x-penstock-csrf': csrf }),
          ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
        },
        ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
        ...(signal === undefined ? {} : { signal }),
      }).catch((error: unknown) => {
        if (error instanceof DOMException && error.name === 'AbortError') throw error;
        throw new ApiError(0, 'offline', 'The dashboard’s server cannot be reached. Check your connection.');
      });
      serverClock.hear(response.headers.get('date'), sentMs);
      const answer: unknown =
        response.status === 204 ? undefined : await response.json().catch(() => undefined);
      if (response.ok) return answer as Answer;
      const error = errorOf(response.status, answer);
      // Signing in again is asked for where the session is gone, not where a token was refused.
      const isOver = response.status === 401 || error.code === 'csrf_missing';
      if (isOver && path !== 'session') whenSignedOut(error);
      throw error;
    },
  };
}

/**
 * @returns undefined where there is none.
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
  return new ApiError(status, code, message ?? `The server answered ${status} and did not say why.`, answer);
}
