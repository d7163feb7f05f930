// A table handed over inside the process: local mode and tests.

import { parseRoutingTable, type RoutingTable } from '../../../core/contract/routing-table.ts';
import type { OfferVerdict, TableHolder } from '../holder.ts';
import { buildTableView } from '../view.ts';

/**
 * Checks the table as a published one would be and puts it into use.
 *
 * @throws {TableRefusedError} and leaves the old one in use.
 */
export function offerTable(holder: TableHolder, table: RoutingTable): OfferVerdict {
  return holder.offer(buildTableView(parseRoutingTable(table)));
}
