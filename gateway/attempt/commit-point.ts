// When does failover end? With the first byte handed to the client; until then everything an attempt
// gives is held here and can still be thrown away. The only place that decides it.
//
//   first-content   the first content event commits (the default)
//   hold-back       after a number of content events, or a time since the first one
//   whole           the end of a whole and usable answer: assured delivery
//
// What is too long to be held is given out as an ordinary stream. Another upstream's answer would be
// as long, so that failing over would cost the client the answer.

import type { AnswerFacts } from '../dialects/dialect.ts';
import { Pieces } from '../stream/pieces.ts';

/** Where committed bytes go: the client's answer. */
export interface ClientSink {
  /** False: the client is full; `onDrain` calls back once when it can take more. */
  write(bytes: Buffer): boolean;
  onDrain(resume: () => void): void;
  /**
   * Called when the number of held bytes changes, with the difference (below 0: it shrank).
   *
   * @returns False: the process has no room for them.
   */
  onHeld?(change: number): boolean;
  /** Called once: the content exceeds the hold-back buffer, so the client gets it earlier than the rule says. */
  onTooLong?(): void;
}

export type CommitRule =
  | { readonly type: 'first-content' }
  | {
      readonly type: 'hold-back';
      /** Content events; undefined: however many. */
      readonly events: number | undefined;
      /** Since the first content; undefined: no limit. The attempt checks the clock. */
      readonly durationMs: number | undefined;
    }
  | { readonly type: 'whole' };

export const ordinaryCommit: CommitRule = { type: 'first-content' };

/** What the decision needs to know of the answer so far; its estimate counts content events. */
type AnswerProgress = Pick<AnswerFacts, 'hasContent' | 'outputEstimate'>;

/**
 * Framing without content (roles, pings) is small, but for the first two events of a response: each
 * repeats the instructions and tools of the request, in an event of at most four mebibytes. An answer above this limit
 * fails without a mark on the upstream's health: another upstream's framing would be as large (docs/decisions/0032).
 */
export const heldBytesMax = 8 * 1024 * 1024 + 64 * 1024;

/** What is held from the first content on, in bytes for the client. More than this goes out. */
export const heldContentBytesMax = 1024 * 1024;

export class CommitPoint {
  private readonly sink: ClientSink;
  private readonly rule: CommitRule;
  private readonly held = new Pieces();
  /** Held bytes from the first content on. */
  private contentBytes = 0;
  /** Held bytes that the sink was notified of. */
  private reportedBytes = 0;
  private hasRoom = true;
  private hasCommitted = false;

  constructor(sink: ClientSink, rule: CommitRule = ordinaryCommit) {
    this.sink = sink;
    this.rule = rule;
  }

  get isCommitted(): boolean {
    return this.hasCommitted;
  }

  /** How long after the first content `commit` is due at the latest; undefined if time decides nothing. */
  get commitAfterMs(): number | undefined {
    return this.rule.type === 'hold-back' ? this.rule.durationMs : undefined;
  }

  /** Only a whole answer is given out, so it must be one that a client can use. */
  get awaitsWhole(): boolean {
    return this.rule.type === 'whole' && !this.hasCommitted;
  }

  /** Too much was held without content: the attempt has failed. */
  get isOverfull(): boolean {
    return this.held.length - this.contentBytes > heldBytesMax;
  }

  /** The process holds too much: the attempt has failed. */
  get lacksRoom(): boolean {
    return !this.hasRoom;
  }

  /**
   * @param progress Of the attempt by now, these bytes included.
   * @returns False: the client is full.
   */
  take(bytes: Buffer | undefined, progress: AnswerProgress): boolean {
    if (!bytes || bytes.length === 0) return true;
    if (this.hasCommitted) return this.sink.write(bytes);
    this.held.add(bytes);
    if (progress.hasContent && this.isDue(progress)) return this.commit();
    this.reportedBytes += bytes.length;
    this.hasRoom = this.sink.onHeld?.(bytes.length) ?? true;
    if (!progress.hasContent) return true; // guard: commit-point
    this.contentBytes += bytes.length;
    if (this.contentBytes <= heldContentBytesMax) return true;
    this.sink.onTooLong?.();
    return this.commit();
  }

  /** A complete answer is given out whole, also one without content. It counts as held until the client has taken it. */
  commit(): boolean {
    this.hasCommitted = true;
    const { sink, reportedBytes } = this;
    const bytes = this.held.take();
    this.reset();
    const isReady = bytes.length === 0 || sink.write(bytes);
    if (reportedBytes === 0) return isReady;
    const giveBack = (): void => void sink.onHeld?.(-reportedBytes);
    if (isReady) giveBack();
    else sink.onDrain(giveBack);
    return isReady;
  }

  /** The attempt failed before its commit point: the client sees nothing of it. */
  discard(): void {
    if (this.reportedBytes > 0) this.sink.onHeld?.(-this.reportedBytes);
    this.held.take();
    this.reset();
  }

  private isDue({ outputEstimate }: AnswerProgress): boolean {
    switch (this.rule.type) {
      case 'first-content':
        return true;
      case 'hold-back':
        return outputEstimate >= (this.rule.events ?? Number.POSITIVE_INFINITY);
      case 'whole':
        return false; // guard: assured-whole-answer
    }
  }

  private reset(): void {
    this.contentBytes = 0;
    this.reportedBytes = 0;
    this.hasRoom = true;
  }
}
