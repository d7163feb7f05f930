// Do the kinds of other projects take what the chart renders for them? Their own CustomResourceDefinitions, on the real API server.

import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { RELEASE_NAMESPACE, render } from '../charts/helm.ts';
import { VALUE_SETS } from '../charts/value-sets.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { goModule } from '../support/go-module.ts';

const KINDS = [
  ['sigs.k8s.io/gateway-api', 'v1.5.1', 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  ...['podmonitors', 'servicemonitors', 'prometheusrules'].map(
    (plural) =>
      [
        'github.com/prometheus-operator/prometheus-operator',
        'v0.85.0',
        `example/prometheus-operator-crd/monitoring.coreos.com_${plural}.yaml`,
      ] as const,
  ),
  ['github.com/cilium/cilium', 'v1.18.2', 'pkg/k8s/apis/cilium.io/client/crds/v2/ciliumnetworkpolicies.yaml'],
  ['k8s.io/autoscaler/vertical-pod-autoscaler', 'v1.4.1', 'deploy/vpa-v1-crd-gen.yaml'],
  ['github.com/kedacore/keda/v2', 'v2.21.0', 'config/crd/bases/keda.sh_scaledobjects.yaml'],
] as const;

const plane = useControlPlane({ hasControllers: false });

beforeAll(async () => {
  for (const [module, version, path] of KINDS) {
    const file = join(await goModule(module, version), path);
    await plane().mustKubectl(['apply', '--server-side', '-f', file]);
  }
  await plane().mustKubectl(['wait', '--for=condition=Established', 'crd', '--all']);
  await plane().mustKubectl(['create', 'namespace', RELEASE_NAMESPACE]);
});

test('the API server accepts all of them, without a warning', async () => {
  const foreign = new Map<string, object>();
  for (const [, values] of VALUE_SETS) {
    for (const object of await render(plane(), values)) {
      if (
        /^(autoscaling\.k8s\.io|cilium\.io|monitoring\.coreos\.com|keda\.sh|gateway\.networking\.k8s\.io)\//.test(
          object.apiVersion,
        )
      )
        foreign.set(JSON.stringify(object), object);
    }
  }
  const kinds = new Set([...foreign.values()].map((object) => ('kind' in object ? object.kind : '')));
  expect([...kinds].sort()).toEqual([
    'CiliumNetworkPolicy',
    'HTTPRoute',
    'PodMonitor',
    'PrometheusRule',
    'ScaledObject',
    'ServiceMonitor',
    'VerticalPodAutoscaler',
  ]);
  const said = await plane().kubectl(
    ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'],
    { stdin: [...foreign.keys()].join('\n---\n') },
  );
  expect(said).toMatchObject({ code: 0, stderr: '' });
});
