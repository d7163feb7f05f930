// Do forms and pages keep to what they are about? In a browser, over a server that is asked nothing hard.

import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { buildPages } from '../../../dashboard/build-pages.ts';
import { until } from '../../support/until.ts';
import { openChromium, type Visitor } from '../browser/chromium.ts';
import { openView } from './views.ts';

let pages: string;
let browser: Browser;
let visitor: Visitor | undefined;

beforeAll(async () => {
  pages = await mkdtemp(join(tmpdir(), 'penstock-pages-'));
  await buildPages(pages);
  browser = await openChromium();
}, 120_000);
afterEach(() => visitor?.close());
afterAll(async () => {
  await browser?.close();
  await rm(pages, { recursive: true, force: true });
});

const atDesk = { screen: 'wide', colorScheme: 'light' } as const;
async function open(path: string): Promise<Page> {
  visitor = await openView(browser, { path }, atDesk, pages);
  return visitor.page;
}
/** The front one is the last. */
const dialogOf = (page: Page) => page.getByRole('dialog').last();
const click = (page: Page, name: string) => dialogOf(page).getByRole('button', { name }).click();
const yamlOf = (page: Page) => dialogOf(page).getByRole('region', { name: 'YAML' }).innerText();

test('a rotation as YAML holds the hash of the key that is shown with it', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.getByRole('button', { name: 'Rotate' }).click();
  await click(page, 'View as YAML');
  const key = (await dialogOf(page).getByRole('region', { name: 'The new key' }).innerText()).trim();
  expect(key).toMatch(/^psk_[0-9A-Za-z]{49}$/);
  expect(await yamlOf(page)).toMatch(new RegExp(`sha256: "?${hash('sha256', key, 'hex')}"?\n`));
  await click(page, 'Close');
  await until(async () => !(await page.content()).includes(key));
});

test('a new key as YAML is of the way in which it is to be made', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await page.getByPlaceholder('ci-bot').fill('batch');
  await page.getByRole('button', { name: 'View as YAML' }).click();
  const key = (await dialogOf(page).getByRole('region', { name: 'The new key' }).innerText()).trim();
  const yaml = await yamlOf(page);
  expect(yaml).toMatch(new RegExp(`sha256: "?${hash('sha256', key, 'hex')}"?\n`));
  expect(yaml).toContain(`…${key.slice(-4)}`);
  expect(yaml).not.toContain(key);
  await click(page, 'Close');
  await until(async () => !(await page.content()).includes(key));

  await page.getByText('In the cluster', { exact: true }).click();
  await page.getByRole('button', { name: 'View as YAML' }).click();
  expect(await yamlOf(page)).not.toContain('imports');
  expect(await dialogOf(page).innerText()).toContain('The operator makes the key');
});

test('budgets are added until each period has one, edited and taken away', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const dollars = dialogOf(page).getByLabel('Dollars');
  const before = await dollars.count();
  for (let count = before; count < 4; count += 1) {
    await click(page, 'Add a budget');
    await dollars.last().fill(`${count}7.5`);
  }
  expect(await dialogOf(page).getByRole('button', { name: 'Add a budget' }).count()).toBe(0);
  await dialogOf(page)
    .getByRole('button', { name: /^Remove the budget/ })
    .first()
    .click();
  await click(page, 'View as YAML');
  const yaml = await yamlOf(page);
  expect(yaml.match(/period: /g)).toHaveLength(3);
  expect(new Set(yaml.match(/period: \w+/g)).size).toBe(3);
  expect(yaml).toContain('37.5');
});

test('whoever takes a budget away goes on where one is added', async () => {
  const page = await open('/keys/new?namespace=team-a');
  const add = page.getByRole('button', { name: 'Add a budget' });
  const remove = page.getByRole('button', { name: /^Remove the budget/ });
  for (const _ of [2, 3, 4]) await add.click();
  for (const left of [3, 2, 0]) {
    await remove.last().click();
    await until(async () => (await remove.count()) === left);
    await until(async () => (await page.evaluate('document.activeElement?.textContent')) === 'Add a budget');
  }
});

test('rows of one namespace never stand below the name of another', async () => {
  const page = await open('/keys?namespace=team-a');
  const table = page.getByRole('table', { name: 'API keys' });
  await table.waitFor();
  const held = Promise.withResolvers<void>();
  await page.route('**/api/rows/apikeys?*', async (route) => {
    await held.promise;
    await route.continue();
  });
  const go = (path: string) =>
    page.evaluate(`history.pushState(null, '', '${path}'); dispatchEvent(new PopStateEvent('popstate'))`);
  // The same view in another order: what is there stays, and is said to be busy.
  await go('/keys?namespace=team-a&sort=spend');
  await page.locator('[aria-busy=true]').filter({ has: table }).waitFor();
  await go('/keys?namespace=research');
  await page.getByText('Keys: loading…').waitFor();
  expect(await table.count()).toBe(0);
  held.resolve();
  await table.waitFor();
});

test('a page that was refused its live updates asks for them again', async () => {
  const page = await open('/nothing');
  let refusals = 0;
  await page.route('**/api/watch?*', async (route) => {
    refusals += 1;
    if (refusals > 1) await route.continue();
    else await route.fulfill({ status: 503, body: '' });
  });
  await page.clock.install();
  await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
  await page.getByRole('table', { name: 'API keys' }).waitFor();
  await until(async () => refusals === 1);
  await until(async () => {
    await page.clock.runFor(2_000);
    return refusals === 2;
  });
});

test('a key that was made on the page of one object is not on that of another', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.getByRole('button', { name: 'Rotate' }).click();
  await click(page, 'Rotate');
  const key = await page.getByTestId('key').innerText();
  // As whoever goes back by two.
  await page.evaluate(
    `history.pushState(null, '', '/keys/research/agent-2'); dispatchEvent(new PopStateEvent('popstate'))`,
  );
  await page.getByRole('heading', { level: 1, name: /agent-2/ }).waitFor();
  expect(await page.content()).not.toContain(key.trim());
});
