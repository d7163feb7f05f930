// How did the requests of a period end, and how long did they wait? Pure: out of what the ledger says for each interval.

export interface RequestsRow {
  readonly hour?: string;
  readonly day?: string;
  readonly requests: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly errorRate: number;
  readonly firstContentMs?: FirstContent;
}

export interface FirstContent {
  readonly answers: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

export interface RequestsAnswer {
  readonly total: RequestsRow;
  readonly rows: readonly RequestsRow[];
}

export interface RequestTotals {
  readonly requests: number;
  readonly errors: number;
  readonly refused: number;
  readonly errorRate: number;
  readonly firstContentMs: FirstContent | undefined;
  /** Percentiles of hours cannot be added up: then they are means, each hour by its answers. */
  readonly isAbout: boolean;
}

export function requestTotals(
  { total, rows }: RequestsAnswer,
  { starts, isWholeDays }: { readonly starts: readonly string[]; readonly isWholeDays: boolean },
): RequestTotals {
  const wanted = new Set(starts);
  const counted = isWholeDays ? [total] : rows.filter(({ hour = '' }) => wanted.has(hour));
  const sum = (of: (row: RequestsRow) => number) => counted.reduce((all, row) => all + of(row), 0);
  const requests = sum((row) => row.requests);
  const errors = sum(
    ({ outcomes }) => (outcomes.failed ?? 0) + (outcomes['broken-off'] ?? 0) + (outcomes.interrupted ?? 0),
  );
  const waits = counted.flatMap(({ firstContentMs }) => firstContentMs ?? []);
  return {
    requests,
    errors,
    refused: sum(({ outcomes }) => outcomes.refused ?? 0),
    errorRate: requests === 0 ? 0 : Math.min(1, errors / requests),
    firstContentMs: mean(waits),
    isAbout: waits.length > 1,
  };
}

function mean(waits: readonly FirstContent[]): FirstContent | undefined {
  const answers = waits.reduce((all, wait) => all + wait.answers, 0);
  if (answers === 0) return undefined;
  const of = (name: 'p50' | 'p90' | 'p99') =>
    waits.reduce((all, wait) => all + wait[name] * wait.answers, 0) / answers;
  return { answers, p50: of('p50'), p90: of('p90'), p99: of('p99') };
}
