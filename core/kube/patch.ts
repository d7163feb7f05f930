// How is an object written? Each way of writing with the headers and options that it needs.

import type { KubeClient } from './client.ts';
import { type KubeObject, parseObject } from './object.ts';

const patchTypes = {
  apply: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;

interface WriteOptions {
  /** Whose fields these are. */
  readonly fieldManager?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Takes fields over from other managers; without it a shared field is a conflict. */
  readonly force?: boolean;
}

interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'test' | 'move' | 'copy';
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** Server-side apply: what this manager set before and does not name any more goes. The object needs apiVersion and kind. */
export async function apply(
  client: KubeClient,
  path: string,
  object: object,
  options: ApplyOptions,
): Promise<KubeObject> {
  const { force, ...write } = options;
  return parseObject(await patch(client, path, patchTypes.apply, object, write, { force }));
}

/** Members that are null go, others are set; lists are replaced as a whole. */
export async function mergePatch(
  client: KubeClient,
  path: string,
  change: object,
  options: WriteOptions = {},
): Promise<KubeObject> {
  return parseObject(await patch(client, path, patchTypes.merge, change, options, {}));
}

/** With a `test` operation it is a condition and a change in one. */
export async function jsonPatch(
  client: KubeClient,
  path: string,
  operations: readonly JsonPatchOperation[],
  options: WriteOptions = {},
): Promise<KubeObject> {
  return parseObject(await patch(client, path, patchTypes.json, operations, options, {}));
}

/** Into the path of a collection. Of two with one name the second is a conflict. */
export function createObject(
  client: KubeClient,
  path: string,
  object: object,
  options: WriteOptions = {},
): Promise<KubeObject> {
  return send(client, 'POST', path, object, options);
}

/** The whole object. Where it holds a resourceVersion, a write by somebody else in between makes it a conflict. */
export function replaceObject(
  client: KubeClient,
  path: string,
  object: object,
  options: WriteOptions = {},
): Promise<KubeObject> {
  return send(client, 'PUT', path, object, options);
}

async function send(
  client: KubeClient,
  method: 'POST' | 'PUT',
  path: string,
  object: object,
  { fieldManager, ...rest }: WriteOptions,
): Promise<KubeObject> {
  return parseObject(await client.call({ method, path, body: object, query: { fieldManager }, ...rest }));
}

export async function readObject(
  client: KubeClient,
  path: string,
  options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
): Promise<KubeObject> {
  return parseObject(await client.call({ method: 'GET', path, ...options }));
}

/** Only the very object that was seen: one with another uid or resourceVersion stays, and the call is a conflict. */
export async function deleteObject(
  client: KubeClient,
  path: string,
  preconditions: { readonly uid?: string; readonly resourceVersion?: string } = {},
  options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
  await client.call({ method: 'DELETE', path, body, ...options });
}

function patch(
  client: KubeClient,
  path: string,
  contentType: string,
  body: unknown,
  options: WriteOptions,
  query: { readonly force?: boolean | undefined },
): Promise<unknown> {
  const { fieldManager, ...rest } = options;
  return client.call({
    method: 'PATCH',
    path,
    body,
    contentType,
    query: { ...query, fieldManager },
    ...rest,
  });
}
