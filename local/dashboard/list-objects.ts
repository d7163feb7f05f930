// Which objects are on this page of a list? By namespace and name, with Kubernetes' own `limit`, `continue` and `labelSelector`.

import { isRecord } from '../../core/kube/object.ts';
import type { ClusterAnswer } from '../../dashboard/cluster.ts';
import { API_GROUP, API_VERSION } from '../../operator/resources/metadata.ts';
import { badRequest } from './answers.ts';
import { parseLabelSelector } from './label-selector.ts';
import type { ApiObject, LocalObjects, OwnKind } from './objects.ts';

export function listObjects(
  objects: LocalObjects,
  kind: OwnKind,
  namespace: string | undefined,
  query: Readonly<Record<string, string | undefined>>,
): ClusterAnswer {
  const selects = parseLabelSelector(query.labelSelector ?? '');
  if (selects === undefined) return badRequest(`unable to parse labelSelector: ${query.labelSelector}`);
  const after = query.continue === undefined ? '' : Buffer.from(query.continue, 'base64url').toString('utf8');
  const limit = Number(query.limit ?? 0) || Number.POSITIVE_INFINITY;
  const left = objects
    .list(kind, namespace)
    .filter((object) => selects(labelsOf(object)) && keyOf(object) > after);
  const items = left.slice(0, limit);
  const last = items.at(-1);
  const hasMore = left.length > items.length && last !== undefined;
  const metadata = {
    resourceVersion: objects.resourceVersion(),
    ...(hasMore
      ? {
          continue: Buffer.from(keyOf(last)).toString('base64url'),
          remainingItemCount: left.length - items.length,
        }
      : {}),
  };
  const body = { apiVersion: `${API_GROUP}/${API_VERSION}`, kind: `${kind}List`, metadata, items };
  return { status: 200, body };
}

/** In the order of the list: no name has a character before the space. */
function keyOf({ metadata }: ApiObject): string {
  return `${metadata.namespace} ${metadata.name}`;
}

function labelsOf({ metadata }: ApiObject): Readonly<Record<string, unknown>> {
  return isRecord(metadata.labels) ? metadata.labels : {};
}
