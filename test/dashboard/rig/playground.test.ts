// Does the playground show how models answer, and keep nothing? In a browser, over a server that is asked nothing hard.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { findBarriers } from '../browser/axe.ts';
import { goTo, makeOpen } from './pages.ts';

const open = makeOpen();

const answers = (page: Page) => page.getByRole('region', { name: /^Answer of/ });
async function fill(page: Page, prompt = 'Say hello.'): Promise<void> {
  await page.getByLabel('Your key').fill('psk_own');
  await page.getByLabel('Prompt', { exact: true }).fill(prompt);
  await until(async () => (await page.getByLabel('Model', { exact: true }).inputValue()) !== '');
}

test('two models answer side by side, to the keyboard alone, and the end of each is announced', async () => {
  const page = await open('/playground', {}, { screen: 'phone', colorScheme: 'dark' });
  await fill(page);
  await page.getByLabel('Compare with').selectOption('llama');
  await page.getByText('System text').first().click();
  await page.getByRole('textbox', { name: 'System text' }).fill('Be brief.');
  const sent: unknown[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/chat/completions')) sent.push(request.postDataJSON());
  });
  await page.getByLabel('Prompt', { exact: true }).press('Control+Enter');
  await page
    .getByText(/first token .* total .* 9 tokens in, 8 out · status 200/)
    .nth(1)
    .waitFor();
  expect(await answers(page).locator('.answer-text').allInnerTexts()).toEqual([
    'Hello from the other end of the pipe.',
    'Hello from the other end of the pipe.',
  ]);
  await page.locator('p[role=status]', { hasText: 'has answered.' }).first().waitFor({ state: 'attached' });
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Say hello.' },
  ];
  expect(sent).toEqual([
    expect.objectContaining({ model: 'penstock/large', messages }),
    expect.objectContaining({ model: 'llama', messages }),
  ]);
  expect(await findBarriers(page)).toEqual([]);
});

test('a request id leads to its request, and coming back nothing is there', async () => {
  const page = await open('/playground');
  await fill(page, 'A secret of mine.');
  await page.getByRole('button', { name: 'Send' }).click();
  const link = page.getByRole('link', { name: 'req_of_the_rig' });
  expect(await link.getAttribute('href')).toBe('/requests?request=req_of_the_rig');
  await goTo(page, '/keys');
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  await goTo(page, '/playground');
  expect(await page.getByLabel('Prompt', { exact: true }).inputValue()).toBe('');
  expect(await page.getByLabel('Your key').inputValue()).toBe('');
});

test('a refusal of the gateway is shown with its message', async () => {
  const page = await open('/playground');
  const refuse = (status: number, message: string) => ({
    status,
    headers: { 'x-request-id': 'req_refused' },
    json: { error: { message } },
  });
  await page.route('**/v1/models', (route) => route.fulfill(refuse(401, 'No such key.')));
  await page.getByLabel('Your key').fill('psk_wrong');
  await page.getByRole('alert').getByText('401: No such key.').waitFor();
  await page.unroute('**/v1/models');
  await fill(page);
  await page.route('**/v1/chat/completions', (route) => route.fulfill(refuse(429, 'Try again in 12s.')));
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('alert').getByText('429: Try again in 12s.').waitFor();
  await page.getByRole('link', { name: 'req_refused' }).waitFor();
  await page.unroute('**/v1/chat/completions');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText(/total/).waitFor();
});

test('a key that was just made is offered, and forgotten with the session', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await page.getByPlaceholder('ci-bot').fill('fresh');
  await page.getByRole('button', { name: 'Create key' }).click();
  const key = (await page.getByTestId('key').innerText()).trim();
  await page.getByRole('link', { name: 'Open in the playground' }).click();
  await page.getByRole('button', { name: 'Leave' }).click();
  const picked = page.getByLabel('Key', { exact: true });
  expect(await picked.inputValue()).toBe('team-a/fresh');
  const sent = page.waitForRequest('**/v1/chat/completions');
  await page.getByLabel('Prompt', { exact: true }).fill('Say hello.');
  await until(async () => (await page.getByLabel('Model', { exact: true }).inputValue()) !== '');
  await page.getByRole('button', { name: 'Send' }).click();
  expect((await sent).headers().authorization).toBe(`Bearer ${key}`);
  expect(await page.content()).not.toContain(key);
  // Its page has a test too.
  await goTo(page, '/keys/team-a/fresh');
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await page.getByText(/total/).waitFor();
  expect(await page.content()).not.toContain(key);
  await page.locator('.person summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('textbox', { name: 'Token' }).fill('ada, again');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('link', { name: 'Playground', exact: true }).click();
  await page.getByLabel('Your key').waitFor();
  expect(await picked.count()).toBe(0);
});

test('the models of a new key are listed as soon as the gateway knows it', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await page.route('**/v1/models', (route) =>
    route.fulfill({ status: 401, json: { error: { message: 'No such key.' } } }),
  );
  await page.getByPlaceholder('ci-bot').fill('early');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('link', { name: 'Open in the playground' }).click();
  await page.getByRole('button', { name: 'Leave' }).click();
  await page.getByText('The gateway does not accept this key yet.').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  await page.unroute('**/v1/models');
  await until(async () => (await page.getByLabel('Model', { exact: true }).inputValue()) !== '');
  // Of a key that was not made here, a refusal is one at once.
  await page.getByLabel('Key', { exact: true }).selectOption('');
  await page.route('**/v1/models', (route) =>
    route.fulfill({ status: 401, json: { error: { message: 'No such key.' } } }),
  );
  await page.getByLabel('Your key').fill('psk_wrong');
  await page.getByRole('alert').getByText('401: No such key.').waitFor();
});

test('a pasted key fills in the snippets of its page, and can be tested there', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  const snippet = page.getByRole('region', { name: /^Snippet for/ });
  await until(async () => (await snippet.innerText()).includes('YOUR_KEY'));
  expect(await page.getByRole('button', { name: 'Test', exact: true }).count()).toBe(0);
  await page.getByLabel('Your key').fill('psk_pasted');
  await until(async () => (await snippet.innerText()).includes('psk_pasted'));
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await page.getByText(/total/).waitFor();
});
