// Why was there no connection? One error type with a fixed set of codes, so that callers classify without reading text.

import type { DenyReason } from './address-ranges.ts';

export type EgressErrorCode =
  | 'egress_denied'
  | 'dns_failed'
  | 'connect_timeout'
  | 'connect_refused'
  | 'connect_failed'
  | 'tls_failed'
  /** A proxy was there and did not open the tunnel. */
  | 'proxy_failed';

/** The message names the host and the fact; it holds no credential and no byte of a request. */
export class EgressError extends Error {
  readonly code: EgressErrorCode;
  /** `host:port` as it was asked for. */
  readonly endpoint: string;
  /** Only with `egress_denied`. */
  readonly reason: DenyReason | undefined;

  constructor(
    code: EgressErrorCode,
    endpoint: string,
    fact: string,
    more: { cause?: unknown; reason?: DenyReason } = {},
  ) {
    super(`${endpoint}: ${fact}`, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'EgressError';
    this.code = code;
    this.endpoint = endpoint;
    this.reason = more.reason;
  }
}

/** The system's own code of an error (`ECONNREFUSED`, `CERT_HAS_EXPIRED`), or `undefined`. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return undefined;
}
