// Do forms and pages keep to what they are about? In a browser, over a server that is asked nothing hard.

import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { buildPages } from '../../../dashboard/build-pages.ts';
import { PERIODS } from '../../../dashboard/pages/overview/period.ts';
import { GROUPINGS } from '../../../dashboard/pages/overview/questions.ts';
import type { ApiKey } from '../../../dashboard/pages/words/kube.ts';
import { viewQuestions } from '../../ledger/view-questions.ts';
import { until } from '../../support/until.ts';
import { findBarriers } from '../browser/axe.ts';
import { openChromium, SCREENS, settled, type Visitor } from '../browser/chromium.ts';
import type { RigOptions } from './server.ts';
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
async function open(path: string, rig: Partial<RigOptions> = {}): Promise<Page> {
  visitor = await openView(browser, { path, rig }, atDesk, pages);
  return visitor.page;
}
/** The front one is the last. */
const dialogOf = (page: Page) => page.getByRole('dialog').last();
const click = (page: Page, name: string) => dialogOf(page).getByRole('button', { name }).click();
const yamlOf = (page: Page) => dialogOf(page).getByRole('region', { name: 'YAML' }).innerText();

/** What the API server holds. */
const specOf = async (page: Page, path: string) =>
  (
    (await page.evaluate(
      `fetch('/api/kube/apis/penstock.dev/v1alpha1/namespaces/${path.replace('/', '/apikeys/')}').then((it) => it.json())`,
    )) as { readonly spec: ApiKey['spec'] }
  ).spec;
/** Loses what is answered to each change; @param arrives whether the change itself comes there. */
async function loseAnswers(page: Page, method: string, { arrives }: { readonly arrives: boolean }) {
  await page.unroute('**/api/kube/**');
  await page.route('**/api/kube/**', async (route) => {
    const request = route.request();
    if (request.method() !== method || request.url().includes('dryRun')) return await route.continue();
    if (arrives) await route.fetch();
    await route.abort();
  });
}
const shownKey = async (page: Page) => (await page.getByTestId('key').innerText()).trim();
const fillName = (page: Page, name: string) => page.getByPlaceholder('ci-bot').fill(name);
const create = (page: Page) => page.getByRole('button', { name: 'Create key' }).click();

test('a new key is shown although the answer to it was lost', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await loseAnswers(page, 'POST', { arrives: true });
  await fillName(page, 'lost');
  await create(page);
  const key = await shownKey(page);
  expect((await specOf(page, 'team-a/lost')).imports?.[0]?.sha256).toBe(hash('sha256', key, 'hex'));
});

test('a new key that may have come there is sent again, and is the same one', async () => {
  const page = await open('/keys/new?namespace=team-a');
  const hashes: unknown[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/apikeys'))
      hashes.push(request.postDataJSON().spec.imports[0].sha256);
  });
  await loseAnswers(page, 'POST', { arrives: false });
  await fillName(page, 'late');
  await create(page);
  await page.getByText('It is not known whether the key was created').waitFor();
  await page.unroute('**/api/kube/**');
  await create(page);
  const sha256 = hash('sha256', await shownKey(page), 'hex');
  expect(hashes).toEqual([sha256, sha256]);
});

test('a key that the operator makes is there although the answer was lost', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await loseAnswers(page, 'POST', { arrives: true });
  await fillName(page, 'in-secret');
  await page.getByText('In the cluster', { exact: true }).click();
  await create(page);
  await page.getByText('The operator writes the key into the Secret').waitFor();
});

test('a rotated key is shown although the answer was lost, or comes late', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  const rotate = async () => {
    await page.getByRole('button', { name: 'Rotate' }).click();
    await dialogOf(page).getByLabel('Overlap').selectOption('0');
    await click(page, 'Rotate');
  };
  const isHeld = async () => {
    const sha256 = hash('sha256', await shownKey(page), 'hex');
    expect((await specOf(page, 'team-a/ci-bot-0')).imports?.map((one) => one.sha256)).toEqual([sha256]);
  };
  await loseAnswers(page, 'PATCH', { arrives: true });
  await rotate();
  await isHeld();
  await page.getByText('The key before works no longer.').waitFor();
  await page.getByRole('button', { name: /^Done/ }).click();

  await loseAnswers(page, 'PATCH', { arrives: false });
  let body: unknown;
  page.on('request', (request) => {
    if (request.method() === 'PATCH') body = request.postDataJSON();
  });
  await rotate();
  await page.getByText('It is not known whether the key was rotated').waitFor();
  await page.unroute('**/api/kube/**');
  // It arrives now, and nobody clicks.
  await page.evaluate(
    `fetch('/api/kube/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys/ci-bot-0', { method: 'PATCH', body: ${JSON.stringify(JSON.stringify(body))} })`,
  );
  await isHeld();
});

