// Does an API server take the manifests of guides and provider pages as they are pasted? Parts of a spec are completed.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { useControlPlane } from '../cluster/control-plane.ts';

const root = join(import.meta.dirname, '../..');
const plane = useControlPlane({ hasControllers: false });

const objects = ['docs/guides', 'docs/providers'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => {
      const page = readFileSync(join(root, folder, name), 'utf8');
      const manifests = [...page.matchAll(/(?:```yaml\n|<<'YAML'\n)(.*?)(?:```|YAML\n)/gs)];
      return manifests.flatMap(([, text = '']) =>
        parseAllDocuments(text).map((document) => [`${folder}/${name}`, document.toJS()] as const),
      );
    }),
);

const whole = objects.filter(([, { apiVersion }]) => /^(v1|penstock\.dev\/.*)$/.test(apiVersion));
const parts = objects
  .filter(([, { apiVersion, spec }]) => apiVersion === undefined && spec !== undefined)
  .map(([path, { spec }]) => [path, completed(spec)] as const);

function completed(spec: object) {
  const head = { apiVersion: 'penstock.dev/v1alpha1', metadata: { name: 'part' } };
  if ('rotation' in spec || 'imports' in spec) return { ...head, kind: 'ApiKey', spec };
  const targets = [{ name: 'main', providerRef: { name: 'first' }, upstreamModel: 'large' }];
  return { ...head, kind: 'ModelRoute', spec: { model: 'chat', targets, ...spec } };
}

beforeAll(async () => {
  await plane().mustKubectl(['create', '-f', join(root, 'crds')]);
  await plane().mustKubectl(['wait', '--for=condition=Established', 'crd', '--all']);
});

test('the API server takes all of them', async () => {
  expect(whole.length).toBeGreaterThan(20);
  expect(parts.length).toBeGreaterThan(3);
  for (const [path, object] of [...whole, ...parts]) {
    const inOne = { ...object, metadata: { ...object.metadata, namespace: 'default' } };
    const args = ['apply', '--dry-run=server', '--validate=strict', '-f', '-'];
    const applied = await plane().kubectl(args, { stdin: JSON.stringify(inOne) });
    expect({ path, object, ...applied }).toMatchObject({ code: 0, stderr: '' });
  }
});
