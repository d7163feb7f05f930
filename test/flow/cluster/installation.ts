// A whole Penstock on a real API server: the chart's objects applied, and operators and gateways as processes with the
// environment that its workloads give them, each under its own ServiceAccount and with nothing more.

import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { z } from 'zod';
import { policyObjects } from '../../charts/parts.ts';
import { readForbidden } from '../../cluster/audit.ts';
import { builtCheckout } from '../../cluster/checkout.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from '../../cluster/control-plane.ts';
import { freePort } from '../../cluster/free-port.ts';
import { claimPodIp, createGatewayPod, type GatewayPod } from '../../cluster/gateway-pods.ts';
import {
  serverEnvironment,
  serviceAccountToken,
  writeKubeconfig,
  writeServiceAccountFolder,
} from '../../cluster/identities.ts';
import { applyChart, type RenderedObject } from '../../cluster/install.ts';
import { apply, awaitCondition, createNamespace } from '../../cluster/objects.ts';
import { clusterWaitMs } from '../../cluster/shared.ts';
import { type RunningProcess, startProcess } from '../../support/process.ts';
import { expectKept, type Searched, watchSecrecy } from './secrecy.ts';

/** What is installed: a chart, and the programs that its pods would run. */
export interface Build {
  /** Its folder; default: the one of this checkout. */
  readonly chart?: string;
  /** Scripts. */
  readonly operator: string;
  readonly gateway: string;
  /** Left out where the build has none. */
  readonly ledger?: string;
}

export const release = 'penstock';
export const namespace = 'penstock-system';
export const tableNamespace = 'penstock-tables';

export interface InstallationOptions {
  /** Default 2. */
  readonly operators?: number;
  /** Default 3. */
  readonly gateways?: number;
  /** Default: none runs, records stay with the gateways, and no operator asks for one. */
  readonly hasLedger?: boolean;
  /** Values of the chart, beside those that tests need: loopback is open to all, `platform` is the platform. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** With `host`, all of Penstock listens there alone, and one gateway at most can run. */
  readonly plane?: ControlPlaneOptions;
  /** Of the gateway, of which there is one at most; default: each has a loopback address of its own. */
  readonly gatewayIp?: string;
  /** What is between all operators and gateways and the API server; gives its address. */
  way?(plane: ControlPlane): Promise<{ readonly url: string; close(): Promise<void> }>;
  /** Made before the chart, which may bind roles in them. */
  readonly namespaces?: readonly string[];
  /** Files of manifests that somebody applied before the chart. */
  readonly appliedBefore?: readonly string[];
  /** Default: this checkout. */
  readonly build?: Build;
  /** On top of the rendered environment of every operator. */
  readonly operatorEnv?: Readonly<Record<string, string>>;
  /** On top of the rendered environment of every gateway. */
  readonly gatewayEnv?: Readonly<Record<string, string>>;
  /** On top of the rendered environment of the ledger. */
  readonly ledgerEnv?: Readonly<Record<string, string>>;
  /**
   * `stop` does not mind what was forbidden: rights are taken away on purpose, quotas are filled, or the API server is started
   * again, which forbids everything in the moments before it has read the roles.
   */
  readonly losesRights?: boolean;
  /** What `stop` has searched for values of Secrets. */
  onSearched?(searched: Searched): void;
}

export interface OperatorProcess {
  readonly name: string;
  readonly process: RunningProcess;
  readonly metricsUrl: string;
}

export interface GatewayProcess {
  readonly name: string;
  readonly pod: GatewayPod;
  process: RunningProcess;
  /** Origin of the client-facing server. */
  url: string;
  /** Base URL for OpenAI clients. */
  baseUrl: string;
  metricsUrl: string;
  /** Of the pod: table copy and journal outlive the container. */
  readonly folder: string;
}

export interface LedgerProcess {
  readonly process: RunningProcess;
  /** Of the read API. */
  readonly url: string;
  readonly metricsUrl: string;
  /** Its SQLite. */
  readonly file: string;
}

