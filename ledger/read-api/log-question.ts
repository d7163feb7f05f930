// Which requests is a question about the request log for? Its query, checked; what it has in common with others is read as theirs.

import { z } from 'zod';
import { ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import type { LogPlace, Outcome } from '../store/store.ts';
import { badParameter } from './errors.ts';
import { type Asked, oneOf, readParameters } from './parameters.ts';

export const LOG_PATH = '/v1/request-log';

/** Each row is a line of JSON that has to be read. */
const LOG_ROWS_MAX = 500;

/** `error`: failed, cut off or interrupted, or not served by the gateway itself, with a status of 500 or more. */
const outcomes = [...ledgerRecordSchema.shape.outcome.options, 'refused', 'error'] as const;
type LogOutcome = (typeof outcomes)[number];
export const ERROR_ENDS: readonly Outcome[] = ['failed', 'broken-off', 'interrupted'];

const orders = ['newest', 'failures'] as const;
/** Of the order `failures`: first all that failed, then the others. */
export type Part = 'all' | 'failures' | 'others';

export interface LogQuestion {
  readonly asked: Asked;
  readonly outcome: LogOutcome | undefined;
  readonly status: number | undefined;
  readonly request: string | undefined;
  /** Why it was refused, or how its last attempt failed. */
  readonly code: string | undefined;
  /** In which part of the order the page begins, and before which request. */
  readonly part: Part;
  readonly before: LogPlace | undefined;
  readonly limit: number;
}

const mustBeStatus = 'must be an HTTP status from 100 to 599';
const ownSchema = z.object({
  outcome: oneOf(outcomes).optional(),
  order: oneOf(orders).optional(),
  status: z.coerce
    .number(mustBeStatus)
    .int(mustBeStatus)
    .min(100, mustBeStatus)
    .max(599, mustBeStatus)
    .optional(),
  code: z.string().min(1, 'must not be empty').max(100, 'must be at most 100 characters').optional(),
  request: z.string().min(1, 'must not be empty').max(200, 'must be at most 200 characters').optional(),
  before: z.string().max(300, 'must be at most 300 characters').optional(),
});
const own = Object.keys(ownSchema.shape);
const without = ['by', 'interval', 'offset', 'top', 'topBy', 'usedShare', 'spender', 'payer'];

/** @throws {ApiError} that names the parameter. */
export function readLogQuestion(search: URLSearchParams, nowMs: number): LogQuestion {
  const unknown = without.find((name) => search.has(name));
  if (unknown !== undefined) throw badParameter(`${unknown}: is no parameter of ${LOG_PATH}`);
  const twice = own.find((name) => search.getAll(name).length > 1);
  if (twice !== undefined) throw badParameter(`${twice}: is given more than once`);
  const given = [...search];
  const rest = new URLSearchParams(given.filter(([name]) => !own.includes(name)));
  const asked = readParameters(rest, nowMs);
  const parsed = ownSchema.safeParse(Object.fromEntries(given.filter(([name]) => own.includes(name))));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw badParameter(`${String(issue?.path[0])}: ${issue?.message}`);
  }
  const { outcome, order, status, code, request, before } = parsed.data;
  const place = before === undefined ? undefined : readPlace(before);
  const first: Part = order === 'failures' ? 'failures' : 'all';
  return {
    asked,
    outcome,
    status,
    code,
    // An attempt is named after its request.
    request: request?.replace(/\.\d+$/, ''),
    part: place?.part ?? first,
    before: place?.before,
    limit: Math.min(asked.limit, LOG_ROWS_MAX),
  };
}

const letters = { n: 'all', f: 'failures', o: 'others' } as const satisfies Record<string, Part>;

/** The name of a place: what `before` of the next page is. */
export function writePlace(part: Part, place: LogPlace | undefined): string {
  const [letter] = Object.entries(letters).find(([, of]) => of === part) ?? ['n'];
  return place === undefined ? letter : `${letter}${place.ms}.${place.id}`;
}

function readPlace(text: string): { readonly part: Part; readonly before: LogPlace | undefined } {
  const [, letter = '', ms, id] = /^([nfo])(?:(\d{1,15})\.(.{1,250}))?$/.exec(text) ?? [];
  if (letter === '') throw badParameter('before: must be `next` of the previous page');
  const part = letters[letter as keyof typeof letters];
  return { part, before: ms === undefined || id === undefined ? undefined : { ms: Number(ms), id } };
}
