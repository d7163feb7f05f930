// Which requests were there, one by one, and what became of each? Rows out of the records of their attempts, without any content.

import { ERROR_CODES } from '../../core/catalog/error-codes.ts';
import { type LedgerRecord, ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import { refusalSchema } from '../../core/contract/refusal.ts';
import { usdOf } from '../money.ts';
import { minutesAround } from '../store/spans.ts';
import type { LedgerStore, LogPlace, Outcome, RefusalFilter } from '../store/store.ts';
import { callerStatus, failuresSeenAs } from './caller-status.ts';
import { failureWords, refusalWords } from './failure-words.ts';
import { ERROR_ENDS, type LogQuestion, type Part, writePlace } from './log-question.ts';

type Store = Pick<
  LedgerStore,
  'requestLog' | 'attemptsOf' | 'refusals' | 'singleRefusals' | 'singleRefusalCount'
>;

interface LogRow {
  readonly place: LogPlace;
  readonly row: object;
}

/** @param seesProviders Which vendors are behind a route is the platform's own business. */
export async function requestLogAnswer(store: Store, question: LogQuestion, seesProviders: boolean) {
  const { asked, request, part, before } = question;
  if (request !== undefined) return await requestAnswer(store, question, request, seesProviders);
  const { from, to } = asked;
  const { rows, next } = await readRows(store, question, part, before, seesProviders);
  const isFirst = before === undefined && part !== 'others';
  return {
    from,
    to,
    rows: rows.map(({ row }) => row),
    ...nextAnswer(next),
    ...(isFirst ? await withoutRowAnswer(store, question) : {}),
  };
}

const nextAnswer = (next: string | undefined) => ({
  isTruncated: next !== undefined,
  ...(next === undefined ? {} : { next }),
});

const always = { from: '1970-01-01', to: '9999-12-31' } as const;

async function requestAnswer(
  store: Store,
  { asked: { where } }: LogQuestion,
  request: string,
  seesProviders: boolean,
) {
  const { namespace } = where;
  const attempts = readRecords(await store.attemptsOf(request, namespace));
  if (attempts.length > 0)
    return {
      rows: [rowAnswer(attempts, seesProviders)],
      attempts: attempts.map((attempt) => attemptAnswer(attempt, seesProviders)),
      isTruncated: false,
    };
  const refused = await store.singleRefusals({
    ...always,
    where: { request, ...(namespace === undefined ? {} : { namespace }) },
    limit: 1,
  });
  return { rows: refused.flatMap(({ line }) => refusalAnswer(line)), attempts: [], isTruncated: false };
}

interface Rows {
  readonly rows: readonly LogRow[];
  /** Undefined: there are no more. */
  readonly next: string | undefined;
}

async function readRows(
  store: Store,
  question: LogQuestion,
  part: Part,
  before: LogPlace | undefined,
  seesProviders: boolean,
): Promise<Rows> {
  const { limit } = question;
  const { rows, next } = await readPart(store, question, part, before, seesProviders);
  if (next !== undefined) return { rows, next: writePlace(part, next) };
  if (part !== 'failures') return { rows, next: undefined };
  if (rows.length >= limit) return { rows, next: writePlace('others', undefined) };
  const left = { ...question, limit: limit - rows.length };
  const others = await readRows(store, left, 'others', undefined, seesProviders);
  return { rows: [...rows, ...others.rows], next: others.next };
}

interface PartOfLog {
  readonly rows: readonly LogRow[];
  /** Start of the next page; undefined: no older requests. */
  readonly next: LogPlace | undefined;
}

async function readPart(
  store: Store,
  question: LogQuestion,
  part: Part,
  before: LogPlace | undefined,
  seesProviders: boolean,
): Promise<PartOfLog> {
  const [attempted, refused] = await Promise.all([
    readAttempted(store, question, part, before, seesProviders),
    readRefused(store, question, part, before),
  ]);
  const bounds = [attempted.next, refused.next].filter((place) => place !== undefined);
  const [bound] = bounds.sort(newestFirst);
  const known = [...attempted.rows, ...refused.rows]
    .sort((a, b) => newestFirst(a.place, b.place))
    .filter(({ place }) => bound === undefined || newestFirst(place, bound) <= 0);
  const rows = known.slice(0, question.limit);
  return { rows, next: known.length > rows.length ? rows.at(-1)?.place : bound };
}

function newestFirst(a: LogPlace, b: LogPlace): number {
  return b.ms - a.ms || (a.id === b.id ? 0 : a.id < b.id ? 1 : -1);
}

async function readAttempted(
  store: Store,
  { asked, outcome, status, code, limit }: LogQuestion,
  part: Part,
  before: LogPlace | undefined,
  seesProviders: boolean,
): Promise<PartOfLog> {
  const wanted = endsOf(part, outcome, status, code);
  if (wanted?.ends.length === 0) return { rows: [], next: undefined };
  const { from, to, where } = asked;
  const page = await store.requestLog({ from, to, where, ...wanted, before, limit });
  const rows = page.requests.flatMap(({ place, lines }) => {
    const attempts = readRecords(lines);
    const isSeenAs = status === undefined || callerStatus(attempts) === status;
    return attempts.length > 0 && isSeenAs ? [{ place, row: rowAnswer(attempts, seesProviders) }] : [];
  });
  return { rows, next: page.next };
}

async function readRefused(
  store: Store,
  question: LogQuestion,
  part: Part,
  before: LogPlace | undefined,
): Promise<PartOfLog> {
  if (part === 'others') return { rows: [], next: undefined };
  const { asked, limit } = question;
  const { from, to } = asked;
  const found = await Promise.all(
    refusedWheres(question).map((where) =>
      store.singleRefusals({
        ...{ from, to, where, limit: limit + 1 },
        before: before && { atMs: before.ms, id: before.id },
      }),
    ),
  );
  const places = found
    .flat()
    .map(({ id, atMs, line }) => ({ place: { ms: atMs, id }, line }))
    .sort((a, b) => newestFirst(a.place, b.place));
  const page = places.slice(0, limit);
  return {
    rows: page.flatMap(({ place, line }) => refusalAnswer(line).map((row) => ({ place, row }))),
    next: places.length > limit ? page.at(-1)?.place : undefined,
  };
}

/** Statuses of a gateway that cannot serve: an error to the caller, not a refusal. */
const unservedStatuses = [...new Set(Object.values(ERROR_CODES).map(({ status }) => status))].filter(
  (status) => status >= 500,
);

/** Each of them is wanted; of none: no refusal is. No provider was asked for it, and its route may not be known. */
function refusedWheres({ asked, outcome, status, code }: LogQuestion): readonly RefusalFilter[] {
  const { namespace, apiKey, model, provider, upstreamModel, route } = asked.where;
  if (provider !== undefined || upstreamModel !== undefined || route !== undefined) return [];
  if (outcome !== undefined && outcome !== 'refused' && outcome !== 'error') return [];
  const given = Object.entries({ namespace, apiKey, model, code }).filter(([, value]) => value !== undefined);
  const where: RefusalFilter = Object.fromEntries(given);
  if (outcome !== 'error') return status === undefined ? [where] : [{ ...where, status: String(status) }];
  return unservedStatuses
    .filter((one) => status === undefined || one === status)
    .map((one) => ({ ...where, status: String(one) }));
}

/** The dashboard asks every two seconds: more rows are not counted. */
const countedMax = 10_000;

/** Of very many refusals only some have a row; all are in the sums, which know whole minutes. */
async function withoutRowAnswer(store: Store, question: LogQuestion) {
  const stretch = minutesAround(question.asked);
  const wheres = refusedWheres(question);
  const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
  const rows = await Promise.all(
    wheres.map((where) => store.singleRefusalCount({ ...stretch, where, limit: countedMax + 1 })),
  );
  // Above this number the sums were not read completely, and are not needed.
  if (sum(rows) > countedMax) return {};
  const refused = await Promise.all(
    wheres.map(
      async (where) => (await store.refusals({ ...stretch, by: [], where, limit: 1 }))[0]?.refused ?? 0,
    ),
  );
  return { refusedWithoutRow: Math.max(0, sum(refused) - sum(rows)) };
}

function refusalAnswer(line: string): readonly object[] {
  const refusal = refusalSchema.safeParse(JSON.parse(line)).data;
  if (refusal === undefined) return [];
  const { kind: _, id, at, code, message, ...names } = refusal;
  return [
    {
      request: id,
      startedAt: at,
      ...names,
      outcome: 'refused',
      failure: code,
      cause: message ?? refusalWords(code),
      attempts: 0,
      tokens: { input: 0, cachedInput: 0, output: 0 },
      costUsd: '0',
    },
  ];
}

/** Undefined: whatever became of them. Without an end: none of those that were attempted. */
function endsOf(
  part: Part,
  outcome: LogQuestion['outcome'],
  status: number | undefined,
  code: string | undefined,
): { readonly ends: readonly Outcome[]; readonly failures?: readonly string[] } | undefined {
  const inPart: readonly Outcome[] | undefined =
    part === 'all' ? undefined : part === 'failures' ? ERROR_ENDS : ['answered', 'cancelled'];
  const withOutcome: readonly Outcome[] | undefined =
    outcome === undefined
      ? undefined
      : outcome === 'error'
        ? ERROR_ENDS
        : outcome === 'refused'
          ? []
          : [outcome];
  const withStatus: readonly Outcome[] | undefined =
    status === undefined ? undefined : status === 200 ? delivered : ['failed'];
  const withCode = code === undefined ? undefined : ERROR_ENDS;
  const given = [inPart, withOutcome, withStatus, withCode].filter((ends) => ends !== undefined);
  const [first, ...others] = given;
  if (first === undefined) return undefined;
  const ends = first.filter((end) => others.every((list) => list.includes(end)));
  if (code !== undefined) return { ends, failures: [code] };
  return status === undefined || status === 200 ? { ends } : { ends, failures: failuresSeenAs(status) };
}

const delivered: readonly Outcome[] = ['answered', 'broken-off', 'cancelled', 'interrupted'];

/** A line that a newer gateway wrote otherwise is in the sums, and in no row. */
function readRecords(lines: readonly string[]): readonly LedgerRecord[] {
  return lines.flatMap((line) => ledgerRecordSchema.safeParse(JSON.parse(line)).data ?? []);
}

function rowAnswer(attempts: readonly LedgerRecord[], seesProviders: boolean) {
  const first = attempts[0] as LedgerRecord;
  const last = attempts.at(-1) as LedgerRecord;
  const startedMs = Date.parse(first.startedAt);
  const sinceStart = ({ startedAt }: LedgerRecord, ms: number) => Date.parse(startedAt) - startedMs + ms;
  const sum = (of: (attempt: LedgerRecord) => number) =>
    attempts.reduce((all, attempt) => all + of(attempt), 0);
  const priced = attempts.flatMap(({ costPicodollars }) => costPicodollars ?? []);
  const status = callerStatus(attempts);
  return {
    request: first.request,
    startedAt: first.startedAt,
    namespace: first.namespace,
    apiKey: first.apiKey,
    ...(first.owner === undefined ? {} : { owner: first.owner }),
    model: first.model,
    ...(first.requestedModel === undefined ? {} : { requestedModel: first.requestedModel }),
    route: first.route,
    ...namesOf(last, seesProviders),
    ...(status === undefined ? {} : { status }),
    outcome: last.outcome,
    ...failureAnswer(last),
    attempts: attempts.length,
    tokens: {
      input: sum(({ usage }) => usage.input),
      cachedInput: sum(({ usage }) => usage.cachedInput),
      output: sum(({ usage }) => usage.output),
    },
    costUsd: priced.length === 0 ? null : usdOf(priced.reduce((all, cost) => all + BigInt(cost), 0n)),
    ...(attempts.every(isProvisioned) ? { isProvisioned: true } : {}),
    ...(last.firstContentMs === undefined || last.outcome === 'failed'
      ? {}
      : { firstContentMs: sinceStart(last, last.firstContentMs) }),
    durationMs: Math.max(...attempts.map((attempt) => sinceStart(attempt, attempt.durationMs))),
    isStream: first.isStream,
    clientDialect: first.clientDialect,
  };
}

function attemptAnswer(attempt: LedgerRecord, seesProviders: boolean) {
  const { startedAt, durationMs, firstContentMs, call, status, outcome, payer, costPicodollars, usage } =
    attempt;
  return {
    attempt: attempt.attempt,
    ...(call === undefined ? {} : { call }),
    startedAt,
    ...namesOf(attempt, seesProviders),
    outcome,
    ...(status === undefined ? {} : { upstreamStatus: status }),
    ...failureAnswer(attempt),
    ...(firstContentMs === undefined ? {} : { firstContentMs }),
    durationMs,
    tokens: { input: usage.input, cachedInput: usage.cachedInput, output: usage.output },
    costUsd: costPicodollars === null ? null : usdOf(BigInt(costPicodollars)),
    ...(isProvisioned(attempt) ? { isProvisioned: true } : {}),
    payer,
  };
}

/** At capacity that is paid for by the hour: it cost nothing, which is known. */
function isProvisioned({ price }: LedgerRecord): boolean {
  return price?.source === 'provisioned';
}

/** Names of a route and a Provider of the tenant's own namespace are shown to the tenant too. */
function namesOf(
  { namespace, route, provider, providerKey, target, upstreamModel, upstreamDialect }: LedgerRecord,
  seesProviders: boolean,
) {
  const isOwn = (name: string) => seesProviders || name.startsWith(`${namespace}/`);
  return {
    ...(isOwn(route) ? { target } : {}),
    ...(isOwn(provider)
      ? { provider, ...(providerKey === undefined ? {} : { providerKey }), upstreamModel, upstreamDialect }
      : {}),
  };
}

function failureAnswer({ failure, cause }: LedgerRecord) {
  return failure === undefined ? {} : { failure, cause: failureWords(failure, cause) };
}
