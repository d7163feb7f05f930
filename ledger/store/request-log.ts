// Which requests were there, one by one? Records are of attempts: a page of requests is found by one attempt of each, over an index, and
// all their attempts are read by their ids.

import { UNANSWERED } from './last-attempts.ts';
import { daysQuery, hoursQuery, namespaceOf, readSpans, stretchesOf } from './log-hours.ts';
import { COLUMNS, listOf, type Query, type Row, type Value, withinMs } from './query.ts';
import type { DatabaseKind } from './schema.ts';
import type { Stretch } from './spans.ts';
import type { FilterName, LoggedRequest, LogPlace, LogQuery } from './store.ts';

/** Days whose hours are asked for at first: what is used much is found in the newest one. */
const firstDays = 1;
/** Stretches of hours that are read at a time, after the first. */
const stretchesAtATime = 8;

/** The attempts that a page of requests is found by, newest first. */
export async function findPlaces(
  kind: DatabaseKind,
  query: LogQuery,
  ask: (query: Query) => Promise<readonly Row[]>,
): Promise<readonly LogPlace[]> {
  const places: LogPlace[] = [];
  const read = async (stretches: readonly Stretch[]): Promise<void> => {
    const limit = query.limit - places.length;
    const found = await Promise.all(
      stretches.map((stretch) => ask(logQuery(kind, { ...query, ...stretch, limit }))),
    );
    places.push(...found.flatMap(readPlaces).slice(0, limit));
  };
  const question = daysQuery(kind, query);
  if (question === undefined) {
    await read([query]);
    return places;
  }
  const days = readSpans(await ask(question));
  for (let at = 0, count = firstDays; at < days.length; at += count, count *= 4) {
    const some = days.slice(at, at + count);
    const hours = readSpans(await ask(hoursQuery(kind, query, some)));
    const stretches = stretchesOf(query, some, hours);
    for (let from = 0, to = 1; from < stretches.length; from = to, to += stretchesAtATime) {
      await read(stretches.slice(from, to));
      if (places.length >= query.limit) return places;
    }
  }
  return places;
}

/** Newest first. Without a wanted end by the first attempt of each request, else by its last; of a provider by any attempt at it. */
function logQuery(kind: DatabaseKind, query: LogQuery): Query {
  const { where, ends, failures, before, limit } = query;
  const values: Value[] = [];
  const isOfAttempts = where.provider !== undefined || where.upstreamModel !== undefined;
  const conditions = [...withinMs(query, values)];
  if (ends !== undefined) conditions.push(`outcome IN ${listOf(kind, values.push(JSON.stringify(ends)))}`);
  if (failures !== undefined)
    conditions.push(`failure IN ${listOf(kind, values.push(JSON.stringify(failures)))}`);
  const isUnanswered = ends !== undefined && !ends.includes('answered');
  if (!isOfAttempts) {
    if (ends === undefined) conditions.push('requests = 1');
    else conditions.push(isUnanswered ? UNANSWERED : 'is_last = 1');
  }
  // The few unanswered have an index of their own, with their namespaces.
  const isUnansweredOnly = isUnanswered && !isOfAttempts;
  const filter = isUnansweredOnly ? { ...where, namespace: namespaceOf(where) } : where;
  for (const [name, value] of Object.entries(filter)) {
    if (value === undefined) continue;
    // SQLite has no figures to choose an index by; the sign keeps it from those of first contents and of keys.
    const sign = kind === 'sqlite' && (name !== 'apiKey' || isUnansweredOnly) ? '+' : '';
    conditions.push(`${sign}${COLUMNS[name as FilterName]} = $${values.push(value)}`);
  }
  const id = idColumn(kind);
  if (before !== undefined) {
    const ms = values.push(before.ms);
    conditions.push(`started_ms <= $${ms}`);
    conditions.push(`(started_ms < $${ms} OR ${id} < $${values.push(before.id)})`);
  }
  return {
    text: `SELECT id, started_ms FROM ledger_records WHERE ${conditions.join(' AND ')}
      ORDER BY started_ms DESC, ${id} DESC LIMIT $${values.push(limit)}`,
    values,
  };
}

/** Ordered as programs order texts, whatever the language of the database. */
const idColumn = (kind: DatabaseKind): string => (kind === 'sqlite' ? 'id' : 'id COLLATE "C"');

function readPlaces(rows: readonly Row[]): LogPlace[] {
  return rows.map(({ id, started_ms }) => ({ id: String(id), ms: Number(started_ms) }));
}

/** Attempts that are asked for at first; most requests have one. */
const firstNumbers = 4;
const numbersMax = 1_024;

/** Lines of all attempts of requests, in their order; one without any is left out. */
export async function readAttempts(
  requests: readonly string[],
  linesOf: (ids: readonly string[]) => Promise<readonly { readonly id: string; readonly line: string }[]>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, Map<number, string>>();
  let open = requests;
  for (let from = 1, to = firstNumbers; open.length > 0 && from < numbersMax; from = to + 1, to *= 4) {
    const ids = open.flatMap((request) =>
      Array.from({ length: to - from + 1 }, (_, at) => `${request}.${from + at}`),
    );
    for (const { id, line } of await linesOf(ids)) {
      const { request, number } = splitId(id);
      const lines = found.get(request) ?? new Map<number, string>();
      found.set(request, lines.set(number, line));
    }
    open = open.filter((request) => found.get(request)?.has(to) === true);
  }
  return new Map(
    [...found].map(([request, lines]) => [
      request,
      [...lines].sort(([a], [b]) => a - b).map(([, line]) => line),
    ]),
  );
}

/** Of `<request>.<attempt>`. */
export function splitId(id: string): { readonly request: string; readonly number: number } {
  const dot = id.lastIndexOf('.');
  return dot === -1
    ? { request: id, number: 0 }
    : { request: id.slice(0, dot), number: Number(id.slice(dot + 1)) };
}

/** Of the attempts that were found, one entry for each request, at its first place. */
export function loggedRequests(
  places: readonly LogPlace[],
  lines: ReadonlyMap<string, readonly string[]>,
): LoggedRequest[] {
  const seen = new Set<string>();
  return places.flatMap((place) => {
    const { request } = splitId(place.id);
    const attempts = lines.get(request);
    if (attempts === undefined || seen.has(request)) return [];
    seen.add(request);
    return [{ place, request, lines: attempts }];
  });
}

export function ownLinesQuery(
  kind: DatabaseKind,
  ids: readonly string[],
  namespace: string | undefined,
): Query {
  const values: Value[] = [JSON.stringify(ids)];
  // Each is found by its id.
  const column = kind === 'sqlite' ? '+namespace' : 'namespace';
  const own = namespace === undefined ? '' : ` AND ${column} = $${values.push(namespace)}`;
  return {
    text: `SELECT id, line FROM ledger_records WHERE id IN ${listOf(kind, 1)}${own}`,
    values,
  };
}
