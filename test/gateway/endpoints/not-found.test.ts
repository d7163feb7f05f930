// Nothing is there, or not by this method: the answer says why, so that a mistyped base URL is mended in one step.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { rawCall } from '../../support/raw-client.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { bearer, errorOf, get, messagesErrorOf, portOf, post } from './ask.ts';

let rig: Rig;

beforeAll(async () => {
  rig = await startRig(tableOf([{ baseUrl: 'http://127.0.0.1:9/v1' }]));
});

afterEach(() => expect(rig.failures).toEqual([]));
afterAll(() => rig.close());

const withoutV1 = ' lacks /v1. Write the base URL with /v1 at its end.';
const twoSlashes = ' has two slashes in a row. Write the base URL without a slash at its end.';
const v1Twice = ' has /v1 twice. This client adds /v1 itself; write the base URL without it.';
const slashAtEnd = '. Leave out the slash at its end.';
const theRoutes =
  '. The routes are /v1/chat/completions, /v1/completions, /v1/messages, /v1/messages/count_tokens, /v1/responses, /v1/models.';

describe('404 with the cause', () => {
  test.each([
    ['POST', '/chat/completions', withoutV1],
    ['POST', '/completions', withoutV1],
    ['GET', '/models', withoutV1],
    ['GET', '/models/penstock/x', withoutV1],
    ['POST', '//chat/completions', twoSlashes],
    ['POST', '/v1//chat/completions', twoSlashes],
    ['POST', '//v1/chat/completions', twoSlashes],
    ['POST', '/v1/chat//completions', twoSlashes],
    ['GET', '/v1//models', twoSlashes],
    ['POST', '/v1/v1/chat/completions', v1Twice],
    ['POST', '/v1/v1/completions', v1Twice],
    ['GET', '/v1/v1/models', v1Twice],
    ['POST', '/v1/chat/completions/', slashAtEnd],
    ['POST', '/v1/completions/', slashAtEnd],
    ['GET', '/v1/models/', slashAtEnd],
    ['GET', '/', theRoutes],
    ['GET', '/v1', theRoutes],
    ['GET', '/v1/', theRoutes],
    ['GET', '/favicon.ico', theRoutes],
    ['POST', '/v1/embeddings', theRoutes],
    ['POST', '/V1/chat/completions', theRoutes],
    ['POST', '/v1/Chat/Completions', theRoutes],
    ['POST', '/v1/chat', theRoutes],
    ['POST', '/v1/chat/completionsx', theRoutes],
    ['POST', '/v1/chat/completions/x', theRoutes],
    ['DELETE', '/nothing', theRoutes],
    ['GET', '/metrics', theRoutes],
    ['GET', '/healthz', theRoutes],
  ])('%s %s', async (method, path, cause) => {
    for (const headers of [bearer, {}]) {
      const answer = await rawCall({ port: portOf(rig) }, { method, path: `${path}?q=//v1/v1/`, headers });
      expect(answer.status).toBe(404);
      expect(errorOf(answer)).toEqual({
        message: `Not found: ${path}${cause}`,
        type: 'invalid_request_error',
        code: 'not_found',
        param: null,
      });
      expect(answer.headers['x-request-id']).toMatch(/^req_/);
    }
  });

  test('a long path is shown in part, and a query never', async () => {
    const answer = await get(rig, `/${'x'.repeat(5_000)}?key=psk_secret`);
    expect(errorOf(answer).message.length).toBeLessThan(400);
    expect(answer.text).not.toContain('psk_secret');
  });

  test.each(['garbage; = ;', 'text/plain', ''])(
    'a body of the type "%s" sent to nowhere is still 404',
    async (type) => {
      const answer = await post(rig, '/nothing', 'x', { ...bearer, 'content-type': type });
      expect(answer.status).toBe(404);
    },
  );
});

describe('405 with the allowed methods', () => {
  const routes = {
    '/v1/chat/completions': 'POST',
    '/v1/completions': 'POST',
    '/v1/models': 'GET, HEAD',
    '/v1/models/a/b': 'GET, HEAD',
  };
  const methods = [
    'GET',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'PROPFIND',
    'MKCOL',
    'QUERY',
    'PURGE',
  ];
  const rows = Object.entries(routes).flatMap(([path, allow]) =>
    methods
      .filter((method) => !allow.split(', ').includes(method))
      .map((method) => [method, path, allow] as const),
  );

  test.each(rows)('%s %s', async (method, path, allow) => {
    const answer = await rawCall({ port: portOf(rig) }, { method, path: `${path}?a=b`, headers: bearer });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe(allow);
    expect(errorOf(answer)).toEqual({
      message: `${method} is not allowed on ${path}; use ${allow.split(',')[0]}.`,
      type: 'invalid_request_error',
      code: 'method_not_allowed',
      param: null,
    });
  });

  test('HEAD is answered without a body', async () => {
    const response = await fetch(`${rig.baseUrl}/chat/completions`, { method: 'HEAD' });
    expect([response.status, response.headers.get('allow'), await response.text()]).toEqual([
      405,
      'POST',
      '',
    ]);
  });
});

describe('the shape of the messages routes, a superset for Anthropic clients', () => {
  const version = { 'anthropic-version': '2023-06-01' };

  test.each<readonly [string, string, Record<string, string>]>([
    ['a path below /v1/messages', '/v1/messages/none', {}],
    ['that path, with a query', '/v1/messages/none?beta=true', {}],
    ['that path, partly encoded', '/v1/%6dessages/none', {}],
    ['the header of Anthropic clients', '/nothing', version],
    ['that header, without /v1', '/messages', version],
  ])('%s', async (_name, path, headers) => {
    const answer = await post(rig, path, {}, headers);
    expect(answer.status).toBe(404);
    expect(messagesErrorOf(answer)).toEqual({
      type: 'error',
      error: {
        type: 'not_found_error',
        message: expect.stringContaining('Not found: /'),
        code: 'not_found',
      },
      request_id: answer.headers['request-id'],
    });
    expect(answer.headers['x-request-id']).toBe(answer.headers['request-id']);
  });

  test('405 too', async () => {
    const answer = await get(rig, '/v1/chat/completions', version);
    expect(answer.headers.allow).toBe('POST');
    expect(messagesErrorOf(answer).error).toMatchObject({
      type: 'invalid_request_error',
      code: 'method_not_allowed',
    });
  });

  test.each([
    ['an invalid parameter', { model: 5 }, 400, 'invalid_request_error', 'invalid_parameter'],
    [
      'an unknown model',
      { model: 'x', messages: [{ role: 'user', content: 'x' }] },
      404,
      'not_found_error',
      'model_not_found',
    ],
  ])('%s', async (_name, body, status, type, code) => {
    const answer = await post(rig, '/v1/chat/completions', body, { ...bearer, ...version });
    expect(answer.status).toBe(status);
    expect(messagesErrorOf(answer).error).toMatchObject({ type, code });
  });
});
