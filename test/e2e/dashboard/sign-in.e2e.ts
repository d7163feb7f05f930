// Does the page to sign in tell what went wrong, and let people go on where they were? In a browser, over a server that is asked nothing hard.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { makeOpen, show } from '../../dashboard/rig/pages.ts';
import { until } from '../../support/until.ts';

const open = makeOpen();

test.each([
  ['sign_in_failed', 'Try again'],
  ['unknown_token', 'Kubernetes rejects the token of the issuer'],
  ['token_too_long', 'too long for a cookie'],
  ['too_many_attempts', 'in a minute'],
  ['issuer_unreachable', 'The issuer does not answer'],
  ['cluster_unreachable', 'Kubernetes does not answer'],
  ['constructor', 'Try again'],
])(
  'a failed sign-in by the issuer, with %s, is reported, and a new one leads to the wanted page',
  async (code, words) => {
    const page = await open(`/keys?state=Ready&signInError=${code}`, { isSignedOut: true });
    await page.getByRole('status').filter({ hasText: words }).waitFor();
    const way = page.getByRole('link', { name: 'Sign in with Example SSO' });
    expect(await way.getAttribute('href')).toBe('/api/oidc/start?to=%2Fkeys%3Fstate%3DReady');
    const { pathname, search } = new URL(page.url());
    expect(pathname + search).toBe('/keys?state=Ready');
  },
);

test('a failed sign-in during a session leaves no message in the address', async () => {
  const page = await open('/keys?signInError=sign_in_failed');
  await page.getByRole('table', { name: 'API keys' }).waitFor();
  expect(new URL(page.url()).search).toBe('');
});

test('the link of a laptop signs in an open tab, and is then in no address', async () => {
  const page = await open('/', { mode: 'local', isSignedOut: true });
  await page.getByText('Open the link in the terminal').waitFor();
  const sent = page.waitForRequest(
    (request) => request.method() === 'POST' && request.url().endsWith('/session'),
  );
  // As typed into the address of this tab: nothing is loaded.
  await page.evaluate(`location.hash = 'token=printed'`);
  expect((await sent).postDataJSON()).toEqual({ token: 'printed' });
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  expect(new URL(page.url()).hash).toBe('');
});

