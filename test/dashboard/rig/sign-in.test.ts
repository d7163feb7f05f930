// Does the page to sign in tell what went wrong, and let people go on where they were? In a browser, over a server that is asked nothing hard.

import { expect, test } from 'vitest';
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
