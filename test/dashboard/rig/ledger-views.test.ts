// Do the views of what the ledger and the gateways say hold it, whole and up to date? In a browser, over a server that is asked nothing hard.

import { readFile } from 'node:fs/promises';
import type { Page, Request } from 'playwright-core';
import { expect, test } from 'vitest';
import { PERIODS } from '../../../dashboard/pages/overview/period.ts';
import { GROUPINGS } from '../../../dashboard/pages/overview/questions.ts';
import { viewQuestions } from '../../ledger/view-questions.ts';
import { until } from '../../support/until.ts';
import { settled } from '../browser/chromium.ts';
import { goTo, makeOpen, modelOf } from './pages.ts';

const open = makeOpen();

/** Whatever has come is shown by then. */
const shownNext = (page: Page) =>
  page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');

const losses = [
  {
    loss: 'the ledger does not answer',
    lose: (page: Page) =>
      page.route('**/api/ledger/v1/**', (route) =>
        route.fulfill({ status: 503, json: { error: { message: 'Later.', code: 'ledger_unreachable' } } }),
      ),
    async regain(page: Page) {
      await page.unroute('**/api/ledger/v1/**');
      await page.getByRole('button', { name: 'Try again' }).first().click();
    },
  },
  {
    loss: 'the line is cut',
    lose: (page: Page) => page.context().setOffline(true),
    // It asks again by itself.
    regain: (page: Page) => page.context().setOffline(false),
  },
];

test.each(losses)(
  'the overview keeps what it has and calls it old while $loss, however many minutes',
  async ({ lose, regain }) => {
    const page = await open('/nothing');
    await page.clock.install();
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    const tiles = page.locator('.tiles > li');
    const shown = async () => [await tiles.count(), await page.locator('.chart').count()];
    await until(async () => (await shown()).join() === '6,4');
    let refused = 0;
    const count = (request: Request) => {
      if (request.url().includes('/api/ledger/v1/')) refused += 1;
    };
    page.on('requestfailed', count);
    page.on('response', (response) => {
      if (response.status() === 503) count(response.request());
    });
    await lose(page);
    for (const minute of [1, 2]) {
      await until(async () => {
        await page.clock.runFor(10_000);
        return refused >= 6 * minute;
      });
      await page.getByText('Usage: out of date').waitFor();
      await page.getByText('Chart: out of date').waitFor();
      expect(await shown()).toEqual([6, 4]);
    }
    // All of it is asked for again.
    await regain(page);
    await page.getByText('Usage: out of date').waitFor({ state: 'detached' });
  },
);

test.each(['requests', 'series'])(
  'the overview says since when it counts what it shows, not what was asked for since, also where %s are slow',
  async (slow) => {
    const page = await open('/');
    const tiles = page.locator('.tiles');
    const read = async () => [await page.getByText(/^Since /).innerText(), await tiles.innerText()] as const;
    const before = await read();
    const held = Promise.withResolvers<void>();
    await page.route(`**/api/ledger/v1/${slow}?*`, async (route) => {
      await held.promise;
      await route.continue();
    });
    const quick = slow === 'series' ? 'requests' : 'series';
    const answered = page.waitForResponse(`**/api/ledger/v1/${quick}?*`);
    await page.getByRole('radio', { name: '30 days' }).check();
    await (await answered).finished();
    await shownNext(page);
    expect(await read()).toEqual(before);
    expect(await page.locator('[aria-busy="true"]').filter({ has: tiles }).count()).toBe(1);
    held.resolve();
    await settled(page);
    const [since, figures] = await read();
    expect(since).not.toBe(before[0]);
    expect(figures).not.toBe(before[1]);
  },
);

test('the title of a chart names the data shown, not a newer selection', async () => {
  const page = await open('/');
  const heading = page.getByRole('heading', { name: /over time$/ }).first();
  const held = Promise.withResolvers<void>();
  await page.route('**/api/ledger/v1/series?*', async (route) => {
    await held.promise;
    await route.continue();
  });
  const asked = page.waitForRequest('**/api/ledger/v1/series?*');
  await page.getByRole('radio', { name: 'Tokens' }).check();
  await asked;
  await shownNext(page);
  expect(await heading.innerText()).toBe('Spend over time');
  held.resolve();
  await page.getByRole('heading', { name: 'Tokens over time' }).waitFor();
});

