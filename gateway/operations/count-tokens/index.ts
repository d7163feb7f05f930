// How many tokens would this request be? Asked of an upstream that can count, else estimated, rather too high than too low: a client
// that counts too few makes its conversation shorter too late.
//
// Reads: the request whole, because it is counted here if no upstream counts. Members that only an answer needs may be missing.
// Limited: of all limits only those on requests; it takes no place.
// Metered: not at all: it is no generation, and no request in the metrics of requests.
// Failed over: one attempt at each of three upstreams, five seconds in all (ask-upstreams.ts).
// Answered: with a number, always.

import { ordinaryDelivery } from '../../pipeline/delivery.ts';
import { estimateInput } from '../../pipeline/estimate-input.ts';
import { enterRequest, limitStateHeaders, setHeaders } from '../../pipeline/limits.ts';
import type { Exchange, PipelineParts } from '../../pipeline/parts.ts';
import { planFor } from '../../pipeline/route-exchange.ts';
import { unaskedOf } from '../../pipeline/unasked.ts';
import { servedHeaders } from '../../request/answer-headers.ts';
import { Cancellation } from '../../stream/cancellation.ts';
import type { Operation } from '../operation.ts';
import { askUpstreams } from './ask-upstreams.ts';
import { decode } from './count-request.ts';

export const countTokens: Operation = {
  name: 'count-tokens',
  mustParse: () => true,
  countsRefusals: false,
  serve(parts, exchange, over) {
    serveTokenCount(parts, exchange).then(
      () => over.onServed(),
      (error: unknown) => over.onFailed(error, unaskedOf(exchange, error)),
    );
  },
};

/** @throws {GatewayError} if the request is not valid, or leads nowhere. */
export async function serveTokenCount(parts: PipelineParts, exchange: Exchange): Promise<void> {
  const facts = exchange.dialect.readRequest(exchange.body, 'count');
  const plan = planFor(parts, exchange, facts);
  const routed = { ...exchange, facts, plan, delivery: ordinaryDelivery, translation: undefined };
  const caller = new Cancellation();
  exchange.response.once('close', () => caller.cancel());
  const granted = await enterRequest(parts, routed, undefined, 0);
  if (granted) setHeaders(exchange.response, limitStateHeaders(parts, routed, granted.limitStates));
  const { counted, attempts } = await askUpstreams(parts, routed, caller);
  const inputTokens = counted ?? estimateInput(decode(routed));
  const body = JSON.stringify({ input_tokens: inputTokens });
  const headers = servedHeaders(exchange);
  headers.push('cache-control', 'no-store', 'content-type', 'application/json');
  headers.push('content-length', String(Buffer.byteLength(body)));
  // If no upstream has counted.
  if (counted === undefined) headers.push('x-penstock-estimated', 'true');
  exchange.response.writeHead(200, headers);
  exchange.response.end(body);
  exchange.trace?.onServed({
    model: plan.route.entry.model,
    status: 200,
    firstContentMs: undefined,
    attempts,
    isStream: false,
  });
}
