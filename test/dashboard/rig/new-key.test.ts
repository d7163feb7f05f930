// Is a key that was made or rotated in the page shown once, and not lost? In a browser, over a server that is asked nothing hard.

import { hash } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { findBarriers } from '../browser/axe.ts';
import { click, dialogOf, goTo, makeOpen, modelOf, specOf, yamlOf } from './pages.ts';

const open = makeOpen();

const hourMs = 3_600_000;

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
/** What a first key needs none of. */
const unfold = (page: Page) => page.getByText(/^Owner, expiry/).click();
const create = (page: Page) => page.getByRole('button', { name: 'Create key' }).click();

test('a first key needs only the visible namespace and name; other fields are folded', async () => {
  const page = await open('/keys/new');
  const form = page.getByRole('main').locator('form');
  const seen = form.locator('input, select, textarea').and(page.locator(':visible'));
  expect(await seen.count()).toBe(2);
  await page
    .getByLabel(/^Namespace/)
    .last()
    .selectOption('team-b');
  await fillName(page, 'first');
  await create(page);
  await shownKey(page);
  expect(Object.keys(await specOf(page, 'team-b/first'))).toEqual(['imports']);
});

test('a folded field with a problem is opened and has the focus', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await fillName(page, 'folded');
  await unfold(page);
  await page.getByLabel('Dollars').fill('ten');
  await unfold(page);
  await create(page);
  await page.getByText('Enter dollars, such as 100.00').waitFor();
  await until(async () => (await page.evaluate('document.activeElement?.value')) === 'ten');
});

test('models are picked from the namespace’s, and a missing one is pointed out', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await fillName(page, 'picky');
  await unfold(page);
  const models = page.getByRole('group', { name: 'Models of the namespace' });
  await models.getByRole('button', { name: 'penstock/large', exact: true }).click();
  const field = page.getByRole('textbox', { name: 'Models' });
  expect(await field.inputValue()).toBe('penstock/large');
  await field.fill('penstock/large, nonsense');
  await page.getByText('The namespace has no model “nonsense”.').waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await field.fill('penstock/*');
  await page.getByText('The namespace has no model').waitFor({ state: 'detached' });
  await page.getByLabel('Display name').fill('Shop CI');
  await create(page);
  await shownKey(page);
  expect(await specOf(page, 'team-a/picky')).toMatchObject({
    displayName: 'Shop CI',
    models: { allow: ['penstock/*'] },
  });
});

test('an invalid namespace name is reported as invalid, not as a missing right', async () => {
  const page = await open('/keys/new?namespace=team-a', { without: ['list namespaces'] });
  await page
    .getByRole('combobox', { name: /^Namespace/ })
    .last()
    .fill('Mobile App');
  await page.getByText('Not a namespace name.').last().waitFor();
  expect(await page.getByText('Missing rights').count()).toBe(0);
});

// A browser gives no value for such a day, as for none: the key had no end, and nobody was reported.
test('a half-typed expiry is not sent, for a new or edited key', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await fillName(page, 'ends');
  await unfold(page);
  await page.getByLabel(/^Expires/).focus();
  await page.keyboard.type('1212');
  await create(page);
  const refused = page.getByText('Enter a day, such as 2026-12-31.');
  await refused.waitFor();
  await goTo(page, '/keys/team-a/ci-bot-0');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await dialogOf(page)
    .getByLabel(/^Expires/)
    .fill('2027-01-31');
  await page.keyboard.press('Backspace');
  await dialogOf(page).getByRole('button', { name: 'Save' }).click();
  await refused.waitFor();
});

test('a new key is shown although the response was lost', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await loseAnswers(page, 'POST', { arrives: true });
  await fillName(page, 'lost');
  await create(page);
  const key = await shownKey(page);
  expect((await specOf(page, 'team-a/lost')).imports?.[0]?.sha256).toBe(hash('sha256', key, 'hex'));
});

