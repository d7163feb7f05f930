// Which headers name how an answer was served? The target, the number of attempts, and the dropped parameters.

import { droppedHeader } from '../dialects/compatibility.ts';
import { servedHeaders } from '../request/answer-headers.ts';
import type { Candidate } from '../route/plan.ts';
import { droppedAt } from './attempt-io.ts';
import type { RoutedExchange } from './parts.ts';

/**
 * Names in lower case and values in turn.
 *
 * @param servers Who serves it, or may still serve it.
 */
export function servedHead(
  exchange: RoutedExchange,
  servers: readonly Candidate[],
  attempts: number,
  showProvider: boolean,
): string[] {
  const head = servedHeaders(exchange);
  head.push('x-penstock-attempts', String(attempts));
  const provider = showProvider ? onlyProvider(servers) : undefined;
  if (provider !== undefined) head.push('x-penstock-provider', provider);
  const dropped = droppedOf(exchange, servers);
  if (dropped !== undefined) head.push('x-penstock-dropped', dropped);
  return head;
}

/** Undefined if there are several, or none. */
function onlyProvider(servers: readonly Candidate[]): string | undefined {
  const id = servers[0]?.target.provider.entry.id;
  for (const { target } of servers) if (target.provider.entry.id !== id) return undefined;
  return id;
}

/** Parameters that the targets which serve the request do not get. */
function droppedOf(exchange: RoutedExchange, servers: readonly Candidate[]): string | undefined {
  let names: readonly string[] = [];
  for (const server of servers) {
    const more = droppedAt(exchange, server);
    if (more.length > 0) names = [...names, ...more];
  }
  return names.length === 0 ? undefined : droppedHeader([...new Set(names)].sort());
}
