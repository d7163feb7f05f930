// Does a real Prometheus find and read every process by the chart's monitors, and do its rules ring? The Prometheus operator, which makes
// a configuration of them, does not run: `scrapeOf` writes what it writes, for the fields that the chart sets.

import { writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { freePort } from '../cluster/free-port.ts';
import { createGatewayPod } from '../cluster/gateway-pods.ts';
import { writeKubeconfig } from '../cluster/identities.ts';
import type { RenderedObject } from '../cluster/install.ts';
import { askGateway } from '../flow/cluster/ask.ts';
import { type Installation, namespace, startInstallation } from '../flow/cluster/installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  provider,
} from '../flow/cluster/manifests.ts';
import { useSimulator } from '../flow/cluster/simulator.ts';
import { goModule } from '../support/go-module.ts';
import { goProgram } from '../support/go-tool.ts';
import { startProcess } from '../support/process.ts';
import { until } from '../support/until.ts';

const simulator = useSimulator();
let program: string;
let kinds: string[];
const everywhere = { PENSTOCK_HOST: '0.0.0.0' };

beforeAll(async () => {
  program = await goProgram({
    name: 'prometheus',
    folder: fileURLToPath(new URL('../support/prometheus/', import.meta.url)),
    package: 'github.com/prometheus/prometheus/cmd/prometheus',
    tags: ['remove_all_sd', 'enable_kubernetes_sd'],
  });
  const module = await goModule('github.com/prometheus-operator/prometheus-operator', 'v0.85.0');
  kinds = ['podmonitors', 'servicemonitors', 'prometheusrules'].map((plural) =>
    join(module, `example/prometheus-operator-crd/monitoring.coreos.com_${plural}.yaml`),
  );
});

test.each(['PodMonitor', 'ServiceMonitor'] as const)(
  'by the %s every process is read, every rule is evaluated, and an alert rings',
  async (scrape) => {
    await using parts = new AsyncDisposableStack();
    // EndpointSlices take no loopback address.
    const host = ownAddress();
    const installation = await startInstallation({
      ...{ operators: 1, gateways: 1, hasLedger: true, namespaces: ['team-a'], appliedBefore: kinds },
      ...{ gatewayIp: host, operatorEnv: everywhere, ledgerEnv: everywhere },
      plane: { hasControllers: true, moreControllers: ['endpointslice-controller'] },
      values: { monitoring: { scrape, intervalSeconds: 1, rules: { enabled: true } } },
    });
    parts.defer(() => installation.stop());
    const { apply, awaitCondition, gateways, plane } = installation;
    const [gateway] = gateways;
    if (gateway === undefined) throw new Error('there is no gateway');
    await showPods(installation, host);
    await apply(
      credentialSecret('team-a', 'sim', simulator().url, 'sk-one'),
      provider('team-a', 'sim', simulator().url, 'sim'),
      modelRoute('team-a', 'small', ['sim']),
      importedApiKey('team-a', 'bot'),
    );
    for (const ref of ['modelroute/small', 'apikey/bot']) await awaitCondition(ref, 'Programmed', 'team-a');
    expect((await askGateway(gateway, importedKey('team-a', 'bot'), 'small')).status).toBe(200);

    const ask = await startPrometheus(installation, scrape, parts);
    const targets = await until(async () => {
      const { activeTargets } = targetsSchema.parse(await ask('targets?state=active'));
      return (
        activeTargets.length >= 3 &&
        activeTargets.every(({ health }) => health !== 'unknown') &&
        activeTargets
      );
    });
    expect(targets.map(({ health, lastError }) => `${health} ${lastError}`)).toEqual(['up ', 'up ', 'up ']);
    expect(
      targets.map(({ labels }) => /operator|gateway|ledger/.exec(labels.pod ?? '')?.[0]).toSorted(),
    ).toEqual(['gateway', 'ledger', 'operator']);
    const served = `sum(penstock_requests_total{namespace="${namespace}",pod=~"penstock-gateway-.*",status="200"})`;
    await until(async () => {
      const { result } = vectorSchema.parse(await ask(`query?query=${encodeURIComponent(served)}`));
      return result[0]?.value[1] === '1';
    });

    const rendered = installation.rendered.find(({ kind }) => kind === 'PrometheusRule');
    const wanted = rulesIn(rendered);
    const evaluated = await until(async () => {
      const { groups } = rulesSchema.parse(await ask('rules'));
      const rules = groups.flatMap((group) => group.rules);
      return rules.length > 0 && rules.every(({ health }) => health !== 'unknown') && rules;
    });
    expect(evaluated.filter(({ health }) => health !== 'ok')).toEqual([]);
    expect(evaluated.map(({ name }) => name).toSorted()).toEqual(wanted.toSorted());
    const ringing = async () => {
      const { alerts } = alertsSchema.parse(await ask('alerts'));
      return alerts.flatMap(({ labels, state }) => (state === 'firing' ? [labels.alertname] : []));
    };
    expect(await ringing()).toEqual([]);
    // What it serves with is in its last good form from now on.
    await plane.mustKubectl(['delete', 'secret', 'sim', '-n', 'team-a']);
    await until(async () => (await ringing()).includes('PenstockFormsHeld'));
    console.log(`${scrape}: ${targets.length} targets up, ${evaluated.length} rules evaluated`);
  },
);