test('a new key with an unknown result is sent again unchanged', async () => {
  const page = await open('/keys/new?namespace=team-a');
  const hashes: unknown[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/apikeys'))
      hashes.push(request.postDataJSON().spec.imports[0].sha256);
  });
  await loseAnswers(page, 'POST', { arrives: false });
  await fillName(page, 'late');
  await create(page);
  await page.getByText('The key may have been created').waitFor();
  await page.unroute('**/api/kube/**');
  await create(page);
  const sha256 = hash('sha256', await shownKey(page), 'hex');
  expect(hashes).toEqual([sha256, sha256]);
});

test('a key issued by the operator is shown although the response was lost', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await loseAnswers(page, 'POST', { arrives: true });
  await fillName(page, 'in-secret');
  await unfold(page);
  await page.getByText('In the cluster', { exact: true }).click();
  await create(page);
  await page.getByText('The operator writes the key to the Secret').waitFor();
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
  await page.getByText('The previous key is refused now.').waitFor();
  await page.getByRole('button', { name: /^Done/ }).click();
  await click(page, 'Leave');

  await loseAnswers(page, 'PATCH', { arrives: false });
  let body: unknown;
  page.on('request', (request) => {
    if (request.method() === 'PATCH') body = request.postDataJSON();
  });
  await rotate();
  await page.getByText('The key may have been rotated').waitFor();
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
    'as configured: 6h',
    'none: the old key is refused at once',
    '1 hour',
  ]);
  await overlap.selectOption('1');
  await dialogOf(page).getByText('it also applies to scheduled rotations').waitFor();
  await overlap.selectOption('');
  await click(page, 'Rotate');
  await until(async () => (await page.getByRole('dialog').count()) === 0);
  const { trigger, ...rest } = (await specOf(page, 'team-b/notebook-1')).rotation ?? {};
  expect(trigger).toMatch(/^dashboard-/);
  expect(rest).toEqual({ interval: '12h', overlap: '6h' });
});

test('a leaked key in its overlap is rotated without one at once, and the page says so', async () => {
  const page = await open('/keys/research/agent-2');
  const said = page.getByRole('status').filter({ hasText: /new key/ });
  const rotate = async (overlap: string, words: RegExp) => {
    await page.getByRole('button', { name: 'Rotate' }).click();
    await dialogOf(page).getByLabel('Overlap').selectOption(overlap);
    await dialogOf(page).getByText(words).waitFor();
    await click(page, 'Rotate');
  };
  await rotate('', /The new key is created .* ten minutes after .*If the key has leaked, choose none/);
  await said.getByText(/ten minutes after/).waitFor({ state: 'attached' });
  await rotate('0', /The old key is refused/);
  await said.getByText('A new key is being created.').waitFor({ state: 'attached' });
  expect(await page.getByText('ten minutes after').count()).toBe(0);
});

test('a rotation as YAML holds the hash of the key that is shown with it', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.getByRole('button', { name: 'Rotate' }).click();
  await click(page, 'View as YAML');
  const key = (await dialogOf(page).getByRole('region', { name: 'New key' }).innerText()).trim();
  expect(key).toMatch(/^psk_[0-9A-Za-z]{49}$/);
  expect(await yamlOf(page)).toMatch(new RegExp(`sha256: "?${hash('sha256', key, 'hex')}"?\n`));
  await click(page, 'Close');
  await until(async () => !(await page.content()).includes(key));
});

test('the YAML of a new key matches the chosen way of making it', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await page.getByPlaceholder('ci-bot').fill('batch');
  await page.getByRole('button', { name: 'View as YAML' }).click();
  const key = (await dialogOf(page).getByRole('region', { name: 'New key' }).innerText()).trim();
  const yaml = await yamlOf(page);
  expect(yaml).toMatch(new RegExp(`sha256: "?${hash('sha256', key, 'hex')}"?\n`));
  expect(yaml).toContain(`…${key.slice(-4)}`);
  expect(yaml).not.toContain(key);
  await click(page, 'Close');
  await until(async () => !(await page.content()).includes(key));

  await unfold(page);
  await page.getByText('In the cluster', { exact: true }).click();
  await page.getByRole('button', { name: 'View as YAML' }).click();
  expect(await yamlOf(page)).not.toContain('imports');
  expect(await dialogOf(page).innerText()).toContain('The operator creates the key');
});

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

