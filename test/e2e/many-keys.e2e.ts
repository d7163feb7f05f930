// Can the keys of the dashboard be used where there are ten thousand, all in one namespace? A real browser, the dashboard as its process, a real API
// server, operator and gateways; while the operator still writes the statuses of all of them, and when that is over.
//
// PENSTOCK_KEYS (default 10000) says how many.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import { useStage } from '../dashboard/browser/stage.ts';
import { createAll } from '../flow/cluster/bulk.ts';
import { quantile } from '../flow/cluster/figures.ts';
import { importedApiKey } from '../flow/cluster/manifests.ts';
import { makeEntry } from '../ledger/make-entry.ts';
import { until } from '../support/until.ts';
import { load, readResident } from './scale/readings.ts';
import { openScorecard } from './scorecard.ts';

const keyCount = Number(process.env.PENSTOCK_KEYS ?? 10_000);
const rounds = 10;
const pageRecords = 500;
/** What people still take for an answer to what they did. */
const goalMs = 2_000;
/** Of a question of a view, p95. */
const questionGoalMs = 200;
const questionTries = 20;

const limited = { status: 429, code: 'rate_limit_exceeded' };
const unknown = { status: 404, code: 'model_not_found' };

const nameOf = (index: number) => `key-${String(index).padStart(5, '0')}`;
const last = nameOf(keyCount - 1);
const stage = useStage(4);
const card = openScorecard(`${keyCount} keys in the dashboard`);
let page: Page;
/** Of all answers with rows, as they are sent. */
const rowBytes: number[] = [];

beforeAll(async () => {
  const { plane } = stage().installation;
  const keys = Array.from({ length: keyCount }, (_, index) =>
    importedApiKey('team-a', nameOf(index), { owner: { name: `Owner ${index % 500}` } }),
  );
  await createAll(plane, 'apikeys', keys);
  await spendWithAll();
  const visitor = await stage().enter('editor');
  page = visitor.page;
  page.on('response', async (response) => {
    if (!response.url().includes('/api/rows/apikeys')) return;
    rowBytes.push((await response.request().sizes()).responseBodySize);
  });
});
afterAll(() => card.print());

/** Every key was used this month, and the later its name, the less it spent; each was refused once besides. */
async function spendWithAll(): Promise<void> {
  const store = await openSqliteStore(stage().installation.ledger().file);
  const startedAt = new Date().toISOString();
  const entries = Array.from({ length: keyCount }, (_, index) =>
    makeEntry({
      ...{ id: `many.${index}`, namespace: 'team-a', apiKey: `team-a/${nameOf(index)}`, startedAt },
      costPicodollars: (keyCount - index) * 1_000_000_000,
    }),
  );
  const refusals = Array.from({ length: keyCount }, (_, index) => {
    const why = index % 2 === 0 ? limited : unknown;
    const reason = { namespace: 'team-a', apiKey: `team-a/${nameOf(index)}`, ...why };
    const id = `req_refused${index}`;
    const refusal = { kind: 'refusal' as const, id, at: startedAt, ...reason };
    const counts = [{ ...reason, count: 1 }];
    const sums = { kind: 'refusal-sums' as const, id, at: startedAt, windowMs: 10_000, counts };
    return { refusal, sums, line: JSON.stringify(refusal) };
  });
  for (let at = 0; at < keyCount; at += pageRecords) {
    const page = { source: 'many', cursor: String(at), asides: [] };
    const some = refusals.slice(at, at + pageRecords);
    await store.take(
      {
        ...page,
        entries: entries.slice(at, at + pageRecords),
        refusals: some.map(({ refusal, line }) => ({ refusal, line })),
        refusalSums: some.map(({ sums }) => ({ sums, line: JSON.stringify(sums) })),
      },
      Date.now(),
    );
  }
  await store.close();
}

const row = (name: string) => page.getByRole('row', { name: new RegExp(`^${name}\\b`) });
const found = (count: number) =>
  page.getByText(`${count.toLocaleString('en-GB')} ${count === 1 ? 'key' : 'keys'}.`);

/** From what a person does to what they see. */
const acts: Readonly<Record<string, () => Promise<void>>> = {
  'opens the view': async () => {
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const openedMs = performance.now();
    await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
    await row(nameOf(0)).waitFor();
    took('opens the view', openedMs);
  },
  'searches for one': async () => {
    const beganMs = performance.now();
    await page.getByRole('searchbox', { name: 'Search' }).fill(last);
    await found(1).waitFor();
    await row(last).waitFor();
    took('searches for one', beganMs);
    await page.getByRole('searchbox', { name: 'Search' }).fill('');
    await row(nameOf(0)).waitFor();
  },
  'sorts by spend': async () => {
    const beganMs = performance.now();
    await page.getByRole('button', { name: /^Spend|^This month/ }).click();
    await page.locator('th[aria-sort]:not([aria-sort="none"])', { hasText: /Spend|This month/ }).waitFor();
    // It spent least.
    await row(last).waitFor();
    took('sorts by spend', beganMs);
    await page.getByRole('button', { name: /^Name/ }).click();
    await row(nameOf(0)).waitFor();
  },
  'turns the page': async () => {
    const beganMs = performance.now();
    await page.getByRole('button', { name: 'Next' }).click();
    await row(nameOf(50)).waitFor();
    took('turns the page', beganMs);
    await page.getByRole('button', { name: 'Previous' }).click();
    await row(nameOf(0)).waitFor();
  },
  'opens one': async () => {
    const beganMs = performance.now();
    await row(nameOf(1)).getByRole('link').first().click();
    await page.getByRole('heading', { level: 1, name: nameOf(1) }).waitFor();
    took('opens one', beganMs);
  },
};

