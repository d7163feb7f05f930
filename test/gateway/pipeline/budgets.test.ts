// What can a request cost at most, and what has it cost its caller?

import { expect, test } from 'vitest';
import type { Price } from '../../../core/contract/routing-table.ts';
import { nanodollarsOf } from '../../../gateway/limits/nanodollars.ts';
import { costAtMost, costOfCaller } from '../../../gateway/pipeline/budgets.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { keyEntry, tableOf, testKey } from '../rig.ts';

const baseUrl = 'http://127.0.0.1:1/v1';
const caller = { key: keyEntry(testKey, 'team/key'), namespace: 'team' };
const price = (input: number, output: number, more: Partial<Price> = {}): Price => ({
  input,
  output,
  source: 'target',
  ...more,
});

interface Target {
  readonly price: Price | null;
  readonly provider?: string;
  readonly contextLength?: number;
}

function mostOf(...targets: readonly Target[]): number {
  return mostOfTokens({ input: 100, output: 10 }, targets);
}

function mostOfTokens(
  tokens: Parameters<typeof costAtMost>[2],
  targets: readonly Target[],
  ofRoute: { readonly contextLength?: number } = {},
): number {
  const view = buildTableView(
    tableOf(
      targets.map(({ provider = 'platform/p', ...target }, index) => ({
        baseUrl,
        ...target,
        provider: `${provider}${index}`,
        providerEntry: { isPlatform: provider.startsWith('platform/') },
      })),
      ofRoute,
    ),
  );
  const [route] = view.routes;
  if (!route) throw new Error('the table has no route');
  const candidates = route.targets.flatMap((target) =>
    target.endpoints.map((endpoint) => ({ target, endpoint, dialect: 'openai-chat' as const })),
  );
  return costAtMost({ caller }, { candidates, route }, tokens);
}

test('unknown input counts as the context of the model of each target, else of the route, else 200,000 tokens', () => {
  const unknown = { input: 100, inputMost: { tokens: Number.POSITIVE_INFINITY, calls: 1 }, output: 0 };
  const small = { price: price(1_000, 0), contextLength: 50_000 };
  const large = { price: price(1_000, 0) };
  expect(mostOfTokens(unknown, [small])).toBe(50_000);
  expect(mostOfTokens(unknown, [small, large])).toBe(200_000);
  expect(mostOfTokens(unknown, [small, large], { contextLength: 70_000 })).toBe(70_000);
  expect(mostOfTokens({ ...unknown, inputMost: { tokens: 9_000, calls: 1 } }, [small])).toBe(9_000);
  expect(mostOfTokens({ ...unknown, inputMost: { tokens: 900_000, calls: 3 } }, [small])).toBe(150_000);
  expect(mostOfTokens({ ...unknown, input: 60_000 }, [small])).toBe(60_000);
});

test('the highest cost is that of the dearest target, with all input written to a cache and all output reasoning', () => {
  expect(mostOf({ price: price(1_000, 2_000) }, { price: price(3_000, 1_000) })).toBe(310);
  expect(mostOf({ price: price(1_000, 2_000, { cacheWrite: 5_000 }) })).toBe(520);
  expect(mostOf({ price: price(1_000, 2_000, { cacheWrite: 5_000, cacheWriteHour: 8_000 }) })).toBe(820);
  expect(mostOf({ price: price(1_000, 2_000, { reasoning: 9_000 }) })).toBe(190);
  expect(mostOf({ price: price(0, 0, { perRequest: 1 }) })).toBe(1);
});

test("a tenant's own providers, and targets without a price, cost it nothing", () => {
  expect(mostOf({ price: price(1_000, 1_000), provider: 'team/own' }, { price: null })).toBe(0);
});

test('a price that exceeds all numbers fits into no budget', () => {
  expect(mostOf({ price: price(Number.MAX_SAFE_INTEGER, 1) })).toBe(nanodollarsOf(Number.MAX_SAFE_INTEGER));
});

test.each([
  ['tenant', 5, 5],
  ['tenant', null, 0],
  ['platform', 5, 0],
  ['own-key', 0, 0],
] as const)('of an attempt that the %s pays with %s it pays %i', (payer, costPicodollars, paid) => {
  expect(costOfCaller({ payer, costPicodollars })).toBe(paid);
});