// A request counts where it was tried first: one that answers behind another had no column, and one that fails had those of both.
test('requests by provider count all calls of each, also as second target', async () => {
  const page = await open('/nothing');
  const minute = `${new Date(Date.now() - 600_000).toISOString().slice(0, 16)}:00Z`;
  const row = (provider: string, requests: number, attempts: number) => ({
    ...{ minute, provider, requests, attempts, unpriced: 0, costUsd: '0' },
    tokens: { input: 0, output: 0 },
  });
  await page.route('**/api/ledger/v1/series?*', (route) =>
    route.fulfill({ json: { rows: [row('platform/down', 4, 4), row('platform/spare', 0, 4)] } }),
  );
  await goTo(page, '/?period=1h&by=provider&measure=requests');
  await page.getByRole('heading', { name: 'Attempts over time' }).waitFor();
  const shown = page.locator('.chart').first().locator('.legend li');
  await shown.nth(1).waitFor();
  const legend = await shown.allInnerTexts();
  expect(legend.map((text) => text.split(/\s+/))).toEqual([
    ['platform/down', '4'],
    ['platform/spare', '4'],
  ]);
});

test('the page says that no budget is near its end only once that is known', async () => {
  const page = await open('/nothing', { hasNothing: true });
  const held = Promise.withResolvers<void>();
  await page.route('**/api/ledger/v1/budgets?*', async (route) => {
    await held.promise;
    await route.continue();
  });
  const answered = ['providers', 'modelroutes', 'health'].map((what) =>
    page.waitForResponse((response) => response.url().includes(`/${what}?`)),
  );
  await goTo(page, '/');
  await Promise.all(answered.map(async (one) => (await one).finished()));
  await shownNext(page);
  const nothing = page.getByText('no budget near its');
  expect(await nothing.count()).toBe(0);
  held.resolve();
  await nothing.waitFor();
});

test('the open overview shows new problems within a minute', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  const wrong = page.locator('section', { has: page.getByText('Problems') });
  await wrong.getByRole('button', { name: /^Show \d+ more/ }).click();
  await page.route('**/penstock.dev/v1alpha1/modelroutes?*', (route) =>
    route.fulfill({ json: { items: [brokenRoute], metadata: {} } }),
  );
  await until(async () => {
    await page.clock.runFor(10_000);
    return (await wrong.getByText('Failover drill of team-a/later failed').count()) > 0;
  });
});

test('all figures are of one period, and requests include sent and refused ones', async () => {
  const page = await open('/nothing');
  const total = { requests: 40, outcomes: { answered: 30, failed: 10 }, errorRate: 0.25 };
  const row = {
    attempts: 40,
    requests: 40,
    unpriced: 0,
    costUsd: '22.18',
    tokens: { input: 9, output: 1 },
  };
  const hour = `${new Date().toISOString().slice(0, 13)}:00:00Z`;
  await page.route('**/api/ledger/v1/requests?*', (route) => route.fulfill({ json: { total, rows: [] } }));
  await page.route('**/api/ledger/v1/series?*', (route) =>
    route.fulfill({ json: { rows: [{ hour, ...row }] } }),
  );
  await goTo(page, '/?period=24h');
  const tiles = page.locator('.tiles > li');
  await tiles.getByText('$22.18').waitFor();
  const texts = (await tiles.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim());
  expect(texts).toEqual([
    'Requests 133 40 sent to providers',
    'Refused 93 69.9% of all calls',
    'Errors 7.5% 10 of 133 failed or not served',
    'Time to first token – no streams yet',
    'Tokens 10 9 in · 1 out',
    'Spend $22.18 $0.55 a request',
  ]);
  expect(await tiles.getByRole('link').allInnerTexts()).toEqual(['Requests', 'Refused', 'Errors']);
});

