// A model that callers use loses its Provider, Secret or key, or its route is suspended: what are they reported, what is counted, and who
// learns nothing of it?

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as make from '../operator/make.ts';
import { startWall, type Wall } from '../support/wall.ts';
import { ask, type Endpoint, errorOf } from './ask.ts';
import {
  apiKeyOf,
  idsOf,
  keyOf,
  knock,
  platformWith,
  providerOf,
  routeOf,
  type Stage,
  secretOf,
  startStage,
} from './deploy.ts';

const namespaces = ['platform', 'team-a', 'team-b'];
const model = 'penstock/small';

let wall: Wall;
let stage: Stage;

beforeEach(async () => {
  wall = await startWall();
  stage = await startStage(world());
});

afterEach(async () => {
  await stage.close();
  await wall.close();
});

/** The platform lends `penstock/small` to everybody, and team-a has a model of its own. */
function world() {
  return {
    platform: platformWith(...namespaces),
    namespaces: namespaces.map((name) => make.namespace(name)),
    secrets: [secretOf('platform', wall.baseUrl), secretOf('team-a', wall.baseUrl)],
    providers: [providerOf('platform', wall.baseUrl), providerOf('team-a', wall.baseUrl)],
    modelRoutes: [small(), routeOf('team-a', 'own', 'own')],
    apiKeys: namespaces.map((name) => apiKeyOf(name)),
  };
}

function small(spec: object = {}) {
  const shared = { visibility: 'Public', allowedNamespaces: { from: 'All' }, aliases: ['penstock/tiny'] };
  return routeOf('platform', 'small', model, { ...shared, ...spec });
}

const key = { authorization: `Bearer ${keyOf('team-b')}` };
const call = (wanted = model, endpoint: Endpoint = 'chat', headers: Record<string, string> = key) =>
  ask(stage.rig, { endpoint, headers, more: { model: wanted } });
const suspend = () => stage.deploy({ ...world(), modelRoutes: [small({ suspended: true })] });
const without = (list: 'providers' | 'secrets') => ({ ...world(), [list]: world()[list].slice(1) });

const outages: readonly (readonly [string, () => object, RegExp])[] = [
  ['its Provider is deleted', () => without('providers'), /no target of ModelRoute platform\/small/],
  ['the Secret of its Provider is deleted', () => without('secrets'), /no target of ModelRoute/],
  [
    'its Provider is suspended',
    () => ({
      ...world(),
      providers: [providerOf('platform', wall.baseUrl, { suspended: true })],
    }),
    /no target of ModelRoute/,
  ],
  [
    'the only key of its Provider is disabled',
    () => ({
      ...world(),
      providers: [
        providerOf('platform', wall.baseUrl, {
          auth: { keys: [{ name: 'main', disabled: true, secretRef: { name: 'openai', key: 'key' } }] },
        }),
      ],
    }),
    /no target of ModelRoute/,
  ],
  [
    'the route is suspended',
    () => ({ ...world(), modelRoutes: [small({ suspended: true })] }),
    /ModelRoute platform\/small is suspended\. Retry later, or ask its owner/,
  ],
];

describe.each(outages)('%s', (_, broken, why) => {
  test('its callers get an error that says so, in the form of each dialect, with the time to retry', async () => {
    stage.deploy(broken());
    for (const endpoint of ['chat', 'completions', 'responses', 'messages'] as const) {
      const seen = await call(endpoint === 'chat' ? 'penstock/tiny' : model, endpoint);
      expect([endpoint, seen.status, seen.headers['retry-after'], seen.headers['x-should-retry']]).toEqual([
        endpoint,
        503,
        '10',
        undefined,
      ]);
      expect(errorOf(seen)).toMatchObject({
        code: 'model_unavailable',
        type: endpoint === 'messages' ? 'overloaded_error' : 'server_error',
        message: expect.stringMatching(why),
      });
      expect(seen.text).not.toContain('sk-of-');
    }
    expect(wall.calls).toEqual([]);
  });

  test('it stays in the list, without a price, and other callers see no more of it than before', async () => {
    const before = await knock(stage.rig, 'list', '', undefined);
    expect(idsOf(before)).toEqual([model]);
    stage.deploy(broken());
    const lists = await Promise.all(
      [undefined, keyOf('team-b')].map((one) => knock(stage.rig, 'list', '', one)),
    );
    expect(lists.map(idsOf)).toEqual([[model], [model]]);
    expect((await knock(stage.rig, 'retrieve', model, undefined)).json).toMatchObject({
      id: model,
      pricing: null,
    });
  });

  test('it serves again with the next table that has it', async () => {
    stage.deploy(broken());
    expect((await call()).status).toBe(503);
    stage.deploy(world());
    expect((await call()).status).toBe(200);
  });
});

test('requests count under the id of the model, and their counter begins before the first of them', async () => {
  suspend();
  const counted = async () => {
    const text = await stage.rig.gateway.metrics.registry.metrics();
    return text.split('\n').filter((line) => line.includes(`model="${model}"`) && !line.startsWith('#'));
  };
  expect(await counted()).toContain(
    `penstock_unavailable_requests_total{model="${model}",reason="Suspended"} 0`,
  );
  await call('penstock/tiny');
  await call();
  expect(await counted()).toEqual(
    expect.arrayContaining([
      `penstock_unavailable_requests_total{model="${model}",reason="Suspended"} 2`,
      `penstock_requests_total{endpoint="/chat/completions",model="${model}",status="503"} 2`,
    ]),
  );
});

test('a route that is deleted, and one that callers may not use, are unknown models', async () => {
  const suspended = [
    small({ suspended: true, allowedNamespaces: { from: 'Same' }, visibility: 'Listed' }),
    routeOf('team-a', 'own', 'own', { suspended: true }),
  ];
  stage.deploy({ ...world(), modelRoutes: suspended });
  for (const wanted of [model, 'own']) {
    const seen = await call(wanted);
    expect([seen.status, errorOf(seen)?.code]).toEqual([404, 'model_not_found']);
  }
  expect((await call('own', 'chat', { authorization: `Bearer ${keyOf('team-a')}` })).status).toBe(503);
  expect(idsOf(await knock(stage.rig, 'list', '', keyOf('team-b')))).toEqual([]);

  stage.deploy({ ...world(), modelRoutes: [] });
  expect((await call()).status).toBe(404);
});

test('a key that may not use the model gets no news of its outage', async () => {
  const apiKeys = [apiKeyOf('team-b', { models: { deny: [model] } })];
  stage.deploy({ ...world(), modelRoutes: [small({ suspended: true })], apiKeys });
  expect((await call()).status).toBe(404);
  expect(idsOf(await knock(stage.rig, 'list', '', keyOf('team-b')))).toEqual([]);
});

test('another route that serves the id answers in place of a suspended one', async () => {
  const own = routeOf('team-a', 'mine', model.replace('penstock/', 'team/'), { suspended: true });
  const shared = small({ model: 'shared', aliases: ['team/small'] });
  stage.deploy({ ...world(), modelRoutes: [shared, own] });
  const seen = await call('team/small', 'chat', { authorization: `Bearer ${keyOf('team-a')}` });
  expect(seen.status).toBe(200);
});
