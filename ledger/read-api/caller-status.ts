// Which HTTP status did the caller of a request see? Records have that of each upstream: the gateway's own follows from how the attempts
// failed. Pure; `test/ledger/caller-status.test.ts` compares it with the errors of the gateway.

import { STATUS_CODES } from 'node:http';
import { DIALECTS } from '../../core/catalog/dialects.ts';
import { ERROR_CODES } from '../../core/catalog/error-codes.ts';
import { ERROR_SHAPES } from '../../core/catalog/error-shapes.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';

type Attempt = Pick<
  LedgerRecord,
  'outcome' | 'failure' | 'clientDialect' | 'firstContentMs' | 'provider' | 'namespace'
>;

/** The status that callers of a dialect get after one failure, with their own provider or the platform's. */
interface Meaning {
  readonly status: number;
  /** Of several failures, the one that comes first here decides the caller's answer; of equal ones, the last. */
  readonly rank: 'mistake' | 'rate-limit' | 'failure' | 'model-unknown';
}

const ranks = ['mistake', 'rate-limit', 'failure', 'model-unknown'] as const;

/** Undefined: the caller may have seen none, or the records do not say it. */
export function callerStatus(attempts: readonly Attempt[]): number | undefined {
  const last = attempts.at(-1);
  if (last === undefined) return undefined;
  if (last.outcome === 'answered' || last.outcome === 'broken-off') return 200;
  if (last.outcome !== 'failed') return last.firstContentMs === undefined ? undefined : 200;
  const meanings = attempts.flatMap((attempt) => meaningOf(attempt) ?? []);
  for (const rank of ranks) {
    const found = meanings.findLast((one) => one.rank === rank);
    if (found !== undefined) return found.status;
  }
  return undefined;
}

function meaningOf({ failure, clientDialect, provider, namespace }: Attempt): Meaning | undefined {
  if (failure === undefined || failure === '') return undefined;
  const shape = ERROR_SHAPES[DIALECTS[clientDialect].errorShape];
  const isOwn = provider.startsWith(`${namespace}/`);
  return meaningIn(failure, isOwn, ERROR_CODES[shape.overloadedCode].status);
}

function meaningIn(failure: string, isOwn: boolean, overloaded: number): Meaning {
  const status = /^status_(\d{3}|\dxx|other)$/.exec(failure)?.[1];
  if (status !== undefined) return ofUpstreamStatus(status, isOwn, overloaded);
  switch (failure) {
    case 'connect_timeout':
    case 'timeout_first_event':
    case 'timeout_liveness':
    case 'timeout_progress':
    case 'timeout_total':
      return { status: 504, rank: 'failure' };
    case 'no_room':
      return { status: 503, rank: 'mistake' };
    case 'too_large':
      return { status: 502, rank: 'mistake' };
    case 'internal_error':
      return { status: 500, rank: 'failure' };
    default:
      return { status: 502, rank: 'failure' };
  }
}

function ofUpstreamStatus(status: string, isOwn: boolean, overloaded: number): Meaning {
  switch (status) {
    case '401':
    case '403':
      return { status: isOwn ? 403 : 502, rank: 'failure' };
    case '402':
      return { status: 429, rank: 'failure' };
    case '404':
    case '410':
      return { status: 404, rank: 'model-unknown' };
    case '413':
      return { status: 413, rank: 'mistake' };
    case '422':
      return { status: 422, rank: 'mistake' };
    case '429':
      return { status: 429, rank: 'rate-limit' };
    case '503':
    case '529':
      return { status: overloaded, rank: 'failure' };
    case '405':
    case '407':
    case '408':
    case '409':
    case '421':
    case '425':
      return { status: 502, rank: 'failure' };
    default:
      return status.startsWith('4') ? { status: 400, rank: 'mistake' } : { status: 502, rank: 'failure' };
  }
}

/** All that records have. */
const failures: readonly string[] = [
  ...Object.keys(STATUS_CODES).map((status) => `status_${status}`),
  ...['499', '520', '521', '522', '523', '524', '525', '526', '529'].map((status) => `status_${status}`),
  ...['1xx', '2xx', '3xx', '4xx', '5xx', 'other'].map((status) => `status_${status}`),
  ...['egress_denied', 'dns_failed', 'connect_timeout', 'connect_refused', 'connect_failed', 'tls_failed'],
  ...[
    'proxy_failed',
    'session_failed',
    'reset',
    'bad_head',
    'error_event',
    'malformed',
    'unusable',
    'too_large',
    'truncated',
  ],
  ...['timeout_first_event', 'timeout_liveness', 'timeout_progress', 'timeout_total'],
  ...['no_room', 'internal_error'],
];

/** Failures that some caller may have seen as this status. */
export function failuresSeenAs(status: number): readonly string[] {
  return failures.filter((failure) =>
    [true, false].some((isOwn) =>
      [503, 529].some((overloaded) => meaningIn(failure, isOwn, overloaded).status === status),
    ),
  );
}
