// Do the values of docs/guides/dashboard.md render, and does its process then read what the page says? Are its commands such as work?

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { CLIENT_SECRET, settingsInPod } from '../charts/dashboard-pod.ts';
import { type HelmTarget, RELEASE_NAMESPACE, render, type Values } from '../charts/helm.ts';
import { findPrograms } from '../cluster/binaries.ts';
import { clusterWaitMs } from '../cluster/shared.ts';

/** Rendering asks no server. */
let target: HelmTarget;
let page: string;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-dashboard-guide-'));
  target = { programs: await findPrograms(), adminKubeconfig: '', folder };
  page = await readFile(join(import.meta.dirname, '../../docs/guides/dashboard.md'), 'utf8');
}, clusterWaitMs);

afterAll(() => rm(target.folder, { recursive: true, force: true }));

const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, text = '']) => text);

const httpsAt = (host: string) => ({ origin: `https://${host}`, host, isSecure: true });

test('its values render, and the dashboard starts with what they say', async () => {
  const examples: Values[] = blocks('yaml').map((text) => parse(text));
  const settings = [];
  for (const values of examples)
    settings.push((await settingsInPod(await render(target, values), target.folder)).settings);
  const at = { places: [httpsAt('penstock.example.com')] };
  expect(settings).toMatchObject([
    { ...at, gatewayUrl: 'https://models.example.com', oidc: undefined },
    { ...at, gatewayUrl: 'https://models.example.com', oidc: undefined },
    {
      ...at,
      oidc: {
        issuer: 'https://login.example.com/realms/platform',
        clientId: 'kubernetes',
        clientSecret: CLIENT_SECRET,
        name: 'Example Login',
      },
    },
    { places: [], sessionMs: 1_800_000, sessionKeys: [expect.anything()] },
  ]);
});

test('its commands name what the chart makes, and the Secrets of its examples', async () => {
  const commands = blocks('sh').join('').replaceAll('\\\n', ' ').trim().split('\n');
  const objects = await render(target, { dashboard: { enabled: true } });
  const names = (kind: string) =>
    objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
  const all = (pattern: RegExp) => commands.flatMap((line) => pattern.exec(line)?.[1] ?? []);
  const roles = all(/--clusterrole=(\S+)/).filter((role) => role !== 'view');
  expect(roles).toEqual(['penstock-tenant', 'penstock-tenant']);
  for (const role of roles) expect(names('ClusterRole')).toContain(role);
  for (const service of all(/service\/(\S+)/)) expect(names('Service')).toContain(service);
  const secrets = all(/create secret generic (\S+)/);
  expect(secrets).toEqual(['penstock-dashboard-oidc', 'penstock-dashboard-session']);
  for (const secret of secrets) expect(blocks('yaml').join('')).toContain(`existingSecret: ${secret}`);
  expect(all(/(create secret .* -n \S+)/).every((line) => line.endsWith(` -n ${RELEASE_NAMESPACE}`))).toBe(
    true,
  );
});

test('it lists the variables that the process reads, and no others', async () => {
  const source = await readFile(join(import.meta.dirname, '../../dashboard/settings.ts'), 'utf8');
  const read = [...source.matchAll(/^ {2}(PENSTOCK_\w+):/gm)].map(([, name]) => name);
  const listed = [...page.matchAll(/^\| `(PENSTOCK_\w+)` \|/gm)].map(([, name]) => name);
  expect(read.length).toBeGreaterThan(10);
  expect(listed.sort()).toEqual(read.sort());
});
