// Can a provider sign in with the identity of a cloud, set up in the page? Sent as the kind has it, with a Secret only where there is one to keep.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { parseProvider } from '../../../operator/resources/provider.ts';
import { until } from '../../support/until.ts';
import { findBarriers } from '../browser/axe.ts';
import { click, makeOpen, yamlOf } from './pages.ts';

const open = makeOpen();

interface Sent {
  readonly kind: string;
  readonly spec?: { readonly auth?: unknown };
}

async function fillProvider(page: Page, type: string, address: string): Promise<void> {
  await page.getByPlaceholder('own-models').fill('own-cloud');
  await page.getByLabel('Type').selectOption(type);
  await page.getByLabel(/^Address/).fill(address);
  await page.getByLabel('Authentication').selectOption('Cloud identity');
  await page.getByLabel(/^Model id/).fill('claude');
  await page.getByLabel(/^Upstream model/).fill('anthropic.claude-sonnet-4-6');
}

/** Objects that were sent, by their kind. */
function createdBy(page: Page): Map<string, Sent> {
  const sent = new Map<string, Sent>();
  page.on('request', (request) => {
    if (request.method() !== 'POST' || !request.url().includes('/api/kube/')) return;
    const body: Sent = request.postDataJSON();
    sent.set(body.kind, body);
  });
  return sent;
}

test('through a role, without a Secret: the pod signs in with its identity', async () => {
  const page = await open('/providers/new?namespace=team-a');
  const sent = createdBy(page);
  await fillProvider(page, 'Bedrock', 'https://bedrock-runtime.eu-central-1.amazonaws.com');
  await page.getByLabel('roleARN').fill('arn:aws:iam::123456789012:role/models');
  await page.getByLabel('sessionTags').selectOption('ApiKey');
  expect(await page.getByLabel('Key', { exact: true }).count()).toBe(0);
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole('button', { name: 'View as YAML' }).click();
  const yaml = await yamlOf(page);
  expect(yaml).toContain('roleARN: "arn:aws:iam::123456789012:role/models"');
  expect(yaml).not.toContain('kind: Secret');
  await click(page, 'Close');
  await page.getByRole('button', { name: 'Add provider' }).click();
  await until(async () => sent.has('ModelRoute'));
  expect(sent.get('Provider')?.spec?.auth).toEqual({
    type: 'AWS',
    aws: { roleARN: 'arn:aws:iam::123456789012:role/models', sessionTags: 'ApiKey' },
  });
  expect(parseProvider(sent.get('Provider'))).toMatchObject({ ok: true });
  expect(sent.has('Secret')).toBe(false);
});

test('with a client secret, which needs its app: the fields say so, and a Secret keeps it', async () => {
  const page = await open('/providers/new?namespace=team-a');
  const sent = createdBy(page);
  await fillProvider(page, 'AzureOpenAI', 'https://own.openai.azure.com/openai/v1');
  await page.getByLabel('Credentials').fill('a client secret');
  await page.getByRole('button', { name: 'Add provider' }).click();
  await page.getByText('Required with credentials.').nth(1).waitFor();
  await page.getByLabel('tenantID').fill('example.onmicrosoft.com');
  await page.getByLabel('clientID').fill('01234567-89ab-cdef-0123-456789abcdef');
  await page.getByRole('button', { name: 'Add provider' }).click();
  await until(async () => sent.has('ModelRoute'));
  expect(sent.get('Provider')?.spec?.auth).toEqual({
    type: 'Azure',
    azure: { tenantID: 'example.onmicrosoft.com', clientID: '01234567-89ab-cdef-0123-456789abcdef' },
    keys: [{ name: 'main', secretRef: { name: 'own-cloud', key: 'key' } }],
  });
  expect(sent.get('Secret')).toMatchObject({ stringData: { key: 'a client secret' } });
});
