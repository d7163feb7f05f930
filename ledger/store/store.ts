// What does a ledger keep, and what can it be asked? One interface for SQLite and Postgres: records are taken in once each,
// never changed, and summed by day in the same step.

import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { Refusal, RefusalSums } from '../../core/contract/refusal.ts';
import type { Interval, Stretch } from './spans.ts';

/** A record, and the line that it came as: unknown members from a newer gateway are kept in the line. */
export interface Entry {
  readonly record: LedgerRecord;
  readonly line: string;
}

/** A request that a gateway refused without an attempt, and its line. Only some of them have one. */
export interface RefusalEntry {
  readonly refusal: Refusal;
  readonly line: string;
}

/** How often each caller was refused in ten seconds at one gateway, exact. */
export interface RefusalSumsEntry {
  readonly sums: RefusalSums;
  readonly line: string;
}

/** A line that is no record that can be counted. It is kept to be looked at. */
export interface Aside {
  readonly line: string;
  /** For people; without a value of the line. */
  readonly reason: string;
}

/** Why a record past the retention is quarantined: the ledger can no longer check whether it was counted. */
export const PURGED_REASON = 'it is older than the records that are kept, and may have been counted before';

/** Lines of one journal, in their order. */
export interface Page {
  /** Owner of the journal: the uid of the pod. */
  readonly source: string;
  /** The cursor after the last of the lines. */
  readonly cursor: string;
  readonly entries: readonly Entry[];
  readonly refusals?: readonly RefusalEntry[] | undefined;
  readonly refusalSums?: readonly RefusalSumsEntry[] | undefined;
  readonly asides: readonly Aside[];
}

export interface Taken {
  readonly added: number;
  /** Known by their id before. */
  readonly duplicates: number;
  /** New lines among those put aside. */
  readonly asides: number;
}

/** By what can be summed. `day`, `hour` and `minute` are of the start of the attempt, UTC. */
export const DIMENSIONS = [
  'day',
  'hour',
  'minute',
  'namespace',
  'apiKey',
  'route',
  'provider',
  'model',
  'upstreamModel',
  'payer',
  'outcome',
] as const;
export type Dimension = (typeof DIMENSIONS)[number];
/** What can be asked for by its value. */
export type FilterName = Exclude<Dimension, Interval>;
export type Filter = Readonly<Partial<Record<FilterName, string>>>;

/** The measure of a group's size. `tokens` are input and output; `failed` are attempts that failed or were cut off. */
export const WEIGHTS = ['cost', 'tokens', 'requests', 'failed'] as const;
export type Weight = (typeof WEIGHTS)[number];

export interface Among {
  readonly dimension: FilterName;
  readonly values: readonly string[];
}

export interface SumsQuery extends Stretch {
  /** None: one row of everything. By less than a day, or from and to within one, only as far back as records are kept. */
  readonly by: readonly Dimension[];
  readonly where?: Filter;
  /** Only these values of one dimension. */
  readonly among?: Among | undefined;
  /** The largest first; else rows are in the order of their groups. */
  readonly largestBy?: Weight | undefined;
  /** Rows; more are left out. */
  readonly limit: number;
  /** Rows to pass over first; none where left out. */
  readonly offset?: number | undefined;
}

export interface UsedQuery extends Omit<SumsQuery, 'by' | 'among' | 'largestBy'> {
  readonly spender: Spender;
}

export interface LargestQuery extends Omit<SumsQuery, 'by' | 'among' | 'largestBy' | 'offset'> {
  readonly by: FilterName;
  readonly largestBy: Weight;
}

/** Counts are exact up to 2^53, money always. */
export interface Sums {
  /** Attempts that were the first of their request. */
  readonly requests: number;
  readonly attempts: number;
  /** Attempts whose tokens are counted by us, since the upstream gave none. */
  readonly estimated: number;
  /** Attempts without a price; they are not in the cost. */
  readonly unpriced: number;
  /** Tokens; `input` includes `cachedInput` and `cacheWrite`, `output` includes `reasoning`. */
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
  readonly costPicodollars: bigint;
}

