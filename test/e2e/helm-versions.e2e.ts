// Do both Helms of the day install and upgrade the chart, and take over from each other? Helm 4 applies on the server, where a
// field that somebody else owns is a conflict. And do both give its accounts the rights that test/flow/cluster/rights.test.ts
// holds to be needed, and no others?

import { beforeAll, describe, expect, test } from 'vitest';
import { CHART, CRDS_CHART, helm, type Values } from '../charts/helm.ts';
import { expectRights } from '../cluster/can-i.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { accountRights, aggregatedRights } from '../flow/cluster/accounts.ts';
import { goTool, helm4 } from '../support/go-tool.ts';

const plane = useControlPlane();
const helms = new Map<string, string>();

beforeAll(async () => {
  helms.set('Helm 3', plane().programs.helm);
  helms.set('Helm 4', await goTool(helm4));
  await must('Helm 4', ['install', 'penstock-crds', CRDS_CHART, '-n', 'crds', '--create-namespace']);
  await plane().mustKubectl(['wait', '--for=condition=Established', 'crd', '--all']);
});

async function must(which: string, args: readonly string[], values?: Values): Promise<string> {
  const program = helms.get(which);
  const { code, stdout, stderr } = await helm(plane(), args, values, program);
  expect([args.join(' '), code, stderr]).toEqual([args.join(' '), 0, expect.anything()]);
  return stdout;
}

const CASES = [
  ['Helm 3', 'Helm 3'],
  ['Helm 4', 'Helm 4'],
  ['Helm 3', 'Helm 4'],
  ['Helm 4', 'Helm 3'],
] as const;

describe.each(CASES)('installed with %s and upgraded with %s', (first, second) => {
  const release = `r${CASES.findIndex(([one, other]) => one === first && other === second)}`;
  const namespace = `${release}-system`;
  const where = ['-n', namespace];
  const values = (gateway: object) => ({
    crds: { install: false },
    rbac: { aggregate: false },
    // A claim outlives the release, on purpose.
    ledger: { persistence: { enabled: false } },
    gateway,
  });
  const replicas = () =>
    plane().mustKubectl([
      'get',
      'deployment',
      `${release}-gateway`,
      ...where,
      '-o',
      'jsonpath={.spec.replicas}',
    ]);

  test('it has the pods of the values, then the autoscaler’s, and is removed without a trace', async () => {
    await must(first, ['install', release, CHART, ...where, '--create-namespace'], values({ replicas: 3 }));
    expect(await replicas()).toBe('3');
    await must(second, ['upgrade', release, CHART, ...where], values({ replicas: 4 }));
    expect(await replicas()).toBe('4');

    // As the guide has it for a restore: Helm 4 would refuse to take back a number of pods that somebody has set.
    const ledger = ['deployment', `${release}-ledger`, ...where];
    await plane().mustKubectl(['delete', ...ledger]);
    await must(second, ['upgrade', release, CHART, ...where], values({ replicas: 4 }));
    expect(await plane().mustKubectl(['get', ...ledger, '-o', 'jsonpath={.spec.replicas}'])).toBe('1');

    await must(second, ['upgrade', release, CHART, ...where], values({ autoscaling: { type: 'HPA' } }));
    // What the autoscaler would do.
    await plane().mustKubectl(['scale', 'deployment', `${release}-gateway`, ...where, '--replicas=7']);
    await must(
      second,
      ['upgrade', release, CHART, ...where],
      values({ autoscaling: { type: 'HPA', maxReplicas: 20 } }),
    );
    expect(await replicas()).toBe('7');

    await must(first, ['rollback', release, '1', ...where]);
    expect(await replicas()).toBe('3');
    await must(first, ['uninstall', release, ...where]);
    const left = await plane().mustKubectl([
      ...[
        'get',
        'deployment,service,configmap,role,clusterrole,clusterrolebinding,validatingadmissionpolicy,networkpolicy',
      ],
      ...['-A', '-l', `app.kubernetes.io/instance=${release}`, '-o', 'name'],
    ]);
    expect(left).toBe('');
  });
});

describe.each(['Helm 3', 'Helm 4'])('installed with %s', (which) => {
  const tenants = ['platform', 'team-a'];
  const where = ['-n', 'penstock-system'];
  const common = { crds: { install: false }, demo: { enabled: true } };

  beforeAll(async () => {
    for (const name of tenants) await plane().kubectl(['create', 'namespace', name]);
  });

  test.each([
    ['cluster', common],
    ['namespaces', { ...common, rbac: { scope: 'namespaces', tenantNamespaces: tenants } }],
  ])('over the %s, each account has the committed rights, and no more', async (scope, values) => {
    // Its Job, which is a hook, needs nodes.
    const flags = ['--create-namespace', '--no-hooks'];
    await must(which, ['install', 'penstock', CHART, ...where, ...flags], values);
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'penstock-operator' },
    };
    await plane().mustKubectl(['create', ...where, '-f', '-'], { stdin: JSON.stringify(lease) });
    try {
      await expectRights(plane(), scope, accountRights);
      if (scope === 'cluster') await expectRights(plane(), 'tenants', await aggregatedRights(plane()));
    } finally {
      await must(which, ['uninstall', 'penstock', ...where, '--wait']);
    }
    // Made by an operator, and unknown to Helm.
    expect(await plane().mustKubectl(['get', 'leases', ...where, '-o', 'name'])).toBe('');
  });
});

test('the CRDs belong to the chart penstock-crds alone, and stay after it is removed', async () => {
  await must('Helm 4', ['upgrade', 'penstock-crds', CRDS_CHART, '-n', 'crds']);
  await must('Helm 4', ['uninstall', 'penstock-crds', '-n', 'crds']);
  expect((await plane().mustKubectl(['get', 'crd', '-o', 'name'])).trim().split('\n')).toHaveLength(4);
});
