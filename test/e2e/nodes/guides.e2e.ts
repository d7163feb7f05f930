// Does what the guides say of the life of an installation work as it is pasted? Install, demo, upgrade, rollback and a drain under load,
// backup, restore, SQLite to Postgres, and uninstall, on nodes whose network enforces NetworkPolicies, with either Helm.

import { mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { planeAddress } from '../../cluster/nodes/network.ts';
import { pasted } from '../../cluster/pasted.ts';
import { type Postgres, startPostgres } from '../../ledger/postgres.ts';
import { goTool, helm4 } from '../../support/go-tool.ts';
import { guideBlock, guideCommand } from '../../support/guide-commands.ts';
import { until } from '../../support/until.ts';
import { type OwnedCluster, openTeam, startLoad } from './load.ts';
import { openOwnNodes } from './own-nodes.ts';
import { awaitState, demoKey, gatewayService, inRelease, ourKinds, remainsOf } from './release.ts';
import { stopwatch } from './stopwatch.ts';

const say = (line: string) => process.stderr.write(`nodes: ${line}\n`);
const ledger = 'deployment/penstock-ledger';
const databaseOf = (which: string) => which.toLowerCase().replace(' ', '');

let cluster: OwnedCluster;
let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
});
afterEach(() => cluster?.stop());
afterAll(() => postgres?.close());

async function open(which: string): Promise<void> {
  cluster = await openOwnNodes({ say });
  if (which === 'Helm 4') {
    const helm = join(cluster.folder, 'helm-4', 'helm');
    await mkdir(dirname(helm));
    await symlink(await goTool(helm4), helm);
    cluster = { ...cluster, programs: { ...cluster.programs, helm } };
  }
  say(await paste('helm version --short'));
  await postgres.createDatabase(databaseOf(which));
  // The node that is drained is the other one.
  await makeVolumes('node-2', ['first', 'second', 'backups']);
}

test.each(['Helm 3', 'Helm 4'])(
  'an installation lives and ends as the guides say, with %s',
  async (which) => {
    await open(which);
    const install = (await guideBlock('helm install penstock charts/penstock'))
      .replace(/^docker build .*\n/m, '')
      .replaceAll('registry.example.com/penstock', 'penstock');
    // What a load of ours needs, in the words of the guide.
    const more = `--set 'egress.allow[0].cidr=${planeAddress}/32' --set 'egress.allow[0].namespaces={load}'`;
    const installed = await paste(
      install.replace('--set demo.enabled=true', `--set demo.enabled=true ${more}`),
    );
    expect(installed).toMatch(/model demo streamed: \S/);
    const url = await cluster.reach(gatewayService);
    expect(await ask(url, await demoKey(cluster))).toBe(200);

    const key = await openTeam(cluster);
    const load = await startLoad(cluster, 'guides', { key, requestsPerSecond: 20, streams: 20 });
    const upgrade = await guideBlock('--reset-then-reuse-values --wait --timeout 20m');
    const changed = '--set gateway.podAnnotations.revision=two --set operator.podAnnotations.revision=two';
    await paste(upgrade.replace('--timeout 20m', `--timeout 20m ${changed}`));
    await paste(await guideBlock('helm rollback penstock'));
    await paste(await guideBlock('kubectl drain node-1'));
    await rolledOut('deployment/penstock-gateway', ledger);
    const figures = await load.stop();
    say(`load through upgrade, rollback and drain: ${JSON.stringify(figures)}`);
    expect(figures).toMatchObject({ failed: 0, cut: 0, reasons: [] });
    expect(figures.requests).toBeGreaterThan(500);

    const sums = await settledSums(figures.requests + figures.streams);
    await paste(await guideBlock('--set ledger.backup.claimName=ledger-backups'));
    await rolledOut(ledger);
    await awaitState(cluster, 'job/first-backup', 'condition=Complete', 120);
    const [file = ''] = /ledger-\d{8}T\d{6}Z\.sqlite/.exec(await logOf('job/first-backup')) ?? [];

    const takeFileOut = await guideBlock('--set ledger.import.claimName= ');
    const restore = await guideBlock('--set ledger.import.claimName=ledger-backups');
    await paste(restore.replaceAll(/ledger-\d{8}T\d{6}Z\.sqlite/g, file));
    await rolledOut(ledger);
    expect(await sumsNow()).toEqual(sums);
    await paste(takeFileOut);
    await rolledOut(ledger);
    expect(await sumsNow()).toEqual(sums);

    await relayPostgres();
    const example = 'postgres://penstock:password@postgres.example.com:5432/ledger';
    const move = await guideBlock('--set ledger.postgres.secretName=ledger-postgres');
    await paste(move.replace(example, `postgres://penstock@${planeAddress}:5432/${databaseOf(which)}`));
    await rolledOut(ledger);
    expect(await sumsNow()).toEqual(sums);
    await paste(takeFileOut);
    await rolledOut(ledger);
    expect(await sumsNow()).toEqual(sums);
    await awaitState(cluster, ledger, 'jsonpath={.status.readyReplicas}=2', 60);

    await paste(await guideCommand('helm uninstall penstock -n penstock-system'));
    await cluster.mustKubectl(['wait', 'pod', '--all', ...inRelease, '--for=delete', '--timeout=120s'], {
      timeoutMs: 130_000,
    });
    const objects = /^\w+\.penstock\.dev\//;
    // Jobs of backups go a moment after their CronJob.
    await expect
      .poll(async () => (await remainsOf(cluster)).filter((name) => !objects.test(name)), { timeout: 60_000 })
      .toEqual([...ourKinds, 'namespace/penstock-system', 'persistentvolumeclaim/data-penstock-ledger-0']);
    await paste(await guideCommand('kubectl delete crd providers.penstock.dev'));
    await paste(await guideCommand('kubectl delete pvc -n penstock-system data-penstock-ledger-0'));
    await paste(await guideCommand('kubectl delete namespace penstock-system'));
    await expect.poll(() => remainsOf(cluster), { timeout: 60_000 }).toEqual([]);
  },
);

