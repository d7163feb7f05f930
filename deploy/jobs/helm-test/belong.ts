// How does the Pod of `helm test` go when the release goes? Helm forgets what was its hook. The Pod hangs itself on its account,
// which is of the release, and the cluster deletes what hangs on what is gone.

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