export interface Installation {
  readonly plane: ControlPlane;
  /** Of the chart that was applied last. */
  readonly rendered: readonly RenderedObject[];
  readonly operators: readonly OperatorProcess[];
  readonly gateways: readonly GatewayProcess[];
  /** @throws where none was asked for. */
  ledger(): LedgerProcess;
  /** Applies the chart of another build. What runs goes on; what is started from now on is of that one. */
  changeTo(build: Build): Promise<void>;
  /** One more replica; settled when it runs. Its environment may be changed. */
  startOperator(env?: Readonly<Record<string, string>>): Promise<OperatorProcess>;
  /**
   * One more pod; settled when its process listens. Its Pod is ready when `/readyz` says so.
   *
   * @param hasTls false: as of a release that has no TLS inside the cluster.
   */
  startGateway(hasTls?: boolean): Promise<GatewayProcess>;
  /** Another ledger, with a store of its own; settled when it runs. */
  startLedger(): Promise<LedgerProcess>;
  /** The container again, in the same pod; the process before must have ended. Its environment may be changed. */
  restartGateway(gateway: GatewayProcess, env?: Readonly<Record<string, string>>): Promise<void>;
  /** As `kubectl apply --server-side`. @throws with what the API server said. */
  apply(...objects: readonly object[]): Promise<void>;
  /** As `kubectl wait --for=condition=…`. @param ref such as `modelroute/small`. @param seconds Default 20. */
  awaitCondition(ref: string, condition: string, inNamespace: string, seconds?: number): Promise<void>;
  /** Settled when each gateway that was started serves a table and its pod says so, or has ended: before it no change waits for it. */
  gatewaysAreReady(): Promise<void>;
  /** As `stop` does for all that run: for those that are to be killed before. */
  readMetrics(): Promise<void>;
  /** @throws where an operator or a gateway was ever forbidden anything, or a value of a Secret was shown, once all has ended. */
  stop(): Promise<void>;
}

async function thisCheckout(): Promise<Build> {
  const dist = await builtCheckout();
  return {
    operator: join(dist, 'operator.js'),
    gateway: join(dist, 'gateway.js'),
    ledger: join(dist, 'ledger.js'),
  };
}

/** One installation for all tests of a file. */
export function useInstallation(options: InstallationOptions = {}): () => Installation {
  let installation: Installation | undefined;
  beforeAll(async () => {
    installation = await startInstallation(options);
  }, clusterWaitMs);
  afterAll(() => installation?.stop(), 60_000);
  return () => {
    if (installation === undefined)
      throw new Error('the installation is there only while tests and hooks run');
    return installation;
  };
}

