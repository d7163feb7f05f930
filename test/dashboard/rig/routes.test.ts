// Can providers and routes be edited in the page? As merge patches of what was changed, with refusals at their fields.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { changesOf, click, dialogOf, makeOpen, yamlOf } from './pages.ts';

const open = makeOpen();
const group = '/api/kube/apis/penstock.dev/v1alpha1/namespaces';

/** Answers changes in place of the server. */
async function refuse(page: Page, status: number, body: object): Promise<void> {
  await page.unroute('**/api/kube/**');
  await page.route('**/api/kube/**', async (route) => {
    if (route.request().method() !== 'PATCH') return await route.continue();
    await route.fulfill({ status, json: { kind: 'Status', ...body } });
  });
}

test('a second target is failover, added on the page and sent as one merge patch', async () => {
  const page = await open('/routes/team-a/llama');
  const sent = changesOf(page);
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const dialog = dialogOf(page);
  await click(page, 'Add target');
  await dialog
    .getByLabel(/^Provider/)
    .last()
    .fill('platform/openai');
  await dialog
    .getByLabel(/^Upstream model/)
    .last()
    .fill('gpt-6.2');
  expect(
    await dialog
      .getByLabel(/^Priority/)
      .last()
      .inputValue(),
  ).toBe('1');
  await click(page, 'View as YAML');
  expect(await yamlOf(page)).toContain('upstreamModel: gpt-6.2');
  await click(page, 'Close');
  await click(page, 'Save');
  await page
    .getByRole('row', { name: /^openai/ })
    .first()
    .waitFor();
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({
    method: 'PATCH',
    path: `${group}/team-a/modelroutes/llama`,
    body: {
      metadata: { resourceVersion: expect.any(String) },
      spec: {
        targets: [
          { name: 'main', providerRef: { name: 'own-models' }, upstreamModel: 'llama-4' },
          {
            name: 'openai',
            providerRef: { namespace: 'platform', name: 'openai' },
            upstreamModel: 'gpt-6.2',
            priority: 1,
          },
        ],
      },
    },
  });
  expect(Object.keys(sent[0]?.body.spec ?? {})).toEqual(['targets']);
});

test('a field that the API server refuses shows why, and the dialog stays', async () => {
  const page = await open('/routes/team-a/llama');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const weight = dialogOf(page).getByLabel(/^Weight/);
  await weight.fill('5');
  const message = 'Invalid value: 5: spec.targets[0].weight in body should be less than or equal to 4';
  const causes = [{ field: 'spec.targets[0].weight', message }];
  await refuse(page, 422, { message: `modelroutes "llama" is invalid: ${message}`, details: { causes } });
  await click(page, 'Save');
  await page.getByText('Should be less than or equal to 4.').waitFor();
  expect(await weight.getAttribute('aria-invalid')).toBe('true');
});

test('a concurrent change of another user is not overwritten', async () => {
  const page = await open('/providers/team-a/own-models');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await dialogOf(page)
    .getByLabel(/^Address/)
    .fill('https://other.example.com/v1');
  await page.evaluate(
    `fetch('${group}/team-a/providers/own-models', { method: 'PATCH', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ metadata: {}, spec: { displayName: 'Ours' } }) })`,
  );
  await refuse(page, 409, { message: 'the object has been modified' });
  await click(page, 'Save');
  await click(page, 'Save and apply');
  await page.getByText('the object has been modified').waitFor();
});

test('a new key of a provider goes into a new Secret, and the provider names that one', async () => {
  const page = await open('/providers/team-a/own-models');
  const sent = changesOf(page);
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const dialog = dialogOf(page);
  await dialog.getByLabel(/^Key/).first().fill('sk-of-november');
  await click(page, 'View as YAML');
  expect(await yamlOf(page)).not.toContain('sk-of-november');
  await click(page, 'Close');
  await click(page, 'Save');
  await click(page, 'Save and apply');
  await dialog.waitFor({ state: 'detached' });
  const made = sent.filter(({ path }) => !path.includes('dryRun'));
  expect(made.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /api/kube/api/v1/namespaces/team-a/secrets',
    `PATCH ${group}/team-a/providers/own-models`,
  ]);
  const [secret, patch] = made.map(({ body }) => body);
  expect(secret?.metadata.name).toMatch(/-2$/);
  expect(patch?.spec).toMatchObject({ auth: { keys: [{ secretRef: { name: secret?.metadata.name } }] } });
});

test('a route is added with its targets and opens', async () => {
  const page = await open('/providers?namespace=team-a');
  await page.getByRole('button', { name: 'Add route' }).click();
  await page.getByLabel(/^Model id/).fill('team/llama');
  await page.getByLabel(/^Provider/).fill('own-models');
  await page.getByLabel(/^Upstream model/).fill('llama-4');
  await page.getByRole('button', { name: 'Add route' }).click();
  await page.getByRole('heading', { level: 1, name: 'team-llama' }).waitFor();
});

test('suspending asks first, and states the effect on callers', async () => {
  const page = await open('/routes/team-a/llama');
  const sent = changesOf(page);
  await page.getByRole('button', { name: 'Suspend' }).click();
  await dialogOf(page)
    .getByText(/Calls to the model of this route are refused until you resume the route/)
    .waitFor();
  await click(page, 'Cancel');
  expect(sent).toEqual([]);
  await page.getByRole('button', { name: 'Suspend' }).click();
  await click(page, 'Suspend');
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  expect(sent.map(({ body }) => body)).toEqual([{ spec: { suspended: true } }]);
});
