// Do the manifests of docs/providers work as they are pasted? Local mode compiles and lists them; test/docs/manifests.test.ts applies them to an API
// server.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { PROVIDER_TYPES } from '../../core/catalog/provider-types.ts';
import { type LocalRig, startLocalRig } from '../local/rig.ts';

const folder = join(import.meta.dirname, '../../docs/providers');
const pages = readdirSync(folder).filter((name) => name !== 'README.md');
const manifestOf = (page: string) =>
  /```yaml\n(.*?)```/s.exec(readFileSync(join(folder, page), 'utf8'))?.[1] ?? '';
const objectsOf = (page: string) => parseAllDocuments(manifestOf(page)).map((document) => document.toJS());

const KEY = `
apiVersion: penstock.dev/v1alpha1
kind: ApiKey
metadata: { name: bot }
spec: {}
`;

let rig: LocalRig;

beforeAll(async () => {
  rig = await startLocalRig({
    async prepare({ write }) {
      await write('key.yaml', KEY);
      for (const page of pages) await write(page.replace('.md', '.yaml'), manifestOf(page));
    },
  });
});
afterAll(() => rig.close());

test.each(pages)('the unchanged manifest of %s is served in local mode', async (page) => {
  const models = objectsOf(page).flatMap(({ kind, spec }) => (kind === 'ModelRoute' ? [spec.model] : []));
  expect(models.length).toBeGreaterThan(0);
  expect(await rig.models(rig.key)).toEqual(expect.arrayContaining(models));
  expect(rig.printed.filter((line) => line.startsWith('problem'))).toEqual([]);
});

test('every type of Provider has a page, and the list has every page', () => {
  const types = pages.flatMap((page) =>
    objectsOf(page).flatMap(({ kind, spec }) => (kind === 'Provider' ? [spec.type] : [])),
  );
  expect(new Set(types)).toEqual(new Set(Object.keys(PROVIDER_TYPES)));
  const list = readFileSync(join(folder, 'README.md'), 'utf8');
  expect(pages.filter((page) => !list.includes(`](${page})`))).toEqual([]);
});
