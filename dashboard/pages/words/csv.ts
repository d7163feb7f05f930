// How is a table written as CSV? As spreadsheets read it, with no cell that one of them runs as a formula. Pure.

export type Cell = string | number | null | undefined;

/** Lines end as RFC 4180 says. @param rows without the head. */
export function csvOf(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [head, ...rows].map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');
}

function cellOf(value: Cell): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  // A spreadsheet takes such a cell for a formula.
  const text = /^[=+\-@\t\r]/.test(value) && !isNumber(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Exact amounts are text, and may be below zero. */
function isNumber(text: string): boolean {
  return /^-?\d+(\.\d+)?$/.test(text);
}

/** Such as `penstock-top-models-2026-11-27T18-05Z.csv`. */
export function csvNameOf(what: string, nowMs: number): string {
  const slug = what
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  return `penstock-${slug}-${new Date(nowMs).toISOString().slice(0, 16).replace(':', '-')}Z.csv`;
}
