// Does the dashboard stay usable with many tabs and windows? A browser has six connections to one host for all of them, over HTTP/1.1.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { buildPages } from '../../../dashboard/build-pages.ts';
import { STREAMS_MAX } from '../../../dashboard/pages/shell/stream-slots.ts';
import { openChromium, openVisitor, type Visitor } from '../../dashboard/browser/chromium.ts';
import { show } from '../../dashboard/rig/pages.ts';
import { type Rig, startRig } from '../../dashboard/rig/server.ts';
import { USUAL } from '../../dashboard/rig/views.ts';
import { until } from '../../support/until.ts';

let pages: string;
let browser: Browser;
let rig: Rig;
let visitor: Visitor;

beforeAll(async () => {
  pages = await mkdtemp(join(tmpdir(), 'penstock-tabs-'));
  await buildPages(pages);
  browser = await openChromium();
}, 120_000);
afterEach(async () => {
  await visitor?.close();
  await rig?.close();
});
afterAll(async () => {
  await browser?.close();
  await rm(pages, { recursive: true, force: true });
});

async function enter(): Promise<(path: string) => Promise<Page>> {
  rig = await startRig({ ...USUAL, pages, keys: 20 });
  visitor = await openVisitor(browser);
  const { page } = visitor;
  return async (path) => {
    const tab = page.url() === 'about:blank' ? page : await page.context().newPage();
    await tab.goto(`${rig.url}${path}`);
    await tab.getByRole('table').first().waitFor();
    return tab;
  };
}

test('ten visible windows all show their data, and are answered', async () => {
  const open = await enter();
  for (let count = 0; count < 9; count += 1) await open(count % 2 === 0 ? '/providers' : '/keys');
  const last = await open('/keys');
  await until(async () => rig.streamCount() === STREAMS_MAX);
  const answer = last.waitForResponse(/rows\/apikeys\?.*state=Disabled/);
  await last.getByLabel('State').selectOption('Disabled');
  expect((await answer).status()).toBe(200);
  expect(rig.streamCount()).toBe(STREAMS_MAX);
});

test('a window without a stream polls, and streams after another one is closed', async () => {
  const open = await enter();
  // Of two streams each.
  const other = await open('/providers');
  await open('/providers');
  await until(async () => rig.streamCount() === STREAMS_MAX);
  const late = await visitor.page.context().newPage();
  await late.clock.install();
  await late.goto(`${rig.url}/keys/team-a/ci-bot-0`);
  await late.getByRole('heading', { level: 1, name: 'ci-bot-0' }).waitFor();
  rig.change('apikeys', 'ci-bot-0', { owner: { name: 'Grace' } });
  await until(async () => {
    await late.clock.runFor(1_000);
    return (await late.getByText('Grace', { exact: true }).count()) > 0;
  });
  expect(rig.streamCount()).toBe(STREAMS_MAX);

  await other.close();
  // A stream that is refused, as those of the closed one are not gone yet, comes again after a while: by the clock of its page.
  await until(async () => {
    await late.clock.runFor(1_000);
    return rig.streamCount() === STREAMS_MAX - 1;
  });
  rig.change('apikeys', 'ci-bot-0', { owner: { name: 'Katherine' } });
  await late.getByText('Katherine', { exact: true }).waitFor();
});

test('a hidden tab holds no stream and keeps its data; visible again, it shows the present data', async () => {
  const open = await enter();
  const tab = await open('/providers');
  await until(async () => rig.streamCount() === 2);
  await show(tab, 'hidden');
  await until(async () => rig.streamCount() === 0);
  rig.change('modelroutes', 'large', { model: 'penstock/larger' });
  expect(await tab.getByText('penstock/large', { exact: true }).count()).toBeGreaterThan(0);
  await show(tab, 'visible');
  await tab.getByText('penstock/larger', { exact: true }).waitFor();
  await until(async () => rig.streamCount() === 2);
});