test('a rotation leaves the overlap that is set, and says when it would change', async () => {
  const page = await open('/keys/team-b/notebook-1');
  await page.evaluate(
    `fetch('/api/kube/apis/penstock.dev/v1alpha1/namespaces/team-b/apikeys/notebook-1', { method: 'PATCH', body: '{"spec":{"rotation":{"interval":"12h","overlap":"6h"}}}' })`,
  );
  await page.getByRole('button', { name: 'Rotate' }).click();
  const overlap = dialogOf(page).getByLabel('Overlap');
  await until(async () => (await overlap.innerText()).includes('6h'));
  expect(await overlap.locator('option').allInnerTexts()).toEqual([
    'as it is set: 6h',
    'none: the old key stops at once',
    '1 hour',
  ]);
  await overlap.selectOption('1');
  await dialogOf(page).getByText('planned rotations have this overlap too').waitFor();
  await overlap.selectOption('');
  await click(page, 'Rotate');
  await until(async () => (await page.getByRole('dialog').count()) === 0);
  const { trigger, ...rest } = (await specOf(page, 'team-b/notebook-1')).rotation ?? {};
  expect(trigger).toMatch(/^dashboard-/);
  expect(rest).toEqual({ interval: '12h', overlap: '6h' });
});

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

test('of a key that is switched off nothing is promised, and it is not called disabled before it is', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.getByRole('button', { name: 'Disable' }).click();
  await page
    .locator('p[role=status]', { hasText: 'it stops working as soon as gateways have taken that' })
    .waitFor({ state: 'attached' });
  await page.getByRole('heading', { level: 1, name: 'ci-bot-0 Disabling' }).waitFor();
  await page.getByText('Gateways may go on serving it until they have taken the last change.').waitFor();
});

