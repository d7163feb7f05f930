// Do the list of keys and the page of one keep to what they are about? In a browser, over a server that is asked nothing hard.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { findBarriers } from '../browser/axe.ts';
import { SCREENS } from '../browser/chromium.ts';
import { click, dialogOf, goTo, makeOpen, specOf, yamlOf } from './pages.ts';

const open = makeOpen();

/** It stops callers, and is asked for twice. */
async function disable(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Disable' }).click();
  await click(page, 'Disable');
}

test('no click alone stops the callers of a key: disabling is confirmed, and enabling takes it back', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  const isDisabled = async () => (await specOf(page, 'team-a/ci-bot-0')).disabled;
  await page.getByRole('button', { name: 'Disable' }).click();
  await dialogOf(page).getByText('Calls with this key are refused').waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await click(page, 'Cancel');
  expect(await isDisabled()).toBeUndefined();
  await disable(page);
  const enable = page.getByRole('button', { name: 'Enable' });
  await enable.waitFor();
  expect(await isDisabled()).toBe(true);
  await enable.click();
  await page.getByRole('button', { name: 'Disable' }).waitFor();
  expect(await isDisabled()).toBe(false);
});

test('of a key that is switched off nothing is promised, and it is not called disabled before it is', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await disable(page);
  await page.locator('p[role=status]', { hasText: 'Disabled.' }).waitFor({ state: 'attached' });
  await page.getByRole('heading', { level: 1, name: 'ci-bot-0 Disabling' }).waitFor();
  await page.getByText('Gateways may accept it until they apply the last change.').waitFor();
});

test('a change answered by something else than the server is reported as unknown, neither done nor failed', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.route('**/api/kube/**', (route) =>
    route.request().method() === 'PATCH'
      ? route.fulfill({ contentType: 'text/html', body: '<p>Sign in at the proxy.' })
      : route.continue(),
  );
  const said = page.locator('p[role=status]', { hasText: /\S/ });
  await disable(page);
  await until(async () => (await page.getByRole('dialog').count()) === 0);
  await said.waitFor({ state: 'attached' });
  expect(await said.innerText()).toBe('The change may not have been saved.');
  await page.getByText('The answer did not come from the dashboard').waitFor();
});

test('budgets are added until each period has one, edited and taken away', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const dollars = dialogOf(page).getByLabel('Dollars');
  const before = await dollars.count();
  for (let count = before; count < 4; count += 1) {
    await click(page, 'Add budget');
    await dollars.last().fill(`${count}7.5`);
  }
  expect(await dialogOf(page).getByRole('button', { name: 'Add budget' }).count()).toBe(0);
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

test('removing a budget moves the focus to where one is added', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await page.getByText(/^Owner, expiry/).click();
  const add = page.getByRole('button', { name: 'Add budget' });
  const remove = page.getByRole('button', { name: /^Remove the budget/ });
  for (const _ of [2, 3, 4]) await add.click();
  for (const left of [3, 2, 0]) {
    await remove.last().click();
    await until(async () => (await remove.count()) === left);
    await until(async () => (await page.evaluate('document.activeElement?.textContent')) === 'Add budget');
  }
});

test('rows never appear below the name of another namespace', async () => {
  const page = await open('/keys?namespace=team-a');
  const table = page.getByRole('table', { name: 'API keys' });
  await table.waitFor();
  const held = Promise.withResolvers<void>();
  await page.route('**/api/rows/apikeys?*', async (route) => {
    await held.promise;
    await route.continue();
  });
  // The same view in another order: what is there stays, and is said to be busy.
  await goTo(page, '/keys?namespace=team-a&sort=spend');
  await page.locator('[aria-busy=true]').filter({ has: table }).waitFor();
  await goTo(page, '/keys?namespace=research');
  await page.getByText('Keys: loading…').waitFor();
  expect(await table.count()).toBe(0);
  held.resolve();
  await table.waitFor();
});

test('the key list refreshes while keys change all the time', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
  await page.getByRole('table', { name: 'API keys' }).waitFor();
  let asked = 0;
  page.on('request', (request) => {
    if (request.url().includes('/api/rows/apikeys')) asked += 1;
  });
  await until(async () => {
    await page.evaluate(
      `fetch('/api/kube/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys/ci-bot-0', { method: 'PATCH', body: '{"spec":{}}' })`,
    );
    // Less than it waits for more of them.
    await page.clock.runFor(600);
    return asked > 1;
  });
});

