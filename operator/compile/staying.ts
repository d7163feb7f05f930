// An object that is being deleted no longer counts: the operator uses no finalizers, and access ends at once.

import type { RawObject } from '../watch/snapshot.ts';

export function isStaying({ metadata }: RawObject): boolean {
  return metadata.deletionTimestamp === undefined;
}
