// How is an upstream asked for something small? One request, one answer in one piece, or none in time.

import type { Receiver } from '../attempt/attempt-io.ts';
import type { PipelineParts, RoutedExchange } from '../pipeline/parts.ts';
import { type Outgoing, sendUpstream } from '../pipeline/send-upstream.ts';
import type { Candidate } from '../route/plan.ts';
import type { CancelSignal } from '../stream/cancellation.ts';
import { Pieces } from '../stream/pieces.ts';

export interface SmallAnswer {
  readonly status: number;
  readonly body: string;
}

/** Undefined if the answer is late, broken or longer than it may be, or the client has gone. */
export function askOnce(
  parts: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  request: Outgoing,
  withinMs: number,
  caller: CancelSignal,
): Promise<SmallAnswer | undefined> {
  return new Promise((resolve) => {
    const body = new Pieces();
    let status = 0;
    const finish = (value: SmallAnswer | undefined): void => {
      cancel();
      stopListening();
      resolve(value);
    };
    const receiver: Receiver = {
      onHead: (head) => {
        status = head;
      },
      onBody: (chunk) => {
        body.add(chunk);
        if (body.length > bodyBytesMax) giveUp();
      },
      onEnd: () => finish({ status, body: body.take().toString('utf8') }),
      onBreak: () => finish(undefined),
    };
    const giveUp = (): void => {
      call.abort();
      finish(undefined);
    };
    const cancel = parts.clock.setTimer(withinMs, giveUp);
    const stopListening = caller.onCancel(giveUp);
    const call = sendUpstream(parts, exchange, candidate, request, receiver);
  });
}

/** A number is short, and so is what an upstream says instead. Callers may ask for many at once, of an upstream of their own, and it has no other bound. */
const bodyBytesMax = 16 * 1024;
