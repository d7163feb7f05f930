// Which headers does every answer have, whatever it answers?

/** Names in lower case. `generation` is that of the routing table; undefined before the first table. */
export function answerHeaders(requestId: string, generation: number | undefined): Record<string, string> {
  const headers: Record<string, string> = {
    'x-request-id': requestId,
    'request-id': requestId,
    'cache-control': 'no-store',
  };
  if (generation !== undefined) headers['x-penstock-generation'] = String(generation);
  return headers;
}

/**
 * Sent to clients in place of the server's own idle time. Clients that listen have closed what they do not use before a pod that leaves
 * stops accepting: a connection that it closed itself may already have been taken for the next request.
 */
export const keepAliveHint = 'timeout=5';

/** Of a request that is served. Names and values in turn: with an object, or with headers that were set before, Node takes longer. */
export function servedHeaders({ requestId, view, isClosing }: Served): string[] {
  return [
    'x-request-id',
    requestId,
    'request-id',
    requestId,
    'x-penstock-generation',
    String(view.generation),
    isClosing ? 'connection' : 'keep-alive',
    isClosing ? 'close' : keepAliveHint,
  ];
}

interface Served {
  readonly requestId: string;
  readonly view: { readonly generation: number };
  /** The answer asks its connection to close: the process is being drained. */
  readonly isClosing: boolean;
}
