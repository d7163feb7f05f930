// Which members of an object are people's, and which an API server's? Only the first are ever written to a manifest. Pure.

import { isRecord } from '../../core/kube/object.ts';

interface OwnFields {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

const serversMembers = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
  'managedFields',
];

export function ownFields(object: Readonly<Record<string, unknown>>): OwnFields {
  const { status: _, ...own } = object;
  return { ...own, metadata: pick(object.metadata, (name) => !serversMembers.includes(name)) };
}

/** The object for an answer without a write: with the fields that the server had added before. */
export function withServersFields(
  own: OwnFields,
  before: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const metadata = { ...own.metadata, ...pick(before.metadata, (name) => serversMembers.includes(name)) };
  return { ...own, metadata, ...(before.status === undefined ? {} : { status: before.status }) };
}

/** As in a manifest: what people have written there of the server's members stays, and so does a namespace left out. */
export function withWrittenFields(own: OwnFields, written: unknown): Readonly<Record<string, unknown>> {
  const before = isRecord(written) ? written : {};
  const { namespace, ...metadata } = own.metadata;
  const hasNamespace = isRecord(before.metadata) && Object.hasOwn(before.metadata, 'namespace');
  return withServersFields(
    { ...own, metadata: hasNamespace ? { ...metadata, namespace } : metadata },
    before,
  );
}

function pick(value: unknown, isMeant: (name: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(isRecord(value) ? value : {}).filter(([name]) => isMeant(name)));
}