test('the time to first token is that of one model, where one is picked', async () => {
  const page = await open('/?period=24h');
  const panel = page.getByRole('region', { name: 'Time to first token' });
  const answer = {
    total: {
      requests: 4,
      outcomes: {},
      errorRate: 0,
      firstContentMs: { answers: 4, p50: 7, p90: 8, p99: 9 },
    },
    rows: [],
  };
  await page.route('**/api/ledger/v1/requests?*model=llama*', (route) => route.fulfill({ json: answer }));
  await panel.getByLabel('Model').selectOption('llama');
  await panel.locator('.legend').getByText('7 ms', { exact: true }).waitFor();
  expect(new URL(page.url()).searchParams.get('first')).toBe('llama');
  // The figure stays that of all.
  expect(await page.locator('.tiles').getByText('7 ms', { exact: true }).count()).toBe(0);
  await panel.getByLabel('Model').selectOption('');
  await panel.locator('.legend').getByText('7 ms', { exact: true }).waitFor({ state: 'detached' });
});

test('rejections by key and reason are shown over time, and link to the requests', async () => {
  const page = await open('/nothing');
  const hour = `${new Date().toISOString().slice(0, 13)}:00:00Z`;
  const reasons = [
    { hour, code: 'rate_limit_exceeded', status: 429, refused: 400 },
    { hour, code: 'rate_limit_exceeded', status: 503, refused: 27 },
    { hour, code: 'budget_exceeded', status: 429, refused: 116 },
  ];
  const keys = [
    { apiKey: 'team-a/web', refused: 500 },
    { refused: 22 },
    { apiKey: 'team-b/ci', refused: 43 },
  ];
  await page.route('**/api/ledger/v1/refusals?*', (route) => {
    const by = new URL(route.request().url()).searchParams.get('by');
    return route.fulfill({ json: { rows: by === 'code,status' ? reasons : keys, isTruncated: false } });
  });
  await goTo(page, '/?period=24h');
  const panel = page.getByRole('region', { name: 'Refused over time' });
  await panel.getByText('Most: team-a/web 500 · team-b/ci 43 · unknown keys 22').waitFor();
  const legend = (await panel.locator('.legend li').allInnerTexts()).map((text) =>
    text.replaceAll(/\s+/g, ' ').trim(),
  );
  expect(legend).toEqual(['rate limit exceeded 427', 'budget exceeded 116']);
  expect(await panel.getByRole('link', { name: 'team-a/web' }).getAttribute('href')).toBe(
    '/requests?apiKey=team-a%2Fweb&outcome=refused&period=24h',
  );
});

test('a namespace with a budget near its end says when it will be used up', async () => {
  const page = await open('/nothing');
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
  const budget = {
    ...{ namespace: 'team-a', action: 'Block', limitUsd: '10', period: 'Month', warnPercent: 95 },
    ...{ costUsd: '9', usedShare: 0.9, since: hoursAgo(45), resetsAt: hoursAgo(-500) },
  };
  await page.route('**/api/ledger/v1/budgets?*', (route) =>
    route.fulfill({ json: { budgets: [budget], isTruncated: false } }),
  );
  await page.goto(new URL('/?namespace=team-a', page.url()).href);
  const problem = page.getByRole('listitem').filter({ hasText: 'Budget of namespace team-a: 90% used' });
  await problem
    .getByText(/^\$9\.00 of \$10\.00 \/ month; at this pace used up on .*, in [45] hours$/)
    .waitFor();
});

test('a system that is minutes old shows minutes, and the address keeps a choice', async () => {
  const page = await open('/nothing');
  const minute = `${new Date(Date.now() - 120_000).toISOString().slice(0, 16)}:00Z`;
  const hour = `${minute.slice(0, 13)}:00:00Z`;
  const row = { attempts: 3, requests: 3, unpriced: 0, costUsd: '1', tokens: { input: 1, output: 1 } };
  await page.route('**/api/ledger/v1/series?*', (route) => {
    const interval = new URL(route.request().url()).searchParams.get('interval') ?? '';
    const start = { minute, hour, day: minute.slice(0, 10) }[interval];
    return route.fulfill({ json: { rows: [{ [interval]: start, ...row }], isTruncated: false } });
  });
  await goTo(page, '/');
  await page.getByRole('radio', { name: '15 min', checked: true }).waitFor();
  expect(new URL(page.url()).search).toBe('');
  await page.getByRole('radio', { name: '24 h' }).check();
  expect(new URL(page.url()).search).toBe('?period=24h');
});

