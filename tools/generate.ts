// Which files of this repository are made from code? Writes them, or with --check says which differ.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { dashboardJson, dashboards } from '../deploy/monitoring/dashboards.ts';
import { metricsPage } from '../deploy/monitoring/metrics-page.ts';
import { apiKeyResource } from '../operator/resources/api-key.ts';
import { crdTemplate, crdYaml, optionalCrdTemplate } from '../operator/resources/crd.ts';
import { dialectsReference } from '../operator/resources/dialects-reference.ts';
import { modelRouteResource } from '../operator/resources/model-route.ts';
import { providerResource } from '../operator/resources/provider.ts';
import { apiReference, reasonsReference } from '../operator/resources/reference.ts';
import { tenantPolicyResource } from '../operator/resources/tenant-policy.ts';
import packageJson from '../package.json' with { type: 'json' };
import { pagesChoices } from './pages-choices.ts';
import { pagesConditions } from './pages-conditions.ts';

/** A file that is made from code: its path from the root of the repository, and its whole content. */
interface Generated {
  readonly path: string;
  readonly content: () => string;
}

/**
 * Committed three times, because a chart renders only files of its folder. A symbolic link to `crds/` would satisfy Helm, but
 * Flux leaves links out of what it takes from Git: the chart installs without its kinds, and nothing fails (fluxcd/flux2#4088).
 */
const CRD_FILES = [
  { name: 'provider.yaml', resource: providerResource },
  { name: 'model-route.yaml', resource: modelRouteResource },
  { name: 'api-key.yaml', resource: apiKeyResource },
  { name: 'tenant-policy.yaml', resource: tenantPolicyResource },
] as const;

export const GENERATED: readonly Generated[] = [
  ...CRD_FILES.flatMap(({ name, resource }) => [
    { path: `crds/${name}`, content: () => crdYaml(resource, packageJson.version) },
    {
      path: `charts/penstock/templates/crds/${name}`,
      content: () => optionalCrdTemplate(resource, packageJson.version),
    },
    {
      path: `charts/penstock-crds/templates/${name}`,
      content: () => crdTemplate(resource, packageJson.version),
    },
  ]),
  {
    path: 'docs/api.md',
    content: () => apiReference([providerResource, modelRouteResource, apiKeyResource, tenantPolicyResource]),
  },
  { path: 'docs/reasons.md', content: reasonsReference },
  { path: 'docs/dialects.md', content: dialectsReference },
  { path: 'docs/metrics.md', content: metricsPage },
  { path: 'dashboard/pages/words/choices.ts', content: pagesChoices },
  { path: 'dashboard/pages/words/conditions.ts', content: pagesConditions },
  ...dashboards.map((dashboard) => ({
    path: `charts/penstock/dashboards/${dashboard.name}.json`,
    content: () => dashboardJson(dashboard),
  })),
];

/** Paths of the files below `root` that are missing or differ from what code makes of them. */
export async function findStale(root: string, files: readonly Generated[]): Promise<string[]> {
  const stale: string[] = [];
  for (const file of files) {
    const onDisk = await readIfThere(join(root, file.path));
    if (onDisk !== file.content()) stale.push(file.path);
  }
  return stale;
}

/** Writes every stale file; gives their paths. */
export async function writeStale(root: string, files: readonly Generated[]): Promise<string[]> {
  const stale = await findStale(root, files);
  for (const file of files.filter(({ path }) => stale.includes(path))) {
    const target = join(root, file.path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, file.content());
  }
  return stale;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function main(args: readonly string[]): Promise<void> {
  const root = join(import.meta.dirname, '..');
  const unknown = args.filter((arg) => arg !== '--check');
  if (unknown.length > 0) {
    console.error(`generate: unknown argument ${unknown.join(' ')}; the only one is --check`);
    process.exitCode = 2;
    return;
  }
  if (!args.includes('--check')) {
    for (const path of await writeStale(root, GENERATED)) console.log(`wrote ${path}`);
    return;
  }
  const stale = await findStale(root, GENERATED);
  for (const path of stale) console.error(`${path} differs from what the code makes; run npm run generate`);
  if (stale.length > 0) process.exitCode = 1;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main(process.argv.slice(2));
}
