// How long does a server that our own processes ask wait for a request? What every such server has in common, given to node's `createServer`.

import type { ServerOptions } from 'node:http';

/** @param patienceMs In which a request is to have come, its body too. */
export function serverPatience(patienceMs: number) {
  return {
    // Both: of two that differ Node takes the longer one for the body.
    headersTimeout: patienceMs,
    requestTimeout: patienceMs,
    connectionsCheckingInterval: patienceMs / 10,
    keepAliveTimeout: 75_000,
  } satisfies ServerOptions;
}
