// What is the error for a request whose body, or a body made of it, finds no room in memory?

import { GatewayError } from './errors.ts';

/** @param headers Beside those of every such error. */
export function noBodyRoom(headers: Readonly<Record<string, string>> = {}): GatewayError {
  return new GatewayError('overloaded', 'The gateway has no memory left for request bodies. Retry in 1 s.', {
    retryAfterSeconds: 1,
    headers,
  });
}