const times = new Map<string, number[]>();
function took(act: string, sinceMs: number): void {
  const all = times.get(act) ?? [];
  all.push(performance.now() - sinceMs);
  times.set(act, all);
}

async function useThem(when: string): Promise<void> {
  times.clear();
  for (let round = 0; round < rounds; round++) for (const act of Object.values(acts)) await act();
  for (const [act, all] of times) {
    const [p50, max] = [quantile(all, 0.5), quantile(all, 1)].map(Math.round);
    card.add({
      what: `${when}, who ${act} sees it within ${goalMs} ms`,
      tried: all.length,
      failed: all.filter((ms) => ms > goalMs).length,
      figures: `p50 ${p50} ms, longest ${max} ms, load ${load()}`,
    });
  }
}

const programmed = async (): Promise<number> => {
  const { mustKubectl } = stage().installation.plane;
  const path = '{.items[*].status.conditions[?(@.type=="Programmed")].status}';
  const statuses = await mustKubectl(['get', 'apikeys', '-n', 'team-a', '-o', `jsonpath=${path}`]);
  return statuses.split(' ').filter((status) => status === 'True').length;
};

test('while their statuses are written', async () => {
  expect(await programmed()).toBeLessThan(keyCount);
  await useThem('while statuses are written');
  expect(card.misses()).toEqual([]);
});

test('after all is quiet', async () => {
  await until(async () => (await programmed()) >= keyCount, 5_000);
  await useThem('when all is quiet');
  const { nowMib, peakMib } = await readResident(stage().dashboard);
  card.add({
    what: 'a page of keys is at most 64 kB as it is sent, however many keys there are',
    tried: rowBytes.length,
    failed: rowBytes.filter((bytes) => bytes > 64_000).length,
    figures: `largest ${Math.max(...rowBytes)} bytes; the dashboard is ${nowMib} MiB, ${peakMib} MiB at most`,
  });
  expect(card.misses()).toEqual([]);
});

test('requests, refusals and sums of all of them are answered within 200 ms', async () => {
  const from = `${new Date(Date.now() - 29 * 86_400_000).toISOString().slice(0, 10)}`;
  const to = `${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}`;
  const days = `namespace=team-a&from=${from}&to=${to}`;
  const ofKey = `apiKey=team-a/${nameOf(keyCount >> 1)}`;
  const questions = {
    'the newest requests': `ledger/v1/request-log?${days}&limit=50`,
    'requests of a key': `ledger/v1/request-log?${days}&limit=50&${ofKey}`,
    'requests of a model': `ledger/v1/request-log?${days}&limit=50&model=penstock/small`,
    'refused requests': `ledger/v1/request-log?${days}&limit=50&outcome=refused`,
    'refusals by key and reason': `ledger/v1/refusals?${days}&by=apiKey,code&limit=10000`,
    'refusals by reason': `ledger/v1/refusals?${days}&by=code`,
    'the sums of the overview': `ledger/v1/series?${days}&interval=day`,
    'the top keys': `ledger/v1/series?${days}&interval=day&by=apiKey&top=6&topBy=cost`,
    'owners and teams': `owners?${days}`,
  };
  for (const [what, path] of Object.entries(questions)) {
    const tookMs: number[] = [];
    for (let at = 0; at < questionTries; at++) {
      const askedMs = performance.now();
      const answer = await page.request.get(`${stage().url}/api/${path}`);
      await answer.body();
      tookMs.push(performance.now() - askedMs);
      expect([path, answer.status()]).toEqual([path, 200]);
    }
    const [p50, p95] = [quantile(tookMs, 0.5), quantile(tookMs, 0.95)];
    card.add({
      what: `${what} are answered within ${questionGoalMs} ms`,
      tried: questionTries,
      failed: p95 < questionGoalMs ? 0 : 1,
      figures: `p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, load ${load()}`,
    });
  }
  expect(card.misses()).toEqual([]);
});

test('a new one among them works within a second of Programmed, and is found', async () => {
  const beganMs = performance.now();
  await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('textbox', { name: /^Name/ }).fill('one-more');
  await page.getByRole('button', { name: 'Create key' }).click();
  const key = (await page.getByTestId('key').innerText()).trim();
  await page.getByText('Live', { exact: true }).first().waitFor();
  const programmedMs = performance.now();
  const answers = await Promise.all(
    stage().installation.gateways.map(({ baseUrl }) =>
      fetch(`${baseUrl}/models`, { headers: { authorization: `Bearer ${key}` } }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  await Promise.all(answers.map((answer) => answer.body?.cancel()));
  await page.getByRole('link', { name: /^Done/ }).click();
  await page.getByRole('button', { name: 'Leave' }).click();
  await page.getByRole('link', { name: 'Keys', exact: true }).first().click();
  await page.getByRole('searchbox', { name: 'Search' }).fill('one-more');
  await row('one-more').waitFor();
  card.add({
    what: 'a key made among them works at every gateway when the page says Programmed',
    tried: 2,
    failed: 0,
    figures: `Programmed ${Math.round(programmedMs - beganMs)} ms after the way to it began`,
  });
});
