// Which rows stand on a page? Pure: searched, filtered, sorted and cut.

import { z } from 'zod';
import type { KeyRow, KeySort, KeyState } from '../api-types.ts';

const states: readonly [KeyState, ...KeyState[]] = [
  'Ready',
  'Pending',
  'Disabling',
  'Disabled',
  'Expired',
  'Rejected',
  'BudgetUsedUp',
  'ExpiresSoon',
];
const sorts: readonly [KeySort, ...KeySort[]] = ['name', 'owner', 'lastUsed', 'spend', 'expires'];
const limitMax = 200;

const absentWhereEmpty = (value: unknown) => (value === '' ? undefined : value);
export const choiceSchema = z.strictObject({
  /** Undefined: all. */
  namespace: z.preprocess(absentWhereEmpty, z.string().max(63).optional()),
  /** Words, all of which are found somewhere in the row, or in what else the key is found by. */
  q: z.string().max(200).default(''),
  state: z.preprocess(absentWhereEmpty, z.enum(states).optional()),
  sort: z.preprocess(absentWhereEmpty, z.enum(sorts).default('name')),
  order: z.preprocess(absentWhereEmpty, z.enum(['asc', 'desc']).default('asc')),
  limit: z.coerce.number().int().min(1).max(limitMax).default(50),
  offset: z.coerce.number().int().min(0).max(1_000_000).default(0),
});
type Choice = z.infer<typeof choiceSchema>;

export interface ListedKey {
  readonly row: KeyRow;
  /** Search text beyond the row's visible text, in lower case. */
  readonly words: string;
}

export function chooseRows(
  all: readonly ListedKey[],
  { q, state, sort, order, limit, offset }: Choice,
): { readonly rows: readonly KeyRow[]; readonly total: number } {
  const words = q
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const found = all
    .filter(({ row }) => state === undefined || row.state === state)
    .filter((key) => words.length === 0 || hasAll(textOf(key), words));
  const sign = order === 'desc' ? -1 : 1;
  // Read once for each row, not once for each comparison.
  const inOrder = found
    .map(({ row }) => ({ row, value: sortValue(row, sort), name: `${row.namespace}/${row.name}` }))
    .sort(
      (a, b) =>
        compare(a.value, b.value, sign) || compareTexts(a.name, b.name) * (sort === 'name' ? sign : 1),
    )
    .slice(offset, offset + limit)
    .map(({ row }) => row);
  return { rows: inOrder, total: found.length };
}

function textOf({ row, words }: ListedKey): string {
  const { namespace, name, owner, hint, models } = row;
  const shown = [`${namespace}/${name}`, owner, hint, ...models.allow].join('\n').toLowerCase();
  return `${shown}\n${words}`;
}

function hasAll(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

type Value = string | number | undefined;

/** Undefined: it has none, and comes last, whichever the order. */
function sortValue(row: KeyRow, sort: KeySort): Value {
  switch (sort) {
    case 'name':
      return '';
    case 'owner':
      return row.owner === '' ? undefined : row.owner.toLowerCase();
    case 'lastUsed':
      return timeOf(row.lastUsedAt);
    case 'expires':
      return timeOf(row.expiresAt);
    case 'spend': {
      const dollars = row.spend?.month ?? row.spend?.total ?? row.spend?.day;
      return dollars === undefined || dollars === null ? undefined : Number(dollars);
    }
  }
}

function timeOf(time: string | null): number | undefined {
  const ms = time === null ? Number.NaN : Date.parse(time);
  return Number.isNaN(ms) ? undefined : ms;
}

function compare(a: Value, b: Value, sign: number): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  return (a < b ? -1 : 1) * sign;
}

/** By code units: a thousand times faster than by language, and names are ASCII. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
