// What becomes of calls whose price nobody knows?

import { describe, expect, test } from 'vitest';
import type { RigTarget } from '../gateway/rig.ts';
import { ask, errorOf, lineOf } from './ask.ts';
import { expectWhole } from './fault-matrix.ts';
import { type House, inHouse } from './house.ts';

async function stage(house: House, targets: readonly Partial<RigTarget>[], unpriced?: 'Deny') {
  const walls = await Promise.all(targets.map(() => house.wallThat({ type: 'answer' })));
  const rig = await house.rigOf(
    targets.map((target, at) => ({ baseUrl: walls[at]?.baseUrl ?? '', ...target })),
    unpriced === undefined ? {} : { unpriced },
  );
  return { rig, calls: () => walls.map(({ calls }) => calls.length) };
}

// Its code within is `model_not_priced`; to callers it is a model that is not there.
describe('a route that denies calls without a price', () => {
  test.each(['chat', 'completions', 'responses', 'messages'] as const)(
    'refuses a call of %s before anything is sent, and says where to find what mends it',
    inHouse(async (house, endpoint) => {
      const { rig, calls } = await stage(house, [{ price: null }, { price: null }], 'Deny');
      for (const isStream of [true, false]) {
        const seen = await ask(rig, { endpoint, isStream });
        expect([seen.status, errorOf(seen)?.code, seen.headers['x-should-retry']]).toEqual([
          404,
          'model_not_found',
          'false',
        ]);
        expect(errorOf(seen)?.message).toMatch(/'m' has no price.* team\/m .*condition Priced/);
      }
      expect([calls(), rig.records]).toEqual([[0, 0], []]);
    }),
  );

  test(
    'uses those of its targets that have one',
    inHouse(async (house) => {
      const { rig, calls } = await stage(house, [{ price: null }, {}], 'Deny');
      expectWhole(await ask(rig), 'plain');
      expect([calls(), rig.records.map(lineOf)]).toEqual([[0, 1], ['1 t1 answered tenant']]);
    }),
  );

  test(
    'uses the own provider of the caller, where a call costs nothing',
    inHouse(async (house) => {
      const own = { provider: 'team/own', providerEntry: { isPlatform: false } };
      const { rig } = await stage(house, [{ price: null, ...own }], 'Deny');
      expectWhole(await ask(rig), 'plain');
      expect(rig.records).toMatchObject([{ payer: 'own-key', costPicodollars: 0, price: null }]);
    }),
  );
});

test(
  'a route that only meters serves them: tokens are recorded, the cost is unknown and not 0',
  inHouse(async (house) => {
    const { rig } = await stage(house, [{ price: null }]);
    expectWhole(await ask(rig), 'plain');
    expect(rig.records).toMatchObject([{ price: null, costPicodollars: null, isEstimated: false }]);
    expect(rig.records[0]?.usage.output).toBeGreaterThan(0);
  }),
);
