// What have all requests of a server in common, and how are they answered that are not served?

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission } from '../admission/admission.ts';
import { Refusals } from '../admission/refusals.ts';
import { findKey } from '../auth/authenticate.ts';
import type { FailureLimiter } from '../auth/failure-limiter.ts';
import type { RefusalCounter, Refused } from '../meter/refusal-counter.ts';
import type { OperationEndpoint } from '../operations/operation.ts';
import type { PipelineParts } from '../pipeline/parts.ts';
import { GatewayError } from '../request/errors.ts';
import { readHead } from '../request/request-head.ts';
import { createRequestIds } from '../request/request-id.ts';
import { ReadingTurns } from '../stream/reading-turns.ts';
import type { TableHolder } from '../table/holder.ts';
import type { ClientConnections } from './client-connection.ts';
import type { CrossOrigin } from './cross-origin.ts';
import { LargeBodies } from './large-bodies.ts';
import { sendError } from './send-error.ts';

export interface ServerParts extends PipelineParts {
  readonly holder: TableHolder;
  readonly admission: Admission;
  readonly failures: FailureLimiter;
  /** Absent: refusals are not counted by caller. */
  readonly refusals?: Pick<RefusalCounter, 'add'> | undefined;
  readonly connections: ClientConnections;
  /** Addresses of proxies whose word is taken for where a request came from. */
  readonly proxies: readonly string[];
  /** Undefined: pages of other addresses may ask nothing. */
  readonly crossOrigin?: CrossOrigin | undefined;
  /** While true, answers ask their connections to close: the process is being drained. */
  isDraining(): boolean;
  /** While true, nothing new is served any more, not even on a connection that is still open. */
  isOver(): boolean;
  /** For tests; those of the gateway's operations where left out. */
  readonly endpoints?: readonly OperationEndpoint[] | undefined;
  /** What callers see; plain HTTP where left out. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  /** For tests; the gateway's own where left out. */
  readonly patience?: SenderPatience | undefined;
}

/** How long a client may take to send a request. */
export interface SenderPatience {
  readonly headersMs: number;
  /** Headers and body together. */
  readonly requestMs: number;
  /** How often slow senders are looked for: what many of them cost comes in as many pieces. */
  readonly checkEveryMs: number;
}

export class Door {
  readonly parts: ServerParts;
  readonly largeBodies: LargeBodies;
  readonly newRequestId = createRequestIds();
  private readonly refusals: Refusals;

  constructor(parts: ServerParts) {
    this.parts = parts;
    const turns = parts.turns ?? new ReadingTurns({ now: parts.clock.now, nextTurn: setImmediate });
    this.largeBodies = new LargeBodies({ ...parts, turns });
    this.refusals = new Refusals(parts.clock);
  }

  /** @param refused Before any upstream was asked; undefined: after it. */
  sendError(
    request: IncomingMessage,
    response: ServerResponse,
    error: unknown,
    requestId: string,
    refused: Refused | undefined,
  ): void {
    const { clock, holder, refusals } = this.parts;
    const context = { requestId, generation: holder.current()?.generation, clock };
    const sent = sendError(request, response, error, context);
    if (sent && refused) refusals?.add(requestId, sent, refused);
  }

  /** For a refusal of what never became a request. */
  countedId(refusal: GatewayError): string {
    const requestId = this.newRequestId();
    this.parts.refusals?.add(requestId, refusal, { caller: undefined });
    return requestId;
  }

  /** The caller of a request that is refused early: the holder of its key, expired or not. */
  refusedFor({ rawHeaders }: IncomingMessage): Refused {
    const { holder, refusals } = this.parts;
    const view = refusals && holder.current();
    return { caller: view && findKey(readHead(rawHeaders), view) };
  }

  /**
   * Answers that the gateway is overloaded, now or in a moment.
   *
   * @param refused Undefined: the caller has not been looked up yet.
   */
  refuse(request: IncomingMessage, response: ServerResponse, requestId: string, refused?: Refused): void {
    const giveUp = this.refusals.add(() => {
      // A client that has left needs no answer.
      if (response.destroyed || request.socket.destroyed) return;
      if (this.parts.isDraining()) response.setHeader('connection', 'close');
      this.sendError(request, response, tooBusy(), requestId, refused ?? this.refusedFor(request));
    });
    response.once('close', giveUp);
  }
}

function tooBusy(): GatewayError {
  return new GatewayError('overloaded', 'The gateway is overloaded. Send the request again.', {
    retryAfterSeconds: 1,
  });
}
