// What does the pointer say now? The manifest of the routing table that is in use.

import { type Manifest, manifestSchema } from '../../../core/contract/manifest.ts';
import type { Kubectl } from '../../cluster/kubectl.ts';
import { tableNamespace } from './installation.ts';

export async function readManifest(plane: Pick<Kubectl, 'mustKubectl'>): Promise<Manifest> {
  const pointer = ['get', 'secret', 'penstock-current', '-n', tableNamespace];
  const encoded = await plane.mustKubectl([...pointer, '-o', 'jsonpath={.data.manifest}']);
  return decodeManifest(encoded);
}

/** As it is in the data of the Secret. */
export function decodeManifest(base64: string): Manifest {
  return manifestSchema.parse(JSON.parse(Buffer.from(base64, 'base64').toString()));
}
