// Lets reads pass always, and writes only while this process leads, checked for each of them.

import type { KubeClient } from '../core/kube/client.ts';
import { DeposedError } from './publish/deposed.ts';

/** Of the same connections: closing it closes them. */
export function onlyWhile(client: KubeClient, mayWrite: () => boolean): KubeClient {
  return {
    async call(request) {
      if (request.method !== 'GET' && !mayWrite()) {
        throw new DeposedError(
          `${request.method} ${request.path} was not sent: this process is not the leader`,
        );
      }
      return await client.call(request);
    },
    stream: (request) => client.stream(request),
    close: () => client.close(),
  };
}
