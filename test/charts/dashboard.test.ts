// Does the chart give the dashboard what it reads, and nothing that it could do by itself?

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSettings as readGatewaySettings } from '../../gateway/process/settings.ts';
import { image } from '../../tools/pack/contents.ts';
import { findPrograms } from '../cluster/binaries.ts';
import { clusterWaitMs } from '../cluster/shared.ts';
import { CLIENT_SECRET, DASHBOARD, settingsInPod } from './dashboard-pod.ts';
import {
  deploymentOf,
  type HelmTarget,
  RELEASE_NAMESPACE,
  type Rendered,
  render,
  type Values,
} from './helm.ts';
import { podsOf } from './parts.ts';
import { VALUE_SETS } from './value-sets.ts';

const setNamed = (name: string): Values => Object.fromEntries(VALUE_SETS)[name] ?? {};
const ALONE = setNamed('a dashboard on port-forward');
const EDGE = setNamed('a dashboard beside the gateways, with an issuer');
const INGRESS = setNamed('a dashboard behind an Ingress, at addresses that are written out');

/** Rendering asks no server. */
let target: HelmTarget;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-dashboard-chart-'));
  target = { programs: await findPrograms(), adminKubeconfig: '', folder };
}, clusterWaitMs);

afterAll(() => rm(target.folder, { recursive: true, force: true }));

const objectOf = (objects: readonly Rendered[], kind: string, name = DASHBOARD) =>
  objects.find((object) => object.kind === kind && object.metadata.name === name);

const settingsIn = (objects: readonly Rendered[]) => settingsInPod(objects, target.folder);

const originsOf = (places: readonly { readonly origin: string }[]) => places.map(({ origin }) => origin);

describe('its settings', () => {
  test("by default: the API server, the ledger, and addresses of one's own machine", async () => {
    const { root, settings } = await settingsIn(await render(target, ALONE));
    expect(settings).toMatchObject({
      port: 8080,
      metricsPort: 9090,
      places: [],
      proxies: [],
      gatewayUrl: undefined,
      keyPrefix: 'psk_',
      ledgerUrl: `https://penstock-ledger.${RELEASE_NAMESPACE}.svc`,
      ledgerCaFile: join(root, 'etc/penstock/internal-ca/ca.crt'),
      kubernetes: { url: 'https://10.0.0.1:443', caFile: join(root, 'etc/penstock/kubernetes/ca.crt') },
      sessionKeys: [],
      sessionMs: 3_600_000,
      oidc: undefined,
      pagesFolder: 'dist/dashboard',
    });
  });

  test('at the edge of the gateways, with an issuer and keys that both pods share', async () => {
    const { settings } = await settingsIn(await render(target, EDGE));
    expect(originsOf(settings.places)).toEqual(['https://penstock.example.com']);
    expect(settings).toMatchObject({
      proxies: ['10.0.0.0/8'],
      gatewayUrl: 'https://models.example.com',
      sessionMs: 1_800_000,
      oidc: {
        issuer: 'https://login.example.com:8443/realms/platform',
        clientId: 'penstock',
        clientSecret: CLIENT_SECRET,
        scopes: 'openid profile email groups',
        name: 'Example Login',
      },
    });
    expect(settings.sessionKeys.map(({ length }) => length)).toEqual([32]);
  });

  test('at explicit addresses, with a public client', async () => {
    const { settings } = await settingsIn(await render(target, INGRESS));
    expect(originsOf(settings.places)).toEqual([
      'https://penstock.example.com:8443',
      'http://localhost:8090',
    ]);
    expect(settings).toMatchObject({
      proxies: ['192.0.2.7'],
      oidc: { clientSecret: undefined, scopes: 'openid' },
    });
  });

  test('are all valid for the process', async () => {
    const source = await readFile(join(import.meta.dirname, '../../dashboard/settings.ts'), 'utf8');
    for (const values of [ALONE, EDGE, INGRESS]) {
      const { env } = deploymentOf(await render(target, values), DASHBOARD);
      expect(Object.keys(env).filter((name) => !source.includes(`${name}:`))).toEqual([]);
    }
  });
});

test('gateways accept requests from its pages, at its own addresses and at listed ones', async () => {
  const origins = async (values: Values) =>
    readGatewaySettings(deploymentOf(await render(target, values), 'penstock-gateway').environment)
      .allowedOrigins;
  expect(await origins(EDGE)).toEqual(['https://penstock.example.com']);
  expect(await origins(INGRESS)).toEqual(['https://penstock.example.com:8443', 'http://localhost:8090']);
  expect(await origins(ALONE)).toEqual([]);
  const listed = ['https://chat.example.com', 'app://obsidian.md', 'http://localhost:3000'];
  expect(await origins({ gateway: { allowedOrigins: listed } })).toEqual(listed);
  expect(
    await origins({ ...INGRESS, gateway: { allowedOrigins: [...listed, 'http://localhost:8090'] } }),
  ).toEqual(['https://penstock.example.com:8443', 'http://localhost:8090', ...listed]);
  expect(await origins({ dashboard: { publicUrls: ['https://penstock.example.com'] } })).toEqual([]);
});