test('the key list reloads until it has the announced change, whichever pod answers', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  await goTo(page, '/keys?q=ci-bot-0');
  const table = page.getByRole('table', { name: 'API keys' });
  await table.waitFor();
  // As one that has not heard of it yet, and reads its list again after some seconds.
  const old = await page.evaluate(`fetch('/api/rows/apikeys?q=ci-bot-0').then((it) => it.text())`);
  let answeredOld = 0;
  await page.route('**/api/rows/apikeys?*', async (route) => {
    if (answeredOld === 3) return await route.continue();
    answeredOld += 1;
    await route.fulfill({ contentType: 'application/json', body: String(old) });
  });
  await page.evaluate(
    `fetch('/api/kube/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys/ci-bot-0', { method: 'PATCH', body: '{"spec":{"owner":{"name":"Grace"}}}' })`,
  );
  await until(async () => {
    await page.clock.runFor(600);
    return (await table.getByText('Grace').count()) > 0;
  });
  expect(answeredOld).toBe(3);
});

test('a page after the end of the list shows the last page, not an empty list', async () => {
  const page = await open('/keys?offset=50', { keys: 11 });
  await until(
    async () => (await page.getByRole('table', { name: 'API keys' }).getByRole('row').count()) === 12,
  );
  expect(new URL(page.url()).search).toBe('');
});

test.each([
  ['', '. Choose a namespace to see all of its keys.'],
  ['q=ci-bot-0', '. Choose a namespace to see all of its keys.'],
  ['q=no-such-key', '. Choose a namespace to see all of its keys.'],
  // There is no smaller part to choose.
  ['q=no-such-key&namespace=team-a', '.'],
])('a list that was cut says so, whatever is found in it (of %j)', async (query, wayOut) => {
  const page = await open('/nothing');
  await page.route('**/api/rows/apikeys?*', async (route) => {
    const response = await route.fetch();
    return route.fulfill({ response, json: { ...(await response.json()), isTruncated: true } });
  });
  await goTo(page, `/keys?${query}`);
  const said = page.getByText('Only the first 50,000 keys are searched');
  expect(await said.innerText()).toContain(`are searched${wayOut}`);
});

test('the search field shows the current search, however the page was opened', async () => {
  const page = await open('/keys');
  const field = page.getByRole('searchbox', { name: 'Search' });
  await field.fill('bot');
  await page.waitForURL('**/keys?q=bot');
  await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
  await until(async () => (await field.inputValue()) === '');
  expect(new URL(page.url()).search).toBe('');
  await page.evaluate(`history.back()`);
  await until(async () => (await field.inputValue()) === 'bot');
  expect(new URL(page.url()).search).toBe('?q=bot');
});

test('a name that is to be typed can be read on a phone, however long it is', async () => {
  const name = 'w'.repeat(190);
  const page = await open('/keys/team-a/ci-bot-0');
  await page.setViewportSize(SCREENS.phone);
  const apiKey = { metadata: { name, namespace: 'team-a' }, spec: {} };
  await page.evaluate(
    `fetch('/api/kube/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys', { method: 'POST', body: '${JSON.stringify(apiKey)}' })`,
  );
  await page.goto(new URL(`/keys/team-a/${name}`, page.url()).href);
  await page.getByRole('button', { name: 'Delete' }).click();
  await dialogOf(page).waitFor();
  const beyond = await page.evaluate(
    `[...document.querySelectorAll('dialog, dialog *')].filter((it) => it.scrollWidth > it.clientWidth && it.clientWidth > 0).map((it) => it.tagName)`,
  );
  expect(beyond).toEqual([]);
});

test('no list is wider than a phone, however long the hint of a key is', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.setViewportSize(SCREENS.phone);
  const hint = `${'p'.repeat(27)}…9f3a`;
  const apiKey = {
    metadata: { name: 'hinted', namespace: 'team-a' },
    spec: { imports: [{ sha256: 'a'.repeat(64), hint }] },
  };
  await page.evaluate(
    `fetch('/api/kube/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys', { method: 'POST', body: '${JSON.stringify(apiKey)}' })`,
  );
  await page.goto(new URL('/keys?q=hinted', page.url()).href);
  await page.getByText(hint).waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(SCREENS.phone.width);
});

