// Under which path does the API server keep a resource? Built in one place, so that no name can lead elsewhere.

export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

export const secrets: Resource = { group: '', version: 'v1', plural: 'secrets' };
export const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps' };
export const pods: Resource = { group: '', version: 'v1', plural: 'pods' };
export const namespaces: Resource = { group: '', version: 'v1', plural: 'namespaces' };
export const leases: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
export const events: Resource = { group: 'events.k8s.io', version: 'v1', plural: 'events' };
/** These two are asked, not kept: the answer is in the status of what comes back. */
export const tokenReviews: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'tokenreviews',
};
export const subjectAccessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
};

/** All objects of a resource, of one namespace or of the whole cluster. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const group = resource.group === '' ? 'api' : `apis/${segment(resource.group)}`;
  const place = namespace === undefined ? '' : `/namespaces/${segment(namespace)}`;
  return `/${group}/${segment(resource.version)}${place}/${segment(resource.plural)}`;
}

/** One object, or a part of it such as `status`. */
export function objectPath(
  resource: Resource,
  object: { readonly namespace?: string | undefined; readonly name: string },
  subresource?: string,
): string {
  const path = `${collectionPath(resource, object.namespace)}/${segment(object.name)}`;
  return subresource === undefined ? path : `${path}/${segment(subresource)}`;
}

/** An empty name would make the path of one object that of all, and a dot climbs; a DELETE there is a disaster. */
function segment(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new RangeError(`'${name}' is not a name in a path`);
  return encodeURIComponent(name);
}
