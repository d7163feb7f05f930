// What is kept of one of our objects? What its user wishes, with an identity that lasts while the wish does,
// and beside it what we write ourselves.

import type { KubeObject } from '../../core/kube/object.ts';
import { API_GROUP, API_VERSION } from '../resources/metadata.ts';
import type { Kind } from '../resources/resource.ts';
import { sameTexts, withoutLastApplied } from './metadata-texts.ts';
import type { RawObject } from './snapshot.ts';

export interface HeldObject {
  /** Without status and resourceVersion: a write of ours must not look like a wish. */
  wish: RawObject;
  readonly resourceVersion: string | undefined;
  readonly status: unknown;
}

const apiVersion = `${API_GROUP}/${API_VERSION}`;

/** @throws {TypeError} where the object is in no namespace; the kinds of ours always are. */
export function holdObject(kind: Kind, object: KubeObject): HeldObject {
  const { name, namespace, uid, generation, creationTimestamp, deletionTimestamp } = object.metadata;
  if (namespace === undefined) throw new TypeError(`${kind} ${name} is in no namespace`);
  const { labels, annotations } = object.metadata;
  return {
    wish: {
      apiVersion,
      kind,
      metadata: {
        namespace,
        name,
        ...(uid === undefined ? {} : { uid }),
        ...(generation === undefined ? {} : { generation }),
        ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
        ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
        ...(labels === undefined ? {} : { labels }),
        ...(annotations === undefined ? {} : { annotations: withoutLastApplied(annotations) }),
      },
      spec: object.spec,
    },
    resourceVersion: object.metadata.resourceVersion,
    status: object.status,
  };
}

/** Whether two forms of an object ask for the same. The generation moves with the spec, and with nothing else. */
export function isSameWish(a: RawObject, b: RawObject): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.generation === b.metadata.generation &&
    a.metadata.deletionTimestamp === b.metadata.deletionTimestamp &&
    sameTexts(a.metadata.labels, b.metadata.labels) &&
    sameTexts(a.metadata.annotations, b.metadata.annotations)
  );
}

/** The object as it was read last, status and resourceVersion included. */
export function latestForm({ wish, resourceVersion, status }: HeldObject): RawObject {
  return {
    ...wish,
    metadata: { ...wish.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    ...(status === undefined ? {} : { status }),
  };
}
