// Which parts of one of our objects are kept? The user's spec, with an identity that lasts while the spec does, and beside it the fields
// that we write.

import type { KubeObject } from '../../core/kube/object.ts';
import { API_GROUP, API_VERSION } from '../resources/metadata.ts';
import type { Kind } from '../resources/resource.ts';
import { sameTexts, withoutLastApplied } from './metadata-texts.ts';
import type { RawObject, RawPolicy } from './snapshot.ts';

interface Held<Wish> {
  /** Without status and resourceVersion: a write of ours must not look like a wish. */
  wish: Wish;
  readonly resourceVersion: string | undefined;
  readonly status: unknown;
}

export type HeldObject = Held<RawObject>;
/** Of a kind without namespaces. */
export type HeldPolicy = Held<RawPolicy>;

const apiVersion = `${API_GROUP}/${API_VERSION}`;

/** @throws {TypeError} where the object is in no namespace; the kinds of tenants always are. */
export function holdObject(kind: Kind, object: KubeObject): HeldObject {
  const { name, namespace } = object.metadata;
  if (namespace === undefined) throw new TypeError(`${kind} ${name} is in no namespace`);
  return { ...holdPolicy(kind, object), wish: wishOf(kind, object, { namespace, name }) };
}

export function holdPolicy(kind: string, object: KubeObject): HeldPolicy {
  return {
    wish: wishOf(kind, object, { name: object.metadata.name }),
    resourceVersion: object.metadata.resourceVersion,
    status: object.status,
  };
}

function wishOf<Place extends object>(kind: string, object: KubeObject, place: Place) {
  const { uid, generation, creationTimestamp, deletionTimestamp, labels, annotations } = object.metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      ...place,
      ...(uid === undefined ? {} : { uid }),
      ...(generation === undefined ? {} : { generation }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations: withoutLastApplied(annotations) }),
    },
    spec: object.spec,
  };
}

/** Whether two forms of an object ask for the same. The generation moves with the spec, and with nothing else. */
export function isSameWish(a: RawPolicy, b: RawPolicy): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.generation === b.metadata.generation &&
    a.metadata.deletionTimestamp === b.metadata.deletionTimestamp &&
    sameTexts(a.metadata.labels, b.metadata.labels) &&
    sameTexts(a.metadata.annotations, b.metadata.annotations)
  );
}

/** The object as it was read last, status and resourceVersion included. */
export function latestForm<Wish extends RawPolicy>({ wish, resourceVersion, status }: Held<Wish>): Wish {
  return {
    ...wish,
    metadata: { ...wish.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    ...(status === undefined ? {} : { status }),
  };
}