test('on a laptop every view says why no change is taken, as soon as it is so and as long as it is', async () => {
  const heldBack: string[] = [];
  const page = await open('/keys', { mode: 'local', heldBack });
  await page.getByRole('table', { name: 'API keys' }).waitFor();
  const notice = page.getByText('No change is taken: the last good manifests go on serving');
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

test('the list of keys is asked for anew while keys change all the time', async () => {
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

test('a page of the list that is behind its end is the last one, and no claim that there is none', async () => {
  const page = await open('/keys?offset=50', { keys: 11 });
  await until(
    async () => (await page.getByRole('table', { name: 'API keys' }).getByRole('row').count()) === 12,
  );
  expect(new URL(page.url()).search).toBe('');
});

test('the field of the search says what is searched for, wherever one comes from', async () => {
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

test('an object that is made while its page says that there is none is shown', async () => {
  const page = await open('/keys/team-a/later');
  await page.getByText('It does not exist').waitFor();
  await page.evaluate(
    `fetch('/api/kube/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys', { method: 'POST', body: '{"metadata":{"name":"later","namespace":"team-a"},"spec":{}}' })`,
  );
  await page.getByRole('heading', { level: 1, name: /^later / }).waitFor();
  expect(await page.getByText('This is not up to date').count()).toBe(0);
});

test('what a test of one model came to is not said of another', async () => {
  const page = await open('/nothing');
  await page.route('**/api/ledger/v1/catalog', (route) =>
    route.fulfill({
      json: {
        models: ['one', 'two'].map((id) =>
          model(id, { chat: 'native', messages: 'native', responses: 'native' }),
        ),
      },
    }),
  );
  await page.goto(new URL('/keys/new?namespace=team-a', page.url()).href);
  await fillName(page, 'tested');
  await create(page);
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await page.getByText(/^one.*whole after/).waitFor();
  await page.getByLabel('Model', { exact: true }).selectOption('two');
  await until(async () => (await page.getByText(/whole after/).count()) === 0);
});

test('the overview keeps what it has and calls it old while the ledger does not answer, however many minutes', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  const tiles = page.locator('.tiles > li');
  const shown = async () => [await tiles.count(), await page.locator('.chart').count()];
  await until(async () => (await shown()).join() === '5,1');
  let refused = 0;
  await page.route('**/api/ledger/v1/**', async (route) => {
    refused += 1;
    await route.fulfill({ status: 503, json: { error: { message: 'Later.', code: 'ledger_unreachable' } } });
  });
  for (const minute of [1, 2]) {
    await until(async () => {
      await page.clock.runFor(10_000);
      return refused >= 6 * minute;
    });
    await page.getByText('What was used: this is not up to date').waitFor();
    await page.getByText('The chart: this is not up to date').waitFor();
    expect(await shown()).toEqual([5, 1]);
  }
  // It is asked for again, and all of it.
  await page.unroute('**/api/ledger/v1/**');
  await page.getByRole('button', { name: 'Try again' }).first().click();
  await page.getByText('What was used: this is not up to date').waitFor({ state: 'detached' });
});

test('what goes wrong while the overview is open is told within a minute', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  const wrong = page.locator('section', { has: page.getByText('What went wrong lately') });
  await wrong.getByRole('listitem').first().waitFor();
  await page.route('**/penstock.dev/v1alpha1/modelroutes?*', (route) =>
    route.fulfill({ json: { items: [brokenRoute], metadata: {} } }),
  );
  await until(async () => {
    await page.clock.runFor(10_000);
    return (await wrong.getByText('Failover drill of team-a/later failed').count()) > 0;
  });
});

test('a model that gateways take while its list is open is in it, also one of the platform’s', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  const models = [model('first', {})];
  await page.route('**/api/ledger/v1/catalog', (route) => route.fulfill({ json: { models } }));
  await page.evaluate(
    `history.pushState(null, '', '/models?namespace=team-a'); dispatchEvent(new PopStateEvent('popstate'))`,
  );
  const row = (name: string) => page.getByRole('table', { name: 'Models' }).getByText(name, { exact: true });
  await row('first').waitFor();
  models.push(model('own', {}));
  await page.evaluate(
    `fetch('/api/kube/apis/penstock.dev/v1alpha1/namespaces/team-a/modelroutes', { method: 'POST', body: '{"metadata":{"name":"own","namespace":"team-a"},"spec":{"model":"own"}}' })`,
  );
  let waitedMs = 0;
  const passes = async (name: string) => {
    await page.clock.runFor(1_000);
    waitedMs += 1_000;
    return (await row(name).count()) > 0;
  };
  await until(() => passes('own'));
  expect(waitedMs).toBeLessThan(60_000);
  models.push(model('lent', {}));
  await until(() => passes('lent'));
});

test('while the namespaces are asked for, the page says that it loads, to whoever hears it too', async () => {
  visitor = await openView(
    browser,
    { path: '/keys', rig: { hanging: ['namespaces'] }, isLoading: true },
    { screen: 'phone', colorScheme: 'dark' },
    pages,
  );
  const { page } = visitor;
  await page.getByRole('status').getByRole('heading', { name: 'Loading…' }).waitFor();
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
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

const hourMs = 3_600_000;

test.each([-2, 13])(
  'an overlap is as long as was said, in a browser whose clock is off by %i hours',
  async (offHours) => {
    const page = await open('/keys/team-a/ci-bot-0');
    const before = (await specOf(page, 'team-a/ci-bot-0')).imports?.at(-1);
    await page.clock.setFixedTime(Date.now() + offHours * hourMs);
    await page.reload();
    await page.getByRole('button', { name: 'Rotate' }).click();
    await dialogOf(page).getByLabel('Overlap').selectOption('1');
    await click(page, 'Rotate');
    await shownKey(page);
    const { imports } = await specOf(page, 'team-a/ci-bot-0');
    const until = imports?.find(({ sha256 }) => sha256 === before?.sha256)?.notAfter ?? '';
    // A generous bound around what takes a second.
    expect(Math.abs(Date.parse(until) - Date.now() - hourMs)).toBeLessThan(60_000);
  },
);

test.each([
  ['the server tells the time', true],
  ['nobody tells it the time', false],
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
    await page.clock.runFor(20_000);
    // Whatever was asked before it has been heard of with this.
    await page.evaluate(`fetch('/api/namespaces').then((it) => it.text())`);
    expect(asked).toBe(1);
    await page.clock.runFor(tells ? hourMs : 20_000);
    await until(async () => asked === 2);
    await page.unrouteAll({ behavior: 'wait' });
  },
);

test('a key that was made on the page of one object is not on that of another', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.getByRole('button', { name: 'Rotate' }).click();
  await click(page, 'Rotate');
  const key = await page.getByTestId('key').innerText();
  // As whoever goes back by two.
  await page.evaluate(
    `history.pushState(null, '', '/keys/research/agent-2'); dispatchEvent(new PopStateEvent('popstate'))`,
  );
  await click(page, 'Leave: forget the key');
  await page.getByRole('heading', { level: 1, name: /agent-2/ }).waitFor();
  expect(await page.content()).not.toContain(key.trim());
});

test('whoever may not list namespaces is asked for theirs, before anything is asked of all of them', async () => {
  const page = await open('/keys', { without: ['list namespaces'] });
  const asked: string[] = [];
  page.on('request', (request) => {
    const [, path] = request.url().split('/api/');
    if (path !== undefined) asked.push(`${path} ${request.postData() ?? ''}`.trim());
  });
  await page.reload();
  const isInField = async () =>
    (await page.evaluate('document.activeElement?.labels?.[0]?.textContent')) === 'Namespace';
  await page.getByRole('heading', { level: 1, name: 'Type the namespace you work in' }).waitFor();
  await until(isInField);
  // From view to view it is the same question; a page of one object names its namespace itself.
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await until(isInField);
  await page.keyboard.type('Team A');
  await page.keyboard.press('Enter');
  await page.getByText('This is no name of a namespace.').waitFor();
  expect(asked.splice(0)).toEqual(['session', 'namespaces']);
  await page.getByLabel('Namespace', { exact: true }).fill('team-a');
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: 'Models' }).waitFor();
  await page.getByRole('link', { name: 'Keys', exact: true }).click();
  await page.getByRole('table', { name: 'API keys' }).waitFor();
  expect(new URL(page.url()).search).toBe('?namespace=team-a');
  await until(async () => asked.some((one) => one.startsWith('watch')));
  for (const one of asked) expect(one).toMatch(/namespace=team-a|"namespace":"team-a"/);
});

test('a page of one object needs no other namespace than its own', async () => {
  const page = await open('/keys/team-a/ci-bot-0', { without: ['list namespaces'] });
  await page.getByRole('heading', { level: 1, name: /ci-bot-0/ }).waitFor();
});

test('a key that was not copied is not left without a question', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await fillName(page, 'shown');
  await create(page);
  const key = await shownKey(page);
  const menu = page.getByRole('link', { name: 'Overview', exact: true });
  const dialog = page.getByRole('dialog', { name: 'Leave without the key?' });
  const stays = async () => {
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await shownKey(page)).toBe(key);
    expect(new URL(page.url()).pathname).toBe('/keys/new');
  };
  await menu.focus();
  await page.keyboard.press('Enter');
  await stays();
  expect(await menu.evaluate((link) => link === link.ownerDocument.activeElement)).toBe(true);
  // Another namespace for the lists is no other view.
  await page.evaluate(`history.pushState(null, '', '/keys/new?namespace=research')`);
  await page.evaluate('history.back()');
  await page.waitForURL('**/keys/new?namespace=team-a');
  expect(await dialog.count()).toBe(0);

  await page.locator('.person summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await stays();
  await menu.click();
  await click(page, 'Leave: forget the key');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await until(async () => (await page.evaluate('document.activeElement?.textContent')) === 'Overview');
  expect(await page.content()).not.toContain(key);
});

test('who goes back is asked too, and goes there when they say so', async () => {
  const page = await open('/keys?namespace=team-a');
  await page.getByRole('button', { name: 'Create key' }).click();
  await fillName(page, 'back');
  await create(page);
  await shownKey(page);
  await page.evaluate('history.back()');
  await click(page, 'Stay');
  expect(new URL(page.url()).pathname).toBe('/keys/new');
  await page.evaluate('history.back()');
  await click(page, 'Leave: forget the key');
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
});

test('a key that was not copied outlasts the session, and what was copied may be left', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.context().grantPermissions(['clipboard-write']);
  await page.getByRole('button', { name: 'Rotate' }).click();
  await click(page, 'Rotate');
  const key = await shownKey(page);
  const ended = page.getByText('Copy the key before you sign in again');
  const inAnotherTab = (method: string) =>
    page.evaluate(
      `fetch('/api/session', { method: '${method}', body: ${method === 'POST' ? `'{"token":"of-somebody"}'` : 'undefined'} })`,
    );
  const askAgain = () => page.evaluate(`dispatchEvent(new Event('online'))`);
  const goOn = page.getByRole('button', { name: 'Go on' });

  await inAnotherTab('DELETE');
  await askAgain();
  await ended.waitFor();
  expect(await shownKey(page)).toBe(key);
  await goOn.click();
  await click(page, 'Stay');
  await inAnotherTab('POST');
  await goOn.click();
  await ended.waitFor({ state: 'detached' });
  expect(await shownKey(page)).toBe(key);

  await inAnotherTab('DELETE');
  await askAgain();
  await ended.waitFor();
  await page.getByRole('button', { name: 'Copy key' }).click();
  await page.getByText('Copied', { exact: true }).waitFor();
  await goOn.click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  expect(await page.content()).not.toContain(key);
});