export interface SumsRow {
  readonly group: Readonly<Partial<Record<Dimension, string>>>;
  readonly sums: Sums;
}

export type Outcome = LedgerRecord['outcome'];

/** Sums, and how many of their attempts ended in which way. */
export interface OutcomesRow extends SumsRow {
  readonly outcomes: Readonly<Record<Outcome, number>>;
}

/** The spender: an ApiKey, or all of a namespace together. */
export type Spender = 'apiKey' | 'namespace';

/** Delivered use of a key or its tenant; attempts that the platform pays are not in it. */
export interface Use {
  readonly requests: number;
  /** Tokens; `input` includes `cachedInput`. */
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
  readonly unpriced: number;
  /** The tenant's cost; calls with its own provider cost nothing. */
  readonly costPicodollars: bigint;
}

/** Spend of one key or namespace in the present periods, UTC, weeks from Monday. */
export interface Spend {
  /** `namespace/name` of an ApiKey, or of a namespace its name. */
  readonly name: string;
  /** Sequence of its last record; grows with each. */
  readonly sequence: number;
  /** Unix milliseconds of the start of its last attempt. */
  readonly lastUsedMs: number;
  readonly day: Use;
  readonly week: Use;
  readonly month: Use;
  readonly total: Use;
}

/** Costs of the given names, or of all spenders since a moment, in the order of their names. */
export interface CostsQuery {
  readonly spender: Spender;
  readonly names?: readonly string[] | undefined;
  /** Unix milliseconds. */
  readonly usedSinceMs?: number | undefined;
  /** Keys of one alone. */
  readonly namespace?: string | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly nowMs: number;
}

/** What keys were given and pay in a stretch of time, in the order of their names. */
export interface UsesQuery extends Stretch {
  /** Keys of one alone. */
  readonly namespace?: string | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
}

/** Cost in dollars, exact. */
type UseRow = readonly [
  apiKey: string,
  requests: number,
  inputTokens: number,
  outputTokens: number,
  usd: string,
];

/** A short form of `Spend` with only the last use and the costs: in dollars, exact. */
export type CostsRow = readonly [
  name: string,
  lastUsedMs: number,
  day: string,
  week: string,
  month: string,
  total: string,
];

export interface Costs {
  /** JSON of `CostsRow[]`, as the database wrote it: a caller that only passes thousands of rows on need not parse them. */
  readonly json: string;
  /** All matching names, whatever the limit. */
  readonly total: number;
}

/** When an attempt at something failed last. */
export interface LastFailure {
  readonly group: SumsRow['group'];
  /** Unix milliseconds of its start. */
  readonly atMs: number;
  /** Line of the last stored failure; undefined: no longer kept. */
  readonly line?: string;
}

/** The newest record of a model that was delivered. */
export interface LatestRecord {
  readonly model: string;
  readonly line: string;
}

/** A key or a namespace that was used. */
export interface Changed {
  /** As in `Spend`. */
  readonly name: string;
  /** Of its last record. */
  readonly sequence: number;
}

export interface LedgerState {
  /** Created with the tables, so a new ledger has another one. */
  readonly id: string;
  /** Sequence of the last stored record; 0 before the first. Falls only after a restore. */
  readonly sequence: number;
  /** `YYYY-MM-DD`: records of days before it may have gone. Empty: none have. */
  readonly keptFrom: string;
  /** Unix milliseconds of the start of the youngest record that is kept; undefined without records. */
  readonly youngestMs: number | undefined;
}

/** Which records; only as far back as they are kept. */
export interface RecentQuery extends Stretch {
  readonly where: Filter;
}

/** By what of the time. */
export interface IntervalQuery extends RecentQuery {
  readonly interval: Interval;
}

/** Requests that were not answered, by what their last attempt came to, in the interval that their first one began in. */
export interface EndsRow {
  readonly interval: string;
  readonly outcome: string;
  /** Failure code of the record; empty where it has none. */
  readonly failure: string;
  readonly requests: number;
}

