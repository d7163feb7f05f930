// How do rows of the ledger become stacked columns? Pure: the largest groups each, all others together.

export interface StackRow {
  readonly start: string;
  readonly group: string;
  readonly value: number;
}

export interface Stack {
  /** Largest first; `isRest`: all the others together. */
  readonly groups: readonly {
    readonly name: string;
    readonly isRest: boolean;
    readonly total: number;
    readonly values: readonly number[];
  }[];
  readonly total: number;
}

/** @param starts in order; rows of other starts are left out. */
export function stackRows(rows: readonly StackRow[], starts: readonly string[], groupsMax: number): Stack {
  const places = new Map(starts.map((start, at) => [start, at]));
  const byGroup = new Map<string, number[]>();
  for (const { start, group, value } of rows) {
    const at = places.get(start);
    if (at === undefined) continue;
    const values = byGroup.get(group) ?? starts.map(() => 0);
    values[at] = (values[at] ?? 0) + value;
    byGroup.set(group, values);
  }
  const sum = (values: readonly number[]) => values.reduce((left, right) => left + right, 0);
  const sorted = [...byGroup]
    .map(([name, values]) => ({ name, values, total: sum(values), isRest: false }))
    .filter(({ total }) => total > 0)
    .sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
  const shown = sorted.length > groupsMax ? sorted.slice(0, groupsMax - 1) : sorted;
  const rest = sorted.slice(shown.length);
  const groups =
    rest.length === 0
      ? shown
      : [
          ...shown,
          {
            name: `${rest.length} others`,
            isRest: true,
            values: starts.map((_, at) => sum(rest.map(({ values }) => values[at] ?? 0))),
            total: sum(rest.map(({ total }) => total)),
          },
        ];
  return { groups, total: sum(groups.map(({ total }) => total)) };
}

/** Upper edges of columns that stand on each other, for each group: the last one is the height of all. */
export function upperEdges({ groups }: Stack): readonly (readonly number[])[] {
  const below: number[] = [];
  return groups.map(({ values }) =>
    values.map((value, at) => {
      below[at] = (below[at] ?? 0) + value;
      return below[at];
    }),
  );
}