const labelsSchema = z.record(z.string(), z.string());
const targetsSchema = z.object({
  activeTargets: z.array(z.object({ labels: labelsSchema, health: z.string(), lastError: z.string() })),
});
const vectorSchema = z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) });
const rulesSchema = z.object({
  groups: z.array(
    z.object({
      rules: z.array(z.object({ name: z.string(), health: z.string(), lastError: z.string().optional() })),
    }),
  ),
});
const alertsSchema = z.object({ alerts: z.array(z.object({ labels: labelsSchema, state: z.string() })) });
const answerSchema = z.object({ status: z.literal('success'), data: z.unknown() });

/** @returns asks its HTTP API. */
async function startPrometheus(
  { plane, rendered }: Installation,
  scrape: string,
  parts: AsyncDisposableStack,
): Promise<(path: string) => Promise<unknown>> {
  const find = (kind: string) => rendered.find((object) => object.kind === kind);
  const kubeconfig = await writeKubeconfig(plane, `prometheus-${scrape}`, plane.adminToken);
  const folder = plane.folder;
  await writeFile(join(folder, 'rules.yml'), JSON.stringify(specOf(find('PrometheusRule'))));
  const config = {
    global: { evaluation_interval: '1s' },
    rule_files: ['rules.yml'],
    scrape_configs: [scrapeOf(find(scrape), kubeconfig)],
  };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const address = `127.0.0.1:${await freePort('127.0.0.1')}`;
  const process = await startProcess(`--config.file=${join(folder, 'prometheus.yml')}`, {
    command: program,
    cwd: folder,
    args: [`--storage.tsdb.path=${join(folder, 'tsdb')}`, `--web.listen-address=${address}`],
  });
  parts.defer(async () => void (await process.stop(20_000)));
  await process.answering(`http://${address}/-/ready`);
  return async (path) =>
    answerSchema.parse(await (await fetch(`http://${address}/api/v1/${path}`)).json()).data;
}

const requirement = z.object({ key: z.string(), operator: z.literal('In'), values: z.array(z.string()) });
const endpoint = z.strictObject({ port: z.string(), path: z.string(), interval: z.string() });
const monitorSchema = z.strictObject({
  selector: z.strictObject({
    matchLabels: labelsSchema,
    matchExpressions: z.array(requirement).default([]),
  }),
  endpoints: z.array(endpoint).length(1).optional(),
  podMetricsEndpoints: z.array(endpoint).length(1).optional(),
});

/** As the Prometheus operator translates a monitor. @throws where it has a field that is not known here. */
function scrapeOf(monitor: RenderedObject | undefined, kubeconfig: string): object {
  const { selector, endpoints, podMetricsEndpoints } = monitorSchema.parse(specOf(monitor));
  const [at] = podMetricsEndpoints ?? endpoints ?? [];
  if (monitor === undefined || at === undefined) throw new Error('the chart has no such monitor');
  const isOfPods = podMetricsEndpoints !== undefined;
  const of = isOfPods ? 'pod' : 'service';
  const wanted = [
    ...Object.entries(selector.matchLabels).map(([key, value]) => ({ key, values: [value] })),
    ...selector.matchExpressions,
  ];
  return {
    job_name: `${monitor.kind}/${monitor.metadata.namespace}/${monitor.metadata.name}`,
    scrape_interval: at.interval,
    scrape_timeout: at.interval,
    metrics_path: at.path,
    kubernetes_sd_configs: [
      {
        role: isOfPods ? 'pod' : 'endpointslice',
        kubeconfig_file: kubeconfig,
        namespaces: { names: [monitor.metadata.namespace] },
      },
    ],
    relabel_configs: [
      ...wanted.map(({ key, values }) => ({
        action: 'keep',
        source_labels: [`__meta_kubernetes_${of}_label_${key.replaceAll(/[^a-zA-Z0-9]/g, '_')}`],
        regex: values.join('|'),
      })),
      {
        action: 'keep',
        source_labels: [
          isOfPods
            ? '__meta_kubernetes_pod_container_port_name'
            : '__meta_kubernetes_endpointslice_port_name',
        ],
        regex: at.port,
      },
      { action: 'drop', source_labels: ['__meta_kubernetes_pod_phase'], regex: '(Failed|Succeeded)' },
      { source_labels: ['__meta_kubernetes_namespace'], target_label: 'namespace' },
      { source_labels: ['__meta_kubernetes_pod_name'], target_label: 'pod' },
    ],
  };
}

function specOf(object: RenderedObject | undefined): unknown {
  return object?.spec;
}

function rulesIn(rule: RenderedObject | undefined): string[] {
  const rules = z.array(z.object({ alert: z.string().optional(), record: z.string().optional() }));
  const spec = z.object({ groups: z.array(z.object({ rules })) }).parse(specOf(rule));
  return spec.groups.flatMap((group) => group.rules.map(({ alert, record }) => alert ?? record ?? ''));
}

/** Only gateways have a Pod here; those of the operator and the ledger are made for their ports. */
async function showPods({ plane, operators, ledger }: Installation, ip: string): Promise<void> {
  for (const [component, name, metricsUrl] of [
    ...operators.map((operator) => ['operator', operator.name, operator.metricsUrl] as const),
    ['ledger', 'penstock-ledger-0', ledger().metricsUrl] as const,
  ]) {
    const labels = {
      'app.kubernetes.io/name': 'penstock',
      'app.kubernetes.io/instance': 'penstock',
      'app.kubernetes.io/component': component,
    };
    const pod = await createGatewayPod(plane, {
      ...{ namespace, name, labels, ip, internalPort: 1 },
      metricsPort: Number(new URL(metricsUrl).port),
    });
    await pod.setReady(true);
  }
}

function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const own = addresses.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (own === undefined) throw new Error('this machine has no address beside loopback; give it one');
  return own.address;
}
