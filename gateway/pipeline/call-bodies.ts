// Which bodies are ready to be sent for the calls of one request in another dialect than its own? Equal calls share one body, but each call
// counts in the room for bodies: a request of many calls must not be held many times over.

import type { Conversation } from '../dialects/conversation.ts';
import type { UpstreamCall } from '../dialects/dialect.ts';
import { noBodyRoom } from '../request/no-body-room.ts';
import type { Candidate } from '../route/plan.ts';
import type { Exchange, Routing } from './parts.ts';

interface Body {
  readonly conversation: Conversation;
  /** The calls that send it. */
  readonly calls: Set<number>;
  /** What room it takes: as much as the request itself, until it is made. */
  bytes: number;
  /** Absent until the first of its calls has chosen a candidate. */
  made?: { readonly candidate: Candidate; readonly call: UpstreamCall };
}

export class CallBodies {
  private readonly exchange: Pick<Exchange & Routing, 'body' | 'room' | 'translation'>;
  private readonly atHand = new Set<Body>();

  constructor(exchange: Pick<Exchange & Routing, 'body' | 'room' | 'translation'>) {
    this.exchange = exchange;
  }

  /**
   * Reserves memory for the body of a call; for several calls, before they begin.
   *
   * @returns False: other calls of the request hold the memory; without other calls, the request is refused.
   * @throws {GatewayError} `overloaded`.
   */
  begin(call: number): boolean {
    const conversation = this.conversationOf(call);
    for (const body of this.atHand) {
      if (body.conversation === conversation) {
        body.calls.add(call);
        return true;
      }
    }
    const { body, room } = this.exchange;
    if (this.atHand.size > 0 && room?.mayCopy(body.bytes) === false) return false;
    this.add(call, conversation, body.bytes);
    return true;
  }

  /**
   * What the call sends to this candidate; kept for its next attempt there.
   *
   * @throws {GatewayError} `overloaded`.
   */
  open(
    call: number,
    candidate: Candidate,
    encode: (conversation: Conversation) => UpstreamCall,
  ): UpstreamCall {
    const conversation = this.conversationOf(call);
    const suits = ({ conversation: said, made }: Body): boolean =>
      said === conversation && (made === undefined || isForSame(made.candidate, candidate));
    const known = [...this.atHand].find(suits);
    if (!known?.calls.has(call)) this.end(call);
    known?.calls.add(call);
    if (known?.made) return known.made.call;
    const made = { candidate, call: encode(conversation) };
    const { length } = made.call.body;
    if (known) this.resize(known, length);
    const body = known ?? this.add(call, conversation, length);
    body.made = made;
    return made.call;
  }

  /** The call sends nothing any more. */
  end(call: number): void {
    for (const body of this.atHand) {
      if (!body.calls.delete(call) || body.calls.size > 0) continue;
      this.atHand.delete(body);
      this.exchange.room?.dropCopy(body.bytes);
    }
  }

  private add(call: number, conversation: Conversation, bytes: number): Body {
    if (this.exchange.room?.addCopy(bytes) === false) throw noBodyRoom();
    const body: Body = { conversation, calls: new Set([call]), bytes };
    this.atHand.add(body);
    return body;
  }

  private resize(body: Body, bytes: number): void {
    const { room } = this.exchange;
    room?.dropCopy(body.bytes);
    body.bytes = 0;
    if (room?.addCopy(bytes) === false) throw noBodyRoom();
    body.bytes = bytes;
  }

  private conversationOf(call: number): Conversation {
    const conversation = this.exchange.translation?.conversations[call];
    if (!conversation) throw new Error(`call ${call} was not translated`);
    return conversation;
  }
}

/** A body says what the target of its candidate makes of it, whichever of its keys is used. */
function isForSame(a: Candidate, b: Candidate): boolean {
  return a.target === b.target && a.dialect === b.dialect && a.refuses === b.refuses;
}
