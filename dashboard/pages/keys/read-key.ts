// Where does a key lie that was not made in a browser? In a Secret, or, in local mode, in a file of this machine. Pure.

import type { SessionAnswer } from '../../api-types.ts';
import type { ApiKey } from '../words/kube.ts';

export interface KeyPlace {
  /** As in "the Secret" or "the file", and its name. */
  readonly kind: 'Secret' | 'file';
  readonly name: string;
  /** Prints the key. */
  readonly command: string;
}

/** @param key undefined: it is not read yet. */
export function placeOfKey(
  mode: SessionAnswer['mode'],
  namespace: string,
  name: string,
  key: Pick<ApiKey, 'spec' | 'status'> | undefined,
): KeyPlace {
  if (mode === 'local') {
    // As it is where PENSTOCK_STATE_DIR names no other folder.
    const file = `.penstock/keys/${namespace}/${name}`;
    return { kind: 'file', name: file, command: `cat ${file}` };
  }
  const { secret } = key?.spec ?? {};
  const secretName = key?.status?.secretName ?? secret?.name ?? `${name}-key`;
  const field = (secret?.key ?? 'apiKey').replaceAll('.', '\\.');
  return {
    kind: 'Secret',
    name: secretName,
    command: `kubectl get secret ${secretName} -n ${namespace} -o jsonpath='{.data.${field}}' | base64 -d`,
  };
}
