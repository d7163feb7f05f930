// Whose word on a price counts? What a tenant says of the Providers of the platform would be its own bill, and the end of its budget.

import { describe, expect, test } from 'vitest';
import { PLATFORM, provider, route, secret, snapshot, target } from '../make.ts';
import { compileOnce, condition } from './support.ts';

const pricing = { inputPerMillion: '0', outputPerMillion: '0' };
const gpt4o = { input: 2_500_000, output: 10_000_000, source: 'catalog' };
const free = { input: 0, output: 0 };
const ofPlatform = { name: 'openai', namespace: 'platform' };

/** The Provider of the platform is open to all, and every namespace has one of its own; only those of OpenAI have list prices. */
function worldOf(modelRoute: Parameters<typeof route>, budgets: readonly object[] = []) {
  const namespaces = ['platform', 'team-a'];
  const tenantBudgets = [{ namespace: 'team-a', budgets }];
  return compileOnce({
    ...snapshot({
      secrets: namespaces.map((namespace) => secret({ namespace })),
      providers: namespaces.map((namespace) => {
        const spec = namespace === 'platform' ? { allowedNamespaces: { from: 'All' } } : {};
        return provider(spec, { namespace });
      }),
      modelRoutes: [route(...modelRoute)],
    }),
    platform: { ...PLATFORM, ...(budgets.length === 0 ? {} : { tenantBudgets: tenantBudgets as never }) },
  });
}

function pricesIn({ table }: ReturnType<typeof compileOnce>): unknown {
  return table.routes[0]?.targets.map(({ price }) => price);
}

const shared = (fields: object = {}) => target({ providerRef: ofPlatform, ...fields });

describe('the route of a tenant over a Provider of the platform', () => {
  const priced = (result: ReturnType<typeof compileOnce>) =>
    condition(result, 'ModelRoute', 'team-a/chat', 'Priced');

  test.each([
    ['the route', { pricing, targets: [shared({ upstreamModel: 'gpt-4o' })] }],
    ['the target', { targets: [shared({ upstreamModel: 'gpt-4o', pricing })] }],
  ])('costs the list price, whatever %s states, and says so', (_, spec) => {
    const result = worldOf([spec]);
    expect(pricesIn(result)).toEqual([expect.objectContaining(gpt4o)]);
    expect(priced(result)).toEqual({
      type: 'Priced',
      status: 'True',
      reason: 'Priced',
      message:
        'target main by the entry openai/gpt-4o of @pydantic/genai-prices 0.1.8; pricing of this route does not count for ' +
        'target main, whose Provider is not of namespace team-a',
    });
  });

  test('has no price without a list price, and names the object that must state one', () => {
    const result = worldOf([{ pricing, targets: [shared()] }]);
    expect(pricesIn(result)).toEqual([null]);
    expect(priced(result)).toMatchObject({
      status: 'False',
      reason: 'NoPrice',
      message:
        'no price for target main: @pydantic/genai-prices 0.1.8 knows no model "gpt-x" of openai; tokens are recorded without ' +
        'a cost, and keys with a blocking budget are refused, except at a Provider of their own namespace; pricing of this route does not count for target main, whose Provider is not of namespace team-a: ' +
        'use a model of the platform that has a price, or your own Provider',
    });
  });

  test('states a price for the targets at its own Provider alone', () => {
    const result = worldOf([{ pricing, targets: [target(), shared({ name: 'shared', priority: 1 })] }]);
    expect(pricesIn(result)).toEqual([expect.objectContaining({ ...free, source: 'route' }), null]);
    expect(priced(result).message).toContain('does not count for target shared,');
  });

  test('says that calls without a price are not sent if the platform has a blocking budget for the namespace', () => {
    const spec = { targets: [target({ upstreamModel: 'my-own' }), shared({ name: 'shared', priority: 1 })] };
    const block = { period: 'Month', limit: '1.00', action: 'Block', warnPercent: 80 };
    const blocked = priced(worldOf([spec], [block]));
    expect(blocked).toMatchObject({ status: 'False', reason: 'NoPrice' });
    expect(blocked.message).toContain(
      'the platform has set a budget for namespace team-a, so nothing is sent to target shared; of the others tokens are ' +
        'recorded without a cost, and keys with a blocking budget are refused, except at a Provider of their own namespace; set spec.pricing, or pricing at the target, with inputPerMillion and outputPerMillion; pricing of this route does not ' +
        'count for target shared,',
    );
    expect(priced(worldOf([spec], [{ ...block, action: 'Warn' }])).message).not.toContain(
      'the platform has set',
    );
    const ownAlone = { targets: [target({ upstreamModel: 'my-own' })] };
    expect(priced(worldOf([ownAlone], [block])).message).not.toContain('the platform has set');
  });
});

test('a platform namespace states the price of any Provider', () => {
  const far = target({ providerRef: { name: 'openai', namespace: 'other' } });
  const result = compileOnce(
    snapshot({
      platform: { ...PLATFORM, platformNamespaces: ['platform', 'other'] },
      secrets: [secret({ namespace: 'other' })],
      providers: [provider({ allowedNamespaces: { from: 'All' } }, { namespace: 'other' })],
      modelRoutes: [route({ pricing, targets: [far] }, { namespace: 'platform' })],
    }),
  );
  expect(pricesIn(result)).toEqual([expect.objectContaining({ ...free, source: 'route' })]);
});