test('an installation without a request offers one to copy, waits for it, and shows its result', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  const rows: object[] = [];
  await page.route('**/api/ledger/v1/series?*', (route) =>
    route.fulfill({ json: { rows, isTruncated: false } }),
  );
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.getByRole('heading', { name: 'Send your first request' }).waitFor();
  await page.getByText('penstock/').first().waitFor();
  expect(await page.locator('.first').getByRole('button', { name: 'Copy' }).count()).toBe(1);
  expect(await page.locator('.tiles').count()).toBe(0);
  const now = await page.evaluate(() => Date.now());
  rows.push({
    ...{ minute: `${new Date(now).toISOString().slice(0, 16)}:00Z`, apiKey: 'team-a/ci', attempts: 1 },
    ...{ requests: 1, failed: 0, unpriced: 0, costUsd: '0.0000345', tokens: { input: 6, output: 21 } },
  });
  await until(async () => {
    await page.clock.runFor(1_000);
    return (await page.getByText('The first request was answered').count()) > 0;
  });
  await page.getByText('Key team-a/ci · 6 tokens in, 21 out · $0.000035 ·').waitFor();
  await page.locator('.tiles > li').first().waitFor();
});

test('data shows its age, and a button refreshes it in place', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.getByText('Updated now').waitFor();
  await until(async () => {
    await page.clock.runFor(5_000);
    return (await page.getByText(/^Updated \d+ seconds ago/).count()) > 0;
  });
  const held = Promise.withResolvers<void>();
  await page.route('**/api/ledger/v1/requests?*', async (route) => {
    await held.promise;
    await route.continue();
  });
  const asked = page.waitForRequest('**/api/ledger/v1/requests?*');
  await page.getByRole('button', { name: 'Refresh' }).click();
  await asked;
  await shownNext(page);
  expect([await page.locator('.tiles > li').count(), await page.locator('.chart').count()]).toEqual([6, 4]);
  held.resolve();
  await until(async () => {
    await page.clock.runFor(5_000);
    return (await page.getByText('Updated now').count()) > 0;
  });
});

test.each(['Top models by spend', 'Spend over time', 'Problems'])('%s is a file too', async (what) => {
  const page = await open('/');
  const come = page.waitForEvent('download');
  await page.getByRole('button', { name: `CSV: ${what}`, exact: true }).click();
  const file = await come;
  expect(file.suggestedFilename()).toMatch(/^penstock-[a-z-]+-\d{4}-\d\d-\d\dT\d\d-\d\dZ\.csv$/);
  const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\r\n');
  expect(lines.length).toBeGreaterThan(3);
  expect(lines[0]).toMatch(/^(Name,Requests,Tokens,USD|From \(UTC\),|Severity,What,)/);
});

test('the baseline of a chart is complete, also without data', async () => {
  const page = await open('/?period=24h');
  const [base] = await page.locator('.chart-base').all();
  const bars = await page
    .locator('.chart-bar')
    .evaluateAll((all) => all.map((bar) => bar.getAttribute('height')));
  expect(bars.filter((height) => Number(height) < 1)).toEqual([]);
  // Drawn after all columns, and so over them.
  expect(await base?.evaluate((line) => line.nextElementSibling === null)).toBe(true);
});

test('the page header is aligned with its content, also beside a scrollbar', async () => {
  const page = await open('/');
  await page.setViewportSize({ width: 1440, height: 500 });
  // As a scrollbar that takes room does.
  await page.evaluate(`document.documentElement.style.paddingRight = '15px'`);
  const lefts = await page.evaluate(
    `[...document.querySelectorAll('.brand, h1')].map((it) => it.getBoundingClientRect().left)`,
  );
  const [brand, heading] = lefts as number[];
  expect(brand).toBe(heading);
});