test('clients that cannot call the model are disabled, and say so', async () => {
  const page = await open('/nothing');
  await page.route('**/api/ledger/v1/catalog', (route) =>
    route.fulfill({
      json: {
        models: [
          model('only-messages', { chat: 'impossible', messages: 'native', responses: 'impossible' }),
          model('all', { chat: 'native', messages: 'translated', responses: 'translated' }),
        ],
      },
    }),
  );
  await page.goto(new URL('/keys/team-a/ci-bot-0', page.url()).href);
  const chosen = page.getByLabel('Model', { exact: true });
  await until(async () => (await chosen.inputValue()) === 'all');
  await chosen.selectOption('only-messages');
  const codex = page.getByRole('button', { name: 'Codex' });
  await until(async () => (await codex.getAttribute('aria-disabled')) === 'true');
  await page.getByText(/only-messages cannot be called by curl \(Chat completions\)/).waitFor();
  expect(await page.getByRole('region', { name: /^Snippet for/ }).innerText()).toContain('Anthropic(');
});

test('a test asks for what every model takes', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await fillName(page, 'tested');
  await create(page);
  await shownKey(page);
  const asked = page.waitForRequest('**/v1/chat/completions');
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  // Models that think refuse max_tokens, and end within a bound on output before they say anything.
  expect(Object.keys((await asked).postDataJSON()).sort()).toEqual(['messages', 'model', 'stream']);
  await page.getByText(/whole after/).waitFor();
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

test('the overview says which requests it counts, and who counts the others', async () => {
  const page = await open('/');
  await page.getByText('sent to a provider').first().waitFor();
  await page.getByText('penstock_requests_total').waitFor();
});

test('where no ledger is, nothing is said of one that does not answer, nor of keys that were never used', async () => {
  const page = await open('/keys?q=ci-bot-0', { hasLedger: false });
  await page.getByText('There is no ledger: nobody counts what is used.').waitFor();
  expect(await page.getByText('The ledger does not answer').count()).toBe(0);
  await page.getByRole('link', { name: 'ci-bot-0', exact: true }).click();
  await page.getByText('There is no ledger: nobody counts it').waitFor();
  const fact = (name: string) =>
    page.locator('dl.facts > div', { hasText: name }).getByRole('definition').innerText();
  expect(await fact('Last used')).toBe('not counted');
  // Told also before anything is spent of them.
  expect(await fact('Budgets')).toMatch(/^\$100\.00\s\/\smonth · \$10\.00\s\/\sday \(calls go on\)$/);
});

test('the overview of a namespace has its budget that is nearest to its end, whatever it is for', async () => {
  const page = await open('/nothing');
  const budget = (period: string, costUsd: string, more: object = {}) => ({
    ...{ namespace: 'team-a', action: 'Block', limitUsd: '10', resetsAt: '2026-12-01T00:00:00.000Z' },
    ...{ period, costUsd, usedShare: Number(costUsd) / 10, ...more },
  });
  const budgets = [budget('Month', '2'), budget('Day', '9'), budget('Day', '10', { apiKey: 'team-a/ci' })];
  await page.route('**/api/ledger/v1/budgets?*', (route) =>
    route.fulfill({ json: { budgets, isTruncated: false } }),
  );
  await page.goto(new URL('/?namespace=team-a', page.url()).href);
  await page.getByText('$9.00 of $10.00 / day').waitFor();
  await page.getByRole('img', { name: '90% of the budget' }).waitFor();
});

test('a route says when a further attempt last answered, and after what; to a tenant of what is its own', async () => {
  const page = await open('/nothing');
  const asked: string[] = [];
  const attempts = [
    { target: 'main', outcome: 'failed', failure: 'status_500' },
    { target: 'spare', outcome: 'answered' },
  ];
  await page.route('**/api/ledger/v1/health?*', async (route) => {
    const { search, searchParams } = new URL(route.request().url());
    asked.push(search);
    if (searchParams.has('namespace'))
      await route.fulfill({ json: { health: [], lastFailover: { at: new Date().toISOString(), attempts } } });
    else await route.fulfill({ status: 403, json: { error: { message: 'Not you.', code: 'forbidden' } } });
  });
  await page.goto(new URL('/routes/platform/large', page.url()).href);
  const panel = page.getByRole('region', { name: 'Last failover' });
  await panel.getByText('main failed (status_500), spare answered').waitFor();
  expect(asked).toEqual(['?route=platform%2Flarge', '?route=platform%2Flarge&namespace=platform']);
});

test('how long a drill took is said as all times are', async () => {
  const page = await open('/routes/platform/large');
  await page.getByText('12 s, by target spare', { exact: true }).waitFor();
});

// What is measured over a million records is what is asked: all that a page asks is among it, whatever its moment and its names.
test('the pages ask the ledger what is measured, and nothing else', async () => {
  const page = await open('/nothing');
  const shapeOf = (path: string) => {
    const { pathname, searchParams } = new URL(path, 'http://ledger');
    const given = [...searchParams].map(([name, value]) =>
      ['from', 'to', 'namespace', 'provider', 'route'].includes(name) ? name : `${name}=${value}`,
    );
    return `${pathname} ${given.sort().join(' ')}`;
  };
  const asked = new Set<string>();
  page.on('request', (request) => {
    const [, question] = request.url().split('/api/ledger');
    if (question !== undefined && request.method() === 'GET') asked.add(shapeOf(question));
  });
  const views = [
    ...PERIODS.map((period) => `/?period=${period}`),
    ...GROUPINGS.map((by) => `/?by=${by}&measure=tokens`),
    ...['/?namespace=team-a', '/?namespace=team-a&by=apiKey&period=30d&measure=requests'],
    ...['/keys', '/keys/team-a/ci-bot-0', '/models?namespace=team-a', '/providers'],
    ...['/providers/platform/anthropic', '/routes/platform/large'],
  ];
  for (const view of views) {
    await page.goto(new URL(view, page.url()).href);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settled(page);
  }
  const measured = new Set(viewQuestions(Date.now(), 'team-a').map(({ path }) => shapeOf(path)));
  expect(asked.size).toBeGreaterThan(20);
  expect([...asked].filter((one) => !measured.has(one))).toEqual([]);
});

test('what is behind the seven largest of a chart is one series more', async () => {
  const page = await open('/');
  const names = await page.locator('.legend li').allInnerTexts();
  expect([names.length, names.at(-1)]).toEqual([8, expect.stringMatching(/^All others/)]);
  const colours: unknown = await page.evaluate(
    `[...document.querySelectorAll('.legend rect')].map((it) => getComputedStyle(it).fill)`,
  );
  expect(new Set(Array.isArray(colours) ? colours : []).size).toBe(8);
});

test('on a laptop, where no cluster is, the key lies in a file', async () => {
  const page = await open('/keys/team-b/notebook-1', { mode: 'local' });
  const command = await page.getByRole('region', { name: 'Command that prints the key' }).innerText();
  expect(command.trim()).toBe('cat .penstock/keys/team-b/notebook-1');
  expect(await page.content()).not.toContain('kubectl get secret');
  await page.getByRole('button', { name: 'Rotate' }).click();
  await dialogOf(page).getByText('In local mode a key in a file stays as it is.').waitFor();
});

const brokenRoute = {
  metadata: { name: 'later', namespace: 'team-a', generation: 1 },
  spec: { model: 'later', targets: [] },
  status: { drill: { result: 'Failed', message: 'nobody took over' } },
};

function model(id: string, verdicts: Readonly<Record<string, string>>) {
  const dialects = Object.entries(verdicts).map(([name, verdict]) => [name, { verdict, lostFields: [] }]);
  return { id, owned_by: 'platform', own: false, dialects: Object.fromEntries(dialects) };
}
