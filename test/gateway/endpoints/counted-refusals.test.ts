// Is a request counted that was refused before anybody could say which model it is for? What goes unseen in metrics rings no alert.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { bearer, post } from './ask.ts';

let wall: Wall;
let rig: Rig;

beforeEach(async () => {
  wall = await startWall();
});
afterEach(async () => {
  await rig?.close();
  await wall.close();
});

const noRoutes = { routes: [], own: new Map(), shared: new Map() };
const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };

async function counted(): Promise<readonly string[]> {
  const text = await rig.gateway.metrics.registry.metrics();
  return text.split('\n').filter((line) => line.startsWith('penstock_requests_total{'));
}
const line = (endpoint: string, model: string, status: number, count: number): string =>
  `penstock_requests_total{endpoint="${endpoint}",model="${model}",status="${status}"} ${count}`;

test('each refusal counts once, by its status, whatever models callers make up', async () => {
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]));
  const statusOf = async (...call: [path: string, body: object | string, headers?: Record<string, string>]) =>
    (await post(rig, ...call)).status;
  expect([
    await statusOf('/v1/chat/completions', { ...chat, model: 'made-up/1' }),
    await statusOf('/v1/chat/completions', { ...chat, model: 'made-up/2' }),
    await statusOf('/v1/chat/completions', { ...chat, temperature: 7 }),
    await statusOf('/v1/chat/completions', '{'),
    await statusOf('/v1/messages', chat, { authorization: 'Bearer psk_not-a-key-of-anybody-000' }),
    await statusOf('/v1/messages', chat, { ...bearer, 'content-type': 'text/plain' }),
    await statusOf('/v1/messages/count_tokens', { ...chat, model: 'made-up' }),
  ]).toEqual([404, 404, 400, 400, 401, 415, 404]);
  const refusals = [
    line('/chat/completions', 'other', 404, 2),
    line('/chat/completions', 'other', 400, 2),
    line('/messages', 'other', 401, 1),
    line('/messages', 'other', 415, 1),
  ];
  expect(await counted()).toEqual(refusals);
  // What is served counts by its model, and a new table takes none of the others away.
  expect(await statusOf('/v1/chat/completions', chat)).toBe(200);
  rig.gateway.metrics.adopt({ routes: [], unavailable: noRoutes });
  expect(await counted()).toEqual(refusals);
});

test('a route that refuses calls without a price shows up as failing', async () => {
  const table = tableOf([{ baseUrl: wall.baseUrl, price: null }]);
  rig = await startRig({ ...table, routes: table.routes.map((route) => ({ ...route, unpriced: 'Deny' })) });
  const { status } = await post(rig, '/v1/chat/completions', chat);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(await counted()).toEqual([line('/chat/completions', 'other', status, 1)]);
});
