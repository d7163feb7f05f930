// Bytes to a view, or the reason why not.

import { parseRoutingTable, TableRefusedError } from '../contract/routing-table.ts';
import { buildTableView, type TableView } from './view.ts';

/** @throws {TableRefusedError} saying what is wrong; the caller keeps the table it has. */
export function loadTable(bytes: string): TableView {
  let data: unknown;
  try {
    data = JSON.parse(bytes);
  } catch (cause) {
    throw new TableRefusedError('invalid', `the table is not valid JSON: ${String(cause)}`);
  }
  return buildTableView(parseRoutingTable(data));
}
