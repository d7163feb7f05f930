// An upstream's own words go on to the caller, but nothing that it was signed in with.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { errorOf, post } from './ask.ts';

const key = 'sk-SECRET-0123456789';
const message = `Proxy https://user:pw@host.test/x refused ${key} for 'temperature'`;
const reported = "Proxy https://host.test/x refused [redacted] for 'temperature'";
const body = { model: 'm', messages: [{ role: 'user', content: 'x' }] };

let wall: Wall;
let rig: Rig;

beforeAll(async () => {
  wall = await startWall({ type: 'status', status: 400, error: { message } });
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl, keys: { main: key } }]));
});

afterAll(async () => {
  await rig.close();
  await wall.close();
});

test.each([
  ['plain', '/v1/chat/completions', body],
  ['streamed', '/v1/chat/completions', { ...body, stream: true }],
  ['plain', '/v1/completions', { model: 'm', prompt: 'x' }],
])('%s on %s', async (_, path, request) => {
  const answer = await post(rig, path, request);
  expect(answer.status).toBe(400);
  expect(errorOf(answer).message).toBe(reported);
  expect(answer.text).not.toMatch(/SECRET|user:pw/);
});
