// Does an admin find out in the dashboard what is wrong, in three clicks at most? Ten questions after a while of traffic with faults of
// every kind, everything real but the upstream models. With PENSTOCK_SHOTS=folder it also takes a picture of every view.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { findBarriers } from '../../dashboard/browser/axe.ts';
import { LOOKS, type Look, settled, type Visitor } from '../../dashboard/browser/chromium.ts';
import { heading, signIn, useStage } from '../../dashboard/browser/stage.ts';
import { goTo } from '../../dashboard/rig/pages.ts';
import { quantile } from '../../flow/cluster/figures.ts';
import { until } from '../../support/until.ts';
import { load } from '../scale/readings.ts';
import { openScorecard } from '../scorecard.ts';
import { type Heard, play } from './busy-day/play.ts';
import { callsOf, objectsOf } from './busy-day/scene.ts';

const nowMs = Date.now();
const stage = useStage(1, {
  objects: (url) => objectsOf(url, nowMs),
  ready: [
    ['apikey/laptop', 'team-a'],
    ['apikey/other', 'team-b'],
    ['modelroute/small', 'platform'],
    ['modelroute/partly', 'platform'],
  ],
});
const clicksMax = 3;
const foundMaxMs = 2_000;

let heard: readonly Heard[];
let visitor: Visitor;
let clicks: number;

beforeAll(async () => {
  heard = await play(stage().gatewayUrl, callsOf(20));
  visitor = await enter();
  // Refusals are summed every ten seconds.
  await until(async () => {
    await visitor.page.goto(stage().url);
    await settled(visitor.page);
    return (await tile('Refused').innerText()) !== '0';
  }, 30_000);
}, 300_000);
afterAll(() => visitor?.close());

beforeEach(async () => {
  clicks = 0;
  await visitor.page.goto(stage().url);
  await heading(visitor.page, 'Overview');
  await settled(visitor.page);
});
afterEach(() => {
  expect(clicks).toBeLessThanOrEqual(clicksMax);
});

test('why did this request fail?', async () => {
  const { page } = visitor;
  const { requestId } = found(({ model, status }) => model === 'broken' && status === 502);
  await click(nav('Requests'));
  await page.getByLabel('Request id').fill(requestId);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog
    .getByText(/^down answered HTTP 500/)
    .first()
    .waitFor();
});

test('which callers are refused, and why?', async () => {
  const { page } = visitor;
  const refused = page.getByRole('region', { name: 'Refused over time' });
  await refused.getByText('rate limit exceeded').first().waitFor();
  await click(refused.getByRole('link', { name: 'team-a/batch' }));
  await row(/429 refused/)
    .first()
    .waitFor();
});

test('which provider is down, and since when?', async () => {
  const problem = problems().filter({ hasText: 'Provider platform/down: failing' });
  await problem.getByText(/HTTP 500/).waitFor();
  await problem.getByText(/^for \d+/).waitFor();
});

test('which models do callers miss for it?', async () => {
  await click(nav('Models'));
  for (const model of ['broken', 'nowhere', 'locked'])
    await row(new RegExp(`^${model}`))
      .getByText('Failing')
      .waitFor();
  await row(/^small/)
    .getByText('Ready')
    .waitFor();
});

test('which budget is nearly used up?', async () => {
  const problem = problems().filter({ hasText: /Budget of team-a\/warned: 84\.\d% used/ });
  await showAll();
  await problem.waitFor();
});

test('which key ends soon, and who owns it?', async () => {
  const problem = problems().filter({ hasText: 'Key team-a/ends-soon' });
  await showAll();
  await problem.getByText('Owner: Di').waitFor();
});

test('which model, key and team cost the most?', async () => {
  for (const [list, first] of [
    ['Top models', 'large'],
    ['Top keys', 'team-a/warned'],
    ['Top teams', 'ads'],
  ] as const) {
    const names = visitor.page.getByRole('region', { name: list }).getByRole('link');
    expect(await names.first().innerText()).toBe(first);
  }
});

test('did the failover work?', async () => {
  const { page } = visitor;
  const { requestId } = found(({ model, status }) => model === 'spare' && status === 200);
  await click(nav('Requests'));
  await page.getByLabel('Request id').fill(requestId);
  await page.keyboard.press('Enter');
  await page
    .getByRole('dialog')
    .getByText(/^second answered/)
    .waitFor();
});