test('series after the seven largest of a chart are shown as one series', async () => {
  const page = await open('/');
  const legend = page.locator('.chart').first().locator('.legend li');
  const names = await legend.allInnerTexts();
  expect([names.length, names.at(-1)]).toEqual([8, expect.stringMatching(/^All others/)]);
  const colours: unknown = await page.evaluate(
    `[...document.querySelector('.chart').querySelectorAll('.legend rect')].map((it) => getComputedStyle(it).fill)`,
  );
  expect(new Set(Array.isArray(colours) ? colours : []).size).toBe(8);
});

test('a model that becomes available while the list is open appears in it, also a platform model', async () => {
  const page = await open('/nothing');
  await page.clock.install();
  const models = [modelOf('first', {})];
  await page.route('**/api/ledger/v1/catalog', (route) => route.fulfill({ json: { models } }));
  await goTo(page, '/models?namespace=team-a');
  const row = (name: string) => page.getByRole('table', { name: 'Models' }).getByText(name, { exact: true });
  await row('first').waitFor();
  models.push(modelOf('own', {}));
  await page.evaluate(
    `fetch('/api/kube/apis/penstock.dev/v1alpha1/namespaces/team-a/modelroutes', { method: 'POST', body: '{"metadata":{"name":"own","namespace":"team-a"},"spec":{"model":"own","targets":[]}}' })`,
  );
  let waitedMs = 0;
  const passes = async (name: string, stepMs: number) => {
    await page.clock.runFor(stepMs);
    waitedMs += stepMs;
    return (await row(name).count()) > 0;
  };
  // In small steps: what is heard of it takes its time outside the page.
  await until(() => passes('own', 100));
  expect(waitedMs).toBeLessThan(60_000);
  models.push(modelOf('shared', {}));
  await until(() => passes('shared', 1_000));
});

// Its tokens are free, and so it looked like one that costs nothing.
test('a model that is billed by the request says so, and one that is dearer for long inputs from where on', async () => {
  const page = await open('/nothing');
  const pricing = { prompt: '0', completion: '0', request: '0.25', tiers: [{ above: 200_000, prompt: '0' }] };
  const models = [{ ...modelOf('ocr', {}), pricing }];
  await page.route('**/api/ledger/v1/catalog', (route) => route.fulfill({ json: { models } }));
  await goTo(page, '/models?namespace=team-a');
  const row = page.getByRole('row', { name: /^ocr/ });
  await row.getByText('per request $0.25', { exact: true }).waitFor();
  await row.getByText('tiered above 200k', { exact: true }).waitFor();
});

test('a plan names its model, key and namespace, and is not shown for another', async () => {
  const page = await open('/models/plan?namespace=team-a&model=penstock/large');
  const heading = page.getByRole('heading', { name: /^Targets/ });
  const plan = () => page.getByRole('button', { name: 'Plan', exact: true }).click();
  await plan();
  await page.getByRole('heading', { name: 'Targets of penstock/large, for any key of team-a' }).waitFor();
  const model = page.getByLabel(/^Model/);
  await model.fill('penstock/small');
  await heading.waitFor({ state: 'detached' });
  expect(await page.getByText('gateway-7f9c-1').count()).toBe(0);
  // It was asked before the field was changed, and comes behind that.
  const held = Promise.withResolvers<void>();
  await page.route('**/api/ledger/v1/plan', async (route) => {
    await held.promise;
    await route.continue();
  });
  await plan();
  await page.getByLabel(/^Key/).fill('ci-bot');
  const answered = page.waitForResponse('**/api/ledger/v1/plan');
  held.resolve();
  await (await answered).finished();
  await page.getByRole('button', { name: 'Plan', exact: true }).waitFor();
  expect(await heading.count()).toBe(0);
  await plan();
  await page
    .getByRole('heading', { name: 'Targets of penstock/small, for the key ci-bot of team-a' })
    .waitFor();
  await goTo(page, '/models/plan?namespace=team-b&model=penstock/small&key=ci-bot');
  await heading.waitFor({ state: 'detached' });
});