/** Streams of which something was delivered, by how long its first content took. */
export interface FirstContentRow {
  readonly interval: string;
  /** Its first two digits are exact, the others are zeros. */
  readonly ms: number;
  readonly answers: number;
}

/** The same by what a question names. */
export interface FirstContentSumsRow extends Omit<FirstContentRow, 'interval'> {
  readonly group: SumsRow['group'];
}

/** By what refusals can be summed. Minutes are those that their window of ten seconds began in. */
export const REFUSAL_DIMENSIONS = [
  'day',
  'hour',
  'minute',
  'namespace',
  'apiKey',
  'model',
  'status',
  'code',
] as const;
export type RefusalDimension = (typeof REFUSAL_DIMENSIONS)[number];
export type RefusalFilter = Readonly<
  Partial<Record<Exclude<RefusalDimension, Interval>, string | undefined>>
>;

/** Only as far back as records are kept. A stretch that is not of whole minutes is of those that it touches. */
export interface RefusalsQuery extends Stretch {
  /** None: one row of everything. */
  readonly by: readonly RefusalDimension[];
  readonly where?: RefusalFilter | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
}

export interface RefusalsRow {
  /** A namespace, key or model that is not known is empty. */
  readonly group: Readonly<Partial<Record<RefusalDimension, string>>>;
  readonly refused: number;
}

/** Refusals that have a line of their own, the newest first. */
export interface SingleRefusalsQuery extends Stretch {
  readonly where?: (RefusalFilter & { readonly request?: string | undefined }) | undefined;
  /** Only older ones than this: the last of the page before. */
  readonly before?: Pick<SingleRefusal, 'atMs' | 'id'> | undefined;
  readonly limit: number;
}

export interface SingleRefusal {
  /** Of the request. */
  readonly id: string;
  readonly atMs: number;
  /** As the gateway wrote it: a `Refusal`. */
  readonly line: string;
}

/** Where a request is in the log: at the moment that an attempt of it began, or that it was refused. */
export interface LogPlace {
  /** Unix milliseconds. */
  readonly ms: number;
  readonly id: string;
}

/** Requests one by one, newest first. */
export interface LogQuery extends RecentQuery {
  /** How requests ended; with a provider or its model, how an attempt there ended. `answered` is never combined with others. */
  readonly ends?: readonly Outcome[] | undefined;
  /** Failure codes of the attempt that `ends` is about. */
  readonly failures?: readonly string[] | undefined;
  /** Only older ones. */
  readonly before?: LogPlace | undefined;
  readonly limit: number;
}

export interface LoggedRequest {
  readonly place: LogPlace;
  readonly request: string;
  /** Of all its attempts, in their order. */
  readonly lines: readonly string[];
}

/** A page of the log. */
interface LogPage {
  readonly requests: readonly LoggedRequest[];
  /** Where the next page begins; undefined: this is the last. */
  readonly next: LogPlace | undefined;
}

export interface RecordsQuery {
  /** Sequence of the last record that is known; 0: from the first. */
  readonly after: number;
  readonly limit: number;
  /** Days as in `SumsQuery`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly where?: Filter | undefined;
}

export interface StoredRecord {
  /** In the order in which records were taken in. */
  readonly sequence: number;
  /** The record as the gateway wrote it. */
  readonly line: string;
}

export interface PurgeOptions {
  /** `YYYY-MM-DD`: records of days before it go, refusals too, and their hours, and lines put aside before it; sums by day stay. */
  readonly before: string;
  /** Records after this sequence are kept whatever their day: a receiver does not have them yet. */
  readonly upTo?: number | undefined;
  /** So many single refusals, the newest, are kept; sums of refusals count all. */
  readonly refusalsKept?: number | undefined;
  /** Unix milliseconds: cursors of journals that were not heard of since go. */
  readonly silentSinceMs: number;
  /** Unix milliseconds. A stored day in the future came from a wrong clock, and is replaced. */
  readonly nowMs: number;
}

