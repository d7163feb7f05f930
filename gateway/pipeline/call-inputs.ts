// What is the input of each upstream call of a request, for counting tokens? If a request needs several calls, each gets its own part.
// Only the estimate is kept: all parts together, as often as they are sent, are many times the size of the request.

import type { Turn } from '../dialects/conversation.ts';
import type { RequestBody } from '../json/request-body.ts';
import { estimateInputOfBody } from './estimate-spend.ts';
import type { RoutedExchange } from './parts.ts';

type Input = Pick<RequestBody, 'chunks' | 'bytes'>;

export class CallInputs {
  private readonly exchange: Pick<RoutedExchange, 'body' | 'translation'>;
  /** By their turns, which equal calls share; of a request that is one call, by its body. */
  private readonly estimates = new Map<RequestBody | readonly Turn[], number>();

  constructor(exchange: Pick<RoutedExchange, 'body' | 'translation'>) {
    this.exchange = exchange;
  }

  of(call: number): Input {
    const asked = this.askedOf(call);
    if (asked === this.exchange.body) return this.exchange.body;
    const own = Buffer.from(JSON.stringify(asked));
    return { chunks: [own], bytes: own.length };
  }

  /** Computed once for all records of its attempts; open attempts are recorded again every few seconds. */
  estimate(call: number): number {
    const asked = this.askedOf(call);
    const known = this.estimates.get(asked);
    if (known !== undefined) return known;
    const estimate = estimateInputOfBody(this.of(call));
    this.estimates.set(asked, estimate);
    return estimate;
  }

  private askedOf(call: number): RequestBody | readonly Turn[] {
    const { body, translation } = this.exchange;
    const conversations = translation?.conversations ?? [];
    if (conversations.length < 2) return body;
    return conversations[call]?.turns ?? [];
  }
}
