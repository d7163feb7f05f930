// What of an object belongs into Git? What its owner wrote: no status, and nothing that the API server wrote beside it.

import type { KubeObject } from './kube.ts';

interface WithLabels {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export function asManifest(kind: string, { metadata, spec }: KubeObject): object {
  const { labels = {}, annotations = {} } = metadata as WithLabels;
  const own = Object.fromEntries(
    Object.entries(annotations).filter(
      ([name]) => name !== 'kubectl.kubernetes.io/last-applied-configuration',
    ),
  );
  return {
    apiVersion: 'penstock.dev/v1alpha1',
    kind,
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace,
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      ...(Object.keys(own).length === 0 ? {} : { annotations: own }),
    },
    spec,
  };
}
