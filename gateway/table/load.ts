// Bytes to a view, or the reason why not; in pieces, so that running streams are served in between.

import {
  type KeyEntry,
  parseRoutingTable,
  TableRefusedError,
  tableContentSchema,
} from '../../core/contract/routing-table.ts';
import { cutLists } from './cut-lists.ts';
import { nextTurn } from './next-turn.ts';
import { buildTableView, type TableView } from './view.ts';

/** Entries checked in one go where they came in no piece: about a millisecond. */
const pieceEntries = 250;

/**
 * @param yieldNow Resolves after one turn of the event loop.
 * @throws {TableRefusedError} naming the fault; the caller keeps the table that it has.
 */
export async function loadTable(bytes: string, yieldNow: () => Promise<void> = nextTurn): Promise<TableView> {
  try {
    return await loadInPieces(bytes, yieldNow);
  } catch (error) {
    if (!(error instanceof TableRefusedError) && !(error instanceof SyntaxError)) throw error;
    // Parsed again as a whole, so that the error names the fault's place in the whole table.
    return buildTableView(parseRoutingTable(parseJson(bytes)));
  }
}

/** The same result as parsing the whole. Only the lists grow with an installation. */
async function loadInPieces(text: string, yieldNow: () => Promise<void>): Promise<TableView> {
  // Decoding the bytes already took one turn of the event loop, and adopting the view takes another.
  await yieldNow();
  const { data, pieces } = cutLists(text);
  if (!hasLists(data)) throw new SyntaxError('a list is missing');
  await yieldNow();
  const table = parseRoutingTable({ ...data, providers: [], credentials: [], routes: [], keys: [] });
  const keys = new Map<string, KeyEntry>();
  const take = (name: ListName, entries: unknown): void => {
    const { data: piece } = pieceSchema.safeParse({ [name]: entries });
    if (piece === undefined) throw new TableRefusedError('invalid', `an entry of ${name} is not valid`);
    table.providers.push(...(piece.providers ?? []));
    table.credentials.push(...(piece.credentials ?? []));
    table.routes.push(...(piece.routes ?? []));
    for (const key of piece.keys ?? []) keys.set(key.sha256, key);
  };
  for (const name of listNames) {
    for (const piece of pieces[name] ?? []) {
      take(name, JSON.parse(piece));
      await yieldNow();
    }
    for (let from = 0; from < data[name].length; from += pieceEntries) {
      take(name, data[name].slice(from, from + pieceEntries));
      await yieldNow();
    }
  }
  const view = buildTableView(table, keys);
  await yieldNow();
  return view;
}

const pieceSchema = tableContentSchema.omit({ settings: true }).partial();

const listNames = ['providers', 'credentials', 'routes', 'keys'] as const;
type ListName = (typeof listNames)[number];

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

type Lists = Readonly<Record<ListName, readonly unknown[]>>;

function hasLists(data: unknown): data is Lists {
  return (
    typeof data === 'object' &&
    data !== null &&
    listNames.every((name) => Array.isArray(Reflect.get(data, name)))
  );
}