test('during a session the link of a laptop is left for another browser, and is in no address', async () => {
  const page = await open('/keys#token=printed', { mode: 'local' });
  const sent: string[] = [];
  page.on('request', (request) => sent.push(`${request.method()} ${new URL(request.url()).pathname}`));
  const isClean = async () => new URL(page.url()).hash === '';
  await page.getByRole('table', { name: 'API keys' }).waitFor();
  await until(isClean);
  await page.evaluate(`location.hash = 'token=again'`);
  await until(isClean);
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  // Nor is it kept for a sign-in after the next sign-out.
  await page.locator('.person summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
  await page.getByText('Open the link in the terminal').waitFor();
  expect(sent).not.toContain('POST /api/session');
});

test.each([
  ['has not noticed', false],
  ['has noticed without a reload', true],
])('after a restart the new link of a laptop signs in a tab that %s', async (_, hasNoticed) => {
  const page = await open('/nothing', { mode: 'local' });
  // As after a restart: what was sealed before is nobody's.
  await page.evaluate(`fetch('/api/session', { method: 'DELETE' })`);
  if (hasNoticed) await page.getByText('Your session has ended').waitFor();
  const sent = page.waitForRequest(
    (request) => request.method() === 'POST' && request.url().endsWith('/session'),
  );
  await page.evaluate(`location.hash = 'token=printed'`);
  expect((await sent).postDataJSON()).toEqual({ token: 'printed' });
  await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
  expect(new URL(page.url()).hash).toBe('');
});

test('a local mode link does not sign a user in on a cluster: its sender would see everything entered there', async () => {
  const sent: string[] = [];
  const page = await open('/keys/new', { isSignedOut: true });
  page.on('request', (request) => sent.push(`${request.method()} ${new URL(request.url()).pathname}`));
  await page.goto(`${new URL(page.url()).origin}/keys/new?namespace=team-a#token=of-somebody-else`);
  await page.getByRole('textbox', { name: 'Token' }).waitFor();
  await page.evaluate(`location.hash = 'token=again'`);
  await until(async () => new URL(page.url()).hash === '');
  // Whatever was asked before it has been heard of with this.
  await page.evaluate(`fetch('/api/namespaces').then((it) => it.text())`);
  expect(sent).not.toContain('POST /api/session');
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
});

/** As in another tab: the session of this browser is theirs from here on. */
const signInElsewhere = (page: Page, token: string) =>
  page.evaluate(`fetch('/api/session', { method: 'POST', body: '{"token":"${token}"}' })`);
const person = (page: Page) => page.locator('.person-name').innerText();

/** Until it may be sent: the rights that it takes are not asked for in the next session then. */
async function fillName(page: Page, name: string): Promise<void> {
  await page.getByPlaceholder('ci-bot').fill(name);
  const create = page.getByRole('button', { name: 'Create key' });
  await until(() => create.isEnabled());
}

test('a page changes to the person that has signed in later in this browser', async () => {
  const page = await open('/keys?namespace=team-a');
  expect(await person(page)).toBe('ada');
  await signInElsewhere(page, 'bob, today');
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await page.locator('.person-name').filter({ hasText: 'bob' }).waitFor();
  await page.getByRole('table', { name: 'Models' }).waitFor();
  expect(await page.getByText('x-penstock-csrf').count()).toBe(0);
});

test.each([
  ['a key', '/keys?namespace=team-a', 'ci-bot-0', 'Edit'],
  ['the list of keys', '/models?namespace=team-a', 'Keys', 'Create key'],
])(
  'a person that has signed in again in another tab opens %s here, and has all rights there',
  async (_, path, link, action) => {
    const page = await open(path);
    await signInElsewhere(page, 'ada, again');
    await page.getByRole('link', { name: link, exact: true }).click();
    const button = page.getByRole('button', { name: action }).first();
    await until(() => button.isEnabled());
    expect(await page.getByText('x-penstock-csrf').count()).toBe(0);
  },
);

test.each(['visibilitychange', 'focus'])(
  'a tab that asks to sign in goes on when it is seen again (%s) after a sign-in in another tab',
  async (event) => {
    const page = await open('/nothing', { isSignedOut: true });
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await signInElsewhere(page, 'ada, again');
    await page.evaluate(`dispatchEvent(new Event('${event}'))`);
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
  },
);

test.each([
  ['without a session', 401],
  ['that is not known', 503],
])('a tab that asks to sign in stays unchanged if %s', async (_, status) => {
  const page = await open('/nothing');
  await page.locator('.person summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('textbox', { name: 'Token' }).fill('ada, today');
  if (status !== 401) await page.route('**/api/session', (route) => route.fulfill({ status, json: {} }));
  const heard = page.waitForResponse((response) => response.status() === status);
  await page.evaluate(`dispatchEvent(new Event('focus'))`);
  await (await heard).finished();
  await page.evaluate(`fetch('/api/namespaces').then((it) => it.text())`);
  await page.getByText('You are signed out.').waitFor();
  expect(await page.getByRole('textbox', { name: 'Token' }).inputValue()).toBe('ada, today');
});

test('a request of one person is not sent again for another', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await fillName(page, 'adas');
  await signInElsewhere(page, 'bob, today');
  const sent: (string | undefined)[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().includes('/apikeys'))
      sent.push(request.headers()['x-penstock-csrf']);
  });
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.locator('.person-name').filter({ hasText: 'bob' }).waitFor();
  expect(sent).toEqual(['csrf']);
});

