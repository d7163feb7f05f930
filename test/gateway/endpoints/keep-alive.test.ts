// Is a stream that has begun kept alive as often as it should be, in the words of each dialect?

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { bearer } from './ask.ts';

let simulator: Simulator;
let rig: Rig;

beforeAll(async () => {
  simulator = await startSimulator();
  const target = {
    baseUrl: `${simulator.url}/v1`,
    upstreamModel: 'sim-small+fault=stall-after:2',
    dialects: ['openai-chat' as const],
  };
  // Before the first content patience is long; behind it the other one counts.
  rig = await startRig(tableOf([target]), { openAfterMs: 3_600_000, keepAliveMs: 20 });
});

afterAll(async () => {
  await rig.close();
  await simulator.close();
});

const messages = [{ role: 'user', content: 'hello' }];

test.each([
  ['/v1/chat/completions', { messages }, ': keep-alive\n\n'],
  ['/v1/responses', { input: 'hello' }, ': keep-alive\n\n'],
  ['/v1/messages', { messages, max_tokens: 99 }, 'event: ping\ndata: {"type":"ping"}\n\n'],
])('%s', async (path, body, keepAlive) => {
  const leaving = new AbortController();
  const answer = await fetch(rig.url + path, {
    method: 'POST',
    headers: { ...bearer, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', stream: true, ...body }),
    signal: leaving.signal,
  });
  let text = '';
  for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece;
    if (text.includes(keepAlive)) break;
  }
  leaving.abort();
  expect(text).toContain(keepAlive);
});
