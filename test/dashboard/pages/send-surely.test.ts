// Is it reported truly whether a change was made, also where its answer was lost on the way?

import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../dashboard/pages/shell/api.ts';
import { isWithin, type Sending, sendSurely } from '../../../dashboard/pages/shell/send-surely.ts';

const lost = new ApiError(0, 'offline', 'nobody answers');
const away = new ApiError(504, 'status_504', 'the API server took too long');
const noToken = new ApiError(503, 'issuer_unreachable', 'no next token came');
const exists = new ApiError(409, 'AlreadyExists', 'it already exists');
const forbidden = new ApiError(403, 'Forbidden', 'you may not');

/** A server that keeps what was sent. @param answers of each sending; `arrives` whether it came there. */
function serverOf(answers: readonly { readonly arrives: boolean; readonly error?: ApiError }[]) {
  let isThere = false;
  let canLook = true;
  let sendings = 0;
  const parts: Omit<Sending, 'isAgain'> = {
    async send() {
      const { arrives, error } = answers[sendings++] ?? { arrives: true };
      if (arrives) isThere = true;
      if (error !== undefined) throw error;
    },
    async wasDone() {
      if (!canLook) throw lost;
      return isThere;
    },
  };
  return {
    parts,
    sendings: () => sendings,
    letLook: (may: boolean) => {
      canLook = may;
    },
  };
}

test('an answered change is done, without a check', async () => {
  const { parts, letLook } = serverOf([{ arrives: true }]);
  letLook(false);
  expect(await sendSurely({ ...parts, isAgain: false })).toEqual({ is: 'done' });
});

describe.each([
  ['no answer', lost],
  ['the API server took too long', away],
])('if %s', (_, error) => {
  test('the change is done if the object is there', async () => {
    const { parts } = serverOf([{ arrives: true, error }]);
    expect(await sendSurely({ ...parts, isAgain: false })).toEqual({ is: 'done' });
  });

  test('the result is unknown while the object is absent or unreadable; the next try succeeds', async () => {
    const { parts, letLook, sendings } = serverOf([
      { arrives: false, error },
      { arrives: true, error },
    ]);
    expect(await sendSurely({ ...parts, isAgain: false })).toMatchObject({ is: 'unknown' });
    letLook(false);
    // Who cannot look does not send either.
    expect(await sendSurely({ ...parts, isAgain: true })).toMatchObject({ is: 'unknown' });
    expect(sendings()).toBe(1);
    letLook(true);
    expect(await sendSurely({ ...parts, isAgain: true })).toEqual({ is: 'done' });
  });

  test('a change that arrived is not sent again', async () => {
    const { parts, letLook, sendings } = serverOf([{ arrives: true, error }]);
    letLook(false);
    expect(await sendSurely({ ...parts, isAgain: false })).toMatchObject({ is: 'unknown' });
    letLook(true);
    expect(await sendSurely({ ...parts, isAgain: true })).toEqual({ is: 'done' });
    expect(sendings()).toBe(1);
  });
});

test('a refusal is final, whatever the object is', async () => {
  const { parts } = serverOf([{ arrives: true, error: exists }]);
  expect(await sendSurely({ ...parts, isAgain: false })).toEqual({ is: 'refused', message: exists.message });
});

test('a request without a token was refused, unless it was sent before', async () => {
  const { parts, letLook } = serverOf([{ arrives: false, error: noToken }]);
  letLook(false);
  expect(await sendSurely({ ...parts, isAgain: false })).toMatchObject({ is: 'refused' });
  expect(await sendSurely({ ...parts, isAgain: true })).toMatchObject({ is: 'unknown' });
});

test('a refusal of the second try is success if the first one arrived', async () => {
  const { parts } = serverOf([
    { arrives: true, error: exists },
    { arrives: false, error: forbidden },
  ]);
  expect(await sendSurely({ ...parts, isAgain: true })).toEqual({ is: 'done' });
  const other = serverOf([{ arrives: false, error: forbidden }]);
  expect(await sendSurely({ ...other.parts, isAgain: true })).toMatchObject({ is: 'refused' });
});

test('a check without an answer has changed nothing, unless the change was sent before', async () => {
  const check = () => Promise.reject(lost);
  const { parts, sendings } = serverOf([]);
  expect(await sendSurely({ ...parts, check, isAgain: false })).toMatchObject({ is: 'refused' });
  expect(await sendSurely({ ...parts, check, isAgain: true })).toMatchObject({ is: 'unknown' });
  expect(sendings()).toBe(0);
});

test.each([
  [{ owner: { name: 'Ada' } }, { owner: { name: 'Ada', team: 'A' }, disabled: false }, true],
  [{ budgets: [{ limit: '1' }] }, { budgets: [{ limit: '1', action: 'Block' }] }, true],
  [{ budgets: [{ limit: '1' }] }, { budgets: [{ limit: '1' }, { limit: '2' }] }, false],
  [{ owner: { name: 'Ada' } }, { owner: { name: 'Bob' } }, false],
  [{ owner: { name: 'Ada' } }, {}, false],
  [{ models: ['a'] }, { models: { 0: 'a' } }, false],
  [{}, { owner: { name: 'Ada' } }, true],
])('%j is within %j: %s', (sent, there, expected) => {
  expect(isWithin(sent, there)).toBe(expected);
});
