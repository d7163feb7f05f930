// What was recorded twice, what is missing, and how old was it? Pure.

import type { LedgerRecord } from '../../../core/contract/ledger-record.ts';
import { addSums, noSums, noTokens, providedTokens, recordedTokens, type TokenSums } from '../same-tokens.ts';
import type { CallSeen, KilledGatewaySeen } from './run.ts';

export interface JournalVerdict {
  /** Answers that came whole to their caller; what is looked for in the journal. */
  readonly whole: number;
  /** Attempts that stand there twice. */
  readonly doubled: readonly string[];
  /** Of whole answers, the attempts that are missing: how long before the kill they ended, in ms; longest first. */
  readonly lostAgesMs: readonly number[];
  /** Requests whose answer was in flight at a kill. */
  readonly inFlight: number;
  /** Whole answers of which the journal says other tokens than the provider. */
  readonly otherTokens: readonly string[];
  /** Of whole answers, by the journal and by the providers. */
  readonly tokens: TokenSums;
  /** Records of calls that no provider saw. */
  readonly invented: number;
  /** Records of attempts that were in flight at a kill, or whose own records were not written yet. */
  readonly interrupted: number;
  /**
   * Calls without a record: how long before the kill they arrived, in ms; longest first. Of calls whose answer had no head yet,
   * nobody knows which record is whose: there, the latest are taken to be those that have none.
   */
  readonly missingAgesMs: readonly number[];
}

export function judgeJournal({ asked, records, calls, agesMs }: KilledGatewaySeen): JournalVerdict {
  const byRequest = Map.groupBy(records, ({ request }) => request);
  const ids = new Set<string>();
  const doubled: string[] = [];
  for (const { id } of records) {
    if (ids.has(id)) doubled.push(id);
    ids.add(id);
  }
  const whole = asked.filter(({ isWhole }) => isWhole);
  const lostAgesMs: number[] = [];
  const otherTokens: string[] = [];
  let tokens = noSums;
  for (const { user, requestId = '', attempts, endedMs, killedMs } of whole) {
    const found = byRequest.get(requestId) ?? [];
    for (let missing = found.length; missing < attempts; missing++) lostAgesMs.push(killedMs - endedMs);
    const answered = found.find(({ outcome }) => outcome === 'answered');
    const call = calls.get(user)?.find(({ behaviour }) => behaviour?.type === 'answer');
    if (answered === undefined) continue;
    const recorded = recordedTokens(answered);
    const provided = call === undefined ? noTokens : providedTokens(call.tokens);
    tokens = addSums(tokens, { recorded, provided, counted: 1, estimated: 0 });
    if (JSON.stringify(recorded) !== JSON.stringify(provided))
      otherTokens.push(`${requestId}: ${JSON.stringify(recorded)}, not ${JSON.stringify(provided)}`);
  }
  const missingAgesMs: number[] = [];
  let invented = 0;
  const compare = (made: readonly CallSeen[], found: readonly LedgerRecord[]): void => {
    const ages = made.map((call) => agesMs.get(call) ?? Infinity).sort((a, b) => a - b);
    const once = [...new Map(found.map((record) => [record.id, record])).values()];
    missingAgesMs.push(...ages.slice(0, Math.max(0, made.length - once.length)));
    // One that was cut off may never have come to its provider.
    invented += Math.max(0, once.filter(({ outcome }) => outcome !== 'interrupted').length - made.length);
  };
  const known = new Map(asked.flatMap(({ user, requestId }) => (requestId ? [[requestId, user]] : [])));
  for (const [requestId, user] of known) compare(calls.get(user) ?? [], byRequest.get(requestId) ?? []);
  const knownUsers = new Set(known.values());
  compare(
    [...calls].flatMap(([user, made]) => (knownUsers.has(user) ? [] : made)),
    records.filter(({ request }) => !known.has(request)),
  );
  return {
    whole: whole.length,
    doubled,
    lostAgesMs: lostAgesMs.sort((a, b) => b - a),
    inFlight: asked.filter(({ isWhole, user }) => !isWhole && calls.has(user)).length,
    otherTokens,
    tokens,
    invented,
    interrupted: records.filter(({ outcome }) => outcome === 'interrupted').length,
    missingAgesMs: missingAgesMs.sort((a, b) => b - a),
  };
}
