// One request of a client for an operation, from its headers to the end of its answer: its body is read and checked, it takes a place
// among the requests in flight, and the operation serves it. What happens to it comes in by the methods that begin with `on`.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { OPERATIONS } from '../../core/catalog/operations.ts';
import type { KeyUse } from '../admission/fair-share.ts';
import type { HeldBody } from '../admission/held-bodies.ts';
import type { RequestBody } from '../json/request-body.ts';
import type { Refused } from '../meter/refusal-counter.ts';
import type { OperationEndpoint } from '../operations/operation.ts';
import { logFailure } from '../pipeline/log-failure.ts';
import type { Unasked } from '../pipeline/unasked.ts';
import type { Admittance, Over } from '../pipeline.ts';
import { keepAliveHint } from '../request/answer-headers.ts';
import { GatewayError, statusOf } from '../request/errors.ts';
import type { RequestHead } from '../request/request-head.ts';
import type { RequestTracing } from '../trace/request-tracer.ts';
import { onAnswerClosed, type Served } from './client-connection.ts';
import type { Door } from './door.ts';
import { isLargeBody } from './large-bodies.ts';
import { parseBody } from './parse-body.ts';
import { BodyReader, checkBodyHeaders } from './read-body.ts';

/** For a refusal before the body was parsed. */
const nothingKnown: Unasked = {};

export class Incoming implements Over, Served {
  before: Served | undefined = undefined;
  private readonly door: Door;
  private readonly endpoint: OperationEndpoint;
  private readonly admittance: Admittance;
  private readonly head: RequestHead;
  private readonly request: IncomingMessage;
  private readonly response: ServerResponse;
  private readonly requestId: string;
  private readonly arrivedAt: number;
  private readonly trace: RequestTracing | undefined;
  private readonly room: HeldBody;
  private readonly reader: BodyReader;
  /** The answer asks its connection to close: the process is being drained. */
  private isClosing: boolean;
  /** Among the requests in flight. */
  private place: KeyUse | undefined;
  private isServed = false;

  constructor(
    door: Door,
    endpoint: OperationEndpoint,
    admittance: Admittance,
    head: RequestHead,
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
  ) {
    const { parts } = door;
    const { view, caller } = admittance;
    this.door = door;
    this.endpoint = endpoint;
    this.admittance = admittance;
    this.head = head;
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.arrivedAt = parts.clock.now();
    this.isClosing = parts.isDraining();
    this.trace = parts.tracer?.begin(request.rawHeaders, {
      requestId,
      route: `/v1${endpoint.path}`,
      operation: OPERATIONS[endpoint.operation.name].conventionName,
      arrivedAt: this.arrivedAt,
      tableGeneration: view.generation,
      namespace: caller.namespace,
    });
    this.room = parts.admission.openBody(caller.key.id);
    this.reader = new BodyReader(request, this.room, this);
    onAnswerClosed(response, this);
  }

  start(): void {
    const { head, request, response, room } = this;
    try {
      checkBodyHeaders(head, room);
      if (expectsContinue(head, request)) response.writeContinue();
      this.reader.start();
    } catch (error) {
      this.onFailed(error, nothingKnown);
    }
  }

  onBody(chunks: readonly Buffer[]): void {
    const { door, request, response, requestId } = this;
    const { admission } = door.parts;
    try {
      this.refuseIfOver();
      // Only now is there work to do: a client that sends slowly, or gets only an error, takes up no place.
      const place = admission.enter(this.admittance.caller);
      if (!place) {
        this.setConnectionHeader();
        door.refuse(request, response, requestId, this.refused(nothingKnown));
        this.end(503);
        return;
      }
      if (response.closed) admission.leave(place);
      else this.place = place;
      if (isLargeBody(chunks)) this.readLarge(place, chunks);
      else this.serve(place, parseBody(chunks));
    } catch (error) {
      this.onFailed(error, nothingKnown);
    }
  }

  onNoBody(error: GatewayError): void {
    this.onFailed(error, nothingKnown);
  }

  private readLarge(place: KeyUse, chunks: readonly Buffer[]): void {
    const { door, endpoint, response } = this;
    const { operation, dialect } = endpoint;
    const mustParse = (body: RequestBody): boolean =>
      operation.mustParse(door.parts, { dialect, ...this.admittance, body });
    const isWanted = (): boolean => !response.destroyed;
    door.largeBodies
      .read(place, chunks, mustParse, isWanted)
      .then((body) => {
        if (!body) {
          this.end(response.statusCode);
          return;
        }
        // The request may have waited for long.
        this.refuseIfOver();
        this.serve(place, body);
      })
      .catch((error: unknown) => this.onFailed(error, nothingKnown));
  }

  private serve(place: KeyUse, body: RequestBody): void {
    const { door, endpoint, admittance, requestId, response, room, trace, arrivedAt } = this;
    const { url = '', rawHeaders } = this.request;
    // The drain may have begun while the body came.
    this.isClosing = door.parts.isDraining();
    this.isServed = true;
    endpoint.operation.serve(
      door.parts,
      {
        dialect: endpoint.dialect,
        view: admittance.view,
        caller: admittance.caller,
        body,
        room,
        place,
        requestId,
        request: { url, rawHeaders },
        response,
        isClosing: this.isClosing,
        arrivedAt,
        trace,
      },
      this,
    );
  }

  /** What runs by now was broken off, and it would be cut without a word. */
  private refuseIfOver(): void {
    if (this.door.parts.isOver()) throw shuttingDown();
  }

  onServed(): void {
    this.end(this.response.statusCode);
  }

  onFailed(error: unknown, unasked: Unasked | undefined): void {
    const { door, endpoint, request, response, requestId } = this;
    const { operation, path } = endpoint;
    if (!(error instanceof GatewayError)) logFailure(door.parts, { requestId, request }, error);
    if (!this.isServed && operation.countsRefusals) door.parts.metrics.onRefused(path, statusOf(error));
    this.setConnectionHeader();
    door.sendError(request, response, error, requestId, unasked && this.refused(unasked));
    this.end(response.statusCode);
  }

  private refused(unasked: Unasked): Refused {
    return { caller: this.admittance.caller, clientDialect: this.endpoint.dialect.name, ...unasked };
  }

  private setConnectionHeader(): void {
    const { response } = this;
    if (response.headersSent) return;
    if (this.isClosing) response.setHeader('connection', 'close');
    else response.setHeader('keep-alive', keepAliveHint);
  }

  private end(status: number): void {
    this.trace?.end(status);
    this.room.close();
  }

  /** The client has its answer, or it has gone. */
  onClosed(): void {
    if (this.place) this.door.parts.admission.leave(this.place);
    this.place = undefined;
    this.reader.breakOff();
  }
}

/** The connection was kept by an answer that has just been broken off; the balancer has others. */
export function shuttingDown(): GatewayError {
  return new GatewayError('overloaded', 'The gateway is shutting down. Send the request again.', {
    retryAfterSeconds: 1,
    headers: { connection: 'close' },
  });
}

/** A client of HTTP/1.0 would take the 100 for its answer, and waits for none (RFC 9110, section 10.1.1). */
function expectsContinue({ expect }: RequestHead, { httpVersion }: IncomingMessage): boolean {
  return expect !== undefined && httpVersion !== '1.0' && expect.toLowerCase() === '100-continue';
}
