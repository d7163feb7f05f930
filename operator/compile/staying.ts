// Does an object count? One on its way out is out: nothing of ours holds a deletion up, and access ends at once.

import type { RawObject } from '../watch/snapshot.ts';

export function isStaying({ metadata }: RawObject): boolean {
  return metadata.deletionTimestamp === undefined;
}
