// Does the ledger say what the providers say? Each of their calls beside its record. Pure.

import type { LedgerRecord } from '../../../core/contract/ledger-record.ts';
import type { Sums } from '../../../ledger/store/store.ts';
import type { CallTokens } from '../../support/wall.ts';
import {
  addSums,
  noSums,
  providedTokens,
  recordedTokens,
  type TokenSums,
  type Tokens,
  tokenKinds,
} from '../same-tokens.ts';

/** What became of a call in the ledger. */
export type Word =
  /** Its provider reported its counts, and the record has them, to the token. */
  | 'counted'
  /** A message that has reported its input, and its first token of output, and nothing else; so does the record, as an estimate. */
  | 'begun'
  /** The record has counts of our own, and says so. */
  | 'estimated'
  /** The record has no tokens, and says that they are ours: of an attempt without a sign of work. */
  | 'nothing'
  /** None of these: the record says that its counts are the provider's, and they are not. */
  | 'off';

/** A call as its provider knows it. */
export interface CallFacts {
  /** What its record has as `upstreamModel`. One request at a time was made of it. */
  readonly upstreamModel: string;
  readonly tokens: CallTokens;
}

export interface Pair {
  readonly call: CallFacts;
  readonly record: LedgerRecord;
  readonly word: Word;
}

export interface SumsVerdict {
  readonly pairs: readonly Pair[];
  /** Calls without a record. */
  readonly unrecorded: readonly CallFacts[];
  /** Records without a call, though a connection came about. */
  readonly invented: readonly LedgerRecord[];
  /** Records of attempts whose provider was not there. */
  readonly refused: readonly LedgerRecord[];
  /** Ids that stand there twice. */
  readonly doubled: readonly string[];
  /** Of counted calls, by the records and by the providers. */
  readonly tokens: TokenSums;
  /** Records whose cost is not that of their tokens. */
  readonly otherCosts: readonly LedgerRecord[];
  /** Sums of the ledger that are not those of its records. */
  readonly otherSums: readonly string[];
}

/** For one token each, in picodollars. */
export interface Prices {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

export function judgeSums(
  calls: readonly CallFacts[],
  records: readonly LedgerRecord[],
  sums: Sums | undefined,
  prices: Prices,
): SumsVerdict {
  const ids = new Map<string, number>();
  for (const { id } of records) ids.set(id, (ids.get(id) ?? 0) + 1);
  const refused = records.filter(({ failure }) => failure === 'connect_refused');
  const left = Map.groupBy(
    records
      .filter((record) => !refused.includes(record))
      .toSorted((a, b) => a.startedAt.localeCompare(b.startedAt) || a.attempt - b.attempt),
    ({ upstreamModel }) => upstreamModel,
  );
  const pairs: Pair[] = [];
  const unrecorded: CallFacts[] = [];
  for (const call of calls) {
    const record = left.get(call.upstreamModel)?.shift();
    if (record === undefined) unrecorded.push(call);
    else pairs.push({ call, record, word: wordOf(call.tokens, record) });
  }
  return {
    pairs,
    unrecorded,
    invented: [...left.values()].flat(),
    refused,
    doubled: [...ids].flatMap(([id, count]) => (count > 1 ? id : [])),
    tokens: pairs.map(tokensOf).reduce(addSums, noSums),
    otherCosts: records.filter(({ usage, costPicodollars }) => costPicodollars !== costOf(usage, prices)),
    otherSums: otherSums(records, sums),
  };
}

function costOf(usage: LedgerRecord['usage'], prices: Prices): number {
  const { input, cachedInput, cacheWrite, output, reasoning } = usage;
  return (
    (input - cachedInput - cacheWrite) * prices.input +
    cachedInput * prices.cachedInput +
    cacheWrite * prices.cacheWrite +
    (output - reasoning) * prices.output +
    reasoning * prices.reasoning
  );
}

function wordOf(tokens: CallTokens, record: LedgerRecord): Word {
  const recorded = recordedTokens(record);
  const provided = providedTokens(tokens);
  if (!record.isEstimated) return tokens.isReported && isSame(recorded, provided) ? 'counted' : 'off';
  if (recorded.input + recorded.output === 0) return 'nothing';
  const mayHaveBegun = record.upstreamDialect === 'anthropic-messages' && provided.output === 0;
  return mayHaveBegun && isSame(recorded, { ...provided, output: 1 }) ? 'begun' : 'estimated';
}

function isSame(a: Tokens, b: Tokens): boolean {
  return tokenKinds.every((kind) => a[kind] === b[kind]);
}

function tokensOf({ call, record, word }: Pair): TokenSums {
  if (word !== 'counted' && word !== 'off') return { ...noSums, estimated: 1 };
  const [recorded, provided] = [recordedTokens(record), providedTokens(call.tokens)];
  return { recorded, provided, counted: 1, estimated: 0 };
}

function otherSums(records: readonly LedgerRecord[], sums: Sums | undefined): readonly string[] {
  const add = (of: (record: LedgerRecord) => number): number =>
    records.reduce((total, record) => total + of(record), 0);
  const wanted = {
    requests: new Set(records.map(({ request }) => request)).size,
    attempts: records.length,
    estimated: records.filter(({ isEstimated }) => isEstimated).length,
    unpriced: records.filter(({ costPicodollars }) => costPicodollars === null).length,
    input: add(({ usage }) => usage.input),
    cachedInput: add(({ usage }) => usage.cachedInput),
    cacheWrite: add(({ usage }) => usage.cacheWrite),
    output: add(({ usage }) => usage.output),
    reasoning: add(({ usage }) => usage.reasoning),
    costPicodollars: BigInt(add(({ costPicodollars }) => costPicodollars ?? 0)),
  } satisfies Sums;
  return Object.entries(wanted).flatMap(([name, value]) => {
    const said = sums?.[name as keyof Sums];
    return said === value ? [] : `${name}: ${said}, not ${value}`;
  });
}