/** Operators and gateways are up when it is settled; gateways are ready too where an operator gives them a first table. */
export async function startInstallation(options: InstallationOptions = {}): Promise<Installation> {
  const parts = new AsyncDisposableStack();
  try {
    return await startParts(options, parts);
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
}

/** What is started later, by a test, ends with the rest. */
async function startParts(options: InstallationOptions, parts: AsyncDisposableStack): Promise<Installation> {
  // Most tests delete nothing that others own, and starting the controllers takes seconds.
  const plane = await startControlPlane({ hasControllers: false, ...options.plane });
  parts.defer(() => plane.stop());
  const way = await options.way?.(plane);
  parts.defer(() => way?.close());
  const seenPlane = { ...plane, url: way?.url ?? plane.url };
  const secrecy = watchSecrecy(plane.client);
  parts.defer(() => secrecy.close());
  // By then the processes have ended, and the log and the journals have not gone yet.
  let isWhole = false;
  parts.defer(async () => {
    if (!isWhole) return;
    await secrecy.readCluster();
    const searched = await secrecy.searched();
    options.onSearched?.(searched);
    expectKept(searched);
    if (options.losesRights !== true) await expectNothingForbidden(plane);
  });
  for (const name of options.namespaces ?? []) await createNamespace(plane.client, name);
  for (const file of options.appliedBefore ?? [])
    await plane.mustKubectl(['apply', '--server-side', '--filename', file]);
  /** Mounted into operators. */
  const policiesFile = join(plane.folder, 'tenant-policies.json');
  const install = async (build: Build) => {
    const values = {
      platformNamespaces: ['platform', 'default'],
      egress: { allow: [{ cidr: '127.0.0.0/8', namespaces: ['*'] }] },
      ...options.values,
    };
    const rendered = await applyChart(plane, { release, namespace, values, chart: build.chart });
    await writeFile(policiesFile, JSON.stringify(policyObjects(rendered)));
    return {
      rendered,
      ledger: build.ledger,
      operator: { script: build.operator, spec: workloadOf(rendered, 'operator') },
      gateway: { script: build.gateway, spec: workloadOf(rendered, 'gateway') },
    };
  };
  let installed = await install(options.build ?? (await thisCheckout()));
  const { rendered } = installed;
  const operators: OperatorProcess[] = [];
  const gateways: GatewayProcess[] = [];
  let counter = 0;
  const { host = '127.0.0.1' } = options.plane ?? {};
  const ledgerPort = options.hasLedger === true ? await freePort(host) : undefined;
  const ledgerAddress =
    ledgerPort === undefined ? undefined : `http://${isIPv6(host) ? `[${host}]` : host}:${ledgerPort}`;
  const ledgerTlsPort = ledgerPort === undefined ? undefined : await freePort(host);
  // As the chart says it, if it does; of the names in the certificate the one that leads here.
  const ledgerTlsAddress = ({ env }: WorkloadFacts): string | undefined =>
    ledgerTlsPort !== undefined && env.some(({ name }) => name === 'PENSTOCK_LEDGER_TLS_ADDRESS')
      ? `https://localhost:${ledgerTlsPort}`
      : undefined;

  const startOperator = async (env: Readonly<Record<string, string>> = {}): Promise<OperatorProcess> => {
    const name = `${release}-operator-${counter++}`;
    const { script, spec } = installed.operator;
    const token = await serviceAccountToken(plane, namespace, spec.serviceAccount);
    const process = await startProcess(script, {
      cwd: plane.folder,
      env: {
        ...environmentOf(spec, { 'metadata.name': name, 'status.podIP': host }),
        PENSTOCK_HOST: host,
        PENSTOCK_METRICS_PORT: '0',
        PENSTOCK_TENANT_POLICIES_FILE: policiesFile,
        KUBECONFIG: await writeKubeconfig(seenPlane, name, token),
        PENSTOCK_LEDGER_ADDRESS: ledgerAddress ?? '',
        PENSTOCK_LEDGER_TLS_ADDRESS: ledgerTlsAddress(spec) ?? '',
        ...options.operatorEnv,
        ...env,
      },
    });
    parts.defer(async () => void (await process.stop(20_000)));
    secrecy.onProcess(name, process);
    const said = z
      .object({ metricsUrl: z.string() })
      .parse(JSON.parse(await process.line(/operator started/)));
    secrecy.onMetrics(name, said.metricsUrl);
    const operator = { name, process, metricsUrl: said.metricsUrl };
    operators.push(operator);
    return operator;
  };

  const runGateway = async (
    { script, spec }: typeof installed.gateway,
    name: string,
    ip: string,
    { port, tlsPort, metricsPort }: GatewayPorts,
    folder: string,
    accountFolder: string,
    env: Readonly<Record<string, string>> = {},
  ) => {
    const {
      PENSTOCK_LEDGER_ADDRESS: _,
      PENSTOCK_LEDGER_TLS_ADDRESS: __,
      PENSTOCK_INTERNAL_TLS_PORT: ___,
      ...asRendered
    } = environmentOf(spec, { 'metadata.name': name, 'status.podIP': ip });
    const tlsAddress = ledgerTlsAddress(spec);
    const process = await startProcess(script, {
      cwd: folder,
      env: {
        ...asRendered,
        ...serverEnvironment(seenPlane),
        PENSTOCK_HOST: ip,
        PENSTOCK_PORT: '0',
        PENSTOCK_METRICS_PORT: String(metricsPort),
        PENSTOCK_INTERNAL_PORT: String(port),
        ...(tlsPort === undefined ? {} : { PENSTOCK_INTERNAL_TLS_PORT: String(tlsPort) }),
        PENSTOCK_TABLE_COPY_DIR: join(folder, 'table'),
        PENSTOCK_JOURNAL_DIR: join(folder, 'journal'),
        PENSTOCK_DRAIN_ACCEPT_MS: '0',
        // Tests ask many times whether a key is still good, all from one address.
        PENSTOCK_FAILED_KEYS_PER_MINUTE: '0',
        PENSTOCK_SERVICE_ACCOUNT_DIR: accountFolder,
        // Where none runs, none is waited for.
        ...(ledgerAddress === undefined ? {} : { PENSTOCK_LEDGER_ADDRESS: ledgerAddress }),
        ...(tlsAddress === undefined || tlsPort === undefined
          ? {}
          : { PENSTOCK_LEDGER_TLS_ADDRESS: tlsAddress }),
        ...options.gatewayEnv,
        ...env,
      },
    });
    parts.defer(async () => void (await process.stop()));
    secrecy.onProcess(name, process);
    const line = await process.line(/gateway listening/);
    const { url, metricsUrl } = z.object({ url: z.string(), metricsUrl: z.string() }).parse(JSON.parse(line));
    secrecy.onMetrics(name, metricsUrl);
    return { process, url, metricsUrl, baseUrl: `${url}/v1` };
  };

  const announced: Promise<void>[] = [];
  /** The readiness probe, without its period. */
  const tellReady = (gateway: GatewayProcess): void => {
    const ready = gateway.process.answering(`${gateway.metricsUrl}/readyz`).then(
      () => gateway.pod.setReady(true).catch(() => {}),
      () => {
        // It ended before.
      },
    );
    announced.push(ready);
  };
  const gatewaysAreReady = async (): Promise<void> => void (await Promise.all(announced));

  const startGateway = async (mayHaveTls = true): Promise<GatewayProcess> => {
    const name = `${release}-gateway-${counter++}`;
    const folder = await mkdtemp(join(plane.folder, `${name}-`));
    await mkdir(join(folder, 'table'));
    secrecy.onFolder(name, folder);
    const ip = options.gatewayIp ?? options.plane?.host ?? (await claimPodIp(plane));
    const program = installed.gateway;
    const hasTls =
      mayHaveTls && program.spec.env.some(({ name: one }) => one === 'PENSTOCK_INTERNAL_TLS_PORT');
    const ports = {
      port: await freePort(ip),
      tlsPort: hasTls ? await freePort(ip) : undefined,
      metricsPort: await freePort(ip),
    };
    const labels = program.spec.podLabels;
    const token = await serviceAccountToken(plane, namespace, program.spec.serviceAccount);
    const accountFolder = await writeServiceAccountFolder(plane, name, { token, namespace });
    const pod = await createGatewayPod(plane, {
      ...{ namespace, name, labels, ip },
      internalPort: ports.port,
      internalTlsPort: ports.tlsPort,
      metricsPort: ports.metricsPort,
    });
    const running = await runGateway(program, name, ip, ports, folder, accountFolder);
    const gateway = { name, pod, folder, ...running };
    volumes.set(gateway, { program, ports, accountFolder });
    gateways.push(gateway);
    tellReady(gateway);
    return gateway;
  };
  const startLedger = async (port: number, tlsPort: number): Promise<LedgerProcess> => {
    const name = `${release}-ledger-0`;
    const script = installed.ledger;
    if (script === undefined) throw new Error('this build has no ledger');
    const spec = workloadOf(rendered, 'ledger');
    const folder = await mkdtemp(join(plane.folder, `${name}-`));
    secrecy.onFolder(name, folder);
    const file = join(folder, 'ledger.sqlite');
    const token = await serviceAccountToken(plane, namespace, spec.serviceAccount);
    const process = await startProcess(script, {
      cwd: folder,
      env: {
        ...environmentOf(spec, { 'metadata.name': name }),
        PENSTOCK_HOST: host,
        PENSTOCK_PORT: String(port),
        PENSTOCK_TLS_PORT: spec.env.some(({ name: one }) => one === 'PENSTOCK_TLS_PORT')
          ? String(tlsPort)
          : '',
        PENSTOCK_METRICS_PORT: '0',
        PENSTOCK_LEDGER_FILE: file,
        KUBECONFIG: await writeKubeconfig(seenPlane, name, token),
        ...options.ledgerEnv,
      },
    });
    parts.defer(async () => void (await process.stop(20_000)));
    secrecy.onProcess(name, process);
    const said = z
      .object({ url: z.string(), metricsUrl: z.string() })
      .parse(JSON.parse(await process.line(/ledger started/)));
    secrecy.onMetrics(name, said.metricsUrl);
    return { process, file, ...said };
  };
  let ledger: LedgerProcess | undefined;

  const volumes = new Map<
    GatewayProcess,
    {
      readonly program: typeof installed.gateway;
      readonly ports: GatewayPorts;
      readonly accountFolder: string;
    }
  >();

  await Promise.all([
    ...Array.from({ length: options.operators ?? 2 }, () => startOperator()),
    ...Array.from({ length: options.gateways ?? 3 }, () => startGateway()),
  ]);
  if (ledgerPort !== undefined && ledgerTlsPort !== undefined)
    ledger = await startLedger(ledgerPort, ledgerTlsPort);
  if (operators.length > 0) await gatewaysAreReady();
  isWhole = true;

  return {
    plane,
    get rendered() {
      return installed.rendered;
    },
    operators,
    gateways,
    ledger() {
      if (ledger === undefined) throw new Error('the installation was made without a ledger');
      return ledger;
    },
    async changeTo(build) {
      installed = await install(build);
    },
    startOperator,
    startGateway,
    startLedger: async () => startLedger(await freePort(host), await freePort(host)),
    async restartGateway(gateway, env) {
      const volume = volumes.get(gateway);
      if (volume === undefined) throw new Error(`${gateway.name} is no gateway of this installation`);
      const { name, pod, folder } = gateway;
      const { program, ports, accountFolder } = volume;
      Object.assign(gateway, await runGateway(program, name, pod.ip, ports, folder, accountFolder, env));
      tellReady(gateway);
    },
    async apply(...objects) {
      for (const object of objects) await apply(plane.client, object);
    },
    awaitCondition: (ref, condition, inNamespace, seconds = 20) =>
      awaitCondition(plane.client, ref, inNamespace, condition, seconds * 1_000),
    gatewaysAreReady,
    readMetrics: () => secrecy.readMetrics(),
    async stop() {
      await secrecy.readMetrics();
      await parts.disposeAsync();
    },
  };
}

/** Rights that are missing show here in whatever a test does. */
async function expectNothingForbidden(plane: ControlPlane): Promise<void> {
  const users = ['operator', 'gateway', 'ledger'].map(
    (component) => `system:serviceaccount:${namespace}:${release}-${component}`,
  );
  const forbidden = await readForbidden(plane.auditFile, new Set(users));
  if (forbidden.length === 0) return;
  const shown = forbidden.slice(0, 20).join('\n');
  throw new Error(
    `${forbidden.length} requests were answered with 403; give the account the right, or say losesRights:\n${shown}`,
  );
}

const workloadSchema = z.object({
  spec: z.object({
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.object({
        serviceAccountName: z.string(),
        containers: z
          .array(
            z.object({
              env: z.array(
                z.object({
                  name: z.string(),
                  value: z.string().optional(),
                  valueFrom: z.object({ fieldRef: z.object({ fieldPath: z.string() }) }).optional(),
                }),
              ),
            }),
          )
          .length(1),
      }),
    }),
  }),
});

