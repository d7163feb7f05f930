// Which headers does every answer have, whatever it answers?

/** Names in lower case. `generation` is that of the routing table; undefined: there is none yet. */
export function answerHeaders(requestId: string, generation: number | undefined): Record<string, string> {
  const headers: Record<string, string> = {
    'x-request-id': requestId,
    'request-id': requestId,
    'cache-control': 'no-store',
  };
  if (generation !== undefined) headers['x-penstock-generation'] = String(generation);
  return headers;
}
