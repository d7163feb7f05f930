// Deletes the Pod of `helm test` with the release, since Helm does not delete former hooks: the Pod makes its ServiceAccount, which
// belongs to the release, its owner.

import type { KubeClient } from '../../../core/kube/client.ts';
import { mergePatch } from '../../../core/kube/patch.ts';
import { objectPath, pods } from '../../../core/kube/paths.ts';
import { readAccount } from '../../../core/kube/service-account.ts';
import type { Place } from './settings.ts';

/** `folder`: of the account's files. */
export async function belongToAccount(client: KubeClient, pod: Place, folder: string): Promise<void> {
  const account = await readAccount(folder);
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ServiceAccount', ...account }];
  await mergePatch(client, objectPath(pods, pod), { metadata: { ownerReferences } });
}
