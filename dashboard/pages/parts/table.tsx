// How are many things of one kind shown? As a table, that becomes cards where the page is narrow; sorted and paged by the server.

import type { ComponentChildren } from 'preact';
import { useShell } from '../shell/context.tsx';
import { Button } from './basics.tsx';
import { SelectField } from './fields.tsx';

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
export function Table<Row>(props: TableProps<Row>) {
  return (
    <>
      {props.onSort !== undefined && <SortBy {...props} onSort={props.onSort} />}
      <Framed {...props} />
    </>
  );
}

/** Cards have no heads that could be pressed. */
function SortBy<Row>({
  columns,
  sorted,
  onSort,
}: Pick<TableProps<Row>, 'columns' | 'sorted'> & Required<Pick<TableProps<Row>, 'onSort'>>) {
  return (
    <div class="sort-by">
      <SelectField
        label="Sort by"
        value={`${sorted?.by} ${sorted?.order}`}
        onInput={(value) => {
          const [by = '', order] = value.split(' ');
          onSort(by, order === 'desc' ? 'desc' : 'asc');
        }}
        options={columns.flatMap(({ label, sort }) =>
          sort === undefined
            ? []
            : [
                { value: `${sort} asc`, label: `${label}, ascending` },
                { value: `${sort} desc`, label: `${label}, descending` },
              ],
        )}
      />
    </div>
  );
}

function Framed<Row>({ caption, columns, rows, keyOf, sorted, onSort }: TableProps<Row>) {
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
                    <>
                      <button
                        type="button"
                        class="sort"
                        onClick={() => onSort(sort, order === 'asc' ? 'desc' : 'asc')}
                      >
                        {label}
                        <span class={`arrow ${order ?? 'none'}`} aria-hidden="true" />
                      </button>
                      {/* Where the button is hidden, the column still has a head. */}
                      <span class="sorted-word">{label}</span>
                    </>
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
