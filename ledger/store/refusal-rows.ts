// Which rows do refusals become, and how are they written? Single ones by the id of their request, sums by that of their window: a page
// that is read again changes nothing.

import { type Interval, spanAt } from './spans.ts';
import { storable, storableName } from './storable.ts';
import type { RefusalEntry, RefusalSumsEntry } from './store.ts';

/** Dimensions of sums of refusals. A span is a day, an hour, or a minute without its seconds: `2026-11-01T10:00`. */
export const REFUSAL_KEYS = ['span', 'namespace', 'api_key', 'model', 'status', 'code'] as const;
export const REFUSAL_COLUMNS = [
  'id',
  'at_ms',
  'namespace',
  'api_key',
  'model',
  'status',
  'code',
  'line',
] as const;
export const WINDOW_COLUMNS = ['id', 'at_ms', 'line'] as const;

export interface RefusalRow extends Readonly<Record<(typeof REFUSAL_COLUMNS)[number], string | number>> {
  readonly id: string;
  readonly at_ms: number;
}
type RefusalSumRow = Readonly<Record<(typeof REFUSAL_KEYS)[number] | 'refused', string | number>>;

/** A window, and what it adds to the sums. */
export interface WindowRow {
  readonly id: string;
  readonly at_ms: number;
  readonly line: string;
  readonly sums: readonly RefusalSumRow[];
}

export function refusalRow({ refusal, line }: RefusalEntry): RefusalRow {
  return {
    id: storable(refusal.id),
    at_ms: Date.parse(refusal.at),
    ...namesOf(refusal),
    line: storable(line),
  };
}

export function windowRow({ sums, line }: RefusalSumsEntry): WindowRow {
  const atMs = Date.parse(sums.at);
  const spans = (['day', 'hour', 'minute'] as const).map((interval) =>
    refusalSpan(spanAt(atMs, interval), interval),
  );
  return {
    id: storable(sums.id),
    at_ms: atMs,
    line: storable(line),
    sums: sums.counts.flatMap((counted) => {
      const names = namesOf(counted);
      return spans.map((span) => ({ span, ...names, refused: counted.count }));
    }),
  };
}

/** The first minute of an hour has the name of the hour otherwise. */
export function refusalSpan(span: string, interval: Interval): string {
  return interval === 'minute' ? span.slice(0, 16) : span;
}

function namesOf(refused: RefusalSumsEntry['sums']['counts'][number] | RefusalEntry['refusal']) {
  return {
    namespace: storableName(refused.namespace ?? ''),
    api_key: storableName(refused.apiKey ?? ''),
    model: storableName(refused.model ?? ''),
    status: refused.status,
    code: storableName(refused.code),
  };
}

/** What these windows add to the sums, one row for each: a statement writes none twice. */
export function addRefusals(windows: readonly Pick<WindowRow, 'sums'>[]): RefusalSumRow[] {
  const sums = new Map<string, RefusalSumRow>();
  for (const row of windows.flatMap((window) => window.sums)) {
    const place = JSON.stringify(REFUSAL_KEYS.map((name) => row[name]));
    const refused = Number(sums.get(place)?.refused ?? 0) + Number(row.refused);
    sums.set(place, { ...row, refused });
  }
  return [...sums.values()];
}
