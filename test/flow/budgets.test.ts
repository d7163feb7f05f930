// Does a budget hold over gateways, restarts, and a ledger that goes away? Real gateways with journals, and the ledger that reads them.

import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import type { BudgetPeriod } from '../../core/contract/budget.ts';
import type { RoutingTable } from '../../core/contract/routing-table.ts';
import { CallFault } from '../../core/kube/own-call.ts';
import { errorOf, post } from '../gateway/endpoints/ask.ts';
import { type LedgerHouse, openLedgerHouse } from '../gateway/limits/ledger-house.ts';
import { type Rig, tableOf } from '../gateway/rig.ts';
import { until } from '../support/until.ts';
import { startWall } from '../support/wall.ts';

let parts = new AsyncDisposableStack();
afterEach(async () => {
  await parts.disposeAsync();
  parts = new AsyncDisposableStack();
});

/** Each answer costs ten cents. */
async function tableWith(limitMicrodollars: number, period: BudgetPeriod = 'Total'): Promise<RoutingTable> {
  const usage = { inputTokens: 5, outputTokens: 10 };
  const wall = parts.adopt(await startWall({ type: 'answer', usage }), (one) => one.close());
  const price = { input: 0, output: 10_000_000_000, source: 'target' };
  const table = tableOf([{ baseUrl: wall.baseUrl, price }]);
  return {
    ...table,
    keys: table.keys.map((key) => ({ ...key, budgets: [{ period, limitMicrodollars }] })),
  };
}

async function houseOf(wallMs?: () => number): Promise<LedgerHouse> {
  return parts.adopt(await openLedgerHouse(wallMs), (house) => house.close());
}

const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'three plain words' }] };
const ask = (rig: Rig) => post(rig, '/v1/chat/completions', body);
const cents = async (house: LedgerHouse) => Math.round((await house.spentBy('team/key')) * 100);

/** Until it learns that the budget is spent; gives how often it was served. */
async function spendAll(rig: Rig): Promise<number> {
  let served = 0;
  await until(async () => {
    const answer = await ask(rig);
    if (answer.status === 200) served++;
    expect(served).toBeLessThanOrEqual(20);
    return answer.status === 429 && errorOf(answer).code === 'insufficient_quota';
  });
  return served;
}

test('spend of one gateway counts at the others, and at itself after a restart', async () => {
  const house = await houseOf();
  const table = await tableWith(1_000_000);
  const limits = { gateways: 2 };
  const first = await house.startGateway('first', table, { limits });
  const served = await spendAll(first);
  // One request beyond its share, at most.
  expect(served).toBe(10);
  await until(async () => (await cents(house)) === 100);
  const second = parts.adopt(await house.startGateway('second', table, { limits }), (rig) => rig.close());
  await until(async () => {
    const answer = await ask(second);
    expect(answer.status).toBe(429);
    return errorOf(answer).code === 'insufficient_quota';
  });
  await first.close();
  const again = parts.adopt(await house.startGateway('first', table, { limits }), (rig) => rig.close());
  await until(async () => {
    const answer = await ask(again);
    expect(answer.status).not.toBe(200);
    return answer.status === 429 && errorOf(answer).code === 'insufficient_quota';
  });
  expect(await cents(house)).toBe(100);
});

test('a starting gateway is ready once it knows the spend, or at once without budgets', async () => {
  const house = await houseOf();
  await house.goAway();
  const table = await tableWith(1_000_000);
  const start = async (name: string, of: RoutingTable): Promise<Rig> =>
    parts.adopt(await house.startGateway(name, of), (rig) => rig.close());
  const readyz = async ({ gateway }: Rig): Promise<number> =>
    (await fetch(`${gateway.metricsUrl}/readyz`)).status;
  const free = await start('free', { ...table, keys: table.keys.map(({ budgets: _, ...key }) => key) });
  const rig = await start('bound', table);
  expect([await readyz(free), await readyz(rig)]).toEqual([200, 503]);
  // Ready once, ready for good.
  free.offer(table);
  expect(await readyz(free)).toBe(200);
  await house.comeBack();
  await until(async () => (await readyz(rig)) === 200);
  expect((await ask(rig)).status).toBe(200);
});

