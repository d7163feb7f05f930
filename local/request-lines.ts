// What does the terminal say about each request? One line, made of what the ledger takes in anyway: a served request does nothing for it.

import type { Clock } from '../core/clock.ts';
import type { LedgerRecord } from '../core/contract/ledger-record.ts';
import { REFUSAL_WINDOW_MS, type Refusal } from '../core/contract/refusal.ts';
import { usdOf } from '../ledger/money.ts';
import type { Page } from '../ledger/store/store.ts';

/** Per page, which is a tenth of a second: more lines would scroll past unread. */
const linesMax = 20;
/** Windows that are not over yet are few. */
const windowsMax = 10;

/** A failed attempt waits so long for the next one of its request: both are one line then. */
const holdMs = 1_000;

/**
 * Attempts of one request that follow each other soon are one line, that of the last of them.
 *
 * @param clock Its time at the start: what happened before was said by the process that served it.
 */
export function openRequestLines(print: (line: string) => void, clock: Pick<Clock, 'wallMs' | 'setTimer'>) {
  const sinceMs = clock.wallMs();
  /** Of each window of refusals: how many have a line. */
  const shown = new Map<number, number>();
  const queue = openQueue(print, clock);
  /** Why a model could not answer, from its last attempt if that failed. */
  const failures = new Map<string, string>();

  return {
    onPage({
      entries,
      refusals = [],
      refusalSums = [],
    }: Pick<Page, 'entries' | 'refusals' | 'refusalSums'>): void {
      const fresh = entries.flatMap(({ record }) =>
        Date.parse(record.startedAt) >= sinceMs ? [record] : [],
      );
      for (const record of fresh) {
        if (record.outcome === 'failed') failures.set(record.model, whyOf(record) ?? record.provider);
        else if (record.outcome === 'answered') failures.delete(record.model);
      }
      const requests = [...Map.groupBy(fresh, ({ request }) => request).values()];
      const lines = [
        ...requests.map((records) => ({
          ...{ atMs: endOf(records), request: lastOf(records).request, text: lineOf(lastOf(records)) },
          mayGoOn: lastOf(records).outcome === 'failed',
        })),
        ...refusals
          .filter(({ refusal }) => Date.parse(refusal.at) >= sinceMs)
          .map(({ refusal }) => ({
            ...{ atMs: Date.parse(refusal.at), request: refusal.id, text: refusalLine(refusal, failures) },
            mayGoOn: false,
          })),
      ].toSorted((a, b) => a.atMs - b.atMs);
      for (const { request, text, mayGoOn } of lines.slice(0, linesMax)) {
        queue.add(text, request, mayGoOn);
      }
      if (lines.length > linesMax) queue.add(`… and ${lines.length - linesMax} more requests in this moment`);

      for (const { refusal } of refusals) {
        const windowMs = startOf(Date.parse(refusal.at));
        shown.set(windowMs, (shown.get(windowMs) ?? 0) + 1);
      }
      for (const [windowMs, more] of moreRefused(refusalSums, shown))
        if (windowMs + REFUSAL_WINDOW_MS > sinceMs) queue.add(`… and ${more} more refused in ten seconds`);
      for (const windowMs of [...shown.keys()].slice(0, -windowsMax)) shown.delete(windowMs);
    },
  };
}

/** Lines are printed in the order in which they came: later ones wait for a failed attempt that may go on. */
function openQueue(print: (line: string) => void, clock: Pick<Clock, 'setTimer'>) {
  interface Waiting {
    readonly text: string;
    readonly request: string | undefined;
    cancel: (() => void) | undefined;
  }
  const waiting: Waiting[] = [];
  const flush = (): void => {
    for (let first = waiting[0]; first !== undefined && first.cancel === undefined; first = waiting[0]) {
      waiting.shift();
      print(first.text);
    }
  };
  const dropAttempt = (request: string): void => {
    const at = waiting.findIndex((one) => one.cancel !== undefined && one.request === request);
    if (at >= 0) waiting.splice(at, 1)[0]?.cancel?.();
  };
  return {
    add(text: string, request?: string, mayGoOn = false): void {
      if (request !== undefined) dropAttempt(request);
      const line: Waiting = { text, request, cancel: undefined };
      waiting.push(line);
      if (mayGoOn) {
        line.cancel = clock.setTimer(holdMs, () => {
          line.cancel = undefined;
          flush();
        });
      }
      flush();
    },
  };
}