test('if it is disabled, none of its objects exists', async () => {
  const objects = (await render(target)).filter(({ kind }) => kind !== 'CustomResourceDefinition');
  expect(JSON.stringify(objects)).not.toMatch(/dashboard/i);
});

describe('it has no rights itself:', () => {
  test('its account has no binding, and its pod no token', async () => {
    for (const values of [ALONE, EDGE, INGRESS]) {
      const objects = await render(target, values);
      const bindings = objects.filter(({ kind }) => kind.endsWith('RoleBinding'));
      expect(bindings.length).toBeGreaterThan(5);
      expect(JSON.stringify(bindings)).not.toContain('dashboard');
      expect(objectOf(objects, 'ServiceAccount')).toMatchObject({ automountServiceAccountToken: false });
      const [pod] = objects
        .filter(({ kind, metadata }) => kind === 'Deployment' && metadata.name === DASHBOARD)
        .flatMap(podsOf);
      expect(pod).toMatchObject({ serviceAccountName: DASHBOARD, automountServiceAccountToken: false });
      expect(JSON.stringify(pod)).not.toContain('serviceAccountToken":{');
      expect(pod?.volumes).toContainEqual({
        name: 'kubernetes',
        configMap: { name: 'kube-root-ca.crt', defaultMode: 0o440 },
      });
    }
  });

  test('its secrets are in files, not in its environment', async () => {
    const { template } = deploymentOf(await render(target, EDGE), DASHBOARD);
    expect(JSON.stringify(template.spec.containers[0].env)).not.toContain('secretKeyRef');
  });
});

describe('the network', () => {
  const component = (name: string) => ({
    podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': name }) },
  });
  const http = [{ protocol: 'TCP', port: 'http' }];
  const metrics = {
    ports: [{ protocol: 'TCP', port: 'metrics' }],
    from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
  };
  const dns = { ports: [expect.objectContaining({ port: 53 }), expect.objectContaining({ port: 53 })] };
  const apiServer = {
    ports: [
      { protocol: 'TCP', port: 443 },
      { protocol: 'TCP', port: 6443 },
    ],
  };

  const ofLedger = [...http, { protocol: 'TCP', port: 'https' }];

  test('lets it reach the API server, the ledger and its issuer, and the edge reach it', async () => {
    const objects = await render(target, EDGE);
    expect(objectOf(objects, 'NetworkPolicy')?.spec).toEqual({
      podSelector: component('dashboard').podSelector,
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: http, from: [{ namespaceSelector: { matchLabels: { edge: 'yes' } } }] }, metrics],
      egress: [
        dns,
        apiServer,
        { ports: ofLedger, to: [component('ledger')] },
        { ports: [{ protocol: 'TCP', port: 8443 }] },
      ],
    });
    expect(objectOf(objects, 'NetworkPolicy', 'penstock-ledger')?.spec).toMatchObject({
      ingress: expect.arrayContaining([
        { ports: ofLedger, from: [component('operator'), component('gateway'), component('dashboard')] },
      ]),
    });
  });

  test('opens no port for a missing part, and the process connects to none', async () => {
    const objects = await render(target, { ...ALONE, ledger: { enabled: false } });
    expect((await settingsIn(objects)).settings.ledgerUrl).toBeUndefined();
    expect(objectOf(objects, 'NetworkPolicy')?.spec).toMatchObject({
      ingress: [{ ports: http }, metrics],
      egress: [dns, apiServer],
    });
  });
});

