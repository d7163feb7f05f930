// One request to an upstream: bytes out, bytes in. No retries, no timers, no understanding.

import type { Dispatcher, Pool } from 'undici';
import { EgressError, type EgressErrorCode } from '../../core/egress/egress-error.ts';
import { type Staged, turnEnd } from '../stream/turn-end.ts';
import type { ConnectionAware, ConnectionUse } from './connection-use.ts';

export interface UpstreamRequest {
  readonly pool: Pool;
  readonly path: string;
  /** Names and values in turn; completed by `send`. */
  readonly headers: readonly string[];
  /** Kept by the caller: another attempt may send the same chunks. */
  readonly body: readonly Buffer[];
  /** Its connection carries nothing else. */
  readonly isFresh?: boolean;
}

/**
 * `reset`: the connection was open and broke; without a head, before any byte of an answer. `bad_head`: an answer has begun, and its
 * head is unreadable, too long or cut off. `session_failed`: the caller has no session at the upstream, and nothing was sent.
 */
type BreakCode = EgressErrorCode | 'reset' | 'session_failed' | 'bad_head';

/** Callbacks of a call. Each call ends with exactly one of `onEnd` and `onBreak`, unless it was aborted. */
export interface UpstreamReceiver {
  /** Chunks of one turn may be given as one; absent: chunk by chunk. */
  readonly takesJoined?: boolean;
  onHead(status: number, header: (name: string, at?: number) => string | undefined): void;
  onBody(chunk: Buffer): void;
  onEnd(): void;
  /** `isStale`: the connection had carried other requests before, and nothing has come back for this one. */
  onBreak(code: BreakCode, detail: string, isStale: boolean): void;
}

export interface UpstreamCall {
  /** There was a connection for it, and bytes of the request have gone out on it. */
  readonly isSent: boolean;
  /** No callback follows, and no byte of the request is kept, even if it still waits for a connection. */
  abort(): void;
  pause(): void;
  resume(): void;
}

export function send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall {
  const { body } = request;
  let bytes = 0;
  for (const part of body) bytes += part.length;
  const options: Dispatcher.DispatchOptions = {
    method: 'POST',
    path: request.path,
    headers: request.headers.concat('content-length', String(bytes)),
    body: joined(body, bytes),
    reset: request.isFresh === true,
  };
  const call = new Call(receiver, options);
  request.pool.dispatch(options, call); // guard: upstream-redirect
  return call;
}

/** Up to this size one copy costs less than writing the parts one by one. */
const joinBytesMax = 64 * 1024;

/** undici takes any iterable of buffers as a body, so large ones are never joined; its types do not say so. */
function joined(body: readonly Buffer[], bytes: number): Buffer {
  const [only] = body;
  if (body.length === 1 && only) return only;
  if (bytes <= joinBytesMax) return Buffer.concat(body, bytes);
  const iterable: unknown = body;
  return iterable as Buffer;
}

/** Honest ones say that work is going on, every few seconds at most (RFC 9110, section 15.2); each costs a parse and has no other bound. */
const informationalMax = 100;

/** More of an answer in one turn is not kept until its end: its reader may have to hold the upstream back. */
const waitingBytesMax = 16 * 1024;

class Call implements UpstreamCall, ConnectionAware, Dispatcher.DispatchHandler, Staged {
  private receiver: UpstreamReceiver | undefined;
  /** Until there is a connection for it: what the pool keeps in its queue. */
  private queued: Dispatcher.DispatchOptions | undefined;
  private controller: Dispatcher.DispatchController | undefined;
  private connection: ConnectionUse | undefined;
  private isReused = false;
  private hasBegun = false;
  private hasHead = false;
  /** Its connection may carry another one already. */
  private hasEnded = false;
  /** The first of its answer in this turn. */
  private piece: Buffer | undefined;
  private more: Buffer[] | undefined;
  private waitingBytes = 0;
  private error: Error | undefined;
  private isWaiting = false;
  private informational = 0;

