// A browser that brings the cookies of its neighbours: what still fits is served, and what does not is explained to the person. Before,
// above 16 KiB, there was the bare 431 of the server.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { type RunningDashboard, startDashboard } from '../../dashboard/start.ts';
import { rawCall } from '../support/raw-client.ts';

let pages: string;
let dashboard: RunningDashboard;
let port: number;

beforeAll(async () => {
  pages = await mkdtemp(join(tmpdir(), 'penstock-pages-'));
  await writeFile(join(pages, 'index.html'), '<!doctype html><title>Penstock</title>');
  dashboard = await startDashboard({
    settings: {
      host: '127.0.0.1',
      port: 0,
      places: [],
      proxies: [],
      gatewayUrl: undefined,
      sessionKeys: [],
      sessionMs: 60_000,
    },
    signIn: {
      mode: 'kubernetes',
      tokenCommand: '',
      oidc: undefined,
      admit: async () => undefined,
      personOf: async () => undefined,
    },
    clusterOf: () => {
      throw new Error('nobody is signed in');
    },
    ledger: undefined,
    pagesFolder: pages,
    clock: systemClock,
    log: () => {},
    version: 'test',
  });
  port = Number(new URL(dashboard.url).port);
});
afterAll(async () => {
  await dashboard?.close();
  await rm(pages, { recursive: true, force: true });
});

/** So many KiB, as neighbours set them: none is larger than browsers take. */
const cookiesOf = (kib: number): string =>
  Array.from({ length: kib }, (_, index) => `neighbour-${index}=${'x'.repeat(1_000)}`).join('; ');

const ask = (path: string, kib: number) =>
  rawCall({ port }, { path, method: 'GET', headers: { host: `localhost:${port}`, cookie: cookiesOf(kib) } });

describe('with cookies of neighbouring sites', () => {
  test.each([10, 20, 28])('of %i KiB a page is served', async (kib) => {
    const { status, text } = await ask('/', kib);
    expect([status, text]).toEqual([200, expect.stringContaining('Penstock')]);
  });

  test.each(['/', '/keys', '/assets/index.js'])(
    'that are too many, %s explains it to a person',
    async (path) => {
      const { status, headers, text } = await ask(path, 40);
      expect([status, headers['content-type']]).toEqual([431, 'text/html; charset=utf-8']);
      expect(text).toContain('Delete the cookies of this domain in the settings of your browser');
      expect(headers['content-security-policy']).toContain("default-src 'none'");
    },
  );

  test('that are too large, a program gets its error in JSON', async () => {
    const { status, text } = await ask('/api/session', 40);
    expect([status, JSON.parse(text)]).toEqual([
      431,
      {
        error: {
          code: 'headers_too_large',
          message:
            'The headers of the request are larger than 32 KiB, mostly cookies. Delete the cookies of this domain in your browser, and reload the page.',
        },
      },
    ]);
  });
});
