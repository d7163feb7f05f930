// Do the table of errors, its page and what is really sent agree? And does no client ever wait too long?

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES, type ErrorCode } from '../../../core/catalog/error-codes.ts';
import { encodeErrorBody, GatewayError } from '../../../gateway/request/errors.ts';

const page = readFileSync(fileURLToPath(new URL('../../../docs/errors.md', import.meta.url)), 'utf8');

const codes = page.split('\n## The codes\n')[1] ?? '';

interface Row {
  readonly status: number;
  readonly type: string;
  readonly messagesType: string;
  readonly fault: string;
  readonly mayRetry: boolean;
  readonly code?: string;
}

const rows: readonly (readonly [ErrorCode, Row])[] = Object.entries(ERROR_CODES).flatMap(([name, row]) =>
  isCode(name) ? [[name, row] as const] : [],
);

function isCode(name: string): name is ErrorCode {
  return name in ERROR_CODES;
}

/** The cells of the page's table, by the name in the first. */
const documented = new Map(
  [...codes.matchAll(/^\| `(\w+)` \| (.+) \|$/gm)].map(([, name = '', rest = '']) => [
    name,
    rest.split(' | '),
  ]),
);

describe('docs/errors.md', () => {
  test('has a row for each code of the table, in its order, and no other', () => {
    expect([...documented.keys()]).toEqual(rows.map(([name]) => name));
  });

  test.each(rows)(
    '%s: status, code, types, fault and header agree; when and way out are said',
    (name, row) => {
      const [status, code, type, messagesType, fault, retry, when = '', wayOut = '', ...more] =
        documented.get(name) ?? [];
      expect({ status, code, type, messagesType, fault, retry, more }).toEqual({
        status: String(row.status),
        code: `\`${row.code ?? name}\``,
        type: `\`${row.type}\``,
        messagesType: `\`${row.messagesType}\``,
        fault: row.fault,
        retry: row.mayRetry ? 'yes' : 'no',
        more: [],
      });
      for (const sentence of [when, wayOut]) expect(sentence).toMatch(/^[A-Z`].{10,}\.$/);
    },
  );

  test('no two rows have the same text', () => {
    const whens = [...documented.values()].map((cells) => cells[6]);
    expect(new Set(whens).size).toBe(whens.length);
  });
});

describe('the table', () => {
  // The specification, "Errors": binding.
  test.each([
    ['invalid_parameter', 400, 'invalid_request_error', 'invalid_parameter'],
    ['invalid_api_key', 401, 'invalid_request_error', 'invalid_api_key'],
    ['rate_limit_exceeded', 429, 'rate_limit_error', 'rate_limit_exceeded'],
    ['internal_error', 500, 'server_error', 'internal_error'],
  ] as const)('%s is as specified', (name, status, type, code) => {
    const error = new GatewayError(name, 'message');
    expect(error.status).toBe(status);
    expect(error.toErrorObject('openai')).toEqual({ message: 'message', type, code, param: null });
  });

  test.each(rows)('%s: the status fits the side at fault', (name, { status, fault }) => {
    const isCallers = status < 500;
    expect(isCallers, `${name} is the fault of the ${fault}`).toBe(fault === 'caller');
  });

  test('only 401 has type 401: a provider that rejects the platform never looks like a bad key of the caller', () => {
    expect(rows.filter(([, { status }]) => status === 401).map(([name]) => name)).toEqual([
      'invalid_api_key',
    ]);
  });
});

describe('the body of an error', () => {
  test.each(rows)(
    '%s: x-should-retry is false where trying again cannot help, and never true',
    (name, row) => {
      const { headers } = new GatewayError(name, 'message');
      expect(headers['x-should-retry']).toBe(row.mayRetry ? undefined : 'false');
      expect(headers['www-authenticate']).toBe(row.status === 401 ? 'Bearer' : undefined);
    },
  );

  test.each(rows)('%s: both body shapes', (name, row) => {
    const error = new GatewayError(name, 'A "message"\n😀', { param: 'p' });
    const code = row.code ?? name;
    expect(JSON.parse(encodeErrorBody(error, 'openai', 'req_1'))).toEqual({
      error: { message: 'A "message"\n😀', type: row.type, code, param: 'p' },
    });
    expect(JSON.parse(encodeErrorBody(error, 'messages', 'req_1'))).toEqual({
      type: 'error',
      error: { type: row.messagesType, message: 'A "message"\n😀', code },
      request_id: 'req_1',
    });
  });

  test('without a parameter, param is null', () => {
    expect(JSON.parse(encodeErrorBody(new GatewayError('not_found', 'm'), 'openai', 'r'))).toEqual({
      error: { message: 'm', type: 'invalid_request_error', code: 'not_found', param: null },
    });
  });

  test("an upstream's own status, type and code are kept if it rejected the request", () => {
    const upstream = { status: 422, type: 'their_type', code: null };
    const error = new GatewayError('invalid_parameter', 'theirs', { upstream });
    expect(error.status).toBe(422);
    for (const shape of ['openai', 'messages'] as const) {
      expect(error.toErrorObject(shape)).toMatchObject({ type: 'their_type', code: null });
    }
  });
});

describe('retry-after', () => {
  const headersFor = (retryAfterSeconds: number): readonly (string | undefined)[] => {
    const { headers } = new GatewayError('rate_limit_exceeded', 'm', { retryAfterSeconds });
    return [headers['retry-after'], headers['retry-after-ms']];
  };

  // Clients sleep exactly as long as they are reported, some for days; the OpenAI SDK ignores values above a minute.
  test.each([
    [0, '1', '1'],
    [-5, '1', '1'],
    [0.001, '1', '1'],
    [0.25, '1', '250'],
    [1, '1', '1000'],
    [1.001, '2', '1001'],
    [59.5, '60', '59500'],
    [60, '60', '60000'],
    [60.001, '60', '60000'],
    [86_400, '60', '60000'],
    [Number.POSITIVE_INFINITY, '60', '60000'],
    [Number.NEGATIVE_INFINITY, '1', '1'],
    [Number.NaN, '1', '1'],
  ])('%d seconds are reported as %s, and as %s ms', (seconds, ...reported) => {
    expect(headersFor(seconds)).toEqual(reported);
  });

  test('is a whole number from 1 to 60 for any wait, and never below it within that range', () => {
    fc.assert(
      fc.property(fc.double(), (seconds) => {
        const [reported = Number.NaN, reportedMs = Number.NaN] = headersFor(seconds).map(Number);
        expect(Number.isInteger(reported) && reported >= 1 && reported <= 60).toBe(true);
        expect(Number.isInteger(reportedMs) && reportedMs >= 1 && reportedMs <= reported * 1000).toBe(true);
        if (seconds <= 60) expect(reportedMs / 1000).toBeGreaterThanOrEqual(seconds);
      }),
      { seed: 20_261_121 },
    );
  });

  test('is not sent if the wait is unknown', () => {
    const { headers } = new GatewayError('rate_limit_exceeded', 'm');
    for (const name of ['retry-after', 'retry-after-ms']) expect(headers).not.toHaveProperty(name);
  });
});

test('the text of an upstream is cut to 4,096 characters, with both ends kept; a parameter to 256', () => {
  const words = `Because of ${'x'.repeat(60_000)} (send less)`;
  const { message, param } = new GatewayError('invalid_parameter', words, {
    param: 'p'.repeat(300),
  }).toErrorObject('openai');
  expect(message).toMatch(/^Because of x+…x+ \(send less\)$/);
  expect([message.length, param?.length]).toEqual([4_096, 256]);
});
