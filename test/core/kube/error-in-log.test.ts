// What learns of errors that nobody expected, and what is not.

import { expect, test } from 'vitest';
import { errorInLog } from '../../../core/kube/error-in-log.ts';

const secret = 'sk-canary-0123456789';

const thrownBy = (step: () => unknown): unknown => {
  try {
    return step();
  } catch (error) {
    return error;
  }
};

test.each([
  ['SyntaxError', () => JSON.parse(`${secret}`)],
  ['TypeError: ERR_INVALID_ARG_TYPE', () => Buffer.concat(Object(secret))],
  ['TypeError: ERR_INVALID_URL', () => new URL(secret)],
  ['TypeError', () => Object.assign(secret, { length: 0 })],
])('of a %s its place, and none of the values it is about', (name, step) => {
  const reported = errorInLog(thrownBy(step));
  expect(reported.split('\n')[0]).toBe(name);
  expect(reported).toContain('error-in-log.test.ts');
  expect(reported).not.toContain('canary');
});

test('of an error of ours its words too, and nothing that hangs on it', () => {
  const error = Object.assign(new Error('an answer is missing', { cause: new Error(secret) }), { secret });
  const reported = errorInLog(error);
  expect(reported).toMatch(/^Error: an answer is missing\n +at /);
  expect(reported).not.toContain('canary');
});

test('of what is no error only that', () => {
  expect(errorInLog(secret)).toBe('not an error, but string');
});