test('without a ledger, no key is called unused and no ledger is called away', async () => {
  const page = await open('/keys?q=ci-bot-0', { hasLedger: false });
  await page.getByText('Usage is not recorded: there is no ledger.').waitFor();
  expect(await page.getByText('the ledger is not answering').count()).toBe(0);
  await page.getByText(/^–\sof \$100\.00\s\/\smonth$/).waitFor();
  expect(await page.getByRole('img', { name: 'of the budget' }).count()).toBe(0);
  await page.getByRole('link', { name: 'ci-bot-0', exact: true }).click();
  await page.getByText('Usage is not recorded: there is no ledger').waitFor();
  const fact = (name: string) =>
    page.locator('dl.facts > div', { hasText: name }).getByRole('definition').innerText();
  expect(await fact('Last used')).toBe('not counted');
  // Reported also before anything is spent of them.
  expect(await fact('Budgets')).toMatch(/^\$100\.00\s\/\smonth · \$10\.00\s\/\sday \(warn only\)$/);
});

test('on a phone keys are sorted by a field, and hidden elements get no focus', async () => {
  const page = await open('/keys?namespace=team-a', {}, { screen: 'phone' });
  const table = page.getByRole('table', { name: 'API keys' });
  await table.waitFor();
  expect(await page.locator('thead button').and(page.locator(':visible')).count()).toBe(0);
  await page.getByLabel('State').focus();
  for (const _ of [1, 2, 3]) {
    await page.keyboard.press('Tab');
    expect(await page.evaluate(`document.activeElement.closest('thead')`)).toBeNull();
  }
  await page.getByLabel('Sort by').selectOption('Name, descending');
  await page.waitForURL('**/keys?*order=desc*');
  await until(async () => {
    const names = await table.locator('tbody th a').allInnerTexts();
    return names.length > 1 && names.join() === names.toSorted().reverse().join();
  });
  expect(await page.getByRole('columnheader', { name: 'Owner' }).count()).toBe(1);
  expect(await findBarriers(page)).toEqual([]);
  await page.setViewportSize(SCREENS.wide);
  expect(await page.getByLabel('Sort by').isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Owner' }).click();
  await page.waitForURL('**/keys?*sort=owner*');
});

test('a search that finds one key says one key, and a spend of the day is that of today', async () => {
  const page = await open('/keys?q=ci-bot-0&namespace=team-a');
  await page.locator('p[role=status]', { hasText: /^1 key found\.$/ }).waitFor({ state: 'attached' });
  await page.getByRole('link', { name: 'ci-bot-0', exact: true }).click();
  await page.getByText('today', { exact: true }).waitFor();
});

test('the page of a key shows its last thirty days by model, its pace and its refusals', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  // Nine tenths of a month's budget were spent in the first day of the key.
  const periods = [
    { period: 'Month', start: new Date(Date.now() - 86_400_000).toISOString(), spend: '9', limit: '10' },
  ];
  await page.route('**/apikeys/ci-bot-0', async (route) => {
    const response = await route.fetch();
    const key = await response.json();
    await route.fulfill({ response, json: { ...key, status: { ...key.status, usage: { periods } } } });
  });
  const budget = { namespace: 'team-a', apiKey: 'team-a/ci-bot-0', period: 'Month', usedShare: 0.9 };
  const paceSince = new Date(Date.now() - 86_400_000).toISOString();
  await page.route('**/ledger/v1/budgets?*', (route) =>
    route.fulfill({ json: { budgets: [{ ...budget, paceSince }], isTruncated: false } }),
  );
  const asked = page.waitForRequest(/ledger\/v1\/series/);
  await page.reload();
  const search = new URL((await asked).url()).searchParams;
  expect([search.get('apiKey'), search.get('by'), search.get('interval')]).toEqual([
    'team-a/ci-bot-0',
    'model',
    'day',
  ]);
  await page.getByText('Spend of 30 days by model').first().waitFor({ state: 'attached' });
  await page.getByText(/At this pace it is used up/).waitFor();
  const refused = page.getByRole('link', { name: '427 requests refused in 30 days' });
  await page.getByText('rate limit exceeded 400 · model not found 27.').waitFor();
  expect(await refused.getAttribute('href')).toBe(
    '/requests?apiKey=team-a%2Fci-bot-0&outcome=refused&period=30d',
  );
  expect(await findBarriers(page)).toEqual([]);
});
