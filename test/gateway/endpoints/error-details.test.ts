// An upstream that repeats the key it was sent, wherever it can: none of it reaches the caller (T11).

import { expect, test } from 'vitest';
import { startWall } from '../../support/wall.ts';
import { startRig, tableOf } from '../rig.ts';
import { post } from './ask.ts';

const canary = 'sk-canary-0123456789abcdef';

test.each([false, true])(
  'details of a messages error come without the key that was sent, streamed: %j',
  async (stream) => {
    await using parts = new AsyncDisposableStack();
    const said = { type: 'invalid_request_error', message: `bad ${canary}`, param: canary };
    const details = { kind: 'quota', [canary]: [canary, { header: `Bearer ${canary}` }] };
    const wall = parts.adopt(
      await startWall({
        type: 'status',
        status: 400,
        headers: { 'request-id': canary, 'x-echo': canary, 'retry-after': canary },
        body: { type: 'error', error: { ...said, details }, request_id: canary },
      }),
      (one) => one.close(),
    );
    const target = {
      baseUrl: wall.baseUrl,
      keys: { main: canary },
      dialects: ['anthropic-messages' as const],
    };
    const rig = parts.adopt(await startRig(tableOf([target])), (one) => one.close());
    const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }], stream };
    const answer = await post(rig, '/v1/messages', body);
    expect(answer.status).toBe(400);
    // The upstream was sent it, and the rest of what it says is reported.
    expect(JSON.stringify(wall.calls[0]?.headers)).toContain(canary);
    expect(answer.json).toMatchObject({ error: { details: { kind: 'quota' } } });
    expect(answer.text + JSON.stringify(answer.headers)).not.toContain(canary);
    expect(rig.failures).toEqual([]);
  },
);

test('long details are cut to two kilobytes, without the credentials of addresses', async () => {
  await using parts = new AsyncDisposableStack();
  const details = {
    visibility: 'user_facing',
    blob: 'internal '.repeat(6_000),
    hosts: ['http://user:pass@10.0.0.5/', { 'http://user:pass@10.0.0.6/': 1 }],
    deep: JSON.parse(`${'['.repeat(4_000)}${']'.repeat(4_000)}`),
    lists: Array.from({ length: 9 }, () => 'x'.repeat(300)),
  };
  const body = { type: 'error', error: { type: 'invalid_request_error', message: 'm', details } };
  const wall = parts.adopt(await startWall({ type: 'status', status: 400, body }), (one) => one.close());
  const target = { baseUrl: wall.baseUrl, dialects: ['anthropic-messages' as const] };
  const rig = parts.adopt(await startRig(tableOf([target])), (one) => one.close());
  const request = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] };
  const answer = await post(rig, '/v1/messages', request);
  expect(answer.status).toBe(400);
  expect(answer.json).toMatchObject({
    error: {
      details: {
        visibility: 'user_facing',
        hosts: ['http://10.0.0.5/', { 'http://10.0.0.6/': 1 }],
      },
    },
  });
  expect(answer.text.length).toBeLessThan(3_000);
  expect(answer.text).not.toMatch(/user:pass|internal|xxx/);
  expect(rig.failures).toEqual([]);
});
