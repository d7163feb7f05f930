// A provider that breaks, and a good one behind it: which table represents the two, and in which dialects are they called?

import type { DialectName, RouteEntry, RoutingTable, Timeouts } from '../../core/contract/routing-table.ts';
import { tableOf } from '../gateway/rig.ts';
import type { Wall } from '../support/wall.ts';
import type { Endpoint } from './ask.ts';

export interface EndpointPair {
  readonly endpoint: Endpoint;
  readonly upstream: DialectName;
}

/** The four dialects as they are, and translations that between them use every decoder and encoder. */
export const pairs: readonly EndpointPair[] = [
  { endpoint: 'chat', upstream: 'openai-chat' },
  { endpoint: 'completions', upstream: 'openai-completions' },
  { endpoint: 'messages', upstream: 'anthropic-messages' },
  { endpoint: 'responses', upstream: 'openai-responses' },
  { endpoint: 'completions', upstream: 'openai-chat' },
  { endpoint: 'chat', upstream: 'anthropic-messages' },
  { endpoint: 'messages', upstream: 'openai-responses' },
  { endpoint: 'responses', upstream: 'openai-chat' },
];

/**
 * A route from one upstream dialect, the first wall before the second one; no breaker takes it out.
 *
 * @param timeouts of the first.
 */
export function tableOfTwo(
  [first, second]: readonly [first: Wall, second: Wall],
  dialect: DialectName,
  route: Partial<RouteEntry>,
  timeouts: Timeouts,
): RoutingTable {
  const common = {
    dialects: [dialect],
    providerEntry: {
      dialects: [dialect],
      breaker: { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 0 },
    },
  };
  return tableOf(
    [
      { ...common, baseUrl: first.baseUrl, timeouts },
      { ...common, baseUrl: second.baseUrl },
    ],
    route,
  );
}
