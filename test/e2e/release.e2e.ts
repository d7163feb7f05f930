// Is a release what people install? It is made from a fresh clone, and nothing but its files goes onto the nodes.

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { root as project } from '../architecture/project.ts';
import { mustHelm, RELEASE_NAMESPACE } from '../charts/helm.ts';
import type { NodeCluster } from '../cluster/nodes/cluster.ts';
import { openNodes } from '../cluster/nodes/open.ts';
import { demoKey, gatewayService, inRelease, smallPods, withoutVolume } from './nodes/release.ts';

const run = promisify(execFile);
const { version } = packageJson;
const say = (line: string) => process.stderr.write(`release: ${line}\n`);
const quiet = { maxBuffer: 64 * 1024 * 1024 };

let folder: string;
let clone: string;
let release: string;
let cluster: NodeCluster | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-release-'));
  clone = join(folder, 'penstock');
  await run('git', ['clone', '--quiet', '--no-hardlinks', project, clone]);
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: clone, ...quiet });
  const { stdout } = await run('npm', ['run', '--silent', 'release'], { cwd: clone, ...quiet });
  say(stdout.trimEnd());
  release = join(clone, 'release', `penstock-${version}`);
});

afterAll(async () => {
  await cluster?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('it has charts, an image, a bill of materials, and the checksums of all of them', async () => {
  const files = (await readdir(release)).sort();
  expect(files).toEqual([
    'SHA256SUMS',
    `penstock-${version}.sbom.cdx.json`,
    `penstock-${version}.tgz`,
    `penstock-crds-${version}.tgz`,
    expect.stringMatching(/^penstock-image-\d+\.\d+\.\d+-(amd64|arm64)\.tar$/),
  ]);
  const { stdout } = await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: release });
  expect(stdout.match(/: OK$/gm)).toHaveLength(files.length - 1);
  const bill = z
    .object({ metadata: z.object({ component: z.object({ name: z.string(), version: z.string() }) }) })
    .parse(JSON.parse(await readFile(join(release, `penstock-${version}.sbom.cdx.json`), 'utf8')));
  expect(bill.metadata.component).toEqual({ name: 'penstock', version });
});

test('installed from its files alone, it answers, and helm list and penstock_build_info have its version', async () => {
  const files = await readdir(release);
  const image = files.find((file) => file.endsWith('.tar')) ?? '';
  cluster = await openNodes();
  await cluster.importImage(join(release, image));
  const archive = join(release, `penstock-${version}.tgz`);
  await mustHelm(
    cluster,
    ['install', 'penstock', archive, ...inRelease, '--create-namespace', '--wait', '--timeout', '4m'],
    { ...withoutVolume, demo: { enabled: true }, dashboard: { enabled: true, ...smallPods } },
  );

  const listed = z
    .array(z.object({ chart: z.string(), app_version: z.string(), status: z.string() }))
    .parse(JSON.parse(await mustHelm(cluster, ['list', ...inRelease, '-o', 'json'])));
  expect(listed).toEqual([{ chart: `penstock-${version}`, app_version: version, status: 'deployed' }]);

  for (const deployment of ['operator', 'gateway', 'ledger', 'dashboard'])
    expect(await buildInfo(cluster, `penstock-${deployment}`)).toMatch(
      new RegExp(`^penstock_build_info\\{version="${version}",node_version="${process.versions.node}"\\} 1$`),
    );

  const openai = new OpenAI({
    baseURL: `${await cluster.reach(gatewayService)}/v1`,
    apiKey: await demoKey(cluster),
  });
  const { choices } = await openai.chat.completions.create({
    model: 'demo',
    messages: [{ role: 'user', content: 'Say hello.' }],
  });
  expect(choices[0]?.message.content).not.toBe('');
  say(
    `installed from ${archive.slice(release.length + 1)} and ${image}, ${(await stat(archive)).size} bytes of chart`,
  );
});

test('a tree with changes is refused', async () => {
  await run('sh', ['-c', 'echo >> README.md'], { cwd: clone });
  await expect(run('npm', ['run', '--silent', 'release'], { cwd: clone })).rejects.toMatchObject({
    code: 1,
    stderr: 'The work tree has changes that are not committed. Commit or remove them first:\n M README.md\n',
  });
});

/** As the process says it of itself, in its own pod. */
async function buildInfo(nodes: NodeCluster, deployment: string): Promise<string> {
  const script = `fetch('http://127.0.0.1:9090/metrics').then((answer) => answer.text())
    .then((text) => console.log(/^penstock_build_info.*$/m.exec(text)?.[0]))`;
  const ask = ['exec', `deployment/${deployment}`, '-n', RELEASE_NAMESPACE, '--', 'node', '-e', script];
  return (await nodes.mustKubectl(ask)).trim();
}
