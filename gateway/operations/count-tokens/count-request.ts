// Which body does an upstream get for counting? The request itself, or as much of it as the counting endpoint takes.

import { OPERATIONS } from '../../../core/catalog/operations.ts';
import { parseJson } from '../../../core/parse-json.ts';
import type { Conversation } from '../../dialects/conversation.ts';
import { serverSentEvents } from '../../dialects/events/framing.ts';
import { findUpstreamDialect } from '../../dialects/registry.ts';
import { openCall } from '../../dialects/translate.ts';
import { parseWhole } from '../../endpoints/parse-body.ts';
import { asRecord } from '../../json/record.ts';
import { passesThrough, targetOf } from '../../pipeline/attempt-io.ts';
import type { RoutedExchange } from '../../pipeline/parts.ts';
import { firstOf, translateFor } from '../../pipeline/route-exchange.ts';
import { askOf, type Outgoing } from '../../pipeline/send-upstream.ts';
import type { Candidate } from '../../route/plan.ts';

/** Undefined: this upstream does not count. */
export function countRequest(exchange: RoutedExchange, candidate: Candidate): Outgoing | undefined {
  const upstream = findUpstreamDialect(candidate.dialect);
  const path = OPERATIONS['count-tokens'].paths[upstream.name];
  const { countingMembers } = upstream.asUpstream;
  if (path === undefined) return undefined;
  const { dialect, facts, body } = exchange;
  // A default for the answer is nothing to count.
  const target = { ...targetOf(exchange, candidate), parameters: {} };
  const isWhole = passesThrough(exchange, candidate);
  return {
    upstream,
    ask: askOf(exchange, candidate, upstream, 'count-tokens', path, isWhole, false),
    framing: serverSentEvents,
    body: isWhole
      ? dialect.same.editRequest(body, facts, target)
      : [Buffer.from(onlyMembers(openCall(upstream, decode(exchange), target).body, countingMembers))],
    isNative: upstream.name === dialect.name,
  };
}

function onlyMembers(request: Buffer, names: ReadonlySet<string> | undefined): string {
  const members = Object.entries(asRecord(parseJson(request.toString('utf8'))) ?? {});
  return JSON.stringify(Object.fromEntries(members.filter(([name]) => names?.has(name) ?? true)));
}

/** The request in our form. */
export function decode(exchange: RoutedExchange): Conversation {
  parseWhole(exchange.body);
  return firstOf(translateFor(exchange, exchange.plan));
}
