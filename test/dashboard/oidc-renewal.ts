// What becomes of a session whose id token ends? The issuer gives the next one for a refresh token that is good once; pages notice
// nothing, and where it gives none they are reported.

import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import type { Issuer } from '../support/issuer.ts';
import { type Browser, type House, onlySet, openBrowser } from './house.ts';

/** What the house of these tests goes by: it can be later there than it is, and its timers can be rung. */
export function makeHouseClock() {
  const timers: { readonly ms: number; readonly run: () => void }[] = [];
  const clock = {
    ...systemClock,
    laterMs: 0,
    wallMs: () => Date.now() + clock.laterMs,
    setTimer(ms: number, run: () => void) {
      timers.push({ ms, run });
      return systemClock.setTimer(ms, run);
    },
    /** Those of about that time. */
    ring: (minMs: number, maxMs: number) => {
      for (const { ms, run } of timers) if (ms >= minMs && ms <= maxMs) run();
    },
  };
  return clock;
}

export interface RenewalStage {
  readonly house: House;
  /** Another replica of it. */
  readonly other: House;
  readonly issuer: Issuer;
  readonly clock: ReturnType<typeof makeHouseClock>;
  signIn(browser: Browser): Promise<{ readonly status: number }>;
}

export function renewalSuite(stage: () => RenewalStage): void {
  const name = '__Host-penstock-session';
  let issuer: Issuer;
  let clock: RenewalStage['clock'];
  beforeAll(() => ({ issuer, clock } = stage()));
  afterEach(() => {
    Object.assign(issuer, {
      lastsSeconds: 600,
      isBusy: false,
      refreshBytes: 24,
      person: { email: 'ada@example.com', groups: ['team-a'] },
    });
    clock.laterMs = 0;
  });

  /** With a token that is about to end; the next one is good for ten minutes. */
  async function signedIn(): Promise<Browser> {
    const browser = openBrowser(stage().house);
    issuer.lastsSeconds = 20;
    expect((await stage().signIn(browser)).status).toBe(302);
    issuer.lastsSeconds = 600;
    return browser;
  }

  /** The same browser as it is now; what is set there is not set here. */
  function copyOf(browser: Browser): Browser {
    const copy = openBrowser(stage().house);
    copy.cookies = new Map(browser.cookies);
    return copy;
  }

  const codeOf = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [
    status,
    body?.error?.code,
  ];

  test('it is renewed before its end, once for all pages, in the same session', async () => {
    const browser = await signedIn();
    const tabs = Array.from({ length: 5 }, () => copyOf(browser));
    const [before, refused] = [issuer.renewals, issuer.refused.length];
    const answers = await Promise.all(tabs.map((tab) => tab.ask('/api/session')));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(issuer.renewals - before).toBe(1);
    const sessions = answers.map(({ body }) => body);
    expect(new Set(sessions.map(({ csrf, expiresAt }) => `${csrf} ${expiresAt}`)).size).toBe(1);
    // Until its own end, not until that of a token.
    const lastsMs = Date.parse(sessions[0].expiresAt) - Date.now();
    expect(lastsMs).toBeGreaterThan(3_500_000);
    expect(lastsMs).toBeLessThanOrEqual(3_600_000);
    for (const { cookies } of answers)
      expect(onlySet(cookies)).toEqual([
        expect.stringMatching(
          /^__Host-penstock-session=[^;]+; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Strict$/,
        ),
      ]);
    // A page that had not heard of it comes with the cookie from before: the used refresh token is not sent again.
    const late = copyOf(browser);
    expect((await late.ask('/api/namespaces')).status).toBe(200);
    expect([issuer.renewals - before, issuer.refused.length]).toEqual([1, refused]);
    // And the next one again, with what came with this one.
    clock.laterMs = 575_000;
    issuer.lastsSeconds = 3_000;
    expect((await tabs[0]?.ask('/api/namespaces'))?.status).toBe(200);
    expect([issuer.renewals - before, issuer.refused.length]).toEqual([2, refused]);
  });

  test('an id token of 9 KB and a refresh token of 5 KB are kept, in cookies of a size that browsers take', async () => {
    const groups = Array.from({ length: 168 }, () => randomUUID());
    Object.assign(issuer, { refreshBytes: 3_840, person: { email: 'ada@example.com', groups } });
    const browser = await signedIn();
    expect(browser.cookies.has(name)).toBe(true);
    const sizes = [...browser.cookies].map(([cookie, value]) => cookie.length + value.length);
    expect(Math.max(...sizes)).toBeLessThan(4_000);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(15_500);
    clock.laterMs = 25_000;
    const { status, body } = await browser.ask('/api/session');
    expect([status, body.user.groups]).toEqual([200, expect.arrayContaining([`oidc:${groups[0]}`])]);
  });

  test('it is renewed after its end too, and the session ends at its own time', async () => {
    const browser = await signedIn();
    clock.laterMs = 25_000;
    expect((await browser.ask('/api/namespaces')).status).toBe(200);
    clock.laterMs = 3_601_000;
    issuer.lastsSeconds = 7_200;
    expect(codeOf(await browser.ask('/api/namespaces'))).toEqual([401, 'not_signed_in']);
  });

  test('if the issuer has ended it, the user is informed and signed out', async () => {
    const browser = await signedIn();
    issuer.endSessions();
    // The token itself is good still.
    expect((await browser.ask('/api/namespaces')).status).toBe(200);
    clock.laterMs = 25_000;
    const refusal = [401, 'renewal_refused'];
    expect(codeOf(await browser.ask('/api/namespaces'))).toEqual(refusal);
    const { status, body, cookies } = await browser.ask('/api/session');
    expect(codeOf({ status, body })).toEqual(refusal);
    expect(body).toMatchObject({
      error: { message: expect.stringContaining('Your session has ended at the issuer') },
      signIn: { oidc: { name: 'Example' } },
    });
    expect([cookies.length, browser.cookies.size]).toEqual([1, 0]);
    expect(stage().house.log()).toContain('the issuer said invalid_grant');
  });

  test('a renewed token of another user is rejected', async () => {
    const browser = await signedIn();
    issuer.person = { email: 'eve@example.com', groups: ['team-a'] };
    clock.laterMs = 25_000;
    expect(codeOf(await browser.ask('/api/session'))).toEqual([401, 'renewal_refused']);
  });

  test('a busy issuer ends no session', async () => {
    const browser = await signedIn();
    issuer.isBusy = true;
    expect((await browser.ask('/api/namespaces')).status).toBe(200);
    clock.laterMs = 25_000;
    for (const path of ['/api/namespaces', '/api/session'])
      expect(codeOf(await browser.ask(path)), path).toEqual([503, 'issuer_unreachable']);
    expect(browser.cookies.has(name)).toBe(true);
    issuer.isBusy = false;
    // It is not asked at once again.
    clock.laterMs = 31_000;
    expect((await browser.ask('/api/namespaces')).status).toBe(200);
  });

  test('after sign-out, older and newer cookies are both invalid', async () => {
    const browser = await signedIn();
    const before = copyOf(browser);
    browser.session = (await browser.ask('/api/session')).body;
    const after = copyOf(browser);
    expect(after.cookies.get(name)).not.toBe(before.cookies.get(name));
    expect((await browser.ask('/api/session', { method: 'DELETE' })).status).toBe(204);
    for (const one of [before, after])
      expect(codeOf(await one.ask('/api/namespaces'))).toEqual([401, 'not_signed_in']);
  });

  test('sign-out revokes the refresh token at the issuer, so a copied cookie renews nothing', async () => {
    const browser = await signedIn();
    browser.session = (await browser.ask('/api/session')).body;
    const elsewhere = openBrowser(stage().other);
    elsewhere.cookies = new Map(browser.cookies);
    const { revocations } = issuer;
    expect((await browser.ask('/api/session', { method: 'DELETE' })).status).toBe(204);
    await expect.poll(() => issuer.revocations).toBe(revocations + 1);
    // Another replica has not heard of it, and its token is good for the rest of its ten minutes.
    expect((await elsewhere.ask('/api/namespaces')).status).toBe(200);
    clock.laterMs = 601_000;
    expect(codeOf(await elsewhere.ask('/api/namespaces'))).toEqual([401, 'renewal_refused']);
  });

  test('sign-out works although the issuer fails to revoke the token', async () => {
    const browser = await signedIn();
    browser.session = (await browser.ask('/api/session')).body;
    issuer.isBusy = true;
    expect((await browser.ask('/api/session', { method: 'DELETE' })).status).toBe(204);
    expect(codeOf(await browser.ask('/api/namespaces'))).toEqual([401, 'not_signed_in']);
    await expect.poll(() => stage().house.log()).toContain('did not revoke the refresh token');
  });

  test('a stream ends with the token, not with the session, and reconnects with the renewed one', async () => {
    const browser = await signedIn();
    issuer.lastsSeconds = 300;
    const stream = await browser.stream('/api/watch?kind=apikeys&namespace=team-a');
    const setCookie = stream.rawHeaders.flatMap(([header, value]) =>
      header.toLowerCase() === 'set-cookie' ? [value] : [],
    );
    expect(onlySet(setCookie)).toEqual([
      expect.stringMatching(/^__Host-penstock-session=[^;]+; Path=\/; Expires/),
    ]);
    expect(stream.status).toBe(200);
    clock.ring(250_000, 300_000);
    const { events, ending } = await stream.finished;
    expect([events.every(({ name }) => name !== 'end'), ending]).toEqual([true, 'last-chunk']);
  });
}
