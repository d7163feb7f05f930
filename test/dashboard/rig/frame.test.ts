// Does what is around all views hold: the session, the namespace, live updates? In a browser, over a server that is asked nothing hard.

import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { findBarriers } from '../browser/axe.ts';
import { click, dialogOf, makeOpen } from './pages.ts';

const open = makeOpen();

const hourMs = 3_600_000;
/** So much of the hour may have passed outside the page. */
const testMs = 180_000;

test('on a laptop every view says why no change is taken, from the first to the last moment', async () => {
  const heldBack: string[] = [];
  const page = await open('/keys', { mode: 'local', heldBack });
  await page.getByRole('table', { name: 'API keys' }).waitFor();
  const notice = page.getByText('Changes are not applied: the manifests have errors');
  expect(await notice.count()).toBe(0);
  heldBack.push('routes.yaml:25: ModelRoute default/small: spec.targets[1].upstreamModl: unknown field');
  await notice.waitFor();
  await page.getByText(heldBack[0] ?? '').waitFor();
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
  await notice.waitFor();
  heldBack.pop();
  await notice.waitFor({ state: 'detached' });
});

test('while namespaces load, the page says so, also to screen readers', async () => {
  const page = await open(
    '/keys',
    { hanging: ['namespaces'] },
    { screen: 'phone', colorScheme: 'dark', isLoading: true },
  );
  await page.getByRole('status').getByRole('heading', { name: 'Loading…' }).waitFor();
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
});

test('an object appears that is created while its page says "not found"', async () => {
  const page = await open('/keys/team-a/later');
  await page.getByText('Not found').waitFor();
  await page.evaluate(
    `fetch('/api/kube/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys', { method: 'POST', body: '{"metadata":{"name":"later","namespace":"team-a"},"spec":{}}' })`,
  );
  await page.getByRole('heading', { level: 1, name: /^later / }).waitFor();
  expect(await page.getByText('Out of date').count()).toBe(0);
});

test.each([
  ['words', { contentType: 'text/plain', body: '404 page not found' }],
  ['JSON', { json: { message: 'no Route matched with those values' } }],
])('a 404 from a proxy does not mean that the object is missing, in %s', async (_, answer) => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.route('**/apikeys/ci-bot-0', (route) => route.fulfill({ status: 404, ...answer }));
  await page.evaluate(`dispatchEvent(new Event('online'))`);
  await page.getByText('The answer did not come from the dashboard').waitFor();
  await page.getByRole('heading', { level: 1, name: /^ci-bot-0 / }).waitFor();
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
  await until(async () => refusals > 0);
  await until(async () => {
    await page.clock.runFor(2_000);
    return refusals > 1;
  });
});

test.each([
  ['the server tells the time', true],
  ['without a Date header', false],
])(
  'a browser whose clock is hours ahead does not ask for its session again and again, where %s',
  async (_, tells) => {
    const page = await open('/nothing');
    await page.clock.install({ time: Date.now() + 13 * hourMs });
    let asked = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/api/session')) asked += 1;
    });
    if (!tells)
      await page.route('**/api/**', async (route) => {
        const response = await route.fetch();
        const { date: _date, ...headers } = response.headers();
        await route.fulfill({ response, headers });
      });
    await page.reload();
    await page.getByRole('heading', { level: 1 }).waitFor();
    // Of half a minute that it waits: on a busy machine the rest may pass by itself at the same time.
    await page.clock.runFor(5_000);
    // Whatever was asked before it has been heard of with this.
    await page.evaluate(`fetch('/api/namespaces').then((it) => it.text())`);
    expect(asked).toBe(1);
    // Its end is not inside this: while time is run through no answer comes, and what has none is asked for again.
    if (tells) await page.clock.runFor(hourMs - testMs);
    // No further than to that question.
    await until(async () => {
      await page.clock.runFor(5_000);
      return asked > 1;
    });
    expect(asked).toBe(2);
  },
);

test('a session that ends while the server is away is checked again', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  await page.reload();
  await page.getByRole('heading', { level: 1 }).waitFor();
  let asked = 0;
  await page.route('**/api/session', (route) => {
    asked += 1;
    return route.fulfill({ status: 503, json: {} });
  });
  await page.clock.runFor(hourMs);
  await until(async () => {
    await page.clock.runFor(10_000);
    return asked > 1;
  });
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Page not found');
});

test('a user without the right to list namespaces is asked for a namespace before anything loads', async () => {
  const page = await open('/keys', { without: ['list namespaces'] });
  const asked: string[] = [];
  page.on('request', (request) => {
    const [, path] = request.url().split('/api/');
    if (path !== undefined) asked.push(`${path} ${request.postData() ?? ''}`.trim());
  });
  await page.reload();
  const isInField = async () =>
    (await page.evaluate('document.activeElement?.labels?.[0]?.textContent')) === 'Namespace';
  await page.getByRole('heading', { level: 1, name: 'Enter a namespace' }).waitFor();
  await until(isInField);
  // From view to view it is the same question; a page of one object names its namespace itself.
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await until(isInField);
  await page.keyboard.type('Team A');
  await page.keyboard.press('Enter');
  await page.getByText('Not a namespace name').waitFor();
  expect(asked.splice(0)).toEqual(['session', 'namespaces']);
  await page.getByLabel('Namespace', { exact: true }).fill('team-a');
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: 'Models' }).waitFor();
  await page.getByRole('link', { name: 'Keys', exact: true }).click();
  await page.getByRole('table', { name: 'API keys' }).waitFor();
  expect(new URL(page.url()).search).toBe('?namespace=team-a');
  await until(async () => asked.some((one) => one.startsWith('watch')));
  for (const one of asked) expect(one).toMatch(/namespace=team-a|namespaces\/team-a\/|"namespace":"team-a"/);
});

test('a page of one object needs no other namespace than its own', async () => {
  const page = await open('/keys/team-a/ci-bot-0', { without: ['list namespaces'] });
  await page.getByRole('heading', { level: 1, name: /ci-bot-0/ }).waitFor();
});

test('a dialog starts without announcements from before', async () => {
  const page = await open('/keys/team-b/notebook-1');
  await page.context().grantPermissions(['clipboard-write']);
  await page.getByRole('button', { name: 'Copy' }).first().click();
  await page.getByRole('status').getByText('Copied.').waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Edit' }).click();
  await dialogOf(page).waitFor();
  await dialogOf(page).getByRole('status').getByText('Copied.').waitFor({ state: 'detached' });
});

test('a dialog announces inside itself, since screen readers ignore the page below', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.context().grantPermissions(['clipboard-write']);
  await page.getByRole('button', { name: 'View as YAML' }).click();
  await click(page, 'Copy');
  await dialogOf(page).getByRole('status').getByText('Copied.').waitFor({ state: 'attached' });
  expect(await findBarriers(page)).toEqual([]);
});

test('the user menu closes on Escape, which returns the focus, and on a click elsewhere', async () => {
  const page = await open('/nothing');
  const signOut = page.getByRole('button', { name: 'Sign out' });
  const menu = page.locator('.person summary');
  await menu.click();
  await signOut.waitFor();
  await page.keyboard.press('Escape');
  await signOut.waitFor({ state: 'hidden' });
  expect(await page.evaluate('document.activeElement?.tagName')).toBe('SUMMARY');
  await menu.click();
  await signOut.waitFor();
  await page.getByRole('heading', { level: 1 }).click();
  await signOut.waitFor({ state: 'hidden' });
});