async function paste(command: string): Promise<string> {
  const since = stopwatch();
  const { code, stdout, stderr } = await pasted(cluster, command, { timeoutMs: 400_000 });
  const [first = ''] = command.split('\n');
  say(`${since()} s: ${first}`);
  expect([command, code, stderr]).toEqual([command, 0, expect.anything()]);
  return stdout;
}

async function rolledOut(...deployments: string[]): Promise<void> {
  for (const deployment of deployments)
    await cluster.mustKubectl(['rollout', 'status', deployment, ...inRelease, '--timeout=3m'], {
      timeoutMs: 190_000,
    });
}

/** What FOCUS has of it: a row for each day and way of use. */
function sumsNow(): Promise<string[]> {
  return exported('focus');
}

async function exported(format: string): Promise<string[]> {
  const days = ['--from', '2020-01-01', '--to', '2100-01-01'];
  const command = ['node', 'dist/ledger.js', 'export', '--format', format, ...days];
  const text = await cluster.mustKubectl(['exec', ledger, ...inRelease, '-c', 'ledger', '--', ...command], {
    timeoutMs: 120_000,
  });
  return text.trim().split('\n').toSorted();
}

/** Once there are so many records, and no more come. */
async function settledSums(atLeast: number): Promise<string[]> {
  let before = 0;
  await until(async () => {
    const { length } = await exported('jsonl');
    const isSettled = length >= atLeast && length === before;
    before = length;
    return isSettled;
  }, 2_000);
  say(`${before} records`);
  return sumsNow();
}

function logOf(what: string): Promise<string> {
  return cluster.mustKubectl(['logs', what, ...inRelease]);
}

async function ask(url: string, key: string): Promise<number> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'Say hello.' }] }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

/** A default StorageClass, as most clusters have one, and volumes of it on one node. */
async function makeVolumes(node: string, names: readonly string[]): Promise<void> {
  const storageClassName = 'local';
  const volumes = names.map((name) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      storageClassName,
      capacity: { storage: '20Gi' },
      accessModes: ['ReadWriteOnce'],
      local: { path: join(cluster.folder, name) },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
          ],
        },
      },
    },
  }));
  for (const name of names) await mkdir(join(cluster.folder, name));
  const storageClass = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: {
      name: storageClassName,
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
    },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  };
  await cluster.mustKubectl(['apply', '-f', '-'], {
    stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [storageClass, ...volumes] }),
  });
}

/** Pods reach it beside the control plane. */
async function relayPostgres(): Promise<void> {
  const script = `
    const { connect, createServer } = require('node:net');
    createServer((client) => {
      const server = connect(${JSON.stringify(postgres.socket)});
      for (const [from, to] of [[client, server], [server, client]])
        from.on('error', () => to.destroy()).pipe(to);
    }).listen(5432, '${planeAddress}');`;
  await cluster.machine.start(process.execPath, ['-e', script], join(cluster.folder, 'relay.log'));
}
