// Does the page to sign in tell what went wrong, and let people go on where they were? In a browser, over a server that is asked nothing hard.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { makeOpen } from './pages.ts';

const open = makeOpen();

test.each([
  ['sign_in_failed', 'Try again'],
  ['unknown_token', 'Kubernetes does not take the token that the issuer gave'],
  ['token_too_long', 'longer than cookies can hold'],
  ['too_many_attempts', 'wait a minute'],
  ['issuer_unreachable', 'The issuer does not answer'],
  ['cluster_unreachable', 'Kubernetes does not answer'],
  ['constructor', 'Try again'],
])(
  'a sign-in by the issuer that failed with %s says so, and begins again for the page that was wanted',
  async (code, words) => {
    const page = await open(`/keys?state=Ready&signInError=${code}`, { isSignedOut: true });
    await page.getByRole('status').filter({ hasText: words }).waitFor();
    const way = page.getByRole('link', { name: 'Sign in with Example SSO' });
    expect(await way.getAttribute('href')).toBe('/api/oidc/start?to=%2Fkeys%3Fstate%3DReady');
    const { pathname, search } = new URL(page.url());
    expect(pathname + search).toBe('/keys?state=Ready');
  },
);

test('a sign-in that failed beside a session leaves no word in its address', async () => {
  const page = await open('/keys?signInError=sign_in_failed');
  await page.getByRole('table', { name: 'API keys' }).waitFor();
  expect(new URL(page.url()).search).toBe('');
});

test('the link of a laptop signs in a tab that is there already, and stands in no address then', async () => {
  const page = await open('/', { mode: 'local', isSignedOut: true });
  await page.getByText('Open the link that was printed').waitFor();
  const sent = page.waitForRequest(
    (request) => request.method() === 'POST' && request.url().endsWith('/session'),
  );
  // As whoever puts it into the address of this tab: nothing is loaded.
  await page.evaluate(`location.hash = 'token=printed'`);
  expect((await sent).postDataJSON()).toEqual({ token: 'printed' });
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  expect(new URL(page.url()).hash).toBe('');
});

test('the link of a laptop stands in no address where somebody is signed in', async () => {
  const page = await open('/keys#token=printed', { mode: 'local' });
  const isClean = async () => new URL(page.url()).hash === '';
  await page.getByRole('table', { name: 'API keys' }).waitFor();
  await until(isClean);
  await page.evaluate(`location.hash = 'token=again'`);
  await until(isClean);
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
});

test('a link of a laptop signs nobody in on a cluster: whoever sent it would see what is entered there', async () => {
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

/** From here on the cookie of this browser is Bob's, and what is asked for Ada is refused. */
async function becomeBob(page: Page): Promise<void> {
  await page.route('**/api/**', async (route) => {
    const isSession = route.request().url().endsWith('/api/session');
    if (isSession) {
      const response = await route.fetch();
      const json = { ...(await response.json()), csrf: 'of bob', user: { name: 'bob', groups: [] } };
      return await route.fulfill({ response, json });
    }
    if (route.request().headers()['x-penstock-csrf'] !== 'csrf') return await route.continue();
    await route.fulfill({ status: 403, json: { error: { message: 'not yours', code: 'csrf_missing' } } });
  });
}
const person = (page: Page) => page.locator('.person-name').innerText();

test('a page of one person becomes that of another who has signed in in this browser', async () => {
  const page = await open('/keys?namespace=team-a');
  expect(await person(page)).toBe('ada');
  await becomeBob(page);
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await page.locator('.person-name').filter({ hasText: 'bob' }).waitFor();
  await page.getByRole('table', { name: 'Models' }).waitFor();
  expect(await page.getByText('not yours').count()).toBe(0);
});

test('a key that was not copied stays with who made it, until they let it go', async () => {
  const page = await open('/keys/new?namespace=team-a');
  await page.getByPlaceholder('ci-bot').fill('adas');
  await page.getByRole('button', { name: 'Create key' }).click();
  const key = (await page.getByTestId('key').innerText()).trim();
  await becomeBob(page);
  await page.evaluate(`dispatchEvent(new Event('online'))`);
  await page.getByText('Somebody else has signed in').waitFor();
  expect([await person(page), await page.content()]).toEqual(['ada', expect.stringContaining(key)]);
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.getByRole('button', { name: 'Leave: forget the key' }).click();
  await page.locator('.person-name').filter({ hasText: 'bob' }).waitFor();
  expect(await page.content()).not.toContain(key);
});
