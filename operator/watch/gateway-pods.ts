// Which gateway pods take requests now, and where can they be asked what they run?

import { INTERNAL_TLS_PORT } from '../../core/contract/internal-tls.ts';
import { isRecord, type KubeObject } from '../../core/kube/object.ts';

export interface GatewayPod {
  readonly uid: string;
  readonly name: string;
  readonly ip: string;
  /** Of the exchange. */
  readonly port: number;
  /** Of the exchange over TLS; undefined: the pod is of a release that has none. */
  readonly tlsPort?: number | undefined;
}

/** Name of the container port. */
const INTERNAL_PORT = 'internal';

/** Undefined for a pod that is not ready, is being deleted, or has no port for the exchange. */
export function readGatewayPod({ metadata, spec, status }: KubeObject): GatewayPod | undefined {
  if (metadata.deletionTimestamp !== undefined || metadata.uid === undefined) return undefined;
  if (!isRecord(spec) || !isRecord(status) || typeof status.podIP !== 'string') return undefined;
  const isReady = records(status.conditions).some(
    (condition) => condition.type === 'Ready' && condition.status === 'True',
  );
  const ports = records(spec.containers).flatMap((container) => records(container.ports));
  const portOf = (wanted: string): number | undefined => {
    const port = ports.find(({ name }) => name === wanted)?.containerPort;
    return typeof port === 'number' ? port : undefined;
  };
  const port = portOf(INTERNAL_PORT);
  if (!isReady || port === undefined) return undefined;
  const tlsPort = portOf(INTERNAL_TLS_PORT);
  return {
    ...{ uid: metadata.uid, name: metadata.name, ip: status.podIP, port },
    ...(tlsPort === undefined ? {} : { tlsPort }),
  };
}

function records(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
