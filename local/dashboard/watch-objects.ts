// What changes in the manifests, for watchers? In the form of a watch of Kubernetes.

import type { ClusterEvent } from '../../dashboard/cluster.ts';
import type { LocalObjects, ObjectChange, OwnKind } from './objects.ts';

/** A reader that lags further has to list again. */
const waitingMax = 1_000;

/** @param kind Undefined: there is no such kind, and so nothing ever changes. */
export async function* watchObjects(
  objects: LocalObjects,
  kind: OwnKind | undefined,
  namespace: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<ClusterEvent, void, void> {
  let waiting: ObjectChange[] = [];
  let isBehind = true;
  let wake = (): void => {};
  const stop = objects.onChange((change) => {
    const { metadata } = change.object;
    if (change.object.kind !== kind || (namespace !== undefined && metadata.namespace !== namespace)) return;
    if (waiting.length >= waitingMax) {
      waiting = [];
      isBehind = true;
    } else if (!isBehind) waiting.push(change);
    wake();
  });
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    while (!signal.aborted) {
      if (isBehind) {
        isBehind = false;
        yield { type: 'RESET', resourceVersion: objects.resourceVersion() };
        continue;
      }
      const next = waiting.shift();
      if (next !== undefined) {
        yield next;
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    stop();
    signal.removeEventListener('abort', onAbort);
  }
}
