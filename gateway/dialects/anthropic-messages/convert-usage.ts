// How does messages count tokens? Its input counter leaves cached tokens out; ours has them in.

import type { Usage } from '../../../core/contract/ledger-record.ts';
import { asRecord, type JsonRecord } from '../../json/record.ts';
import { believeCount as count } from '../answer/believe-count.ts';
import type { AnswerFacts } from '../dialect.ts';

/** Counters as the upstream gave them, none of them derived. */
export interface MessagesCounters {
  readonly input?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  /** The part of the cache writes that is kept for an hour. */
  readonly cacheWriteHour?: number;
  readonly output?: number;
  readonly thinking?: number;
  /** Use in addition to the totals, which is billed too. */
  readonly beside?: BesideTotals;
  /** One of the two mandatory counts was not a number. */
  readonly isAbsurd?: boolean;
  /** The output count came with the end of the message; the count at its beginning is only a placeholder. */
  readonly isFinal?: boolean;
}

interface BesideTotals {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWriteHour: number;
  readonly output: number;
}

/**
 * The latest known counters: an event repeats them or leaves them out, so they are never added up.
 * Output never falls. Some upstreams report later how much of the input came from a cache. Cache writes
 * for five minutes and for an hour are one count; writes for an hour are also counted alone, because they cost more.
 */
export function mergeCounters(known: MessagesCounters, value: unknown): MessagesCounters {
  const usage = asRecord(value);
  const writes = asRecord(usage?.cache_creation);
  const later = {
    input: count(usage?.input_tokens),
    cacheRead: count(usage?.cache_read_input_tokens),
    cacheWrite:
      count(usage?.cache_creation_input_tokens) ??
      sum(count(writes?.ephemeral_5m_input_tokens), count(writes?.ephemeral_1h_input_tokens)),
    cacheWriteHour: count(writes?.ephemeral_1h_input_tokens),
    beside: besideTotalsIn(usage?.iterations),
    output: notLess(known.output, count(usage?.output_tokens)),
    isAbsurd: [usage?.input_tokens, usage?.output_tokens].some(isAbsurd) || undefined,
    thinking: notLess(known.thinking, count(asRecord(usage?.output_tokens_details)?.thinking_tokens)),
  };
  const entries = Object.entries(later).filter(([, counter]) => counter !== undefined);
  return { ...known, ...Object.fromEntries(entries) };
}

/** As `mergeCounters`, with what the end of a message tells. Where that is nothing, the token that it began with is no count either. */
export function mergeFinalCounters(known: MessagesCounters, value: unknown): MessagesCounters {
  const merged = mergeCounters(known, value);
  const output = count(asRecord(value)?.output_tokens);
  if (output === undefined) return merged;
  return { ...merged, ...(output === 0 && !known.isFinal ? { output } : {}), isFinal: true };
}

/** Undefined if nothing was counted, or nothing that can be believed. */
export function usageOf({
  input,
  cacheRead,
  cacheWrite,
  cacheWriteHour,
  output,
  thinking,
  beside = nothing,
  isAbsurd,
}: MessagesCounters): Usage | undefined {
  if (isAbsurd || (input === undefined && output === undefined)) return undefined;
  const cachedInput = (cacheRead ?? 0) + beside.cacheRead;
  const written = (cacheWrite ?? 0) + beside.cacheWrite;
  const hour = Math.min(cacheWriteHour ?? 0, cacheWrite ?? 0) + beside.cacheWriteHour;
  return {
    input: (input ?? 0) + beside.input + cachedInput + written,
    cachedInput,
    cacheWrite: written,
    ...(hour > 0 ? { cacheWriteHour: hour } : {}),
    output: (output ?? 0) + beside.output,
    reasoning: Math.min(thinking ?? 0, output ?? 0),
  };
}

const nothing: BesideTotals = { input: 0, cacheRead: 0, cacheWrite: 0, cacheWriteHour: 0, output: 0 };

function besideTotalsIn(iterations: unknown): BesideTotals | undefined {
  if (!Array.isArray(iterations)) return undefined;
  const all = iterations.map((one) => asRecord(one) ?? {});
  const served = all.findLast(({ type }) => isTurn(type));
  const beside = all.filter((one) => isBesideTotals(one, served));
  const sumOf = (countIn: (one: JsonRecord) => number): number =>
    beside.reduce((sum, one) => sum + countIn(one), 0);
  const of = (name: string): number => sumOf((one) => count(one[name]) ?? 0);
  return {
    input: of('input_tokens'),
    cacheRead: of('cache_read_input_tokens'),
    cacheWrite: of('cache_creation_input_tokens'),
    cacheWriteHour: sumOf((one) =>
      Math.min(
        count(asRecord(one.cache_creation)?.ephemeral_1h_input_tokens) ?? 0,
        count(one.cache_creation_input_tokens) ?? 0,
      ),
    ),
    output: of('output_tokens'),
  };
}

/**
 * The totals of a message cover the turns of the model that gave the answer. They leave out the summary of the conversation
 * (`compaction`), questions to an advisor (`advisor_message`), and a model that declined, which is billed only if it had begun to
 * answer. An unknown type counts as left out too, because every type so far that is not a turn was left out.
 */
function isBesideTotals(one: JsonRecord, served: JsonRecord | undefined): boolean {
  if (typeof one.type !== 'string') return false;
  if (!isTurn(one.type)) return true;
  const isOfAnother =
    typeof one.model === 'string' && typeof served?.model === 'string' && one.model !== served.model;
  return isOfAnother && (count(one.output_tokens) ?? 0) > 0;
}

/** A turn of the model that answers; `fallback_message` is the last turn of a model that replaced another. */
function isTurn(type: unknown): boolean {
  return type === 'message' || type === 'fallback_message';
}

/** For a plain message. Without its output count, the usage counts as missing. */
export function plainUsageOf(usage: unknown): Usage | undefined {
  const counters = mergeCounters({}, usage);
  return counters.output === undefined ? undefined : usageOf(counters);
}

/** For a message so far. If its end has no output count, only the input of its beginning counts. */
export function countsSoFar(counters: MessagesCounters): Pick<AnswerFacts, 'usage' | 'lacksOutput'> {
  return { usage: usageOf(counters), lacksOutput: !counters.isFinal };
}

/** A usage object; clients break if it is missing, so without a count it holds the estimates. */
export function encodeMessagesUsage(usage: Usage | undefined, inputEstimate: number, outputEstimate: number) {
  if (!usage) return { input_tokens: inputEstimate, ...noCache, output_tokens: outputEstimate };
  const { input, cachedInput, cacheWrite, output, reasoning } = usage;
  return {
    input_tokens: Math.max(0, input - cachedInput - cacheWrite),
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cachedInput,
    output_tokens: output,
    ...(reasoning > 0 ? { output_tokens_details: { thinking_tokens: reasoning } } : {}),
  };
}

const noCache = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

function isAbsurd(reported: unknown): boolean {
  return reported !== undefined && reported !== null && count(reported) === undefined;
}

function notLess(known: number | undefined, later: number | undefined): number | undefined {
  return later === undefined ? undefined : Math.max(known ?? 0, later);
}

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
}
