// Which TenantPolicies does the operator read from the file of the chart, and what does it say of a file that is wrong?

import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPolicies } from '../../operator/read-policies.ts';
import { tenantPolicy as policy } from './make.ts';

test('without a file there are no policies', async () => {
  expect(await readPolicies(undefined)).toEqual([]);
});

test.each([
  ['no JSON', '{', /must be a JSON list of TenantPolicies/],
  ['objects without a name', '[{}]', /must be a JSON list of TenantPolicies/],
  ['an unknown role', JSON.stringify([policy({ role: 'Tenant' })]), /research: spec\.role: must be Platform/],
  [
    'a range that is never opened',
    JSON.stringify([policy({ egress: { allow: ['169.254.169.254/32'] } })]),
    /research: spec\.egress\.allow\[0\]: .*metadata/,
  ],
])('a file with %s is refused by its name', async (_, text, sentence) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'penstock-policies-'));
  const file = await written(folder.path, text);
  await expect(readPolicies(file)).rejects.toThrow(sentence);
  await expect(readPolicies(file)).rejects.toThrow(`${file}: `);
});

test('two thousand policies are read as written', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'penstock-policies-'));
  const budgets = [{ period: 'Month', limit: '500.00' }];
  const policies = Array.from({ length: 2000 }, (_, at) => policy({ budgets }, { name: `team-${at}` }));
  expect(await readPolicies(await written(folder.path, JSON.stringify(policies)))).toEqual(policies);
});

async function written(folder: string, text: string): Promise<string> {
  const file = join(folder, 'objects.json');
  await writeFile(file, text);
  return file;
}
