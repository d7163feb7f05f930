// What comes on the streams of a client, piece by piece: heard on the way, or changed.

import type { KubeClient } from '../../core/kube/client.ts';

/** @param pass gives what goes on in place of a piece. */
export function withPieces(client: KubeClient, pass: (piece: Buffer) => Buffer): KubeClient['stream'] {
  return async (request) => {
    const stream = await client.stream(request);
    const pieces = stream.body[Symbol.asyncIterator]();
    return {
      ...stream,
      body: {
        [Symbol.asyncIterator]: () => ({
          async next() {
            const piece = await pieces.next();
            return piece.done === true ? piece : { ...piece, value: pass(piece.value) };
          },
        }),
      },
    };
  };
}