test('a key made on the page of one object is not shown on another page', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.getByRole('button', { name: 'Rotate' }).click();
  await click(page, 'Rotate');
  const key = await page.getByTestId('key').innerText();
  // As a user that goes back by two.
  await goTo(page, '/keys/research/agent-2');
  await click(page, 'Leave');
  await page.getByRole('heading', { level: 1, name: /agent-2/ }).waitFor();
  expect(await page.content()).not.toContain(key.trim());
});

test('leaving before a new key was copied asks for confirmation', async () => {
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
  // The notice takes the focus when it appears, also from a faster user.
  await page.locator('h2:focus', { hasText: '(shown only now)' }).waitFor();
  await menu.focus();
  await page.keyboard.press('Enter');
  await stays();
  await page.getByRole('link', { name: /^Done/ }).click();
  await stays();
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
  await click(page, 'Leave');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await until(async () => (await page.evaluate('document.activeElement?.textContent')) === 'Overview');
  expect(await page.content()).not.toContain(key);
});

test('the Back button asks too, and goes back after confirmation', async () => {
  const page = await open('/keys?namespace=team-a');
  await page.getByRole('button', { name: 'Create key' }).click();
  await fillName(page, 'back');
  await create(page);
  await shownKey(page);
  await page.evaluate('history.back()');
  await click(page, 'Stay');
  expect(new URL(page.url()).pathname).toBe('/keys/new');
  await page.evaluate('history.back()');
  await click(page, 'Leave');
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
});

test('an uncopied key outlasts the session; a copied one needs no confirmation', async () => {
  const page = await open('/keys/team-a/ci-bot-0');
  await page.context().grantPermissions(['clipboard-write']);
  await page.getByRole('button', { name: 'Rotate' }).click();
  await click(page, 'Rotate');
  const key = await shownKey(page);
  const ended = page.getByText('Copy the key before you sign in again');
  const goOn = page.getByRole('button', { name: 'Continue' });

  // As in another tab.
  await page.evaluate(`fetch('/api/session', { method: 'DELETE' })`);
  await page.evaluate(`dispatchEvent(new Event('online'))`);
  await ended.waitFor();
  expect(await shownKey(page)).toBe(key);
  await goOn.click();
  await click(page, 'Stay');
  expect(await shownKey(page)).toBe(key);
  await page.getByRole('button', { name: 'Copy key' }).click();
  await page.getByText('Copied', { exact: true }).waitFor();
  await goOn.click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  expect(await page.content()).not.toContain(key);
});

test('the test result of one model is not shown for another', async () => {
  const page = await open('/nothing');
  await page.route('**/api/ledger/v1/catalog', (route) =>
    route.fulfill({
      json: {
        models: ['one', 'two'].map((id) =>
          modelOf(id, { chat: 'native', messages: 'native', responses: 'native' }),
        ),
      },
    }),
  );
  await page.goto(new URL('/keys/new?namespace=team-a', page.url()).href);
  await fillName(page, 'tested');
  await create(page);
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await page.getByText(/^one.*total/).waitFor();
  await page.getByLabel('Model', { exact: true }).selectOption('two');
  await until(async () => (await page.getByText(/total/).count()) === 0);
});

