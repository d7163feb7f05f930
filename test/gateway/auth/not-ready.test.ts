// Before the first table keys cannot be checked: 503, never 401, or clients would throw away good keys.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, errorOf, get, messagesErrorOf, post } from '../endpoints/ask.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';

let rig: Rig;

beforeAll(async () => {
  rig = await startRig(undefined);
});

afterAll(() => rig.close());

const bodies = {
  '/v1/chat/completions': { model: 'm', messages: [{ role: 'user', content: 'x' }] },
  '/v1/completions': { model: 'm', prompt: 'x' },
} as const;

const callers: readonly (readonly [string, Record<string, string>])[] = [
  ['a good key', bearer],
  ['no key', {}],
  ['a malformed key', { authorization: 'Bearer "x"' }],
  ['another scheme', { authorization: 'Basic eDp5' }],
  ['an unknown x-api-key', { 'x-api-key': `psk_${'u'.repeat(49)}` }],
];

describe('before the first table', () => {
  test.each(callers)('%s gets 503 with Retry-After', async (_name, headers) => {
    const answers = [await get(rig, '/v1/models', headers), await get(rig, '/v1/models/m', headers)];
    for (const [path, body] of Object.entries(bodies)) answers.push(await post(rig, path, body, headers));
    for (const answer of answers) {
      expect(answer.status).toBe(503);
      expect(errorOf(answer)).toEqual({
        message: 'The gateway has no routing table yet. Retry shortly.',
        type: 'server_error',
        code: 'not_ready',
        param: null,
      });
      expect(answer.headers['retry-after']).toBe('1');
      expect(answer.headers).not.toHaveProperty('x-should-retry');
      expect(answer.headers).not.toHaveProperty('www-authenticate');
    }
  });

  test('in the messages shape it is an overload', async () => {
    const answer = await post(rig, '/v1/chat/completions', {}, { 'anthropic-version': '2023-06-01' });
    expect(messagesErrorOf(answer).error).toMatchObject({ type: 'overloaded_error', code: 'not_ready' });
  });

  test('an unknown path is still 404', async () => {
    expect((await get(rig, '/nothing')).status).toBe(404);
  });

  test('the pod is not ready, and all routes work from the first table on', async () => {
    const ready = async (): Promise<number> => (await fetch(`${rig.gateway.metricsUrl}/readyz`)).status;
    expect(await ready()).toBe(503);
    rig.offer({ keys: tableOf([]).keys });
    expect(await ready()).toBe(200);
    expect((await get(rig, '/v1/models', bearer)).status).toBe(200);
    expect((await get(rig, '/v1/models', { authorization: 'Bearer x' })).status).toBe(401);
  });
});
