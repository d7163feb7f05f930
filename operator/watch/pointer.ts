// The last known content of the pointer Secret.

import { POINTER_DATA } from '../../core/contract/manifest.ts';
import type { KubeObject } from '../../core/kube/object.ts';
import { sameTexts } from './metadata-texts.ts';
import { readSecret } from './secrets.ts';

export interface Pointer {
  readonly uid: string;
  /** For compare-and-swap. */
  readonly resourceVersion: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Decoded, by `POINTER_DATA`; what it says is not checked. */
  readonly data: Readonly<Record<string, string>>;
}

export function readPointer(object: KubeObject): Pointer {
  const { uid = '', resourceVersion = '' } = object.metadata;
  const { annotations, data } = readSecret(object);
  return { uid, resourceVersion, annotations, data };
}

/** Whether two pointers are equal except for the heartbeat. */
export function isSamePointer(a: Pointer, b: Pointer): boolean {
  return (
    a.uid === b.uid &&
    sameTexts(a.annotations, b.annotations) &&
    sameTexts(withoutHeartbeat(a.data), withoutHeartbeat(b.data))
  );
}

function withoutHeartbeat(data: Pointer['data']): Pointer['data'] {
  const { [POINTER_DATA.heartbeat]: _, ...rest } = data;
  return rest;
}
