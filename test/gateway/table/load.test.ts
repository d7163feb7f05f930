// Is a large table taken without standing still, and is it the same table, with the same faults, as one taken at once?

import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { parseRoutingTable, type RoutingTable } from '../../../core/contract/routing-table.ts';
import { loadTable } from '../../../gateway/table/load.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { keyEntry, tableOf } from '../rig.ts';

const [route] = tableOf([{ baseUrl: 'https://api.upstream.test/v1', keys: { main: 'sk-upstream' } }]).routes;
const table: RoutingTable = {
  ...tableOf([{ baseUrl: 'https://api.upstream.test/v1', keys: { main: 'sk-upstream' } }]),
  keys: Array.from({ length: 3_500 }, (_, index) => keyEntry(`psk_${index}`, `team-${index}/key`)),
  routes: Array.from({ length: 2_500 }, (_, index) => {
    if (route === undefined) throw new Error('the rig makes a route');
    return { ...route, id: `team-${index}/m`, model: `model-${index}` };
  }),
};

test('other work runs between the pieces, and no piece is lost', async () => {
  let turns = 0;
  const view = await loadTable(JSON.stringify(table), async () => {
    turns++;
  });
  // Text to data, one each of providers and credentials, and lists of hundreds of kilobytes in pieces of 128.
  const pieces = JSON.stringify([table.routes, table.keys]).length / 2 ** 17;
  expect(turns).toBeGreaterThan(pieces);
  expect(view).toEqual(buildTableView(parseRoutingTable(structuredClone(table))));
  expect([...view.keys.values()].map(({ id }) => id)).toEqual(table.keys.map(({ id }) => id));
});

test('without a given pause, it lets timers and sockets run', async () => {
  let hasHadTurn = false;
  setImmediate(() => {
    hasHadTurn = true;
  });
  const view = loadTable(JSON.stringify(table));
  expect(hasHadTurn).toBe(false);
  await view;
  expect(hasHadTurn).toBe(true);
});

test.each([
  [
    'in the last piece',
    { keys: table.keys.with(3_400, { sha256: 'x', id: 'team/key' }) },
    'keys.3400.sha256',
  ],
  [
    'in another list',
    { routes: table.routes.map((one, at) => (at === 1_234 ? { ...one, targets: [] } : one)) },
    'routes.1234.targets',
  ],
  ['outside the lists', { settings: {} }, 'settings.servicePrefix'],
  ['of an invalid list', { keys: {} }, 'table field keys'],
  ['of a list that is missing', { credentials: undefined }, 'table field credentials'],
  ['of a reference', { providers: [] }, 'uses the provider platform/p0, which is not in the table'],
  ['of an age to come', { minReader: 5, keys: 7 }, 'needs a reader of format 5'],
])('a fault %s is reported with its place in the whole table', async (_, differing, words) => {
  await expect(loadTable(JSON.stringify({ ...table, ...differing }))).rejects.toThrow(words);
});

test.each([
  [
    '{"epoch":1,"credentials":[{"value":"sk-SECRET" "x"}]}',
    'is not valid JSON: the fault is at character 47',
  ],
  ['{"credentials":[{"value":sk-SECRET}]}', 'is not valid JSON'],
  ['{"credentials":[{"value":"sk-SECRET"', 'is not valid JSON'],
])('%s is refused without its content', async (text, words) => {
  const refusal: unknown = await loadTable(text).catch((error: unknown) => error);
  expect(String(refusal)).toContain(words);
  expect(inspect(refusal, { depth: null })).not.toContain('SECRET');
});
