// Is the object still as the user saw it? The change was decided by what the user saw. A newer spec refuses the change and is never
// overwritten; a status is written all the time, as the usage of a key, and is no reason to refuse anything.

import type { KubeObject } from '../words/kube.ts';
import { mergePatch } from '../words/merge-patch.ts';
import { type Api, ApiError } from './api.ts';
import { isSame } from './send-surely.ts';

/** Statuses that may be written between two tries in a row. */
const triesMax = 5;

/**
 * @param seen as it was when the change was decided.
 * @param patch a merge patch of the spec.
 * @throws ApiError where the spec is another one by now, as where anything else is wrong.
 */
export async function patchSeen(
  api: Api,
  path: string,
  seen: KubeObject,
  patch: { readonly spec: object },
): Promise<void> {
  let { metadata } = seen;
  for (let tries = 1; ; tries++) {
    const { resourceVersion } = metadata;
    try {
      await api.call(path, { method: 'PATCH', body: { metadata: { resourceVersion }, ...patch } });
      return;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409 || tries === triesMax) throw error;
      const { spec, ...there } = await api.call<KubeObject>(path);
      ({ metadata } = there);
      const { uid, generation } = seen.metadata;
      // An earlier try has succeeded, and its answer was lost.
      if (metadata.uid === uid && isSame(mergePatch(spec, patch.spec), spec)) return;
      // Only a change of the spec makes a generation.
      if (generation === undefined || metadata.uid !== uid || metadata.generation !== generation) throw error;
    }
  }
}
