// Which gateway pods take requests now, and where can they be asked what they run?

import { isRecord, type KubeObject } from '../../core/kube/object.ts';

export interface GatewayPod {
  readonly uid: string;
  readonly name: string;
  readonly ip: string;
  /** Of the exchange. */
  readonly port: number;
}

/** Name of the container port. */
const INTERNAL_PORT = 'internal';

/** Undefined for a pod that is not ready, is on its way out, or has no port for us. */
export function readGatewayPod({ metadata, spec, status }: KubeObject): GatewayPod | undefined {
  if (metadata.deletionTimestamp !== undefined || metadata.uid === undefined) return undefined;
  if (!isRecord(spec) || !isRecord(status) || typeof status.podIP !== 'string') return undefined;
  const isReady = records(status.conditions).some(
    (condition) => condition.type === 'Ready' && condition.status === 'True',
  );
  const port = records(spec.containers)
    .flatMap((container) => records(container.ports))
    .find(({ name }) => name === INTERNAL_PORT)?.containerPort;
  if (!isReady || typeof port !== 'number') return undefined;
  return { uid: metadata.uid, name: metadata.name, ip: status.podIP, port };
}

function records(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
