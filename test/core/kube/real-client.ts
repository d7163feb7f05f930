// How do tests of the Kubernetes edge speak to a real API server? As its admin, and with objects that mean nothing.

import { afterEach } from 'vitest';
import type { KubeClient } from '../../../core/kube/client.ts';
import { openConfiguredClient } from '../../../core/kube/config.ts';
import { createObject } from '../../../core/kube/patch.ts';
import { collectionPath, namespaces, type Resource } from '../../../core/kube/paths.ts';
import type { ControlPlane } from '../../cluster/control-plane.ts';

export const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps' };

/** What is given to it ends after the test, the last one first. */
export function useEnds(): (end: () => unknown) => void {
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  return (end) => void ends.push(end);
}

export async function openAdmin(plane: ControlPlane): Promise<KubeClient> {
  return (await openConfiguredClient({ kubeconfig: plane.adminKubeconfig })).client;
}

export async function createNamespace(client: KubeClient, name: string): Promise<string> {
  await createObject(client, collectionPath(namespaces), { metadata: { name } });
  return name;
}

export async function createConfigMap(client: KubeClient, namespace: string, name: string): Promise<void> {
  await createObject(client, collectionPath(configMaps, namespace), { metadata: { name }, data: { a: 'b' } });
}