test('during a ledger outage a gateway spends at most its share of the rest, and afterwards all of it', async () => {
  const house = await houseOf();
  const limits = { gateways: 2 };
  const rig = parts.adopt(await house.startGateway('only', await tableWith(1_000_000), { limits }), (one) =>
    one.close(),
  );
  expect((await ask(rig)).status).toBe(200);
  await until(async () => (await cents(house)) === 10);
  const ages = () => rig.gateway.metrics.registry.metrics();
  expect(await ages()).toMatch(/^penstock_budget_sums_age_seconds \d/m);
  await house.goAway();
  const statuses = [];
  for (let index = 0; index < 12; index++) statuses.push((await ask(rig)).status);
  const served = statuses.filter((status) => status === 200).length;
  // Half of what was left, and one request beyond it.
  expect(served).toBeGreaterThanOrEqual(4);
  expect(served).toBeLessThanOrEqual(6);
  const refused = await ask(rig);
  expect([refused.status, errorOf(refused).code, refused.headers['retry-after']]).toEqual([
    429,
    'rate_limit_exceeded',
    '1',
  ]);
  await house.comeBack();
  expect((await spendAll(rig)) + served + 1).toBe(10);
});

test('a gateway that has never reached the ledger rejects keys with a budget', async () => {
  const house = await houseOf();
  await house.goAway();
  const turns: [boolean, unknown][] = [];
  const onLedger = (isHeard: boolean, error?: unknown) => void turns.push([isHeard, error]);
  const rig = parts.adopt(await house.startGateway('only', await tableWith(1_000_000), { onLedger }), (one) =>
    one.close(),
  );
  const refused = await ask(rig);
  expect([refused.status, errorOf(refused).code, refused.headers['retry-after']]).toEqual([
    503,
    'limits_unavailable',
    '1',
  ]);
  expect(await rig.gateway.metrics.registry.metrics()).toMatch(/^penstock_budget_sums_age_seconds \d/m);
  expect(turns).toEqual([[false, new CallFault('it does not answer (ECONNREFUSED)')]]);
  await house.comeBack();
  await until(async () => (await ask(rig)).status === 200);
  expect(turns.at(-1)).toEqual([true, undefined]);
});

describe('around the beginning of a month', () => {
  const december = Date.UTC(2026, 11, 1);
  const [before, after] = [december - 15_000, december + 15_000];

  const startAt = async (house: LedgerHouse, name: string, table: RoutingTable, wallMs: () => number) => {
    const options = { limits: { gateways: 2 }, clock: { ...systemClock, wallMs } };
    return parts.adopt(await house.startGateway(name, table, options), (rig) => rig.close());
  };

  test.each([
    ['is in the same one', after, after],
    ['is still in the one before', after, before],
    ['is already in the next one', before, after],
  ])('a budget holds where the ledger %s', async (_, gatewayMs, ledgerMs) => {
    const house = await houseOf(() => ledgerMs);
    const rig = await startAt(house, 'only', await tableWith(500_000, 'Month'), () => gatewayMs);
    expect([(await ask(rig)).status, (await ask(rig)).status]).toEqual([200, 200]);
    await house.hasReported('only');
    expect(await spendAll(rig)).toBe(3);
    await house.hasReported('only');
    expect((await ask(rig)).status).toBe(429);
  });

  test('a gateway with a slow clock does not spend the others’ spend a second time', async () => {
    const house = await houseOf(() => before);
    const table = await tableWith(500_000, 'Month');
    let behindMs = before;
    const behind = await startAt(house, 'behind', table, () => behindMs);
    const ahead = await startAt(house, 'ahead', table, () => after);
    expect(await spendAll(ahead)).toBe(5);
    await house.hasReported('ahead');
    await house.hasReported('behind');
    // What is spent in the next month counts in its own too: of two that disagree neither is right for sure.
    expect((await ask(behind)).status).toBe(429);
    behindMs = after;
    expect((await ask(behind)).status).toBe(429);
  });
});
