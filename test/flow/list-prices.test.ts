// Does a caller see the list price of a model that states none, and does one that nobody has a price for say that it has none?

import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { provider, route, secret, target } from '../operator/make.ts';
import { type Stage, startStage } from './deploy.ts';

const inPlatform = { namespace: 'platform' };
const open = { visibility: 'Public', allowedNamespaces: { from: 'All' } };
const publicRoute = (name: string, targets: object[]) =>
  route({ ...open, model: name, targets }, { ...inPlatform, name });
const listSchema = z.object({ data: z.array(z.object({ id: z.string(), pricing: z.unknown() })) });

let stage: Stage;

beforeAll(async () => {
  stage = await startStage({
    secrets: [secret({ namespace: 'platform' })],
    providers: [provider({}, inPlatform)],
    modelRoutes: [
      publicRoute('listed', [target({ upstreamModel: 'gpt-4o' })]),
      publicRoute('dearest', [
        target({ upstreamModel: 'gpt-4o' }),
        target({ name: 'spare', upstreamModel: 'gpt-4o-mini', priority: 1 }),
      ]),
      publicRoute('half', [
        target({ upstreamModel: 'gpt-4o' }),
        target({ name: 'spare', upstreamModel: 'nobody-knows-it', priority: 1 }),
      ]),
    ],
  });
});
afterAll(() => stage.close());

test("the model list has the vendor's price, the highest of several targets, and null if one has none", async () => {
  const answer = await fetch(`${stage.rig.url}/v1/models`);
  const { data } = listSchema.parse(await answer.json());
  const gpt4o = { prompt: '0.0000025', completion: '0.00001', input_cache_read: '0.00000125' };
  expect(Object.fromEntries(data.map(({ id, pricing }) => [id, pricing]))).toEqual({
    listed: gpt4o,
    dearest: gpt4o,
    half: null,
  });
});
