// Which caller was refused how often, and why? Counted where errors are answered, so that a served request costs nothing: exact sums of
// ten seconds, and a line for each of the first refusals. Both go into the journal, as records do.
//
//   refusal ──► its window ──(ten seconds over, or too many groups, or the drain)──► refusal-sums
//         └──► its own line, while there is room for it

import { randomBytes } from 'node:crypto';
import type { ErrorCode } from '../../core/catalog/error-codes.ts';
import type { Clock } from '../../core/clock.ts';
import { REFUSAL_WINDOW_MS, type Refusal, type RefusalSums } from '../../core/contract/refusal.ts';
import type { Caller } from '../request/caller.ts';
import type { GatewayError } from '../request/errors.ts';
import type { AcknowledgedRecords } from './acknowledged-records.ts';

/** A request that was refused before any upstream was asked. */
export interface Refused {
  /** Undefined: the key is not known. */
  readonly caller: Caller | undefined;
  /** As the caller wrote it. */
  readonly model?: string | undefined;
  /** Which the model led to. */
  readonly route?: { readonly id: string; readonly model: string } | undefined;
  readonly clientDialect?: Refusal['clientDialect'];
}

/** Where lines go, and how far the ledger has taken them. */
export interface RefusalJournal {
  note(json: string): void;
  readonly progress?: Pick<AcknowledgedRecords, 'appended' | 'taken'> | undefined;
}

type Group = RefusalSums['counts'][number];
interface Counting extends Omit<Group, 'count'> {
  count: number;
}

/** Lines of single refusals that one gateway writes in a second. */
const linesPerSecond = 20;
/** Bytes of single lines that no ledger has taken yet. */
const openBytesMax = 1024 * 1024;
/** Names in a window that no model has: a caller may write any. */
const unknownModelsMax = 50;
const unknownModelCharsMax = 100;
/** A window with more is written in parts. */
const groupsMax = 2_000;
/** In one line. */
const countsMax = 500;
const messageCharsMax = 200;

/** Errors whose sentence holds nothing that a caller wrote. */
const ownWords: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'billing_error',
  'headers_too_large',
  'insufficient_quota',
  'invalid_api_key',
  'limits_unavailable',
  'not_ready',
  'overloaded',
  'rate_limit_exceeded',
  'request_timeout',
]);

/** Scanners ask for any path: without a key that is no caller's request. */
const pathErrors: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['method_not_allowed', 'not_found']);

export class RefusalCounter {
  private readonly clock: Clock;
  private readonly journal: RefusalJournal;
  private readonly process = randomBytes(8).toString('hex');
  private parts = 0;
  private groups = new Map<string, Counting>();
  private unknownModels = new Set<string>();
  private windowAtMs = Number.NEGATIVE_INFINITY;
  private cancel: (() => void) | undefined;
  private second = Number.NEGATIVE_INFINITY;
  private linesInSecond = 0;
  /** Bytes of single refusals that the ledger has not taken, and up to which line of the journal the first of them are. */
  private openBytes = 0;
  private mark = { line: 0, bytes: 0 };
  private isClosed = false;

  constructor(clock: Clock, journal: RefusalJournal) {
    this.clock = clock;
    this.journal = journal;
  }

  /** @param error As it was answered. */
  add(requestId: string, error: GatewayError, refused: Refused): void {
    if (refused.caller === undefined && pathErrors.has(error.code)) return;
    const nowMs = this.clock.wallMs();
    this.openWindow(nowMs);
    const model = this.modelOf(refused);
    this.count(error, refused.caller, model);
    if (this.mayHaveLine()) this.writeLine(requestId, nowMs, error, refused, model);
    if (this.groups.size >= groupsMax || this.isClosed) this.writeSums();
  }

  /** Writes the window that is open. */
  close(): void {
    this.isClosed = true;
    this.writeSums();
  }

  /** Windows begin where tens of seconds do: none of them is in two minutes. */
  private openWindow(nowMs: number): void {
    const atMs = nowMs - (nowMs % REFUSAL_WINDOW_MS);
    if (atMs !== this.windowAtMs) {
      this.writeSums();
      this.windowAtMs = atMs;
      this.unknownModels = new Set();
    }
    this.cancel ??= this.clock.setTimer(atMs + REFUSAL_WINDOW_MS - nowMs, () => this.writeSums());
  }

  private count(error: GatewayError, caller: Caller | undefined, model: string | undefined): void {
    const { status, code } = error;
    const place = `${status} ${code} ${caller?.key.id ?? ''} ${model ?? ''}`;
    const group = this.groups.get(place);
    if (group) group.count++;
    else this.groups.set(place, { ...namesOf(caller, model), status, code, count: 1 });
  }

  private modelOf({ caller, model, route }: Refused): string | undefined {
    if (route) return route.model;
    if (model === undefined || caller === undefined) return undefined;
    const name = model
      .replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '')
      .slice(0, unknownModelCharsMax)
      .toWellFormed();
    if (name === '') return undefined;
    if (!this.unknownModels.has(name) && this.unknownModels.size >= unknownModelsMax) return undefined;
    this.unknownModels.add(name);
    return name;
  }

  private mayHaveLine(): boolean {
    const second = Math.floor(this.clock.now() / 1_000);
    if (second !== this.second) {
      this.second = second;
      this.linesInSecond = 0;
    }
    if (this.linesInSecond >= linesPerSecond) return false;
    const { progress } = this.journal;
    if (progress && progress.taken() >= this.mark.line) {
      this.openBytes -= this.mark.bytes;
      this.mark = { line: progress.appended(), bytes: this.openBytes };
    }
    return this.openBytes < openBytesMax;
  }

  private writeLine(
    id: string,
    nowMs: number,
    error: GatewayError,
    { caller, route, clientDialect }: Refused,
    model: string | undefined,
  ): void {
    const { status, code, message } = error;
    const json = JSON.stringify({
      kind: 'refusal',
      id,
      at: new Date(nowMs).toISOString(),
      ...namesOf(caller, model),
      owner: caller?.key.owner,
      route: route?.id,
      clientDialect,
      status,
      code,
      message: ownWords.has(code) ? message.slice(0, messageCharsMax).toWellFormed() : undefined,
    } satisfies Refusal);
    this.journal.note(json);
    this.linesInSecond++;
    this.openBytes += json.length;
  }

  private writeSums(): void {
    this.cancel?.();
    this.cancel = undefined;
    if (this.groups.size === 0) return;
    const counts = [...this.groups.values()];
    this.groups = new Map();
    const at = new Date(this.windowAtMs).toISOString();
    for (let from = 0; from < counts.length; from += countsMax) {
      const sums: RefusalSums = {
        kind: 'refusal-sums',
        id: `refusals_${this.process}.${this.parts++}`,
        at,
        windowMs: REFUSAL_WINDOW_MS,
        counts: counts.slice(from, from + countsMax),
      };
      // guard: refusals-written
      this.journal.note(JSON.stringify(sums));
    }
  }
}

function namesOf(caller: Caller | undefined, model: string | undefined) {
  return {
    ...(caller === undefined ? {} : { namespace: caller.namespace, apiKey: caller.key.id }),
    ...(model === undefined ? {} : { model }),
  };
}
