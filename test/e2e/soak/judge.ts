// Is everything where it should be, now that it is quiet? What the objects say is compiled by somebody who has just come and
// remembers nothing; table, gateways and statuses must say the same.

import { systemClock } from '../../../core/clock.ts';
import { isRecord } from '../../../core/kube/object.ts';
import { canonicalJson } from '../../../operator/canonical-json.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { Verdict } from '../../../operator/compile/verdict.ts';
import { openTableStore } from '../../../operator/publish/table-store.ts';
import { readSettings } from '../../../operator/settings.ts';
import { openCluster } from '../../../operator/watch/cluster.ts';
import type { RawObject, RawPolicy } from '../../../operator/watch/snapshot.ts';
import type { ControlPlane } from '../../cluster/control-plane.ts';
import {
  type GatewayProcess,
  namespace,
  type OperatorProcess,
  release,
  tableNamespace,
} from '../../flow/cluster/installation.ts';
import { readMetrics } from '../../flow/cluster/readings.ts';
import { tenantPolicy } from '../../operator/make.ts';

export interface Judged {
  readonly plane: ControlPlane;
  readonly gateways: readonly GatewayProcess[];
  readonly operators: Iterable<OperatorProcess>;
  /** By key. */
  readonly expectedKeys: ReadonlyMap<string, boolean>;
  /** Whom the installation takes for the platform, and where it may send requests: as it was installed. */
  readonly values: {
    readonly platformNamespaces: readonly string[];
    readonly egress: {
      readonly allow: readonly { readonly cidr: string; readonly namespaces: readonly string[] }[];
    };
  };
}

/** As the chart makes them. */
function policiesOf({ platformNamespaces, egress }: Judged['values']): readonly RawPolicy[] {
  return [
    tenantPolicy({ role: 'Platform', namespaces: { names: platformNamespaces } }, { name: 'platform' }),
    ...egress.allow.map(({ cidr, namespaces }, at) =>
      tenantPolicy(
        {
          egress: { allow: [cidr] },
          namespaces: namespaces.includes('*') ? { selector: {} } : { names: namespaces },
        },
        { name: `egress-${at}` },
      ),
    ),
  ];
}

/** What is not as it should be; empty: all is well. */
export async function judge(judged: Judged): Promise<string[]> {
  const { plane, values } = judged;
  const { platform } = readSettings({
    PENSTOCK_NAMESPACE: namespace,
    PENSTOCK_TABLE_NAMESPACE: tableNamespace,
    PENSTOCK_GATEWAY_SELECTOR: 'app=gateway',
    PENSTOCK_POD_NAME: 'judge',
    PENSTOCK_BASE_URL: 'http://penstock.test/v1',
  });
  const cluster = openCluster({
    client: plane.client,
    clock: systemClock,
    random: Math.random,
    tenantNamespaces: [],
    instance: release,
    namespace,
    tableNamespace,
    gatewaySelector: 'app=gateway',
    platform,
    policies: policiesOf(values),
    onChange: () => {},
    onTrouble: () => {},
  });
  try {
    await cluster.synced;
    const { table, verdicts } = createCompiler()(cluster.snapshot(), Date.now());
    const store = openTableStore({ client: plane.client, instance: release, tableNamespace });
    const pointer = await store.readPointer();
    if (pointer?.manifest.kind !== 'readable') return ['the pointer cannot be read'];
    const { manifest } = pointer.manifest;
    const { content, problems } = await store.readShards(manifest);
    const differing = (['providers', 'credentials', 'routes', 'keys', 'settings'] as const).filter(
      (part) => canonicalJson(content[part]) !== canonicalJson(table[part]),
    );
    return [
      ...problems.map(({ message }) => message),
      ...differing.map((part) => `the ${part} of the table are not what the objects say`),
      ...verdicts.flatMap((verdict) =>
        untruths(verdict, cluster.object(verdict.kind, verdict.namespace, verdict.name)),
      ),
      ...(await Promise.all(judged.gateways.map((one) => whyNotCurrent(one, manifest.generation)))).flat(),
      ...(await wrongAnswers(judged)),
      ...(await unfinished(judged.operators)),
    ];
  } finally {
    await cluster.close();
  }
}

/** What the status of an object says that is not so. */
function untruths(verdict: Verdict, object: RawObject | undefined): string[] {
  const name = `${verdict.kind} ${verdict.namespace}/${verdict.name}`;
  const status = isRecord(object?.status) ? object.status : {};
  const conditions = Array.isArray(status.conditions) ? status.conditions.filter(isRecord) : [];
  const find = (type: string) => conditions.find((one) => one.type === type);
  const wanted = verdict.isInTable
    ? [...verdict.conditions, { type: 'Programmed', status: 'True', reason: 'Programmed' }]
    : verdict.conditions;
  return [
    ...(status.observedGeneration === verdict.generation ? [] : [`${name} learns of an older generation`]),
    ...wanted.flatMap(({ type, status: value, reason }) => {
      const said = find(type);
      if (said?.status === value && said.reason === reason) return [];
      return [`${name}: ${type} is ${value}/${reason}, and said to be ${said?.status}/${said?.reason}`];
    }),
    ...(find('Reconciling') === undefined ? [] : [`${name} is still said to be in flight`]),
  ];
}

async function whyNotCurrent({ name, metricsUrl }: GatewayProcess, generation: number): Promise<string[]> {
  const metrics = await readMetrics(metricsUrl);
  const runs = metrics('penstock_table_generation');
  return runs === generation ? [] : [`${name} runs table generation ${runs}, and ${generation} is in use`];
}

/** Whether each key works or not on each gateway. */
async function wrongAnswers({ gateways, expectedKeys }: Judged): Promise<string[]> {
  const asked = gateways.flatMap(({ name, url }) =>
    [...expectedKeys].map(async ([key, works]) => {
      const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
      await answer.arrayBuffer();
      const wanted = works ? 200 : 401;
      return answer.status === wanted ? [] : [`${name} answers ${answer.status} to a key, not ${wanted}`];
    }),
  );
  return (await Promise.all(asked)).flat();
}

async function unfinished(operators: Iterable<OperatorProcess>): Promise<string[]> {
  const found: string[] = [];
  for (const { name, metricsUrl } of operators) {
    const metrics = await readMetrics(metricsUrl);
    for (const metric of ['workqueue_depth', 'controller_runtime_active_workers']) {
      const value = metrics(metric);
      if (value > 0) found.push(`${name}: ${metric} is ${value}`);
    }
  }
  return found;
}

/** Of the API server: watches that are open, by what is watched. */
export async function openWatches(plane: Pick<ControlPlane, 'mustKubectl'>): Promise<Map<string, number>> {
  const metrics = await plane.mustKubectl(['get', '--raw', '/metrics']);
  const watches = new Map<string, number>();
  for (const line of metrics.split('\n')) {
    if (!line.startsWith('apiserver_longrunning_requests{') || !line.includes('verb="WATCH"')) continue;
    const resource = /resource="([^"]*)"/.exec(line)?.[1] ?? '';
    const count = Number(line.slice(line.lastIndexOf(' ') + 1));
    watches.set(resource, (watches.get(resource) ?? 0) + count);
  }
  return watches;
}
