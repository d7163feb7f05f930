// Which records and refusals are in a piece of a journal? Line by line: one that cannot be read keeps none of the others back.

import type { ZodError, ZodSafeParseResult, ZodType } from 'zod';
import { ledgerRecordSchema } from '../core/contract/ledger-record.ts';
import { refusalSchema, refusalSumsSchema } from '../core/contract/refusal.ts';
import { quickCheck } from './quick-check.ts';
import type { Aside, Entry, RefusalEntry, RefusalSumsEntry } from './store/store.ts';

interface PageLines {
  readonly entries: readonly Entry[];
  readonly refusals: readonly RefusalEntry[];
  readonly refusalSums: readonly RefusalSumsEntry[];
  readonly asides: readonly Aside[];
  /** Lines of a kind that this version does not know. */
  readonly skipped: number;
}

/** A quarantined line is cut to this length, enough to recognise it. */
const asideCharsMax = 16 * 1024;
/** Ids are in an index; those of gateways have about 40 characters. */
const idCharsMax = 200;

export function readPage(bytes: Buffer): PageLines {
  const entries: Entry[] = [];
  const refusals: RefusalEntry[] = [];
  const refusalSums: RefusalSumsEntry[] = [];
  const asides: Aside[] = [];
  let skipped = 0;
  for (const line of bytes.toString('utf8').split('\n')) {
    if (line.trim() === '') continue;
    const read = readLine(line);
    if (read === 'skipped') skipped++;
    else if (typeof read === 'string') asides.push({ line: line.slice(0, asideCharsMax), reason: read });
    else if ('record' in read) entries.push(read);
    else if ('refusal' in read) refusals.push(read);
    else refusalSums.push(read);
  }
  return { entries, refusals, refusalSums, asides, skipped };
}

/** Nearly every line is as it should be: zod's own check and its copy would cost as much as to read the JSON. */
function parserOf<T>(schema: ZodType<T>) {
  const isValid = quickCheck(schema);
  return (data: unknown): ZodSafeParseResult<T> =>
    isValid(data) ? { success: true, data: data as T } : schema.safeParse(data);
}

const parseRecord = parserOf(ledgerRecordSchema);
const parseRefusal = parserOf(refusalSchema);
const parseSums = parserOf(refusalSumsSchema);

/** A record, or a line of another kind, or what is wrong with it: without a value, which may be anybody's. */
function readLine(line: string): Entry | RefusalEntry | RefusalSumsEntry | string {
  let data: unknown;
  try {
    data = JSON.parse(line);
  } catch {
    return 'it is not JSON';
  }
  const kind = otherKindOf(data);
  if (kind === undefined) {
    const { success, data: record, error } = parseRecord(data);
    if (!success) return faultOf(error);
    return record.id.length > idCharsMax
      ? `its id is longer than ${idCharsMax} characters`
      : { record, line };
  }
  if (kind === 'refusal') {
    const { success, data: refusal, error } = parseRefusal(data);
    return success ? { refusal, line } : faultOf(error);
  }
  if (kind === 'refusal-sums') {
    const { success, data: sums, error } = parseSums(data);
    return success ? { sums, line } : faultOf(error);
  }
  // Newer gateways write down more; what it says of itself is enough.
  return 'skipped';
}

function faultOf({ issues: [issue] }: ZodError): string {
  return `${issue?.path.join('.') || 'the line'}: ${issue?.message}`.slice(0, 300);
}

/** The kind that the line states; undefined for a record. */
function otherKindOf(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null || !('kind' in data)) return undefined;
  return typeof data.kind === 'string' && !('costPicodollars' in data) ? data.kind : undefined;
}
