// Which records are in a piece of a journal? Line by line: one that cannot be read keeps none of the others back.

import { ledgerRecordSchema } from '../core/contract/ledger-record.ts';
import type { Aside, Entry } from './store/store.ts';

interface PageLines {
  readonly entries: readonly Entry[];
  readonly asides: readonly Aside[];
  /** Lines of a kind that is no record. */
  readonly skipped: number;
}

/** A quarantined line is cut to this length, enough to recognise it. */
const asideCharsMax = 16 * 1024;
/** Ids are in an index; those of gateways have about 40 characters. */
const idCharsMax = 200;

export function readPage(bytes: Buffer): PageLines {
  const entries: Entry[] = [];
  const asides: Aside[] = [];
  let skipped = 0;
  for (const line of bytes.toString('utf8').split('\n')) {
    if (line.trim() === '') continue;
    const read = readLine(line);
    if (read === 'skipped') skipped++;
    else if (typeof read === 'string') asides.push({ line: line.slice(0, asideCharsMax), reason: read });
    else entries.push(read);
  }
  return { entries, asides, skipped };
}

/** A record, or a line of another kind, or what is wrong with it: without a value, which may be anybody's. */
function readLine(line: string): Entry | string {
  let data: unknown;
  try {
    data = JSON.parse(line);
  } catch {
    return 'it is not JSON';
  }
  const parsed = ledgerRecordSchema.safeParse(data);
  if (parsed.success) {
    if (parsed.data.id.length > idCharsMax) return `its id is longer than ${idCharsMax} characters`;
    return { record: parsed.data, line };
  }
  // Newer gateways write down more than records; what it says of itself is enough.
  if (isOtherKind(data)) return 'skipped';
  const issue = parsed.error.issues[0];
  return `${issue?.path.join('.') || 'the line'}: ${issue?.message}`.slice(0, 300);
}

function isOtherKind(data: unknown): boolean {
  if (typeof data !== 'object' || data === null || !('kind' in data)) return false;
  return typeof data.kind === 'string' && !('costPicodollars' in data);
}
