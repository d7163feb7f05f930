// Does the list of requests follow the newest, hold still for a reader, and open the attempts of each? In a browser, over a server that
// is asked nothing hard.

import { readFile } from 'node:fs/promises';
import type { Page, Route } from 'playwright-core';
import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { findBarriers } from '../browser/axe.ts';
import { dialogOf, makeOpen, show } from './pages.ts';

const open = makeOpen();
const id = (at: number) => `req_c89baf3f09b0e4ece4c401eb${String(at).padStart(6, '0')}`;
const rowsOf = (page: Page) => page.getByRole('table', { name: 'Requests' }).locator('tbody tr');
const addressOf = (page: Page) => new URL(page.url()).searchParams;

/** Counts questions for the list, and gives their queries. */
function listQuestions(page: Page): URLSearchParams[] {
  const asked: URLSearchParams[] = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname.endsWith('/request-log') && !url.searchParams.has('request'))
      asked.push(url.searchParams);
  });
  return asked;
}

test('a row opens its attempts in words, under a separate address, and gives the focus back', async () => {
  const page = await open('/requests');
  const row = rowsOf(page).nth(3);
  expect(await row.innerText()).toContain('after 1 failed attempt');
  const opener = row.getByRole('button', { name: /open request/ });
  await opener.focus();
  await page.keyboard.press('Enter');
  const dialog = dialogOf(page);
  await dialog.getByText('openai answered HTTP 500 after 120 ms.').waitFor();
  await dialog.getByText('anthropic answered in 2.3 s.').waitFor();
  expect(addressOf(page).get('request')).toBe(id(3));
  expect(await findBarriers(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await until(async () => (await page.getByRole('dialog').count()) === 0);
  expect(addressOf(page).has('request')).toBe(false);
  const focused = await page.evaluate(`document.activeElement.closest('tr').innerText`);
  expect(focused).toBe(await row.innerText());
});

test('a request is found by its id, also where the ledger has it a moment later', async () => {
  const page = await open('/requests');
  let asked = 0;
  await page.route(/request-log\?.*request=/, async (route: Route) => {
    asked += 1;
    if (asked < 3) await route.fulfill({ json: { rows: [], attempts: [], isTruncated: false } });
    else await route.fallback();
  });
  await page.getByLabel('Request id').fill(` ${id(1)} `);
  await page.keyboard.press('Enter');
  await dialogOf(page).getByText('Looking for it').waitFor();
  await dialogOf(page).getByText('The limit of 60 requests a minute is used up.').waitFor();
  expect(asked).toBe(3);
});

test('an id that is not of this namespace is reported in seconds, with a link to all namespaces', async () => {
  const page = await open('/requests?namespace=team-a');
  await page.route(/request-log\?.*request=/, async (route: Route) => {
    await route.fulfill({ json: { rows: [], attempts: [], isTruncated: false } });
  });
  await page.getByLabel('Request id').fill('req_0000');
  await page.keyboard.press('Enter');
  await dialogOf(page).getByText('No request of team-a has this id.').waitFor();
  await dialogOf(page).getByRole('link', { name: 'Look in all namespaces' }).click();
  await dialogOf(page).getByText('No request of any namespace has this id.').waitFor();
  expect(addressOf(page).get('namespace')).toBe('*');
});

test('an invalid request id is reported at once, and not looked up', async () => {
  const page = await open('/requests');
  let asked = 0;
  page.on('request', (request) => {
    if (/request-log\?.*request=/.test(request.url())) asked += 1;
  });
  await page.getByLabel('Request id').fill('nonsense');
  await page.keyboard.press('Enter');
  await dialogOf(page).getByText('Not a request id').waitFor();
  expect(asked).toBe(0);
});

test('filters are in the address, go to the ledger, and are cleared together', async () => {
  const page = await open('/requests?outcome=error&apiKey=team-a/ci-bot-0');
  const asked = listQuestions(page);
  await page.getByLabel('Model').fill('penstock/large');
  await page.keyboard.press('Enter');
  await until(async () => asked.some((query) => query.get('model') === 'penstock/large'));
  const last = asked.find((query) => query.get('model') === 'penstock/large');
  expect(Object.fromEntries(last ?? [])).toMatchObject({
    outcome: 'error',
    apiKey: 'team-a/ci-bot-0',
    namespace: 'team-a',
    model: 'penstock/large',
  });
  expect(addressOf(page).get('model')).toBe('penstock/large');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  expect([...addressOf(page).keys()]).toEqual([]);
  expect(await page.getByLabel('Model').inputValue()).toBe('');
});

test('new requests appear by themselves, and wait while the user points at a row, reads further down or looks elsewhere', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  const asked = listQuestions(page);
  await page.getByRole('link', { name: 'Requests', exact: true }).click();
  await rowsOf(page).first().waitFor();
  const more = async () => {
    const before = asked.length;
    await page.clock.runFor(6_500);
    return asked.length - before;
  };
  const first = rowsOf(page).first();
  await page.evaluate(`document.querySelector('tbody tr').dataset.kept = 'yes'`);
  await until(async () => (await more()) > 0);
  // What was there is the same row, not another one in its place.
  expect(await page.locator('tr[data-kept="yes"]').count()).toBe(1);
  await first.hover();
  await page.getByRole('button', { name: 'Live (paused while you read)' }).waitFor();
  expect(await more()).toBe(0);
  await page.mouse.move(0, 0);
  await page.getByRole('button', { name: 'Live', exact: true }).waitFor();
  await until(async () => (await more()) > 0);
  await page.evaluate('scrollTo(0, 900)');
  await page.getByRole('button', { name: 'Live (paused while you read)' }).waitFor();
  expect(await more()).toBe(0);
  await page.evaluate('scrollTo(0, 0)');
  await until(async () => (await more()) > 0);
  await show(page, 'hidden');
  expect(await more()).toBe(0);
  await show(page, 'visible');
  await until(async () => (await more()) > 0);
  await page.getByRole('button', { name: 'Live', exact: true }).click();
  await page.getByRole('button', { name: 'Live off' }).waitFor();
  expect(await more()).toBe(0);
});

test('a row is short on a phone, and has no empty figures', async () => {
  const page = await open('/requests');
  await page.setViewportSize({ width: 360, height: 740 });
  await rowsOf(page).first().waitFor();
  const heights = await rowsOf(page).evaluateAll((rows) => rows.map((row) => row.clientHeight));
  expect(Math.max(...heights)).toBeLessThan(150);
  expect(await rowsOf(page).getByText('–', { exact: true }).locator('visible=true').count()).toBe(0);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  expect(await findBarriers(page)).toEqual([]);
});

test('older requests load below, and the exported file has all of them', async () => {
  const page = await open('/requests');
  await page.getByText('1,204 further refusals of this period were only counted').waitFor();
  await page.getByRole('button', { name: 'Load older' }).click();
  await page.getByText('100 requests shown.').waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV: Requests' }).click(),
  ]);
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
  expect(lines).toHaveLength(101);
  expect(lines[1]).toContain(id(0));
});

test('with failures first, new requests do not appear by themselves', async () => {
  const page = await open('/requests');
  const asked = listQuestions(page);
  await page.getByRole('radio', { name: 'Failures first' }).check();
  await until(async () => asked.some((query) => query.get('order') === 'failures'));
  expect(addressOf(page).get('order')).toBe('failures');
  expect(await page.getByRole('button', { name: /^Live/ }).count()).toBe(0);
});