  constructor(receiver: UpstreamReceiver, queued: Dispatcher.DispatchOptions) {
    this.receiver = receiver;
    this.queued = queued;
  }

  get isSent(): boolean {
    return this.controller !== undefined;
  }

  abort(): void {
    if (!this.receiver) return;
    this.receiver = undefined;
    if (this.hasEnded) return;
    if (this.controller) this.controller.abort(new Error('no longer wanted'));
    else if (this.connection) this.connection.giveUp();
    else this.emptyQueued();
  }

  /** The pool has no way to take one out of its queue, so what stays there until its turn is a shell. */
  private emptyQueued(): void {
    if (!this.queued) return;
    this.queued.headers = [];
    this.queued.body = null;
  }

  pause(): void {
    if (!this.hasEnded) this.controller?.pause();
  }

  resume(): void {
    if (!this.hasEnded) this.controller?.resume();
  }

  takeConnection(use: ConnectionUse): boolean {
    this.queued = undefined;
    this.connection = use;
    return this.receiver !== undefined;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.connection) this.isReused = this.connection.requests++ > 0;
    if (!this.receiver) controller.abort(new Error('no longer wanted'));
  }

  /** First byte of the response, informational ones included; TLS handshake bytes do not count. */
  onResponseStarted(): void {
    this.hasBegun = true;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) {
      if (++this.informational > informationalMax) {
        controller.abort(new Error(`more than ${informationalMax} informational answers`));
      }
      return;
    }
    this.hasHead = true;
    this.receiver?.onHead(status, (name, at = 0) => {
      const value = headers[name];
      return Array.isArray(value) ? value[at] : at === 0 ? value : undefined;
    });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.receiver) return;
    if (this.piece === undefined) this.piece = chunk;
    else if (this.more === undefined) this.more = [chunk];
    else this.more.push(chunk);
    this.waitingBytes += chunk.length;
    if (this.waitingBytes > waitingBytesMax) this.deliver();
    else this.waitForTurn();
  }

  onResponseEnd(): void {
    this.hasEnded = true;
    if (this.receiver) this.waitForTurn();
  }

  private waitForTurn(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    turnEnd.piece(this);
  }

  onTurnEnd(): void {
    const { error } = this;
    this.isWaiting = false;
    this.deliver();
    if (error) this.break(error);
    else if (this.hasEnded) this.take()?.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.hasEnded = true;
    // After what has come before it.
    if (this.isWaiting) this.error = error;
    else this.break(error);
  }

  /**
   * Delivers each piece separately until the client has some of the answer: a piece that cannot be read must not spoil those before it. From
   * then on all pieces of a turn are read and written as one.
   */
  private deliver(): void {
    const { piece, more } = this;
    this.piece = undefined;
    this.more = undefined;
    this.waitingBytes = 0;
    if (piece === undefined) return;
    if (more === undefined) {
      this.receiver?.onBody(piece);
      return;
    }
    const pieces = [piece, ...more];
    for (const [at, one] of pieces.entries()) {
      const isJoined = this.receiver?.takesJoined === true;
      this.receiver?.onBody(isJoined ? Buffer.concat(pieces.slice(at)) : one);
      if (isJoined) return;
    }
  }

  private take(): UpstreamReceiver | undefined {
    const { receiver } = this;
    this.receiver = undefined;
    return receiver;
  }

  private break(error: Error): void {
    const receiver = this.take();
    if (!receiver) return;
    const egress = findEgressError(error);
    if (egress) receiver.onBreak(egress.code, egress.message, false);
    else if (this.hasBegun && !this.hasHead) receiver.onBreak('bad_head', error.message, false);
    // Where an answer has begun the request had arrived: the connection was not closed as it set out.
    else receiver.onBreak('reset', error.message, this.isReused && !this.hasBegun);
  }
}

function findEgressError(error: unknown): EgressError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof EgressError) return at;
  return undefined;
}
