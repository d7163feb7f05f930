// How do rows of the ledger become stacked columns? Pure: the largest groups each, all others together behind them.

interface StackRow {
  readonly start: string;
  /** Undefined: all others together. */
  readonly group: string | undefined;
  readonly value: number;
}

interface Stack {
  /** Largest first; `isRest`: all the others together, at the end. */
  readonly groups: readonly {
    readonly name: string;
    readonly isRest: boolean;
    readonly total: number;
    readonly values: readonly number[];
  }[];
  readonly total: number;
}

/** @param starts in order; rows of other starts are left out. */
export function stackRows(rows: readonly StackRow[], starts: readonly string[]): Stack {
  const places = new Map(starts.map((start, at) => [start, at]));
  const byGroup = new Map<string | undefined, number[]>();
  for (const { start, group, value } of rows) {
    const at = places.get(start);
    if (at === undefined) continue;
    const values = byGroup.get(group) ?? starts.map(() => 0);
    values[at] = (values[at] ?? 0) + value;
    byGroup.set(group, values);
  }
  const sum = (values: readonly number[]) => values.reduce((left, right) => left + right, 0);
  const groups = [...byGroup]
    .map(([name, values]) => ({
      name: name ?? 'All others',
      values,
      total: sum(values),
      isRest: name === undefined,
    }))
    .filter(({ total }) => total > 0)
    .sort((a, b) => Number(a.isRest) - Number(b.isRest) || b.total - a.total || (a.name < b.name ? -1 : 1));
  return { groups, total: sum(groups.map(({ total }) => total)) };
}

interface Valued {
  /** Undefined: nothing is known. */
  readonly values: readonly (number | undefined)[];
}

/** Stacked pieces; empty without values. */
export function columnsOf(series: readonly Valued[], count: number) {
  return Array.from({ length: count }, (_, at) => {
    let from = 0;
    return series.flatMap(({ values }, place) => {
      const value = values[at] ?? 0;
      if (value <= 0) return [];
      const piece = { place, at, from, to: from + value };
      from += value;
      return [piece];
    });
  }).flat();
}

/** Places that hold anything, the newest first. */
export function withFigures(series: readonly Valued[], count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at)
    .filter((at) => series.some(({ values }) => (values[at] ?? 0) !== 0))
    .reverse();
}

/** The largest groups by name, and all others as one: people distinguish about eight colours. */
export function largestOf(rows: readonly StackRow[], most = 7): readonly StackRow[] {
  const totals = new Map<string | undefined, number>();
  for (const { group, value } of rows) totals.set(group, (totals.get(group) ?? 0) + value);
  const names = [...totals].sort(([, a], [, b]) => b - a).slice(0, most);
  const shown = new Set(names.map(([name]) => name));
  return rows.map((row) => (shown.has(row.group) ? row : { ...row, group: undefined }));
}
