// Is the certificate authority that the Provider names there?

import type { Finding } from '../verdict.ts';

export interface CaUse {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** @param data of the object; undefined where it does not exist. */
export function caNotFound(
  use: CaUse,
  data: Readonly<Record<string, string>> | undefined,
): Finding | undefined {
  const value = data !== undefined && Object.hasOwn(data, use.key) ? data[use.key] : undefined;
  if (value !== undefined && value !== '') return undefined;
  const object = `${use.kind} ${use.name}`;
  const fact =
    data === undefined
      ? `${object}, which does not exist in namespace ${use.namespace}`
      : `the key ${use.key} of ${object}, which ${value === undefined ? 'it has not' : 'is empty'}`;
  return {
    reason: 'CANotFound',
    message: `spec.tls.caRef names ${fact}; write the PEM certificates of the authority there, under ${use.key}`,
  };
}