test('a key without a model opens the playground without one', async () => {
  const page = await open('/nothing');
  await page.route('**/api/ledger/v1/catalog', (route) => route.fulfill({ json: { models: [] } }));
  await page.goto(new URL('/keys/team-a/ci-bot-0', page.url()).href);
  await page.getByText('This key can call no model yet.').waitFor();
  const link = page.getByRole('link', { name: 'Open in the playground' });
  expect(await link.getAttribute('href')).toBe('/playground?key=team-a%2Fci-bot-0');
});

test('clients that cannot call the model are disabled, and say so', async () => {
  const page = await open('/nothing');
  await page.route('**/api/ledger/v1/catalog', (route) =>
    route.fulfill({
      json: {
        models: [
          modelOf('only-messages', { chat: 'impossible', messages: 'native', responses: 'impossible' }),
          modelOf('all', { chat: 'native', messages: 'translated', responses: 'translated' }),
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
  await page.getByText(/only-messages does not support curl \(Chat completions\)/).waitFor();
  expect(await page.getByRole('region', { name: /^Snippet for/ }).innerText()).toContain('Anthropic(');
});

test('a test sends only parameters that every model takes', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await fillName(page, 'tested');
  await create(page);
  await shownKey(page);
  const asked = page.waitForRequest('**/v1/chat/completions');
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  // Models that think refuse max_tokens, and end within a bound on output before they say anything.
  const body = (await asked).postDataJSON();
  expect(Object.keys(body).sort()).toEqual(['messages', 'model', 'stream', 'stream_options']);
  await page.getByText(/total/).waitFor();
});

test('in local mode the key is in a file', async () => {
  const page = await open('/keys/team-b/notebook-1', { mode: 'local' });
  const command = await page.getByRole('region', { name: 'Command that prints the key' }).innerText();
  expect(command.trim()).toBe('cat .penstock/keys/team-b/notebook-1');
  expect(await page.content()).not.toContain('kubectl get secret');
  await page.getByRole('button', { name: 'Rotate' }).click();
  await dialogOf(page).getByText('Keys in files cannot be rotated in local mode.').waitFor();
});

test('a key that was left is not shown by the Back button, whatever the browser keeps of the page', async () => {
  const page = await open('/keys/new?namespace=team-a');
  // As browsers that keep pages although they are not to be stored.
  await page.route('**/keys/new*', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, headers: { ...response.headers(), 'cache-control': 'no-cache' } });
  });
  await page.reload();
  await fillName(page, 'left');
  await create(page);
  const key = await shownKey(page);
  await page.context().grantPermissions(['clipboard-write']);
  await page.getByRole('button', { name: 'Copy key' }).click();
  await page.getByText('Copied').first().waitFor();
  await page.goto('data:text/html,elsewhere');
  await page.goBack({ waitUntil: 'commit' });
  await page.getByRole('button', { name: 'Create key' }).waitFor();
  expect(await page.content()).not.toContain(key);
});

test('a key that was left is not in a page that the browser keeps for the Back button', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await fillName(page, 'kept');
  await create(page);
  const key = await shownKey(page);
  // What a browser that keeps pages says to them; some browsers keep none.
  await page.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`);
  expect(await page.content()).not.toContain(key);
  await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`);
  await page.getByRole('button', { name: 'Create key' }).waitFor();
  expect(await page.content()).not.toContain(key);
});

test('rights in a namespace are checked once its name is typed, not letter by letter', async () => {
  const page = await open('/nothing', { without: ['list namespaces'] });
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/api/rights')) asked.push(request.postDataJSON().namespace);
  });
  // However slow this machine is, no time goes by between two letters.
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + hourMs);
  const untilAsked = (namespace: string) =>
    until(async () => {
      await page.clock.runFor(100);
      return asked.includes(namespace);
    });
  await goTo(page, '/keys/new?namespace=team-a');
  await untilAsked('team-a');
  const field = page.getByRole('combobox', { name: /^Namespace/ }).last();
  await field.fill('');
  await field.pressSequentially('team-alpha');
  await untilAsked('team-alpha');
  expect(asked).toEqual(['team-a', 'team-alpha']);
});