/** From here on who is signed in is answered when it is let through; @returns how often it was asked, by the page. */
async function holdLookUps(page: Page) {
  const goOn = Promise.withResolvers<void>();
  const state = { asked: 0, letThrough: goOn.resolve };
  await page.route('**/api/session', async (route) => {
    if (route.request().method() !== 'GET') return route.fallback();
    state.asked += 1;
    const response = await route.fetch();
    await goOn.promise;
    return route.fulfill({ response });
  });
  return state;
}

test('a late answer of an earlier session does not undo a sign-in', async () => {
  const page = await open('/nothing', { isSignedOut: true });
  await page.getByRole('textbox', { name: 'Token' }).fill('ada, today');
  const lookUps = await holdLookUps(page);
  await page.evaluate(`dispatchEvent(new Event('focus'))`);
  await until(async () => lookUps.asked === 1);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  const heading = page.getByRole('heading', { level: 1, name: 'Page not found' });
  await heading.waitFor();
  const late = page.waitForResponse((response) => response.status() === 401);
  lookUps.letThrough();
  await (await late).finished();
  await page.evaluate(`fetch('/api/namespaces').then((it) => it.text())`);
  await heading.waitFor();
  expect(await page.getByRole('heading', { name: 'Sign in' }).count()).toBe(0);
});

test('while the session is unknown, the page stays with the entered text', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await fillName(page, 'again');
  await signInElsewhere(page, 'ada, again');
  await page.route('**/api/session', (route) =>
    route.fulfill({ status: 503, json: { error: { message: 'Ask again in a moment.', code: 'busy' } } }),
  );
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByText('x-penstock-csrf').first().waitFor();
  expect(await page.getByPlaceholder('ci-bot').inputValue()).toBe('again');
  await page.unroute('**/api/session');
  // Once it is known, the page begins again in the present session: nothing of the former one is sent in it.
  await page.getByRole('button', { name: 'Create key' }).click();
  await until(async () => (await page.getByPlaceholder('ci-bot').inputValue()) === '');
});

test('live updates continue in the session of a new sign-in in another tab', async () => {
  const page = await open('/keys?namespace=team-a');
  await signInElsewhere(page, 'ada, again');
  await page.waitForRequest(/api\/watch/);
});

