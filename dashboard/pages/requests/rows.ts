// What does the ledger say of single requests, and how is it said in words? Pure.

import { isUnserved } from '../overview/totals.ts';
import type { Tone } from '../words/conditions.ts';
import type { Cell } from '../words/csv.ts';
import type { Formats } from '../words/format.ts';

type Ended = 'answered' | 'failed' | 'broken-off' | 'cancelled' | 'interrupted';

interface Tokens {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

/** As `/v1/request-log` answers it. */
export interface RequestRow {
  readonly request: string;
  readonly startedAt: string;
  /** Absent: the key is not known. */
  readonly namespace?: string;
  readonly apiKey?: string;
  readonly owner?: { readonly name?: string; readonly email?: string; readonly team?: string };
  readonly model?: string;
  readonly requestedModel?: string;
  readonly route?: string;
  readonly target?: string;
  /** Absent without the right to know it. */
  readonly provider?: string;
  readonly upstreamModel?: string;
  /** The caller's status. */
  readonly status?: number;
  readonly outcome: Ended | 'refused';
  readonly failure?: string;
  readonly cause?: string;
  readonly attempts: number;
  readonly tokens: Tokens;
  readonly costUsd: string | null;
  readonly isProvisioned?: true;
  readonly firstContentMs?: number;
  readonly durationMs?: number;
  readonly isStream?: boolean;
  readonly clientDialect?: string;
}

export interface AttemptRow {
  readonly attempt: number;
  readonly startedAt: string;
  readonly target?: string;
  readonly provider?: string;
  readonly providerKey?: string;
  readonly upstreamModel?: string;
  readonly outcome: Ended;
  readonly upstreamStatus?: number;
  readonly cause?: string;
  readonly firstContentMs?: number;
  readonly durationMs: number;
  readonly tokens: Tokens;
  readonly costUsd: string | null;
  readonly isProvisioned?: true;
  readonly payer: string;
}

export interface LogAnswer {
  readonly rows: readonly RequestRow[];
  /** Attempts of one request that was asked for by its id. */
  readonly attempts?: readonly AttemptRow[];
  readonly isTruncated: boolean;
  readonly next?: string;
  readonly refusedWithoutRow?: number;
}

type KnownRow = RequestRow & { readonly next?: string };

/** The rows on the page, and the start of older ones; undefined: no older ones. */
export interface Known {
  readonly rows: readonly KnownRow[];
  readonly next: string | undefined;
}

/** Rows that are kept while the newest are followed. */
export const FOLLOWED_MAX = 500;

const ends: Readonly<Record<RequestRow['outcome'], { readonly word: string; readonly tone: Tone }>> = {
  answered: { word: '', tone: 'good' },
  refused: { word: 'refused', tone: 'warn' },
  failed: { word: 'failed', tone: 'bad' },
  'broken-off': { word: 'cut off', tone: 'bad' },
  interrupted: { word: 'interrupted', tone: 'bad' },
  cancelled: { word: 'cancelled', tone: 'off' },
};

/** The gateway could not serve it: to its caller that is an error. */
const notSent = { word: 'not sent', tone: 'bad' } as const;

/** Such as `200`, `429 refused` and `503 not sent`. */
export function endWords({
  status,
  outcome,
}: {
  readonly status?: number | undefined;
  readonly outcome: RequestRow['outcome'];
}) {
  const isNotSent = outcome === 'refused' && isUnserved({ status });
  const { word, tone } = isNotSent ? notSent : ends[outcome];
  return { word: [status, word].filter(Boolean).join(' ') || outcome, tone };
}

/** `openai answered HTTP 500 after 120 ms.` */
export function attemptWords(attempt: AttemptRow, { milliseconds }: Formats): string {
  const { outcome, cause = 'failed', durationMs, provider, target } = attempt;
  const who = shortName(provider) ?? target ?? 'The provider';
  const time = milliseconds(durationMs);
  switch (outcome) {
    case 'answered':
      return `${who} answered in ${time}.`;
    case 'failed':
      return `${who} ${cause} after ${time}.`;
    case 'broken-off':
      return `${who} ${cause} after ${time}; the caller had received a part.`;
    case 'cancelled':
      return `The caller cancelled the request after ${time} at ${who}.`;
    case 'interrupted':
      return `The gateway process ended ${time} into the answer of ${who}.`;
  }
}

/** Without its namespace. */
const shortName = (id: string | undefined) => id?.split('/')[1] ?? id;

/** Why it was not answered; undefined where it was, or nothing is known. */
export function causeWords({ outcome, cause, failure, provider }: RequestRow): string | undefined {
  if (outcome === 'refused') return cause ?? failure;
  return cause === undefined || outcome === 'answered'
    ? undefined
    : `${shortName(provider) ?? 'The provider'} ${cause}`;
}

export const attemptTone = ({ outcome }: AttemptRow): Tone => ends[outcome].tone;

export function ownerWords({ owner }: RequestRow): string {
  return [owner?.name ?? owner?.email, owner?.team].filter(Boolean).join(' · ');
}

/**
 * What is known, with the newest page before it: a request that has gone on is as the page has it. Where the page ends before what is
 * known begins, there is a gap, and the page is all. Of very many the oldest are left out, at the end of a page.
 */
export function withNewest(known: Known, answer: LogAnswer): Known {
  const page = pageOf(answer);
  const shown = new Set(page.map(({ request }) => request));
  const older = known.rows.filter(({ request }) => !shown.has(request));
  const isJoined = !answer.isTruncated || older.length < known.rows.length;
  if (!isJoined || older.length === 0) return { rows: page, next: answer.next };
  const rows = [...page, ...older];
  const end = rows.length > FOLLOWED_MAX ? rows.slice(0, FOLLOWED_MAX).findLastIndex(({ next }) => next) : -1;
  return end < 0 ? { rows, next: known.next } : { rows: rows.slice(0, end + 1), next: rows[end]?.next };
}

export function withOlder({ rows }: Known, answer: LogAnswer): Known {
  const shown = new Set(rows.map(({ request }) => request));
  return {
    rows: [...rows, ...pageOf(answer).filter(({ request }) => !shown.has(request))],
    next: answer.next,
  };
}

/** Its last row knows where the next page begins: rows can be cut there, and loaded again from there. */
function pageOf({ rows, next }: LogAnswer): readonly KnownRow[] {
  return rows.map((row, at) => (next !== undefined && at === rows.length - 1 ? { ...row, next } : row));
}

export const CSV_HEAD = [
  ...['request', 'startedAt', 'namespace', 'apiKey', 'owner', 'team', 'model', 'route', 'provider'],
  ...['status', 'outcome', 'failure', 'cause', 'attempts', 'inputTokens', 'outputTokens', 'costUsd'],
  ...['firstContentMs', 'durationMs'],
];

export function csvRow(row: RequestRow): readonly Cell[] {
  const { owner, tokens, costUsd } = row;
  return [
    ...[row.request, row.startedAt, row.namespace, row.apiKey, owner?.name ?? owner?.email, owner?.team],
    ...[row.model, row.route, row.provider, row.status, row.outcome, row.failure, row.cause, row.attempts],
    ...[tokens.input, tokens.output, costUsd, row.firstContentMs, row.durationMs],
  ];
}

/** A failed attempt that cost nothing has no cost to speak of. */
export function attemptCost(attempt: AttemptRow, money: (usd: string) => string): readonly string[] {
  const { outcome, costUsd, payer } = attempt;
  if (outcome === 'failed' && Number(costUsd ?? 0) === 0) return [];
  return [costWords(attempt, money), ...(payer === 'platform' ? ['paid by the platform'] : [])];
}

/** Calls at provisioned capacity cost nothing, which is no unknown price. */
export function costWords(
  { costUsd, isProvisioned }: Pick<AttemptRow, 'costUsd' | 'isProvisioned'>,
  money: (usd: string) => string,
): string {
  if (isProvisioned) return 'provisioned capacity';
  return costUsd === null ? 'no price set' : money(costUsd);
}
