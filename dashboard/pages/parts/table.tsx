// How are many things of one kind shown? As a table, that becomes cards where the page is narrow; sorted and paged by whoever answers.

import type { ComponentChildren } from 'preact';
import { useShell } from '../shell/context.tsx';
import { Button } from './basics.tsx';

export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Name by which it can be sorted. */
  readonly sort?: string;
  readonly isNumber?: boolean;
}

export interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly sorted?: { readonly by: string; readonly order: 'asc' | 'desc' };
  readonly onSort?: (by: string, order: 'asc' | 'desc') => void;
}

/** Said again, because some browsers take cards for no table any more. */
const roles = {
  table: { role: 'table' },
  group: { role: 'rowgroup' },
  row: { role: 'row' },
  column: { role: 'columnheader' },
  name: { role: 'rowheader' },
  cell: { role: 'cell' },
} as const;

/** The first column names the row. */
export function Table<Row>({ caption, columns, rows, keyOf, sorted, onSort }: TableProps<Row>) {
  return (
    <div class="table-frame">
      <table {...roles.table}>
        <caption class="unseen">{caption}</caption>
        <thead {...roles.group}>
          <tr {...roles.row}>
            {columns.map(({ label, sort, isNumber }) => {
              const order = sort !== undefined && sorted?.by === sort ? sorted.order : undefined;
              return (
                <th
                  key={label}
                  {...roles.column}
                  scope="col"
                  class={isNumber ? 'number' : undefined}
                  aria-sort={order === undefined ? undefined : order === 'asc' ? 'ascending' : 'descending'}
                >
                  {sort === undefined || onSort === undefined ? (
                    label
                  ) : (
                    <button
                      type="button"
                      class="sort"
                      onClick={() => onSort(sort, order === 'asc' ? 'desc' : 'asc')}
                    >
                      {label}
                      <span class={`arrow ${order ?? 'none'}`} aria-hidden="true" />
                    </button>
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody {...roles.group}>
          {rows.map((row) => (
            <tr key={keyOf(row)} {...roles.row}>
              {columns.map(({ label, cell, isNumber }, at) =>
                at === 0 ? (
                  <th key={label} scope="row" {...roles.name}>
                    {cell(row)}
                  </th>
                ) : (
                  <td key={label} {...roles.cell} class={isNumber ? 'number' : undefined} data-label={label}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Pager({
  offset,
  limit,
  total,
  onPage,
}: {
  readonly offset: number;
  readonly limit: number;
  readonly total: number;
  readonly onPage: (offset: number) => void;
}) {
  const { formats } = useShell();
  if (total <= limit && offset === 0) return null;
  const last = Math.min(offset + limit, total);
  return (
    <nav class="pager" aria-label="Pages">
      <Button disabled={offset === 0} onClick={() => onPage(Math.max(0, offset - limit))}>
        Previous
      </Button>
      <p>
        {formats.number(Math.min(offset + 1, total))}–{formats.number(last)} of {formats.number(total)}
      </p>
      <Button disabled={last >= total} onClick={() => onPage(offset + limit)}>
        Next
      </Button>
    </nav>
  );
}
