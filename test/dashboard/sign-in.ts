// Who gets in, how long, and from where? People with real tokens of a real API server, and those who forge, replay and rebind.

import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { openSealer } from '../../dashboard/session/seal.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { type Browser, type House, OUTSIDE, onlySet, openBrowser, openHouse, type People } from './house.ts';

export function signInSuite(plane: () => ControlPlane, people: () => People): void {
  const key = randomBytes(32);
  let house: House;
  /** So much later than it is. */
  let laterMs = 0;
  const clock = { ...systemClock, wallMs: () => Date.now() + laterMs };

  beforeAll(async () => {
    house = await openHouse(plane(), { clock, settings: { sessionKeys: [key] } });
  });
  afterEach(() => {
    laterMs = 0;
  });
  afterAll(() => house?.close());

  async function signedIn(token = people().editor): Promise<Browser> {
    const browser = openBrowser(house);
    const { status } = await browser.signIn(token);
    expect(status).toBe(200);
    return browser;
  }

  const codeOf = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [
    status,
    body?.error?.code,
  ];
  const name = '__Host-penstock-session';

  describe('a user with a Kubernetes token', () => {
    test('is signed in under the Kubernetes username, at most as long as the token is valid', async () => {
      const browser = openBrowser(house);
      const before = await browser.ask('/api/session');
      expect([codeOf(before), before.body.signIn]).toEqual([
        [401, 'not_signed_in'],
        {
          mode: 'kubernetes',
          tokenCommand: expect.stringContaining('kubectl create token'),
          oidc: null,
        },
      ]);
      const { status, body, cookies } = await browser.signIn(people().editor);
      expect([status, body]).toEqual([
        200,
        expect.objectContaining({
          mode: 'kubernetes',
          user: {
            name: 'system:serviceaccount:team-a:editor',
            groups: expect.arrayContaining(['system:serviceaccounts']),
          },
          namespace: 'team-a',
          gatewayUrl: 'https://gateway.example.com',
          keyPrefix: 'psk_',
          hasLedger: false,
        }),
      ]);
      const lastsMs = Date.parse(body.expiresAt) - Date.now();
      expect(lastsMs).toBeGreaterThan(3_500_000);
      expect(lastsMs).toBeLessThanOrEqual(3_600_000);
      expect(onlySet(cookies)).toEqual([
        expect.stringMatching(
          /^__Host-penstock-session=[^;]+; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Strict$/,
        ),
      ]);
      // Neither the token nor who it is can be read there.
      expect(cookies.join()).not.toContain(people().editor.slice(20, 60));
      expect((await browser.ask('/api/session')).body).toEqual(body);
    });

    test('that is unknown, expired or malformed is not signed in', async () => {
      const browser = openBrowser(house);
      const [head, , signature] = people().editor.split('.');
      const claims = Buffer.from(JSON.stringify({ sub: 'system:admin', exp: 9e9 })).toString('base64url');
      for (const token of ['nobody', `${head}.${claims}.${signature}`, 'two\nlines', '', '🦊'])
        expect(codeOf(await browser.signIn(token)), token).toEqual([401, 'unknown_token']);
      expect(codeOf(await browser.signIn('x'.repeat(14_501)))).toEqual([400, 'token_too_long']);
      for (const body of [{}, { token: 7 }, { token: 'x', more: 1 }, []])
        expect(codeOf(await browser.ask('/api/session', { method: 'POST', body }))).toEqual([
          400,
          'invalid_body',
        ]);
      expect(browser.cookies.size).toBe(0);
    });

    test('over plain http is signed in on localhost only', async () => {
      const browser = openBrowser(house, `http://localhost:${house.port}`);
      const { cookies } = await browser.signIn(people().viewer);
      expect(onlySet(cookies)).toEqual([
        expect.stringMatching(
          /^penstock-session-\d+=[^;]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
        ),
      ]);
      expect((await browser.ask('/api/session')).status).toBe(200);
      // Another dashboard of this machine is sent the same cookies, knows none of them, and takes none away.
      const other = openBrowser(house, `http://localhost:${house.port + 1}`);
      other.cookies = browser.cookies;
      const refused = await other.ask('/api/session');
      expect([refused.status, refused.cookies]).toEqual([401, []]);
    });

    test('gets a new session each time, which ends the previous one', async () => {
      const browser = await signedIn();
      const [first, csrf] = [browser.cookies.get(name), browser.session?.csrf];
      await browser.signIn(people().editor);
      expect([browser.cookies.get(name), browser.session?.csrf]).not.toEqual([first, csrf]);
      browser.cookies.set(name, String(first));
      const late = await browser.ask('/api/session');
      // Where this is heard late, the next one is in its place.
      expect([late.status, late.cookies]).toEqual([401, []]);
    });
  });

  describe('a session', () => {
    test('ends at sign-out: its cookie is invalid then', async () => {
      const browser = await signedIn();
      const kept = new Map(browser.cookies);
      expect((await browser.ask('/api/session', { method: 'DELETE' })).status).toBe(204);
      expect(browser.cookies.size).toBe(0);
      browser.cookies = kept;
      for (const path of ['/api/session', '/api/namespaces', '/api/rows/apikeys', '/api/owners'])
        expect(codeOf(await browser.ask(path)), path).toEqual([401, 'not_signed_in']);
    });

    test('ends by its time', async () => {
      const browser = await signedIn();
      laterMs = 3_590_000;
      expect((await browser.ask('/api/namespaces')).status).toBe(200);
      laterMs = 3_601_000;
      expect(codeOf(await browser.ask('/api/namespaces'))).toEqual([401, 'not_signed_in']);
    });

    test('cannot be forged, changed or brought from elsewhere', async () => {
      const browser = await signedIn();
      const good = String(browser.cookies.get(name));
      const [header, , iv, text, tag] = good.split('.');
      const session = {
        id: 'x',
        token: people().editor,
        csrf: 'x',
        issuedAtMs: Date.now(),
        expiresAtMs: Date.now() + 60_000,
      };
      const none = Buffer.from('{"alg":"none"}').toString('base64url');
      const bad = {
        garbage: 'x',
        plain: Buffer.from(JSON.stringify(session)).toString('base64url'),
        unsigned: `${none}.${Buffer.from(JSON.stringify(session)).toString('base64url')}.`,
        'of another key': await openSealer([randomBytes(32)]).seal('session', session),
        'of another purpose': await openSealer([key]).seal('sign-in', session),
        'of another shape': await openSealer([key]).seal('session', { ...session, isAdmin: true }),
        expired: await openSealer([key]).seal('session', { ...session, expiresAtMs: Date.now() - 1 }),
        changed: [header, '', iv, text, `${tag?.startsWith('A') ? 'B' : 'A'}${tag?.slice(1)}`].join('.'),
        cut: good.slice(0, -4),
        longer: `${good}AA`,
        'a token': people().editor,
      };
      for (const [what, value] of Object.entries(bad)) {
        browser.cookies = new Map([[name, value]]);
        expect((await browser.ask('/api/namespaces')).status, what).toBe(401);
      }
      browser.cookies = new Map([[name, await openSealer([key]).seal('session', session)]]);
      // What this very server seals would have been taken.
      expect((await browser.ask('/api/namespaces')).status).toBe(200);
      // Over http no cookie is believed that https has made.
      const plain = openBrowser(house, `http://localhost:${house.port}`);
      plain.cookies = new Map([[name, good]]);
      expect((await plain.ask('/api/namespaces')).status).toBe(401);
    });

    test('of a long token is in several cookies', async () => {
      const browser = openBrowser(house);
      const session = {
        id: 'y',
        token: randomBytes(7_000).toString('base64url').slice(0, 9_000),
        csrf: 'y',
        issuedAtMs: Date.now(),
        expiresAtMs: 9e12,
      };
      const sealed = await openSealer([key]).seal('session', session);
      for (let index = 0; index * 3_600 < sealed.length; index += 1)
        browser.cookies.set(
          index === 0 ? name : `${name}-${index}`,
          sealed.slice(index * 3_600, (index + 1) * 3_600),
        );
      expect(browser.cookies.size).toBe(3);
      // It is read as a whole, and asked about: Kubernetes does not know it. All pieces go then.
      expect(codeOf(await browser.ask('/api/session'))).toEqual([401, 'not_signed_in']);
      expect(browser.cookies.size).toBe(0);
    });
  });

  describe('another page', () => {
    const right = { method: 'POST', body: { namespace: 'team-a' } };

    test('cannot change anything or send requests as the user', async () => {
      const browser = await signedIn();
      expect((await browser.ask('/api/rights', right)).status).toBe(200);
      const elsewhere = 'https://evil.example';
      const senders: Record<string, Record<string, string | undefined>> = {
        'cross-site': { 'sec-fetch-site': 'cross-site', origin: elsewhere },
        'same-site': { 'sec-fetch-site': 'same-site', origin: 'https://other.example.com' },
        none: { 'sec-fetch-site': 'none' },
        'another origin': { 'sec-fetch-site': undefined, origin: elsewhere },
        'a null origin': { 'sec-fetch-site': undefined, origin: 'null' },
        'no word of it': { 'sec-fetch-site': undefined, origin: undefined },
        'a port beside': { 'sec-fetch-site': undefined, origin: `${OUTSIDE}:8443` },
      };
      for (const [what, headers] of Object.entries(senders)) {
        expect(codeOf(await browser.ask('/api/rights', { ...right, headers })), what).toEqual([
          403,
          'foreign_origin',
        ]);
        const signIn = { method: 'POST', body: { token: people().editor }, headers };
        expect(codeOf(await browser.ask('/api/session', signIn)), what).toEqual([403, 'foreign_origin']);
        expect((await browser.ask('/api/session', { method: 'DELETE', headers })).status, what).toBe(403);
      }
      for (const what of ['cross-site', 'same-site', 'another origin']) {
        const { headers = {} } = { headers: senders[what] };
        expect(codeOf(await browser.ask('/api/namespaces', { headers })), what).toEqual([
          403,
          'foreign_origin',
        ]);
      }
      // Still signed in.
      expect((await browser.ask('/api/rights', right)).status).toBe(200);
    });

    test('cannot omit the CSRF header, or use another session’s', async () => {
      const [browser, other] = [await signedIn(), await signedIn(people().viewer)];
      for (const csrf of [undefined, '', 'x', other.session?.csrf, `${browser.session?.csrf}x`]) {
        const headers = { 'x-penstock-csrf': csrf };
        expect(codeOf(await browser.ask('/api/rights', { ...right, headers }))).toEqual([
          403,
          'csrf_missing',
        ]);
        expect((await browser.ask('/api/session', { method: 'DELETE', headers })).status).toBe(403);
      }
    });

    test('of a previous user is not answered as the current user', async () => {
      const browser = await signedIn();
      const headers = { 'x-penstock-csrf': browser.session?.csrf };
      expect((await browser.ask('/api/namespaces', { headers })).status).toBe(200);
      await browser.signIn(people().viewer);
      expect(codeOf(await browser.ask('/api/namespaces', { headers }))).toEqual([403, 'csrf_missing']);
      expect((await browser.ask('/api/namespaces')).status).toBe(200);
    });

    test('whose host name resolves to the dashboard learns nothing', async () => {
      const browser = await signedIn();
      const hosts = [
        'evil.example',
        `evil.example:${house.port}`,
        'penstock.example.com:8443',
        'localhost.evil.example',
        '127.0.0.1.evil.example',
        '10.0.0.1',
        '',
      ];
      for (const host of hosts)
        for (const path of ['/', '/api/session', '/api/namespaces', '/keys'])
          expect(codeOf(await browser.ask(path, { headers: { host } })), `${host}${path}`).toEqual([
            421,
            'unknown_host',
          ]);
      // Proxies in front ask by the address of a pod.
      for (const path of ['/healthz', '/readyz'])
        expect((await browser.ask(path, { headers: { host: '10.0.0.1:8080' } })).status).toBe(200);
    });
  });

  test('a client with too many attempts has to wait, and no other client does', async () => {
    const limited = await openHouse(plane(), { settings: { proxies: ['127.0.0.1'] } });
    try {
      const browser = openBrowser(limited);
      const attempt = (address: string, token = 'wrong') =>
        browser.ask('/api/session', {
          method: 'POST',
          body: { token },
          headers: { 'x-forwarded-for': address },
        });
      // Good ones are not counted.
      for (let count = 0; count < 12; count += 1)
        expect((await attempt('192.0.2.1', people().viewer)).status).toBe(200);
      for (let count = 0; count < 10; count += 1) expect((await attempt('192.0.2.1')).status).toBe(401);
      const refused = await attempt('192.0.2.1');
      expect([codeOf(refused), Number(refused.headers['retry-after'])]).toEqual([
        [429, 'too_many_attempts'],
        expect.closeTo(6, 0),
      ]);
      // From the same address a token that was good before, and another one of its issuer.
      for (const token of [people().viewer, people().editor])
        expect((await attempt('192.0.2.1', token)).status).toBe(200);
      expect((await attempt('192.0.2.2', people().viewer)).status).toBe(200);
    } finally {
      await limited.close();
    }
  });

  describe('every answer', () => {
    test('blocks other origins, inline scripts and frames, and is not cached', async () => {
      const browser = openBrowser(house);
      for (const path of [
        '/',
        '/keys?q=x',
        '/api/session',
        '/%61pi/session',
        '/api/nothing',
        '/nothing.js',
      ]) {
        const { headers } = await browser.ask(path);
        expect(headers['content-security-policy'], path).toBe(
          "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;font-src 'self';" +
            "connect-src 'self' https://gateway.example.com;form-action 'self';base-uri 'none';frame-ancestors 'none'",
        );
        expect(headers['x-content-type-options'], path).toBe('nosniff');
        expect(headers['access-control-allow-origin'], path).toBeUndefined();
        expect(headers['cache-control'], path).toBe('no-store');
      }
      expect((await browser.ask('/keys?q=x')).text).toContain('<title>Penstock');
      for (const file of ['/nothing.js', '/assets/nothing.css'])
        expect(codeOf(await browser.ask(file)), file).toEqual([404, 'not_found']);
      // The name of an object may end like that of a file.
      expect((await browser.ask('/keys/team-a/ci.bot')).status).toBe(200);
    });

    test('to a body that is no JSON, or too long, says so', async () => {
      const browser = await signedIn();
      const send = (body: unknown, type = 'application/json') =>
        browser.ask('/api/rights', { method: 'POST', body, headers: { 'content-type': type } });
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
      ])
        expect(codeOf(await send('{"namespace":null}', type)), type).toEqual([415, 'invalid_body']);
      expect(codeOf(await send('{'))).toEqual([400, 'invalid_body']);
      expect(codeOf(await send(`"${'x'.repeat(256 * 1024)}"`))).toEqual([413, 'invalid_body']);
      expect(codeOf(await send({ namespace: '../kube-system' }))).toEqual([400, 'invalid_body']);
    });

    test('is clear when Kubernetes does not answer, and the session survives', async () => {
      const away = await openHouse(
        { ...plane(), url: 'https://127.0.0.1:1' },
        { settings: { sessionKeys: [key] } },
      );
      try {
        const browser = openBrowser(away);
        browser.cookies = (await signedIn()).cookies;
        const kept = browser.cookies.size;
        for (const path of [
          '/api/session',
          '/api/namespaces',
          '/api/rows/apikeys',
          '/api/watch?kind=apikeys',
        ])
          expect(codeOf(await browser.ask(path)), path).toEqual([503, 'cluster_unreachable']);
        expect(browser.cookies.size).toBe(kept);
        expect(codeOf(await browser.ask('/api/ledger/v1/sums'))).toEqual([503, 'no_ledger']);
        expect(away.log()).toContain('ECONNREFUSED');
      } finally {
        await away.close();
      }
    });
  });

  test('no token and no cookie is in the log', async () => {
    const browser = await signedIn();
    const log = house.log();
    for (const secret of [...Object.values(people()), browser.session?.csrf, browser.cookies.get(name)])
      expect(log).not.toContain(String(secret));
  });
}
