// Can a tenant say what the calls over a Provider of the platform cost it, and so be beside the budget that the platform has set it?

import { afterEach, expect, test } from 'vitest';
import * as make from '../operator/make.ts';
import { startWall } from '../support/wall.ts';
import { errorOf } from './ask.ts';
import {
  apiKeyOf,
  keyOf,
  knock,
  platformWith,
  providerOf,
  type Stage,
  secretOf,
  startStage,
} from './deploy.ts';

let parts = new AsyncDisposableStack();
afterEach(async () => {
  await parts.disposeAsync();
  parts = new AsyncDisposableStack();
});

const block = { period: 'Total', limit: '1.00', action: 'Block', warnPercent: 80 } as const;
const namespaces = ['platform', 'team-a'];

/** Routes of team-a that say that nothing costs anything: `shared` over the Provider of the platform, `own` over its own. */
async function staged(tenantBudgets: readonly { namespace: string; budgets: readonly (typeof block)[] }[]) {
  const wall = parts.adopt(await startWall(), (one) => one.close());
  const pricing = { inputPerMillion: '0', outputPerMillion: '0' };
  const routeTo = (name: string, namespace: string) => {
    const targets = [make.target({ providerRef: { name: 'openai', namespace } })];
    return make.route({ model: name, pricing, targets }, { namespace: 'team-a', name });
  };
  const stage: Stage = await startStage({
    platform: { ...platformWith(...namespaces), tenantBudgets },
    namespaces: namespaces.map((name) => make.namespace(name)),
    secrets: namespaces.map((name) => secretOf(name, wall.baseUrl)),
    providers: [
      providerOf('platform', wall.baseUrl, { allowedNamespaces: { from: 'All' } }),
      providerOf('team-a', wall.baseUrl),
    ],
    modelRoutes: [routeTo('shared', 'platform'), routeTo('own', 'team-a')],
    apiKeys: [apiKeyOf('team-a')],
  });
  parts.adopt(stage, (one) => one.close());
  return { rig: stage.rig, wall, call: (model: string) => knock(stage.rig, 'chat', model, keyOf('team-a')) };
}

test('a price stated by a tenant does not count: the cost of its calls is unknown, not 0', async () => {
  const { rig, call } = await staged([]);
  expect((await call('shared')).status).toBe(200);
  expect(rig.records).toMatchObject([{ payer: 'tenant', price: null, costPicodollars: null }]);
});

test('with a platform budget they are rejected before anything is sent; calls of its own Provider are not', async () => {
  const { rig, wall, call } = await staged([{ namespace: 'team-a', budgets: [block] }]);
  const refused = await call('shared');
  expect([refused.status, errorOf(refused)?.code, wall.calls.length]).toEqual([404, 'model_not_found', 0]);
  expect(errorOf(refused)?.message).toBe(
    "The model 'shared' has no price, and a key with a budget can only call models with a price. Its ModelRoute team-a/shared needs spec.pricing; its condition Priced says why.",
  );
  expect((await call('own')).status).toBe(200);
  expect(rig.records).toMatchObject([{ payer: 'own-key', costPicodollars: 0 }]);
});