/** Work that only one ledger at a time does. */
export interface Duty {
  onElected(): void;
  /** Until it is elected again, nothing can be written. */
  onLost(reason: string): void;
}

export interface LedgerStore {
  /** Takes part in the election of a leader among the ledgers of one database, until it is closed. From then on it writes only while it leads. */
  lead(duty: Duty): { close(): Promise<void> };
  /** Undefined: nothing was taken from this journal yet. */
  cursorOf(source: string): Promise<string | undefined>;
  /** All of it or nothing: records, refusals, sums and cursor together. A page that was taken before changes nothing. */
  take(page: Page, nowMs: number): Promise<Taken>;
  sums(query: SumsQuery): Promise<SumsRow[]>;
  /** A row for each group as in `sums`, with one entry for each way its attempts ended. */
  outcomes(query: SumsQuery): Promise<OutcomesRow[]>;
  /** Names without a record are left out. */
  spendOf(spender: Spender, names: readonly string[], nowMs: number): Promise<Spend[]>;
  costs(query: CostsQuery): Promise<Costs>;
  uses(query: UsesQuery): Promise<readonly UseRow[]>;
  /** The day of the first record of each, `YYYY-MM-DD`, by name. */
  firstDays(spender: Spender, names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Spenders whose last record is after a sequence, up to another one, in that order. */
  changed(spender: Spender, after: number, limit: number, upTo?: number): Promise<Changed[]>;
  state(): Promise<LedgerState>;
  /** The same three over a connection of their own: what budgets are kept by waits for no question of people, however heavy. */
  readonly spend: Pick<LedgerStore, 'spendOf' | 'changed' | 'state'>;
  /** Names of those that were used, in their order. */
  used(query: UsedQuery): Promise<string[]>;
  /** Values of a dimension, the largest first; of keys over whole days by what they were given and pay. */
  largest(query: LargestQuery): Promise<string[]>;
  /** By model, as far as their records are kept. */
  latest(query: RecentQuery): Promise<LatestRecord[]>;
  /** When each of what `by` names has last failed, Unix milliseconds. */
  lastFailures(by: readonly Dimension[], query: RecentQuery): Promise<LastFailure[]>;
  /** Lines of all attempts of requests that a later attempt than the first answered, newest request first; of a few requests. */
  furtherAnswers(query: RecentQuery): Promise<readonly (readonly string[])[]>;
  /** A request whose second attempt is still in flight has ended as its first one did, until it has ended. */
  ends(query: IntervalQuery): Promise<EndsRow[]>;
  firstContents(query: IntervalQuery): Promise<FirstContentRow[]>;
  /** Reads every record of the stretch: for an hour or two. */
  firstContentsBy(by: readonly FilterName[], query: RecentQuery): Promise<FirstContentSumsRow[]>;
  requestLog(query: LogQuery): Promise<LogPage>;
  /** Lines of all attempts of a request, in their order; of another namespace than the given one there are none. */
  attemptsOf(request: string, namespace: string | undefined): Promise<readonly string[]>;
  records(query: RecordsQuery): Promise<StoredRecord[]>;
  /** Exact sums of refusals, in the order of their groups. */
  refusals(query: RefusalsQuery): Promise<RefusalsRow[]>;
  singleRefusals(query: SingleRefusalsQuery): Promise<SingleRefusal[]>;
  /** Counts up to the limit. */
  singleRefusalCount(query: Omit<SingleRefusalsQuery, 'before'>): Promise<number>;
  /** Lines put aside, the newest first. */
  asides(limit: number): Promise<(Aside & { readonly source: string; readonly atMs: number })[]>;
  /** How far a receiver of records has got; 0 for one that is new. */
  sinkCursor(sink: string): Promise<number>;
  setSinkCursor(sink: string, sequence: number): Promise<void>;
  /** Gives how many records went, and gives their room back. */
  purge(options: PurgeOptions): Promise<number>;
  close(): Promise<void>;
}
