// Do both Helms of the day install and upgrade the chart, and take over from each other? Helm 4 applies on the server, where a
// field that somebody else owns is a conflict.

import { beforeAll, describe, expect, test } from 'vitest';
import { CHART, CRDS_CHART, helm, type Values } from '../charts/helm.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { goTool } from '../support/go-tool.ts';

const plane = useControlPlane();
const helms = new Map<string, string>();

beforeAll(async () => {
  helms.set('Helm 3', plane().programs.helm);
  helms.set('Helm 4', await goTool({ package: 'helm.sh/helm/v4/cmd/helm', version: 'v4.3.1' }));
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
  const values = (gateway: object) => ({ crds: { install: false }, rbac: { aggregate: false }, gateway });
  const replicas = () =>
    plane().mustKubectl([
      'get',
      'deployment',
      `${release}-gateway`,
      ...where,
      '-o',
      'jsonpath={.spec.replicas}',
    ]);

  test('it has the pods that the values say, then those that an autoscaler says, and goes without a trace', async () => {
    await must(first, ['install', release, CHART, ...where, '--create-namespace'], values({ replicas: 3 }));
    expect(await replicas()).toBe('3');
    await must(second, ['upgrade', release, CHART, ...where], values({ replicas: 4 }));
    expect(await replicas()).toBe('4');

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

test('the kinds are of the chart penstock-crds alone, and stay when it goes', async () => {
  await must('Helm 4', ['upgrade', 'penstock-crds', CRDS_CHART, '-n', 'crds']);
  await must('Helm 4', ['uninstall', 'penstock-crds', '-n', 'crds']);
  expect((await plane().mustKubectl(['get', 'crd', '-o', 'name'])).trim().split('\n')).toHaveLength(3);
});
