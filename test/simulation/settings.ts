// Which installation is simulated? The names that all parts of it agree on.

import { pointerName } from '../../core/contract/manifest.ts';
import { type OperatorSettings, readSettings } from '../../operator/settings.ts';

export const INSTANCE = 'penstock';
export const SYSTEM_NAMESPACE = 'penstock-system';
export const TABLE_NAMESPACE = 'penstock-tables';
export const GATEWAY_LABELS = { 'app.kubernetes.io/component': 'gateway' } as const;

export const POINTER = { namespace: TABLE_NAMESPACE, name: pointerName(INSTANCE) } as const;
export const SECRETS = 'v1/secrets';
export const PODS = 'v1/pods';
export const CUSTOM = 'penstock.dev/v1alpha1';
export const POINTER_PATH = `/api/v1/namespaces/${TABLE_NAMESPACE}/secrets/${POINTER.name}`;
export const LEASE_PATH = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases/${INSTANCE}-operator`;
export const SHARD_PREFIX = `/api/v1/namespaces/${TABLE_NAMESPACE}/secrets/${INSTANCE}-`;

export function isShardPath(path: string): boolean {
  return path.startsWith(SHARD_PREFIX) && path !== POINTER_PATH;
}

const settings = readSettings({
  PENSTOCK_INSTANCE: INSTANCE,
  PENSTOCK_NAMESPACE: SYSTEM_NAMESPACE,
  PENSTOCK_TABLE_NAMESPACE: TABLE_NAMESPACE,
  PENSTOCK_GATEWAY_SELECTOR: 'app.kubernetes.io/component=gateway',
  PENSTOCK_POD_NAME: 'operator',
  PENSTOCK_BASE_URL: 'http://penstock.test/v1',
  PENSTOCK_HOST: '127.0.0.1',
  PENSTOCK_METRICS_PORT: '0',
});

export const PLATFORM = { ...settings.platform, platformNamespaces: ['platform'] };
export const HOLD_MS = settings.lastKnownGoodMs;

export function settingsOf(podName: string): OperatorSettings {
  return { ...settings, platform: PLATFORM, podName };
}
