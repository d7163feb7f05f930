// Which pods count as ready gateways?

import { expect, test } from 'vitest';
import type { KubeObject } from '../../../core/kube/object.ts';
import { readGatewayPod } from '../../../operator/watch/gateway-pods.ts';

function pod(change: { metadata?: object; spec?: object; status?: object } = {}): KubeObject {
  const containers = [
    { ports: [{ name: 'http', containerPort: 8080 }] },
    { name: 'bare' },
    { ports: [{ name: 'internal', containerPort: 9091 }] },
  ];
  return {
    metadata: { name: 'gateway-0', uid: 'u-1', ...change.metadata },
    spec: { containers, ...change.spec },
    status: { podIP: '10.1.2.3', conditions: [{ type: 'Ready', status: 'True' }], ...change.status },
  };
}

test('a ready pod has its address and the port named internal', () => {
  expect(readGatewayPod(pod())).toEqual({ uid: 'u-1', name: 'gateway-0', ip: '10.1.2.3', port: 9091 });
});

test.each([
  ['not one that is not ready', { status: { conditions: [{ type: 'Ready', status: 'False' }] } }],
  ['not one that has not said whether it is', { status: { conditions: undefined } }],
  ['not one that is terminating', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }],
  ['not one without an address', { status: { podIP: undefined } }],
  ['not one without the port', { spec: { containers: [{ ports: [{ containerPort: 9091 }] }] } }],
])('%s', (_, change) => {
  expect(readGatewayPod(pod(change))).toBeUndefined();
});