/** Those that its Pod names. */
interface GatewayPorts {
  /** Of the exchange. */
  readonly port: number;
  /** Undefined: the build has no TLS. */
  readonly tlsPort: number | undefined;
  readonly metricsPort: number;
}

interface WorkloadFacts {
  readonly serviceAccount: string;
  readonly podLabels: Readonly<Record<string, string>>;
  readonly env: z.infer<typeof workloadSchema>['spec']['template']['spec']['containers'][number]['env'];
}

function workloadOf(rendered: readonly RenderedObject[], component: string): WorkloadFacts {
  const name = `${release}-${component}`;
  const found = rendered.find(
    ({ kind, metadata }) => ['Deployment', 'StatefulSet'].includes(kind) && metadata.name === name,
  );
  if (found === undefined) throw new Error(`the chart renders no workload ${name}`);
  const { template } = workloadSchema.parse(found).spec;
  const [container] = template.spec.containers;
  return {
    serviceAccount: template.spec.serviceAccountName,
    podLabels: template.metadata.labels,
    env: container?.env ?? [],
  };
}

/** As the kubelet would set it. */
function environmentOf(
  { env }: WorkloadFacts,
  fields: Readonly<Record<string, string>>,
): Record<string, string> {
  const known = { 'metadata.namespace': namespace, ...fields };
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => [
      name,
      value ?? known[(valueFrom?.fieldRef.fieldPath ?? '') as keyof typeof known] ?? '',
    ]),
  );
}
