// What was recorded twice, what is missing, and how old was it? Pure.

import type { KilledGatewaySeen } from './run.ts';

export interface JournalVerdict {
  /** Answers that came whole to their caller; what is looked for in the journal. */
  readonly whole: number;
  /** Attempts that stand there twice. */
  readonly doubled: readonly string[];
  /** Of whole answers, the attempts that are missing: how long before the kill they ended, in ms; longest first. */
  readonly lostAgesMs: readonly number[];
  /** Requests whose answer was under way at a kill. */
  readonly underWay: number;
  /** Whole answers of which the journal says other tokens than the provider. */
  readonly otherTokens: readonly string[];
  /** Records of calls that no provider saw. */
  readonly invented: number;
  /** Records of attempts that were under way at a kill, or whose own records were not written yet. */
  readonly interrupted: number;
  /** Calls without any record. */
  readonly missing: number;
  /** If it is the latest calls that have none: how long before its kill the oldest of them arrived. */
  readonly missingAgeMs: number;
}

export function judgeJournal({
  asked,
  records,
  calls,
  callsMade,
  callAgesMs,
}: KilledGatewaySeen): JournalVerdict {
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
  for (const { user, requestId = '', attempts, endedMs, killedMs } of whole) {
    const found = byRequest.get(requestId) ?? [];
    for (let missing = found.length; missing < attempts; missing++) lostAgesMs.push(killedMs - endedMs);
    const answered = found.find(({ outcome }) => outcome === 'answered');
    const call = calls.get(user)?.find(({ behaviour }) => behaviour?.type === 'answer');
    if (answered !== undefined && answered.usage.output !== call?.tokens.outputTokens)
      otherTokens.push(`${requestId}: ${answered.usage.output}, not ${call?.tokens.outputTokens}`);
  }
  const missing = Math.max(0, callsMade - ids.size);
  return {
    whole: whole.length,
    doubled,
    lostAgesMs: lostAgesMs.sort((a, b) => b - a),
    underWay: asked.filter(({ isWhole, user }) => !isWhole && calls.has(user)).length,
    otherTokens,
    invented: Math.max(0, records.length - callsMade),
    interrupted: records.filter(({ outcome }) => outcome === 'interrupted').length,
    missing,
    missingAgeMs: missing === 0 ? 0 : (callAgesMs[missing - 1] ?? 0),
  };
}