test('a route shows its last failover and the failure; a user without rights everywhere asks for the namespace', async () => {
  const page = await open('/nothing');
  const asked: string[] = [];
  const attempts = [
    { target: 'main', outcome: 'failed', failure: 'status_500', cause: 'answered HTTP 500' },
    { target: 'spare', outcome: 'answered' },
  ];
  await page.route('**/api/ledger/v1/health?*', async (route) => {
    const { search, searchParams } = new URL(route.request().url());
    if (!searchParams.has('from')) asked.push(search);
    if (searchParams.has('namespace'))
      await route.fulfill({ json: { health: [], lastFailover: { at: new Date().toISOString(), attempts } } });
    else await route.fulfill({ status: 403, json: { error: { message: 'Not you.', code: 'forbidden' } } });
  });
  await page.goto(new URL('/routes/platform/large', page.url()).href);
  const panel = page.getByRole('region', { name: 'Last failover' });
  await panel.getByText('main answered HTTP 500, spare answered').waitFor();
  expect(asked).toEqual(['?route=platform%2Flarge', '?route=platform%2Flarge&namespace=platform']);
});

test('a target and a provider show their last calls: the outcome, first tokens, the last cause and its request', async () => {
  const page = await open('/nothing');
  const lastFailure = { request: 'req_0123456789abcdef', cause: 'answered HTTP 500' };
  const row = (provider: string, upstreamModel: string, failed: number) => ({
    ...{ provider, upstreamModel, requests: 39, attempts: 39, outcomes: { answered: 39 - failed, failed } },
    firstContentMs: { answers: 9, p50: 240, p90: 1_200, p99: 1_200 },
    ...(failed === 0 ? {} : { lastFailedAt: new Date(Date.now() - 5_000).toISOString(), lastFailure }),
  });
  const health = [row('platform/openai', 'gpt-6.2', 0), row('platform/anthropic', 'claude-opus-5', 39)];
  await page.route('**/api/ledger/v1/health?*', (route) => route.fulfill({ json: { health } }));
  await page.goto(new URL('/routes/platform/large?namespace=platform', page.url()).href);
  const targets = page.getByRole('table', { name: 'Targets in order' });
  await targets.getByRole('row', { name: /^main/ }).getByText('39 calls answered').waitFor();
  await targets.getByText('first token p50 240 ms, p90 1.2 s').first().waitFor();
  const spare = targets.getByRole('row', { name: /^spare/ });
  await spare.getByText(/39 of 39 failed/).waitFor();
  await spare.getByText(/answered HTTP 500, \d+ seconds ago/).waitFor();
  expect(await spare.getByRole('link', { name: /req_/ }).getAttribute('href')).toBe(
    '/requests?namespace=*&request=req_0123456789abcdef',
  );
  // The namespace of a request is that of its key.
  const requests = page.getByRole('link', { name: 'Requests', exact: true });
  expect(await requests.evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toEqual([
    '/requests?namespace=platform',
    '/requests?namespace=*&model=penstock%2Flarge',
  ]);
  // The badge is what callers feel, and what is fine is folded below what is not.
  await page.getByRole('heading', { level: 1 }).getByText('Degraded').waitFor();
  const status = page.getByRole('region', { name: 'Status' });
  expect(await status.getByText(/^Live on every gateway/).isVisible()).toBe(false);
  await status.locator('summary').click();
  await status.getByText(/^Live on every gateway/).waitFor();
  await page.goto(new URL('/providers/platform/anthropic', page.url()).href);
  const calls = page.getByRole('region', { name: 'Calls in the last 30 days' });
  await calls.getByText(/39 of 39 failed/).waitFor();
  await calls.getByText('first token p50 240 ms, p90 1.2 s').first().waitFor();
});

test('all namespaces have their models at once, with state, provider and use; a plan asks which', async () => {
  const page = await open('/nothing');
  const models = [modelOf('penstock/large', {}), modelOf('llama', {})];
  await page.route('**/api/ledger/v1/catalog', (route) => route.fulfill({ json: { models } }));
  const use = { requests: 200, attempts: 200, outcomes: { answered: 150, failed: 50 } };
  await page.route('**/api/ledger/v1/models?*', (route) =>
    route.fulfill({ json: { rows: [{ model: 'penstock/large', ...use }] } }),
  );
  await goTo(page, '/models');
  const large = page.getByRole('row', { name: /^penstock\/large/ });
  for (const words of ['platform', 'Degraded', 'openai, anthropic', '50 of 200 attempts failed'])
    await large.getByText(words, { exact: true }).waitFor();
  expect(await large.getByRole('link', { name: '50 of 200' }).getAttribute('href')).toBe(
    '/requests?model=penstock%2Flarge&period=1h&outcome=failed',
  );
  expect(await page.getByRole('row', { name: /^penstock\/large/ }).count()).toBe(1);
  await page.setViewportSize({ width: 768, height: 900 });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(768);
  await large.getByRole('link', { name: /^Plan/ }).click();
  await page.getByRole('heading', { name: 'Plan a request' }).waitFor();
  await page
    .getByRole('main')
    .getByLabel(/^Namespace/)
    .waitFor();
  const asked = page.waitForRequest('**/api/ledger/v1/plan');
  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  expect((await asked).postDataJSON()).toMatchObject({ namespace: 'platform', model: 'penstock/large' });
});

test('the duration of a drill has the usual format', async () => {
  const page = await open('/routes/platform/large');
  await page.getByText('12 s, by target spare', { exact: true }).waitFor();
});

test('without a ledger, models, plans and snippets say so, and request nothing from it', async () => {
  const page = await open('/nothing', { hasLedger: false });
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/api/ledger/')) asked.push(request.url());
  });
  for (const [path, words] of [
    ['/models', 'models cannot be listed'],
    ['/models/plan', 'requests cannot be planned'],
    ['/keys/team-a/ci-bot-0', 'The models of this key are not known without a ledger'],
  ] as const) {
    await goTo(page, `${path}?namespace=team-a`);
    await page.getByText(words).waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
  }
  expect(asked).toEqual([]);
});