describe('the edge', () => {
  test('is the Gateway of the gateways, under another host name, without time limits', async () => {
    const objects = await render(target, EDGE);
    expect(objectOf(objects, 'HTTPRoute')?.spec).toMatchObject({
      parentRefs: [{ name: 'public', namespace: 'gateways' }],
      hostnames: ['penstock.example.com'],
      rules: [
        { timeouts: { request: '0s', backendRequest: '0s' }, backendRefs: [{ name: DASHBOARD, port: 80 }] },
      ],
    });
    expect(objectOf(objects, 'HTTPRoute', 'penstock-gateway')?.spec).toMatchObject({
      hostnames: ['models.example.com'],
      rules: [{ backendRefs: [{ name: 'penstock-gateway', port: 80 }] }],
    });
    expect(objectOf(objects, 'Ingress')).toBeUndefined();
  });

  test('is another Gateway, if one is named', async () => {
    const parentRefs = [{ name: 'inside' }];
    const route = { enabled: true, parentRefs, hostnames: ['penstock.example.com'] };
    const objects = await render(target, { dashboard: { enabled: true, httpRoute: route } });
    expect(objectOf(objects, 'HTTPRoute')?.spec).toMatchObject({ parentRefs });
  });

  test('is the Ingress of the gateways, under another host name', async () => {
    const objects = await render(target, INGRESS);
    const service = { name: DASHBOARD, port: { name: 'http' } };
    expect(objectOf(objects, 'Ingress')).toMatchObject({
      metadata: { annotations: { 'example.com/owner': 'ai' } },
      spec: {
        ingressClassName: 'nginx',
        tls: [{ secretName: 'dashboard-tls', hosts: ['penstock.example.com'] }],
        rules: [{ host: 'penstock.example.com', http: { paths: [{ backend: { service } }] } }],
      },
    });
    expect(objectOf(objects, 'Service')).toMatchObject({
      metadata: { annotations: { 'example.com/idle': '4000' } },
      spec: { type: 'NodePort', ports: [{ name: 'http', port: 8080, targetPort: 'http' }] },
    });
  });
});

describe('Kubernetes and Prometheus', () => {
  test('call it on its own port, which no Service for people leads to', async () => {
    const objects = await render(target, ALONE);
    const [container] = deploymentOf(objects, DASHBOARD).template.spec.containers;
    const { settings } = await settingsIn(objects);
    expect(container.ports).toEqual([
      { name: 'http', containerPort: settings.port },
      { name: 'metrics', containerPort: settings.metricsPort },
    ]);
    expect(container).toMatchObject({
      startupProbe: { httpGet: { path: '/livez', port: 'metrics' } },
      livenessProbe: { httpGet: { path: '/livez', port: 'metrics' } },
      readinessProbe: { httpGet: { path: '/readyz', port: 'metrics' } },
    });
    expect(objectOf(objects, 'Service')?.spec).toMatchObject({ ports: [{ targetPort: 'http' }] });
  });

  test('scrape its metrics by either kind of monitor', async () => {
    const pods = await render(target, { ...ALONE, monitoring: { scrape: 'PodMonitor' } });
    const { labels } = deploymentOf(pods, DASHBOARD).template.metadata;
    expect(objectOf(pods, 'PodMonitor', 'penstock')?.spec).toMatchObject({
      selector: {
        matchExpressions: [
          {
            key: 'app.kubernetes.io/component',
            values: expect.arrayContaining([labels['app.kubernetes.io/component']]),
          },
        ],
      },
      podMetricsEndpoints: [{ port: 'metrics' }],
    });
    const services = await render(target, { ...ALONE, monitoring: { scrape: 'ServiceMonitor' } });
    expect(objectOf(services, 'Service', `${DASHBOARD}-metrics`)?.spec).toMatchObject({
      selector: { 'app.kubernetes.io/component': 'dashboard' },
      ports: [{ name: 'metrics', targetPort: 'metrics' }],
    });
    const without = await render(target, { monitoring: { scrape: 'ServiceMonitor' } });
    expect(objectOf(without, 'Service', `${DASHBOARD}-metrics`)).toBeUndefined();
  });
});

test('its process is in the image, with half of its memory for JavaScript', async () => {
  const { command } = deploymentOf(await render(target, ALONE), DASHBOARD).template.spec.containers[0];
  expect(command).toEqual(['node', '--max-old-space-size=256', 'dist/dashboard.js']);
  expect(image.files).toContain('dist/dashboard.js');
});

test('a node drain keeps one of two pods, and does not wait for a single pod', async () => {
  expect(objectOf(await render(target, EDGE), 'PodDisruptionBudget')?.spec).toMatchObject({
    minAvailable: 1,
  });
  expect(objectOf(await render(target, ALONE), 'PodDisruptionBudget')).toBeUndefined();
});

test('tenants can get the rights of the pages, without access to Secrets', async () => {
  for (const values of [{}, { rbac: { aggregate: false } }]) {
    const objects = await render(target, values);
    expect(objectOf(objects, 'ClusterRole', 'penstock-tenant')).toMatchObject({
      rules: [
        {
          apiGroups: ['penstock.dev'],
          resources: ['providers', 'modelroutes', 'apikeys'],
          verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
        },
        { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
      ],
    });
    expect(objectOf(objects, 'ClusterRole', 'penstock-tenant')?.metadata.labels).not.toHaveProperty(
      'rbac.authorization.k8s.io/aggregate-to-edit',
    );
  }
});
