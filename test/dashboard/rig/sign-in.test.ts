// Does the page to sign in tell what went wrong, and let people go on where they were? In a browser, over a server that is asked nothing hard.

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
