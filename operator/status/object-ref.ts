// Which object is meant, and where does the API server keep it?

import type { Resource } from '../../core/kube/paths.ts';
import { apiKeyResource } from '../resources/api-key.ts';
import { API_GROUP, API_VERSION } from '../resources/metadata.ts';
import { modelRouteResource } from '../resources/model-route.ts';
import { providerResource } from '../resources/provider.ts';
import type { Kind } from '../resources/resource.ts';
import type { RawObject } from '../watch/snapshot.ts';

export interface ObjectRef {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
}

export function refOf(kind: Kind, { metadata }: RawObject): ObjectRef {
  const { namespace, name, uid } = metadata;
  return { kind, namespace, name, ...(typeof uid === 'string' ? { uid } : {}) };
}

const PLURALS: Readonly<Record<Kind, string>> = {
  Provider: providerResource.plural,
  ModelRoute: modelRouteResource.plural,
  ApiKey: apiKeyResource.plural,
};

export function resourceOf(kind: Kind): Resource {
  return { group: API_GROUP, version: API_VERSION, plural: PLURALS[kind] };
}