function startOf(atMs: number): number {
  return atMs - (atMs % REFUSAL_WINDOW_MS);
}

/** Of windows that are over: refusals that have no line of their own. */
function moreRefused(
  refusalSums: NonNullable<Page['refusalSums']>,
  shown: ReadonlyMap<number, number>,
): readonly (readonly [windowMs: number, more: number])[] {
  const counted = new Map<number, number>();
  for (const { sums } of refusalSums) {
    const windowMs = Date.parse(sums.at);
    const count = sums.counts.reduce((sum, one) => sum + one.count, 0);
    counted.set(windowMs, (counted.get(windowMs) ?? 0) + count);
  }
  return [...counted]
    .map(([windowMs, count]) => [windowMs, count - (shown.get(windowMs) ?? 0)] as const)
    .filter(([, more]) => more > 0);
}

function endOf(records: readonly LedgerRecord[]): number {
  return Math.max(...records.map(({ startedAt, durationMs }) => Date.parse(startedAt) + durationMs));
}

function lastOf(records: readonly LedgerRecord[]): LedgerRecord {
  return records.reduce((latest, one) => (one.attempt > latest.attempt ? one : latest));
}

function lineOf(last: LedgerRecord): string {
  const { model, durationMs, request, attempt } = last;
  return words([
    ends[last.outcome],
    model,
    nameOf(last.apiKey),
    last.outcome === 'answered' ? undefined : whyOf(last),
    `${durationMs} ms`,
    tokensOf(last),
    costOf(last),
    attempt > 1 ? `attempt ${attempt} (${last.provider})` : undefined,
    request,
  ]);
}

/** The status that the client got, where the record knows it. */
const ends = {
  answered: '200',
  failed: 'ERR',
  'broken-off': 'CUT',
  cancelled: '499',
  interrupted: 'CUT',
} as const satisfies Record<LedgerRecord['outcome'], string>;

function whyOf({ outcome, provider, status, failure, cause }: LedgerRecord): string | undefined {
  if (outcome === 'cancelled') return 'the client left';
  const why = cause ?? (status === undefined || status === 200 ? failure : `HTTP ${status}`);
  return why === undefined ? provider : `${provider}: ${why}`;
}

function tokensOf({ usage, isEstimated }: LedgerRecord): string | undefined {
  if (usage.input === 0 && usage.output === 0) return undefined;
  return `${isEstimated ? '~' : ''}${usage.input}+${usage.output} tok`;
}

function costOf({ costPicodollars, usage }: LedgerRecord): string | undefined {
  if (costPicodollars === null) return 'no price';
  if (costPicodollars === 0 && usage.input === 0) return undefined;
  return `$${usdOf(BigInt(costPicodollars))}`;
}

function refusalLine(
  { status, model, apiKey, code, id }: Refusal,
  failures: ReadonlyMap<string, string>,
): string {
  const why = code === 'upstream_unavailable' && model !== undefined ? failures.get(model) : undefined;
  return words([
    String(status),
    model ?? '-',
    apiKey === undefined ? 'unknown key' : nameOf(apiKey),
    code,
    why === undefined ? undefined : `(last failure: ${why})`,
    id,
  ]);
}

/** As people call it: `default` is where everything is that has no namespace. */
function nameOf(apiKey: string): string {
  return apiKey.startsWith('default/') ? apiKey.slice('default/'.length) : apiKey;
}

function words(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join(' ');
}
