// Bytes to a view, or the reason why not; in pieces, so that running streams are served in between.

import {
  parseRoutingTable,
  type RoutingTable,
  TableRefusedError,
} from '../../core/contract/routing-table.ts';
import { nextTurn } from './next-turn.ts';
import { buildTableView, type TableView } from './view.ts';

/** Entries checked in one go: about two milliseconds. */
const pieceEntries = 1_000;

/**
 * @param breathe Resolves when everything that is waiting has had its turn.
 * @throws {TableRefusedError} saying what is wrong; the caller keeps the table it has.
 */
export async function loadTable(bytes: string, breathe: () => Promise<void> = nextTurn): Promise<TableView> {
  const data = parseJson(bytes);
  await breathe();
  const table = await checkInPieces(data, breathe);
  await breathe();
  return buildTableView(table);
}

function parseJson(bytes: string): unknown {
  try {
    return JSON.parse(bytes);
  } catch (error) {
    throw new TableRefusedError('invalid', `the table is not valid JSON${placeOf(error)}`);
  }
}

/** Not the parser's own words: they quote the text around the fault, which may be a credential. */
function placeOf(error: unknown): string {
  const [, position] = /at position (\d+)/.exec(String(error)) ?? [];
  if (position !== undefined) return `: the fault is at character ${position}`;
  return String(error).includes('end of JSON input') ? ': it ends too early' : '';
}

/** The same as `parseRoutingTable` of the whole. Only the lists grow with an installation. */
async function checkInPieces(data: unknown, breathe: () => Promise<void>): Promise<RoutingTable> {
  if (!hasLists(data)) return parseRoutingTable(data);
  const empty = { ...data, providers: [], credentials: [], routes: [], keys: [] };
  try {
    const table = parseRoutingTable(empty);
    for (const name of ['providers', 'credentials', 'routes', 'keys'] as const) {
      for (let from = 0; from < data[name].length; from += pieceEntries) {
        const piece = parseRoutingTable({ ...empty, [name]: data[name].slice(from, from + pieceEntries) });
        append(table, piece);
        await breathe();
      }
    }
    return table;
  } catch (error) {
    if (!(error instanceof TableRefusedError)) throw error;
    // Said once more of the whole, so that the fault has its place in the whole.
    return parseRoutingTable(data);
  }
}

function append(table: RoutingTable, piece: RoutingTable): void {
  table.providers.push(...piece.providers);
  table.credentials.push(...piece.credentials);
  table.routes.push(...piece.routes);
  table.keys.push(...piece.keys);
}

type Lists = Readonly<Record<'providers' | 'credentials' | 'routes' | 'keys', readonly unknown[]>>;

function hasLists(data: unknown): data is Lists {
  return (
    typeof data === 'object' &&
    data !== null &&
    'providers' in data &&
    Array.isArray(data.providers) &&
    'credentials' in data &&
    Array.isArray(data.credentials) &&
    'routes' in data &&
    Array.isArray(data.routes) &&
    'keys' in data &&
    Array.isArray(data.keys)
  );
}
