// Who gets in by an issuer? Authorization code with PKCE over https, and an API server that takes the issuer's tokens.

import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { systemClock } from '../../core/clock.ts';
import { openKubernetes } from '../../dashboard/kubernetes/cluster.ts';
import { openOidc } from '../../dashboard/kubernetes/oidc.ts';
import { kubernetesSignIn } from '../../dashboard/kubernetes/sign-in.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { type Issuer, openIssuer } from '../support/issuer.ts';
import { until } from '../support/until.ts';
import { type Browser, type House, OUTSIDE, openBrowser, openHouse } from './house.ts';
import { makeHouseClock, renewalSuite } from './oidc-renewal.ts';

export function oidcSuite(plane: () => ControlPlane): void {
  const trusted = getCACertificates('default');
  const callback = `${OUTSIDE}/api/oidc/callback`;
  let issuer: Issuer;
  let house: House;
  /** Where refresh tokens are asked for. */
  let renewing: House;
  let other: House;
  const clock = makeHouseClock();
  let attempts = 0;
  let connection: ReturnType<typeof openKubernetes>;

  beforeAll(async () => {
    const certificate = await plane().authority.issue('issuer', '/CN=issuer', 'IP:127.0.0.1');
    issuer = await openIssuer(certificate, [callback]);
    const ca = await readFile(plane().caFile, 'utf8');
    setDefaultCACertificates([...trusted, ca]);
    // Read again by the API server as soon as it is another.
    const file = plane().authenticationFile;
    const jwt = {
      issuer: { url: issuer.url, audiences: [issuer.client.id], certificateAuthority: ca },
      claimMappings: {
        username: { claim: 'email', prefix: 'oidc:' },
        groups: { claim: 'groups', prefix: 'oidc:' },
      },
    };
    await writeFile(file, stringify({ ...parse(await readFile(file, 'utf8')), jwt: [jwt] }));
    await plane().mustKubectl(
      'create rolebinding ada-looks -n team-a --clusterrole=looking --group=oidc:team-a'.split(' '),
    );
    connection = openKubernetes({ url: plane().url, caFile: plane().caFile, clock: systemClock });
    const signInWith = (scopes: string) =>
      kubernetesSignIn(
        connection,
        openOidc(
          {
            issuer: issuer.url,
            clientId: issuer.client.id,
            clientSecret: issuer.client.secret,
            scopes,
            name: 'Example',
          },
          systemClock.now,
        ),
      );
    const settings = { proxies: ['127.0.0.1'] };
    house = await openHouse(plane(), { signIn: signInWith('openid email groups'), settings });
    const replica = {
      signIn: signInWith('openid email groups offline_access'),
      clock,
      settings: { ...settings, sessionKeys: [randomBytes(32)] },
    };
    renewing = await openHouse(plane(), replica);
    other = await openHouse(plane(), replica);
    await until(async () => (await signIn(openBrowser(house))).to === '/keys?state=Ready' || undefined, 100);
  });
  afterEach(() => {
    issuer.wrong = {};
  });
  afterAll(async () => {
    setDefaultCACertificates(trusted);
    connection?.close();
    await house?.close();
    await renewing?.close();
    await other?.close();
    await issuer?.close();
  });

  /** The address that the issuer sends them back to. */
  async function askIssuer(browser: Browser, to = '/keys?state=Ready'): Promise<URL> {
    const start = await browser.ask(`/api/oidc/start?to=${encodeURIComponent(to)}`);
    expect(start.status).toBe(302);
    const answer = await fetch(String(start.headers.location), { redirect: 'manual' });
    return new URL(String(answer.headers.get('location')));
  }

  async function comeBack(browser: Browser, back: URL) {
    attempts += 1;
    const flow = browser.cookies.get('__Host-penstock-sign-in');
    const { status, headers } = await browser.ask(back.pathname + back.search, {
      headers: {
        // As a browser that comes from another site, whose Strict cookies stay at home.
        'sec-fetch-site': 'cross-site',
        cookie: flow && `__Host-penstock-sign-in=${flow}`,
        // Each time from another place, as attempts are limited.
        'x-forwarded-for': `192.0.2.${attempts}`,
      },
    });
    return { status, to: headers.location };
  }

  async function signIn(browser: Browser) {
    return await comeBack(browser, await askIssuer(browser));
  }

  const failed = { status: 302, to: '/keys?state=Ready&signInError=sign_in_failed' };
  const isSignedIn = async (browser: Browser) => (await browser.ask('/api/session')).status === 200;

  test('a user of the issuer is signed in under the Kubernetes username', async () => {
    const browser = openBrowser(house);
    expect((await browser.ask('/api/session')).body.signIn.oidc).toEqual({ name: 'Example' });
    expect(await signIn(browser)).toEqual({ status: 302, to: '/keys?state=Ready' });
    expect([...browser.cookies.keys()]).toEqual(['__Host-penstock-session']);
    const { body } = await browser.ask('/api/session');
    expect(body).toMatchObject({
      user: { name: 'oidc:ada@example.com', groups: expect.arrayContaining(['oidc:team-a']) },
      namespace: null,
    });
    // Not beyond the token's own end.
    expect(Date.parse(body.expiresAt) - Date.now()).toBeLessThanOrEqual(600_000);
  });

  test('a user who may list no namespaces is informed, and sees the one that they name', async () => {
    const browser = openBrowser(house);
    await signIn(browser);
    const reported = await browser.ask('/api/namespaces');
    expect([reported.status, reported.body]).toEqual([200, { namespaces: [], isComplete: false }]);
    const keysIn = async (namespace: string) =>
      (await browser.ask(`/api/kube/apis/penstock.dev/v1alpha1/namespaces/${namespace}/apikeys`)).status;
    expect([await keysIn('team-a'), await keysIn('team-b')]).toEqual([200, 403]);
  });

  test('a code works once, in the browser and with the state that began the sign-in', async () => {
    const [one, other] = [openBrowser(house), openBrowser(house)];
    const [back, others] = [await askIssuer(one), await askIssuer(other)];
    // Somebody is made to come back with a code that was got elsewhere.
    const unknown = { ...failed, to: '/?signInError=sign_in_failed' };
    expect(await comeBack(openBrowser(house), back)).toEqual(unknown);
    const kept = new Map(one.cookies);
    expect(await comeBack(one, others)).toEqual(failed);
    expect(await isSignedIn(one)).toBe(false);
    // The state of one and the code of the other: the issuer does not take the verifier.
    one.cookies = new Map(kept);
    const mixed = new URL(back);
    mixed.searchParams.set('code', String(others.searchParams.get('code')));
    const before = issuer.refused.length;
    expect(await comeBack(one, mixed)).toEqual(failed);
    expect(issuer.refused.slice(before)).toEqual(['invalid_grant']);
    one.cookies = new Map(kept);
    expect((await comeBack(one, back)).to).toBe('/keys?state=Ready');
    expect(await isSignedIn(one)).toBe(true);
    for (const [name, value] of kept) one.cookies.set(name, value);
    expect(await comeBack(one, back)).toEqual(failed);
  });

  test('a token of another sign-in, another client or another key, or an expired one, is rejected', async () => {
    const wrongs: Issuer['wrong'][] = [
      { hasOtherKey: true },
      { claims: { nonce: 'x'.repeat(43) } },
      { claims: { aud: 'another' } },
      { claims: { iss: 'https://issuer.example' } },
      { claims: { exp: Math.floor(Date.now() / 1_000) - 3_600 } },
    ];
    for (const wrong of wrongs) {
      issuer.wrong = wrong;
      const browser = openBrowser(house);
      expect([JSON.stringify(wrong), await signIn(browser)]).toEqual([JSON.stringify(wrong), failed]);
      expect(await isSignedIn(browser)).toBe(false);
    }
    // The issuer’s word is good, and Kubernetes does not know whom it means.
    issuer.wrong = { claims: { email: undefined } };
    expect((await signIn(openBrowser(house))).to).toBe('/keys?state=Ready&signInError=unknown_token');
  });

  test('signing in beside an older session of any length replaces that session', async () => {
    const browser = openBrowser(house);
    issuer.wrong = { claims: { pad: randomBytes(3_000).toString('hex') } };
    await signIn(browser);
    const before = new Map(browser.cookies);
    expect([before.size, await isSignedIn(browser)]).toEqual([2, true]);
    issuer.wrong = {};
    await signIn(browser);
    expect([...browser.cookies.keys()]).toEqual(['__Host-penstock-session']);
    expect(await isSignedIn(browser)).toBe(true);
    browser.cookies = before;
    expect(await isSignedIn(browser)).toBe(false);
  });

  test('no redirect leads elsewhere afterwards', async () => {
    const browser = openBrowser(house);
    for (const to of ['//evil.example', 'https://evil.example', '/\\evil.example', 'x'])
      expect((await browser.ask(`/api/oidc/start?to=${encodeURIComponent(to)}`)).status, to).toBe(400);
  });

  describe('whose refresh tokens are asked for, when a token ends:', () => {
    renewalSuite(() => ({ house: renewing, other, issuer, clock, signIn }));
  });

  test('an issuer that is away or refuses gives a short message, and no code or token is logged', async () => {
    const browser = openBrowser(house);
    const back = await askIssuer(browser);
    const refusal = new URL(callback);
    refusal.search = new URLSearchParams({
      error: 'access_denied',
      state: String(back.searchParams.get('state')),
    }).toString();
    expect(await comeBack(browser, refusal)).toEqual(failed);
    expect(house.log()).toContain('the issuer said access_denied');
    const last = await askIssuer(browser);
    await issuer.close();
    expect((await comeBack(browser, last)).to).toBe('/keys?state=Ready&signInError=issuer_unreachable');
    expect(house.log()).not.toContain(String(last.searchParams.get('code')));
    expect(house.log()).not.toContain('eyJ');
  });
}
