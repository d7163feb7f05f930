// Who gets into the dashboard of local mode? A person with the printed link, once; and only on this machine.

import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LINK_MS, openLinks } from '../../../local/dashboard/one-time-link.ts';
import { ensurePages } from '../../../local/dashboard/pages.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { rawCall } from '../../support/raw-client.ts';
import { type LocalRig, makeFolders, makePages, startLocalRig } from '../rig.ts';
import { openLink, printedLinks, signIn, startDashboardRig } from './person.ts';

let rig: LocalRig;

beforeAll(async () => {
  rig = await startDashboardRig();
}, 30_000);
afterAll(() => rig?.close());

const portOf = (url: string): number => Number(new URL(url).port);

describe('the printed link', () => {
  test('admits one browser once; the next link is in the terminal', async () => {
    const [link = ''] = printedLinks(rig);
    const first = await openLink(link);
    expect(first).toMatchObject({
      status: 200,
      body: { mode: 'local', gatewayUrl: rig.url, hasLedger: true },
    });
    const second = await openLink(link);
    expect(second).toMatchObject({ status: 401, cookie: '' });
    expect(second.body).toMatchObject({
      error: {
        code: 'unknown_token',
        message:
          'This link was used already, or belongs to an earlier start. Open the latest link in the terminal.',
      },
    });
    await rig.next(/^The dashboard opens at/);
    const links = printedLinks(rig);
    expect(new Set(links).size).toBe(2);
    expect((await openLink(links.at(-1) ?? '')).status).toBe(200);
  });

  test('opens nothing else: without a session there is no access', async () => {
    const url = rig.local.dashboard?.url ?? '';
    const [link = ''] = printedLinks(rig);
    const token = link.split('=')[1] ?? '';
    const asked = await fetch(`${url}/api/kube/apis/penstock.dev/v1alpha1/providers`, {
      headers: { authorization: `Bearer ${token}`, cookie: `penstock-session-${new URL(url).port}=${token}` },
    });
    expect(asked.status).toBe(401);
    const signedOut = await fetch(`${url}/api/session`);
    expect(await signedOut.json()).toMatchObject({ signIn: { mode: 'local', tokenCommand: '', oidc: null } });
  });

  test('signs its browser in after any number of wrong links, and the terminal is not flooded', async () => {
    await openLink(printedLinks(rig).at(-1) ?? '');
    const before = printedLinks(rig).length;
    const { origin } = new URL(printedLinks(rig)[0] ?? '');
    for (let count = 0; count < 30; count += 1)
      expect((await openLink(`${origin}/#token=wrong${count}`)).status).toBe(401);
    expect(printedLinks(rig).length - before).toBeLessThan(10);
    expect((await openLink(printedLinks(rig).at(-1) ?? '')).status).toBe(200);
  });

  test('is good for a quarter of an hour', async () => {
    const clock = makeFakeClock();
    let stale = 0;
    const links = openLinks({
      clock: { ...clock, wallMs: () => 0 },
      userName: 'ada',
      onStale: () => stale++,
    });
    const tokenOf = (link: string): string => link.split('=')[1] ?? '';
    const link = links.link('http://127.0.0.1:1');
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:1\/#token=[\w-]{43}$/);
    clock.advance(LINK_MS - 1);
    expect(links.link('http://127.0.0.1:1')).toBe(link);
    clock.advance(1);
    expect(await links.signIn.admit(tokenOf(link))).toBeUndefined();
    expect(stale).toBe(1);
    const next = tokenOf(links.link('http://127.0.0.1:1'));
    const admitted = await links.signIn.admit(next);
    expect(admitted?.person).toEqual({ name: 'ada', groups: [] });
    expect(await links.signIn.personOf(admitted?.token ?? '')).toEqual({ name: 'ada', groups: [] });
    for (const token of [next, '', 'x']) expect(await links.signIn.personOf(token)).toBeUndefined();
  });
});

describe('only this machine', () => {
  test.each(['evil.example', 'evil.example:80', '127.0.0.1.evil.example', '192.0.2.1', ''])(
    'is reported anything; a request for %j is not',
    async (host) => {
      const port = portOf(rig.local.dashboard?.url ?? '');
      for (const path of ['/', '/api/session']) {
        const { status } = await rawCall({ port }, { path, method: 'GET', headers: { host } });
        expect([path, status]).toEqual([path, host === '' ? expect.any(Number) : 421]);
        expect(status).toBeGreaterThanOrEqual(400);
      }
    },
  );

  test('can open it: no other address listens', async () => {
    const port = portOf(rig.local.dashboard?.url ?? '');
    const others = Object.values(networkInterfaces()).flatMap((all) =>
      (all ?? []).filter(({ internal, family }) => !internal && family === 'IPv4'),
    );
    for (const host of ['127.0.0.2', ...others.map(({ address }) => address)])
      await expect(rawCall({ port, host }, { path: '/', method: 'GET' })).rejects.toThrow();
  });

  test('a page of another origin cannot send requests, even with a session', async () => {
    // It was used above, so the next one is printed.
    await openLink(printedLinks(rig).at(-1) ?? '');
    const person = await signIn(rig);
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await person.ask('GET', '/api/namespaces', undefined, foreign)).status).toBe(403);
    const path = '/api/kube/apis/penstock.dev/v1alpha1/namespaces/default/providers/down';
    expect((await person.ask('DELETE', path, undefined, foreign)).status).toBe(403);
    expect((await person.ask('DELETE', path, undefined, { 'x-penstock-csrf': 'x' })).status).toBe(403);
    expect((await person.ask('GET', path)).status).toBe(200);
  });
});

describe('without built pages', () => {
  const said = ({ printed }: LocalRig): string =>
    /^ {2}dashboard {2}(.*)$/m.exec(printed.join('\n'))?.[1] ?? '';

  test('there is no dashboard, and one line says so', async () => {
    const bare = await startLocalRig();
    try {
      expect(bare.local.dashboard).toBeUndefined();
      expect(said(bare)).toMatch(/^none: the pages are not built in .+pages; run npm run build$/);
    } finally {
      await bare.close();
    }
  });

  test('they are built, once; and why they could not be is reported', async () => {
    const folders = await makeFolders();
    let builds = 0;
    const build = async (folder: string): Promise<void> => {
      builds += 1;
      await makePages({ pages: folder });
    };
    try {
      expect(await ensurePages(folders.pages, () => Promise.reject(new Error('no builder')))).toBe(
        'the pages could not be built: no builder',
      );
      for (const _ of [1, 2]) expect(await ensurePages(folders.pages, build)).toBeUndefined();
      expect(builds).toBe(1);
    } finally {
      await folders.remove();
    }
  });
});
