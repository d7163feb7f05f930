// How does a process of ours come to the API server as a Pod would: with a ServiceAccount's token, and nothing more?

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { ControlPlane } from './control-plane.ts';
import { tokenKubeconfig } from './kubeconfig.ts';

const tokenRequestSchema = z.object({ status: z.object({ token: z.string().min(1) }) });

/** By TokenRequest, as a kubelet asks for a Pod's. The ServiceAccount must exist; the server gives no less than 600 s. */
export async function serviceAccountToken(
  plane: ControlPlane,
  namespace: string,
  name: string,
  seconds = 3_600,
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: seconds, audiences: [] },
  };
  const answer = await plane.client.call({ method: 'POST', path, body });
  return tokenRequestSchema.parse(answer).status.token;
}

/** The path of a kubeconfig that comes with this token, in this namespace where none is named. */
export async function writeKubeconfig(
  plane: ControlPlane,
  name: string,
  token: string,
  namespace?: string,
): Promise<string> {
  const path = join(plane.folder, `${name}.kubeconfig`);
  const ca = await readFile(plane.caFile, 'utf8');
  await writeFile(path, tokenKubeconfig({ url: plane.url, ca, token, namespace }), { mode: 0o600 });
  return path;
}

/** A folder as it is mounted into a Pod: `token`, `ca.crt`, `namespace`. Called again, it changes the token as a kubelet does: at once. */
export async function writeServiceAccountFolder(
  plane: ControlPlane,
  name: string,
  identity: { readonly token: string; readonly namespace: string },
): Promise<string> {
  const folder = join(plane.folder, `${name}-service-account`);
  await mkdir(folder, { recursive: true });
  const contents = {
    'ca.crt': await readFile(plane.caFile, 'utf8'),
    namespace: identity.namespace,
    token: identity.token,
  };
  for (const [file, content] of Object.entries(contents)) {
    const path = join(folder, file);
    await writeFile(`${path}.unfinished`, content, { mode: 0o600 });
    await rename(`${path}.unfinished`, path);
  }
  return folder;
}

/** What Kubernetes puts into every container: where its API server is. */
export function serverEnvironment(plane: ControlPlane): Record<string, string> {
  const { hostname, port } = new URL(plane.url);
  // The kubelet writes an IPv6 address without brackets.
  return { KUBERNETES_SERVICE_HOST: hostname.replace(/^\[(.*)\]$/, '$1'), KUBERNETES_SERVICE_PORT: port };
}
