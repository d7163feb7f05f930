// How do tests make, read, change and remove objects where kubectl is not the question? By the client of a plane: a run of kubectl costs
// as much CPU as twenty such calls.

import { z } from 'zod';
import { systemClock } from '../../core/clock.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import type { KubeObject } from '../../core/kube/object.ts';
import { deleteObject, mergePatch } from '../../core/kube/patch.ts';
import { collectionPath, namespaces, objectPath, type Resource } from '../../core/kube/paths.ts';
import { startReflector } from '../../core/kube/watch.ts';

/** Any object of a namespace. */
export interface Manifest {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

const manifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ namespace: z.string(), name: z.string() }),
});

const anySchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ namespace: z.string().optional(), name: z.string() }),
});

const conditionsSchema = z.object({
  status: z
    .object({
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), observedGeneration: z.number().optional() }))
        .optional(),
    })
    .optional(),
});

/** What kubectl asks for too: a field that is not known is an error. */
const strict = { fieldValidation: 'Strict' };

export async function createNamespace(client: KubeClient, name: string): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  await client.call({ method: 'POST', path: collectionPath(namespaces), query: strict, body });
}

/** Gives the object as it is stored. @throws where there is one of this name. */
export async function create(client: KubeClient, object: Manifest): Promise<Manifest> {
  const { metadata, ...kind } = manifestSchema.parse(object);
  const path = collectionPath(resourceOf(kind), metadata.namespace);
  return manifestSchema.parse(await client.call({ method: 'POST', path, query: strict, body: object }));
}

export async function read(client: KubeClient, object: Manifest): Promise<Manifest> {
  return manifestSchema.parse(await client.call({ method: 'GET', path: pathOf(object) }));
}

/** As `kubectl apply --server-side --force-conflicts`, of any object. */
export async function apply(client: KubeClient, object: object): Promise<void> {
  const { metadata, ...kind } = anySchema.parse(object);
  await client.call({
    method: 'PATCH',
    path: objectPath(resourceOf(kind), metadata),
    contentType: 'application/apply-patch+yaml',
    query: { ...strict, fieldManager: 'test', force: true },
    body: object,
  });
}

/**
 * As `kubectl wait --for=condition=…`, of an object of our kinds: settled when the condition has that status for the present generation.
 *
 * @param ref such as `modelroute/small`.
 * @param condition such as `Ready`, which is to be true, or `ResolvedRefs=false`.
 * @throws with the object's status where that takes longer.
 */
export async function awaitCondition(
  client: KubeClient,
  ref: string,
  namespace: string,
  condition: string,
  timeoutMs: number,
): Promise<void> {
  const [kind = '', name] = ref.split('/');
  const [type, wanted = 'true'] = condition.split('=');
  let latest: unknown;
  const met = Promise.withResolvers<void>();
  const look = ({ metadata, ...rest }: KubeObject): void => {
    latest = rest.status;
    const of = (conditionsSchema.parse(rest).status?.conditions ?? []).find((one) => one.type === type);
    const isPresent = (of?.observedGeneration ?? Infinity) >= (metadata.generation ?? 0);
    if (of !== undefined && isPresent && of.status.toLowerCase() === wanted.toLowerCase()) met.resolve();
  };
  const watch = startReflector({
    client,
    clock: systemClock,
    random: Math.random,
    path: collectionPath(
      { group: 'penstock.dev', version: 'v1alpha1', plural: pluralOf(kind) },
      kind === 'tenantpolicy' ? undefined : namespace,
    ),
    query: { fieldSelector: `metadata.name=${name}` },
    convert: look,
    onEvent() {},
  });
  watch.synced.catch(met.reject);
  const timer = setTimeout(() => {
    const status = JSON.stringify(latest);
    met.reject(
      new Error(`timed out after ${timeoutMs} ms: ${ref} in ${namespace} is not ${condition}: ${status}`),
    );
  }, timeoutMs);
  try {
    await met.promise;
  } finally {
    clearTimeout(timer);
    await watch.close();
  }
}

export async function change(client: KubeClient, object: Manifest, patch: object): Promise<void> {
  await mergePatch(client, pathOf(object), patch);
}

export async function remove(client: KubeClient, object: Manifest): Promise<void> {
  await deleteObject(client, pathOf(object));
}

function pathOf(object: Manifest): string {
  const { metadata, ...kind } = manifestSchema.parse(object);
  return objectPath(resourceOf(kind), metadata);
}

function resourceOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): Resource {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  return { group, version, plural: pluralOf(kind) };
}

function pluralOf(kind: string): string {
  return `${kind.toLowerCase()}s`.replace(/([^aeiou])ys$/, '$1ies');
}
