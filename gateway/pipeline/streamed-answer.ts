// A streamed answer to the client: opened late, held until it is complete if delivery is assured, and ended so that a client can tell a
// broken answer from a complete one.

import { type ClientSink, heldContentBytesMax } from '../attempt/commit-point.ts';
import type { AnswerStream, StreamEncoder } from '../dialects/dialect.ts';
import type { GatewayError } from '../request/errors.ts';
import type { Candidate } from '../route/plan.ts';
import type { AnswerShare } from '../stream/answer-room.ts';
import type { CancelSignal } from '../stream/cancellation.ts';
import { ClientStream, type ClientStreamOwner } from '../stream/client-stream.ts';
import { HeldAnswer } from '../stream/held-answer.ts';
import { takingMsMax } from '../stream/taken-bytes.ts';
import { answerHead } from './answer-head.ts';
import { type PipelineParts, type RoutedExchange, timeoutFor } from './parts.ts';

/** The request that is answered. */
export interface StreamedRequest {
  readonly parts: PipelineParts;
  readonly exchange: RoutedExchange;
  readonly share: AnswerShare;
  readonly isUndelivered: boolean;
  /** The candidates that serve it, as far as they are known. */
  servers(): readonly Candidate[];
  /** Names and values in turn. */
  head(): string[];
  /** The client is given something of the answer. */
  onContent(): void;
  /** The client takes nothing, and is given up. */
  leave(): void;
}

/** Where the attempts give their answers to. */
interface Streaming {
  readonly sink: ClientSink;
  /** Shared by all calls of the request; undefined if nothing is translated. */
  readonly encoder: StreamEncoder | undefined;
}

export class StreamedAnswer implements ClientSink, ClientStreamOwner {
  readonly clock: PipelineParts['clock'];
  readonly timers: PipelineParts['timers'];
  readonly openAfterMs: number;
  readonly keepAliveMs: number;
  readonly keepAlive: string;
  readonly streaming: Streaming;
  /** Stream of the attempt in flight. */
  stream: AnswerStream | undefined;
  private readonly request: StreamedRequest;
  private readonly held: HeldAnswer | undefined;
  private readonly client: ClientStream;

  constructor(request: StreamedRequest) {
    const { parts, exchange } = request;
    this.request = request;
    this.clock = parts.clock;
    this.timers = parts.timers;
    this.openAfterMs = parts.defaults.openAfterMs;
    this.keepAliveMs = parts.defaults.keepAliveMs;
    this.keepAlive = exchange.dialect.keepAlive;
    // One answer may take several calls: only when all have answered is it whole.
    this.held = exchange.delivery.isAssured ? this.hold() : undefined;
    const encoder = exchange.translation?.streamEncoder(answerHead(parts, exchange));
    this.streaming = { sink: this.held ?? this, encoder };
    this.client = new ClientStream(exchange.response, this);
  }

  private hold(): HeldAnswer {
    return new HeldAnswer(this, {
      bytesMax: heldContentBytesMax,
      onHeld: (change) => this.onHeld(change),
      onTooLong: () => this.onTooLong(),
    });
  }

  /** After the status line, failures can only be reported inside the stream. */
  get isOpen(): boolean {
    return this.client.isOpen;
  }

  get isHeld(): boolean {
    return this.held !== undefined;
  }

  write(bytes: Buffer): boolean {
    this.request.onContent();
    return this.client.write(bytes);
  }

  onDrain(resume: () => void): void {
    this.client.onDrain(resume);
  }

  onHeld(change: number): boolean {
    return this.request.share.change(change);
  }

  onTooLong(): void {
    this.request.parts.metrics.onTooLongToHold();
  }

  /** Gives out what is held; resolves early where the client leaves. */
  async release(caller: CancelSignal): Promise<void> {
    this.client.giveUpAfter(takingMsMax);
    await this.held?.release(caller);
  }

  /** @param isOwn It has passed through, with its own end. */
  end(isOwn: boolean): void {
    const { encoder } = this.streaming;
    const { streamEnd } = this.request.exchange.dialect;
    this.client.end(isOwn || !encoder ? streamEnd : encoder.close() + streamEnd);
  }

  breakOff(error: GatewayError): void {
    const { dialect, requestId } = this.request.exchange;
    const object = error.toErrorObject(dialect.errorShape);
    // What an attempt has not given out, the client does not know of.
    const frame = this.request.isUndelivered ? undefined : this.stream?.errorFrame?.(object);
    this.client.breakOff(frame ?? dialect.errorFrame(object, requestId));
  }

  /** Ends keep-alives and the watch for a stalled client. */
  stop(): void {
    this.client.stop();
  }

  /** Held bytes are dropped. */
  discard(): void {
    this.held?.discard();
  }

  writeStallMs(): number {
    const { exchange, parts } = this.request;
    const { defaults } = parts;
    const times = this.request
      .servers()
      .map((server) => timeoutFor(exchange, server, 'clientWriteMs', defaults));
    return times.length > 0 ? Math.max(...times) : defaults.timeouts.clientWriteMs;
  }

  head(): string[] {
    const head = this.request.head();
    head.push('content-type', 'text/event-stream; charset=utf-8');
    // no-transform: compression by a proxy would also buffer the stream.
    head.push('cache-control', 'no-cache, no-store, no-transform');
    // Asks intermediaries like nginx not to gather the stream.
    head.push('x-accel-buffering', 'no');
    return head;
  }

  onStall(): void {
    this.request.leave();
  }
}