test('which model keeps callers waiting for its first token?', async () => {
  await click(nav('Models'));
  await row(/^slow/)
    .getByText(/1\.2 s/)
    .waitFor();
});

test('why is this key refused, and until when?', async () => {
  const { page } = visitor;
  await click(nav('Keys'));
  await click(page.getByRole('link', { name: 'spent', exact: true }));
  await page
    .getByText(/budget used up/i)
    .first()
    .waitFor();
  await page
    .getByText(/Refused until/)
    .first()
    .waitFor();
});

test('the id of a response finds its request within two seconds, answered, failed and refused', async () => {
  const { page } = visitor;
  const card = openScorecard(`ids of responses in the dashboard (load of the machine ${load()})`);
  const tries = 10;
  const ends = { small: 'an answered', broken: 'a failed', 'no-such-model': 'a refused' };
  for (const [model, end] of Object.entries(ends)) {
    const tookMs: number[] = [];
    for (let at = 0; at < tries; at++) {
      const [call] = await play(stage().gatewayUrl, [{ key: 'night', model }]);
      const answeredMs = performance.now();
      await goTo(page, `/requests?namespace=*&request=${call?.requestId}`);
      await page.getByRole('dialog', { name: `Request ${call?.status}` }).waitFor();
      tookMs.push(performance.now() - answeredMs);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    card.add({
      what: `${end} request is found within ${foundMaxMs} ms of its response`,
      ...{ tried: tries, failed: tookMs.filter((ms) => ms >= foundMaxMs).length },
      figures: `p50 ${quantile(tookMs, 0.5).toFixed(0)} ms, longest ${quantile(tookMs, 1).toFixed(0)} ms`,
    });
  }
  card.print();
  expect(card.misses()).toEqual([]);
}, 120_000);

const views = [
  ['overview', '/'],
  ['requests', '/requests?namespace=*'],
  ['request', ''],
  ['keys', '/keys?namespace=*'],
  ['key', '/keys/team-a/warned'],
  ['key-disabled', '/keys/team-a/off'],
  ['key-new', '/keys/new'],
  ['models', '/models'],
  ['plan', '/models/plan?model=spare'],
  ['playground', '/playground'],
  ['providers', '/providers?namespace=*'],
  ['provider', '/providers/platform/down'],
  ['provider-new', '/providers/new'],
  ['route', '/routes/platform/broken'],
  ['route-new', '/routes/new'],
] as const;

test.each(LOOKS)(
  'every view keeps nobody out, $colorScheme and $screen',
  async (look) => {
    const folder = process.env.PENSTOCK_SHOTS;
    if (folder !== undefined) await mkdir(folder, { recursive: true });
    const { page, complaints, close } = await enter(look);
    const { requestId } = found(({ model, status }) => model === 'spare' && status === 200);
    for (const [name, path] of views) {
      await page.goto(`${stage().url}${path === '' ? `/requests?namespace=*&request=${requestId}` : path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await settled(page);
      expect(await findBarriers(page), name).toEqual([]);
      if (folder !== undefined)
        await page.screenshot({
          path: join(folder, `${name}-${look.screen}-${look.colorScheme}.png`),
          fullPage: true,
        });
    }
    expect(complaints).toEqual([]);
    await close();
  },
  300_000,
);

async function enter(look?: Look): Promise<Visitor> {
  const entered = await stage().visit(look);
  await entered.page.goto(stage().url);
  await signIn(entered.page, stage().installation.plane.adminToken);
  return entered;
}

function found(isWanted: (call: Heard) => boolean): Heard {
  const call = heard.find(isWanted);
  if (call === undefined) throw new Error('no call ended so');
  return call;
}

async function click(what: Locator): Promise<void> {
  clicks += 1;
  await what.click();
  await settled(visitor.page);
}

async function showAll(): Promise<void> {
  await click(visitor.page.getByRole('button', { name: /^Show \d+ more/ }));
}

const nav = (name: string) =>
  visitor.page.getByRole('navigation').getByRole('link', { name, exact: true }).first();
const problems = () => visitor.page.getByRole('region', { name: 'Problems' }).getByRole('listitem');
const row = (name: RegExp) => visitor.page.getByRole('row').filter({ hasText: name });
const tile = (name: string) =>
  visitor.page.locator('.tiles > li').filter({ hasText: name }).locator('.figure');
