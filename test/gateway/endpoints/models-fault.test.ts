// What an upstream calls the caller's mistake, though its model made it, is tried elsewhere; what the model wrote is asked to nobody.

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { errorOf, post } from './ask.ts';

const chat = { model: 'm', messages: [{ role: 'user', content: 'x' }] };
const message =
  "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.";
const written = 'the words of the model';

let first: Wall;
let spare: Wall;
let rig: Rig | undefined;

beforeAll(async () => {
  [first, spare] = await Promise.all([startWall(), startWall()]);
});

afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

afterAll(async () => {
  await first.close();
  await spare.close();
});

const codes = ['tool_use_failed', 'json_validate_failed', 'output_parse_failed'];

function fail(code: string): void {
  const error = { message, type: 'invalid_request_error', code, failed_generation: written };
  first.script({ type: 'status', status: 400, body: { error } });
}

test.each(codes)('%s: the spare answers, plain and streamed, and no health suffers', async (code) => {
  fail(code);
  rig = await startRig(tableOf([{ baseUrl: first.baseUrl }, { baseUrl: spare.baseUrl, priority: 1 }]));
  const before = first.calls.length;
  for (let times = 0; times < 10; times++) {
    const answer = await post(rig, '/v1/chat/completions', { ...chat, stream: times % 2 === 0 });
    expect(answer.status).toBe(200);
  }
  expect(first.calls.length - before).toBe(10);
});

test.each(codes)("%s: alone, the caller reads the upstream's own words", async (code) => {
  fail(code);
  rig = await startRig(tableOf([{ baseUrl: first.baseUrl }]));
  const answer = await post(rig, '/v1/chat/completions', chat);
  expect([answer.status, errorOf(answer)]).toMatchObject([400, { message, code }]);
  expect(answer.text).not.toContain(written);
  expect(JSON.stringify([rig.records, rig.failures])).not.toContain(written);
});
