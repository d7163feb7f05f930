// Which table was in use when a request failed? Said with each error, as with each answer.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { bearer, get, post } from './ask.ts';

const path = '/v1/chat/completions';
const body = { model: 'm', messages: [{ role: 'user', content: 'x' }] };

let wall: Wall;
let rig: Rig;

beforeAll(async () => {
  wall = await startWall({ type: 'status', status: 500 });
  const table = tableOf([{ baseUrl: wall.baseUrl }]);
  rig = await startRig(table);
  rig.offer(table);
});

afterAll(async () => {
  await rig.close();
  await wall.close();
});

test.each([
  ['400', 400, () => post(rig, path, '{')],
  ['401', 401, () => post(rig, path, body, {})],
  ['404 of a model', 404, () => post(rig, path, { ...body, model: 'gone' })],
  ['404 of a path', 404, () => get(rig, '/v1/nothing')],
  ['404 of a listed model', 404, () => get(rig, '/v1/models/gone', bearer)],
  ['502', 502, () => post(rig, path, body)],
])('%s', async (_, status, request) => {
  const answer = await request();
  expect([answer.status, answer.headers['x-penstock-generation']]).toEqual([status, '2']);
});

test('without a table no generation is reported', async () => {
  const bare = await startRig(undefined);
  const answer = await post(bare, path, body);
  await bare.close();
  expect(answer.status).toBe(503);
  expect(answer.headers).not.toHaveProperty('x-penstock-generation');
});

test('an error for a model that is served on another path names that path', async () => {
  const other = await startRig(tableOf([{ baseUrl: wall.baseUrl }], { endpoints: ['openai-completions'] }));
  const answer = await post(other, path, body);
  await other.close();
  expect(answer.status).toBe(404);
  expect(answer.json).toMatchObject({
    error: {
      message: "The model 'm' is not served on this route; it is served on /v1/completions.",
      code: 'model_not_found',
    },
  });
});
