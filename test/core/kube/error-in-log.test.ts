// What a log shows of unexpected errors, and what it does not.

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
])('of a %s has its position, and none of its values', (name, step) => {
  const reported = errorInLog(thrownBy(step));
  expect(reported.split('\n')[0]).toBe(name);
  expect(reported).toContain('error-in-log.test.ts');
  expect(reported).not.toContain('canary');
});

test('of our own has its message too, and none of its other members', () => {
  const error = Object.assign(new Error('an answer is missing', { cause: new Error(secret) }), { secret });
  const reported = errorInLog(error);
  expect(reported).toMatch(/^Error: an answer is missing\n +at /);
  expect(reported).not.toContain('canary');
});

test('of a value that is no error has that alone', () => {
  expect(errorInLog(secret)).toBe('not an error, but string');
});
