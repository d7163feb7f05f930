// How does Google say that a request failed?

import type { ServerResponse } from 'node:http';

export interface GoogleError {
  readonly status: number;
  readonly word: string;
  readonly message: string;
  readonly details?: readonly unknown[];
}

export function refuse(response: ServerResponse, error: GoogleError): void {
  response.writeHead(error.status, { 'content-type': 'application/json; charset=UTF-8' });
  response.end(JSON.stringify(googleError(error)));
}

export function googleError({ status, word, message, details = [] }: GoogleError): unknown {
  return { error: { code: status, message, status: word, ...(details.length > 0 ? { details } : {}) } };
}

/** In the place of a header. */
export function retryInfo(retryAfterS: number | string | undefined): readonly object[] {
  if (retryAfterS === undefined) return [];
  return [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterS}s` }];
}

export function wordOf(status: number): string {
  return words[status] ?? 'UNKNOWN';
}

const words: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** Of a token that is not known, or has ended. */
export const unauthenticated: GoogleError = {
  status: 401,
  word: 'UNAUTHENTICATED',
  message:
    'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
  details: [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'ACCESS_TOKEN_EXPIRED',
      domain: 'googleapis.com',
    },
  ],
};