// What is measured over a million records is what is asked: all that a page asks is among it, whatever its moment and its names.
test('the pages ask the ledger only questions whose speed is measured', async () => {
  const page = await open('/nothing');
  const shapeOf = (path: string) => {
    const { pathname, searchParams } = new URL(path, 'http://ledger');
    const given = [...searchParams].map(([name, value]) =>
      ['from', 'to', 'namespace', 'apiKey', 'provider', 'route'].includes(name) ? name : `${name}=${value}`,
    );
    return `${pathname} ${given.sort().join(' ')}`;
  };
  const asked = new Set<string>();
  page.on('request', (request) => {
    const [, question] = request.url().split('/api/ledger');
    if (question !== undefined && request.method() === 'GET') asked.add(shapeOf(question));
  });
  const views = [
    ...PERIODS.map((period) => `/?period=${period}`),
    ...GROUPINGS.map((by) => `/?by=${by}&measure=tokens`),
    ...['/?namespace=team-a', '/?namespace=team-a&by=apiKey&period=30d&measure=requests'],
    ...['/keys', '/keys/team-a/ci-bot-0', '/models', '/models?namespace=team-a', '/providers'],
    ...['/providers/platform/anthropic', '/routes/platform/large'],
  ];
  for (const view of views) {
    await page.goto(new URL(view, page.url()).href);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settled(page);
  }
  const measured = new Set(viewQuestions(Date.now(), 'team-a').map(({ path }) => shapeOf(path)));
  expect(asked.size).toBeGreaterThan(20);
  expect([...asked].filter((one) => !measured.has(one))).toEqual([]);
});

const brokenRoute = {
  metadata: { name: 'later', namespace: 'team-a', generation: 1 },
  spec: { model: 'later', targets: [] },
  status: { drill: { result: 'Failed', message: 'nobody took over' } },
};
