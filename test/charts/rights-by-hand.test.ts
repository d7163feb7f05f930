// Has a platform team that lets Helm write no roles all of them in a file? What the guide gives it is what the chart would make.
// PENSTOCK_UPDATE_GOLDEN=1 writes the file again.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CHART, mustHelm, parseRendered, RELEASE_NAMESPACE, type Rendered, render, useHelm } from './helm.ts';

const file = join(CHART, '../../docs/examples/rights/roles.yaml');
const guide = join(CHART, '../../docs/guides/install.md');
const plane = useHelm();

const kinds = ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'];
const rolesIn = (objects: readonly Rendered[]) =>
  objects
    .filter(({ kind }) => kinds.includes(kind))
    .sort((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other)));

/** Options of `helm template` as the guide gives them. */
async function optionsInGuide(): Promise<string[]> {
  const [, options = ''] =
    /helm template penstock charts\/penstock -n penstock-system -f values\.yaml ([^>]+) >/.exec(
      (await readFile(guide, 'utf8')).replaceAll(/\\\n\s*/g, ''),
    ) ?? [];
  return options.split(' ').map((word) => word.replaceAll("'", ''));
}

test('the file of the guide holds every role and binding of the default values, and nothing else', async () => {
  if (process.env.PENSTOCK_UPDATE_GOLDEN === '1') {
    const options = await optionsInGuide();
    await writeFile(
      file,
      await mustHelm(plane(), ['template', 'penstock', CHART, '-n', RELEASE_NAMESPACE, ...options]),
    );
  }
  const committed = parseRendered(await readFile(file, 'utf8'));
  expect(rolesIn(committed)).toEqual(rolesIn(await render(plane())));
  expect(committed.length).toBe(rolesIn(committed).length);
});

describe.each([
  ['default values', {}],
  [
    'the demo and other names',
    { demo: { enabled: true, namespace: 'try' }, tableNamespace: { name: 'tables' } },
  ],
  ['some namespaces alone', { rbac: { scope: 'namespaces', tenantNamespaces: ['team-a', 'team-b'] } }],
  ['no ledger, no TLS', { ledger: { enabled: false }, internalTls: { enabled: false } }],
])('with %s', (_, values) => {
  test('the command of the guide gives every role and binding', async () => {
    const options = await optionsInGuide();
    const args = ['template', 'penstock', CHART, '-n', RELEASE_NAMESPACE, ...options];
    const given = parseRendered(await mustHelm(plane(), args, values));
    expect(rolesIn(given)).toEqual(rolesIn(await render(plane(), values)));
    expect(given.length).toBe(rolesIn(given).length);
  });
});

test('with all four parts by hand, every object of the release is in its namespace', async () => {
  const objects = await render(plane(), {
    rbac: { create: false },
    tableNamespace: { create: false },
    crds: { install: false },
    admissionPolicies: { enabled: false },
  });
  expect(objects.length).toBeGreaterThan(20);
  expect(objects.filter(({ metadata }) => metadata.namespace !== RELEASE_NAMESPACE)).toEqual([]);
});
