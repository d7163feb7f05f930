// How is an object written? Each way of writing with the headers and options that it needs.

import { type KubeClient, KubeError } from './client.ts';
import { isRecord, type KubeObject, parseObject } from './object.ts';

const patchTypes = {
  apply: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;

interface WriteOptions {
  /** Owner of these fields. */
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

/**
 * The same for a status. CustomResourceDefinitions of an earlier version refuse an apply that names an unknown field; then the rest of the
 * status is written without it.
 */
export async function applyStatus(
  client: KubeClient,
  path: string,
  object: object,
  options: ApplyOptions,
): Promise<KubeObject> {
  let status: unknown = object;
  for (let left = undeclaredMax; ; left--) {
    try {
      return await apply(client, path, status as object, options);
    } catch (error) {
      // The server names one at a time.
      const unknown = error instanceof KubeError ? undeclaredIn(error.message) : [];
      if (unknown.length === 0 || left === 0) throw error;
      status = unknown.reduce<unknown>(without, status);
    }
  }
}

/** More are no difference of one version. */
const undeclaredMax = 20;

const undeclared = ': field not declared in schema';

/** `.status.targets[name="a"].cost: field not declared in schema`, as the names on the way to each field. */
function undeclaredIn(message: string): readonly (readonly string[])[] {
  const pieces = message.split(undeclared).slice(0, -1);
  const paths = pieces.map((piece) =>
    piece.slice(Math.max(piece.lastIndexOf(' '), piece.lastIndexOf('\n')) + 1),
  );
  return paths.filter((path) => path.startsWith('.status')).map(namesIn);
}

function namesIn(path: string): readonly string[] {
  const [first = '', ...below] = path.split('[');
  const rest = below.map((part) => part.slice(part.indexOf(']') + 1));
  return [first, ...rest].join('').split('.').slice(1);
}

/** In a list, without it in each item. */
function without(value: unknown, path: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => without(item, path));
  const [name = '', ...below] = path;
  if (!isRecord(value) || value[name] === undefined) return value;
  const { [name]: inner, ...others } = value;
  return below.length === 0 ? others : { ...others, [name]: without(inner, below) };
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

/** The whole object. If it holds a resourceVersion, another write in between causes a conflict. */
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
