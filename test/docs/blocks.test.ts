// Do the blocks of the guides work as they are pasted? Values render, commands are shell and name what the chart makes. Manifests are applied in
// test/docs/manifests.test.ts.

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type HelmTarget, type Rendered, render, type Values } from '../charts/helm.ts';
import { findPrograms } from '../cluster/binaries.ts';
import { run } from '../cluster/run.ts';
import { clusterWaitMs } from '../cluster/shared.ts';

const root = join(import.meta.dirname, '../..');

/** Rendering asks no server. */
let target: HelmTarget;
let objects: readonly Rendered[];
let pages: readonly (readonly [path: string, text: string])[];

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-guides-'));
  target = { programs: await findPrograms(), adminKubeconfig: '', folder };
  objects = await render(target, { dashboard: { enabled: true }, ledger: BACKED_UP });
  const folders = ['docs/guides', 'docs/providers'];
  const names = await Promise.all(
    folders.map(async (path) => (await readdir(join(root, path))).map((name) => `${path}/${name}`)),
  );
  const files = ['README.md', ...names.flat().filter((name) => name.endsWith('.md'))];
  pages = await Promise.all(
    files.map(async (path) => [path, await readFile(join(root, path), 'utf8')] as const),
  );
}, clusterWaitMs);

afterAll(() => rm(target.folder, { recursive: true, force: true }));

const BACKED_UP = { backup: { schedule: '0 3 * * *', claimName: 'ledger-backups' } };

const blocks = (language: string) =>
  pages.flatMap(([path, text]) =>
    [...text.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(
      ([, block = '']) => [path, block] as const,
    ),
  );

test('every block of values renders', async () => {
  const known = Object.keys(parse(await readFile(join(root, 'charts/penstock/values.yaml'), 'utf8')));
  const values = blocks('yaml')
    .filter(([, block]) => known.includes(block.split(':')[0] ?? ''))
    .map(([path, block]): readonly [string, Values] => [path, parse(block)]);
  expect(new Set(values.map(([path]) => path)).size).toBeGreaterThan(3);
  for (const [, each] of values) expect((await render(target, each)).length).toBeGreaterThan(10);
});

test('a shell can parse every command', async () => {
  const commands = blocks('sh');
  expect(commands.length).toBeGreaterThan(40);
  for (const [path, block] of commands) {
    const { code, stderr } = await run('sh', ['-n', '-c', block]);
    expect([path, block, code, stderr]).toEqual([path, block, 0, '']);
  }
});

test('commands name Deployments, Services, CronJobs and ClusterRoles that the chart makes', () => {
  const made = new Set(objects.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`));
  const commands = blocks('sh').map(([, block]) => block.replaceAll('--clusterrole=', 'clusterrole/'));
  const named = commands.flatMap((command) =>
    [...command.matchAll(/\b(deployment|service|cronjob|clusterrole)[/ ](penstock-[\w-]+)/g)].map(
      ([, kind, name]) => `${kind}/${name}`,
    ),
  );
  expect(new Set(named).size).toBeGreaterThan(6);
  expect(named.filter((name) => !made.has(name))).toEqual([]);
});
