// Is what somebody saw still what is there? What they change was decided by it. A change on top of a newer spec is refused, and never
// written over; a status is written all the time, of a key in use with each bill, and is no reason to refuse anything.

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
      // It was sent before, and came, and its answer was lost.
      if (metadata.uid === uid && isSame(mergePatch(spec, patch.spec), spec)) return;
      // Only a change of the spec makes a generation.
      if (generation === undefined || metadata.uid !== uid || metadata.generation !== generation) throw error;
    }
  }
}