test.each([
  ['as ever', undefined],
  ['though they have signed in again in another tab', 'ada, again'],
])('a sign-out works %s', async (_, token) => {
  const page = await open('/nothing');
  if (token !== undefined) await signInElsewhere(page, token);
  await page.locator('.person summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
});

test('a late answer of an earlier session does not replace the page after a sign-out', async () => {
  const page = await open('/nothing');
  const goOn = Promise.withResolvers<void>();
  await page.route('**/api/namespaces', async (route) => {
    await goOn.promise;
    return route.continue();
  });
  await page.reload();
  await page.locator('.person summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
  const late = page.waitForResponse(/\/api\/namespaces/);
  goOn.resolve();
  await (await late).finished();
  await page.evaluate(`fetch('/api/session').then((it) => it.text())`);
  expect(await page.getByText('You are signed out.').count()).toBe(1);
});

test('a page gets an error that says so if another server answers for its own', async () => {
  const page = await open('/nothing');
  await page.route('**/api/session', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<p>Pay here.' }),
  );
  await page.reload();
  await page.getByText('The answer did not come from the dashboard').waitFor();
  await page.unroute('**/api/session');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
});

test('a sign-in answered by another server shows that, and can be repeated', async () => {
  const page = await open('/nothing', { isSignedOut: true });
  await page.getByRole('textbox', { name: 'Token' }).fill('ada, today');
  await page.route('**/api/session', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<p>Pay here.' }),
  );
  const signIn = page.getByRole('button', { name: 'Sign in', exact: true });
  await signIn.click();
  await page.getByText('The answer did not come from the dashboard').waitFor();
  await page.unroute('**/api/session');
  await signIn.click();
  await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
});

test.each([
  [
    'the server says no',
    { status: 503, json: { error: { message: 'Ask again in a moment.', code: 'busy' } } },
    'Ask again in a moment.',
  ],
  [
    'something else answers than it',
    { contentType: 'text/html', body: '<p>Pay here.' },
    'The answer did not come from the dashboard',
  ],
])('a failed sign-out is shown if %s', async (_, answer, words) => {
  const page = await open('/nothing');
  await page.route('**/api/session', (route) =>
    route.request().method() === 'DELETE' ? route.fulfill(answer) : route.continue(),
  );
  await page.locator('.person summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You may still be signed in').waitFor();
  await page.getByText(words).waitFor();
});

test('a sign-out without a connection says that the session may be open, and can be repeated', async () => {
  const page = await open('/nothing');
  await page.route('**/api/**', (route) => route.abort());
  await page.locator('.person summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You may still be signed in').waitFor();
  await page.getByText('The dashboard cannot be reached.').waitFor();
  await page.unroute('**/api/**');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
});

test('a sign-out without an answer is shown as failed after half a minute', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  const isAsked = Promise.withResolvers<void>();
  await page.route('**/api/session', (route) =>
    route.request().method() === 'DELETE' ? isAsked.resolve() : route.continue(),
  );
  await page.locator('.person summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await isAsked.promise;
  await page.clock.runFor(30_000);
  await page.getByText('You may still be signed in').waitFor();
  await page.getByText('The dashboard cannot be reached.').waitFor();
});

test('a page without an answer about its session says so after half a minute', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  const isAsked = Promise.withResolvers<void>();
  await page.route('**/api/session', () => isAsked.resolve());
  await page.reload();
  await isAsked.promise;
  await page.clock.runFor(30_000);
  await page.getByText('The dashboard could not be loaded').waitFor();
  await page.getByText('The dashboard cannot be reached.').waitFor();
});

test('after a sign-out nothing is shown, though the ways to sign in are unknown', async () => {
  const page = await open('/nothing');
  await page.route('**/api/session', (route) =>
    route.request().method() === 'GET' ? route.abort() : route.continue(),
  );
  await page.locator('.person summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('The dashboard could not be loaded').waitFor();
  await page.unroute('**/api/session');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
});

test('a sign-out does not end a session of another person, and the page changes to that person', async () => {
  const page = await open('/nothing');
  await signInElsewhere(page, 'bob, today');
  const ended: (string | undefined)[] = [];
  page.on('request', (request) => {
    if (request.method() === 'DELETE') ended.push(request.headers()['x-penstock-csrf']);
  });
  await page.locator('.person summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.locator('.person-name').filter({ hasText: 'bob' }).waitFor();
  // By its own name alone, which the server refuses.
  expect(ended).toEqual(['csrf']);
});

test('a key that was not copied stays for its creator until it is dismissed', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await page.getByPlaceholder('ci-bot').fill('adas');
  await page.getByRole('button', { name: 'Create key' }).click();
  const key = (await page.getByTestId('key').innerText()).trim();
  await signInElsewhere(page, 'bob, today');
  await page.evaluate(`dispatchEvent(new Event('online'))`);
  await page.getByText('Copy the key before you sign in again').waitFor();
  expect([await person(page), await page.content()]).toEqual(['ada', expect.stringContaining(key)]);
  // A stream is opened by the cookie alone: it would tell what Bob may see.
  const followed: string[] = [];
  page.on('request', (request) => request.url().includes('/api/watch') && followed.push(request.url()));
  await show(page, 'hidden');
  await Promise.all([page.waitForResponse(/\/apikeys\/adas/), show(page, 'visible')]);
  expect(followed).toEqual([]);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Leave' }).click();
  await page.locator('.person-name').filter({ hasText: 'bob' }).waitFor();
  expect(await page.content()).not.toContain(key);
});
