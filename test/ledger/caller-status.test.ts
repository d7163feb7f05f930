// Does the log name the status that the gateway answers? Of each failure that records know, compared with the gateway's own decision.

import { expect, test } from 'vitest';
import { DIALECTS } from '../../core/catalog/dialects.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import { type AttemptFailure, failureCode } from '../../gateway/attempt/failure.ts';
import { finalError } from '../../gateway/attempt/final-error.ts';
import { callerStatus, failuresSeenAs } from '../../ledger/read-api/caller-status.ts';
import { failureWords, refusalWords } from '../../ledger/read-api/failure-words.ts';
import { makeRecord } from '../gateway/meter/make-facts.ts';

const error = { message: 'no', type: 'some_type', code: null, param: null, status: null } as const;
const status = (code: number): AttemptFailure => ({
  kind: 'status',
  status: code,
  error,
  retryAfterMs: undefined,
});

const statuses = [
  302, 400, 401, 402, 403, 404, 405, 407, 408, 409, 410, 413, 418, 421, 422, 425, 429, 499, 500, 501, 502,
  503, 504, 520, 522, 529, 598,
];
const failures: readonly AttemptFailure[] = [
  ...statuses.map(status),
  ...(
    [
      'egress_denied',
      'dns_failed',
      'connect_timeout',
      'connect_refused',
      'connect_failed',
      'tls_failed',
      'proxy_failed',
      'session_failed',
      'reset',
    ] as const
  ).map((code): AttemptFailure => ({ kind: 'transport', code, detail: '' })),
  { kind: 'head', detail: '' },
  ...(['first-event', 'liveness', 'progress', 'total'] as const).map(
    (timer): AttemptFailure => ({ kind: 'timeout', timer }),
  ),
  { kind: 'answer', fault: { kind: 'truncated' } },
  { kind: 'answer', fault: { kind: 'error-event', error } },
  ...(['malformed', 'unusable', 'too-large'] as const).map(
    (kind): AttemptFailure => ({ kind: 'answer', fault: { kind, detail: 'd' } }),
  ),
  { kind: 'gateway', code: 'no_room' },
  { kind: 'gateway', code: 'internal_error' },
];

const dialects = ['openai-chat', 'anthropic-messages'] as const;

function both(
  list: readonly AttemptFailure[],
  clientDialect: (typeof dialects)[number],
  isOwnProvider: boolean,
) {
  const namespace = 'team';
  const records = list.map(
    (failure): LedgerRecord => ({
      ...makeRecord(),
      outcome: 'failed',
      failure: failureCode(failure),
      clientDialect,
      namespace,
      provider: isOwnProvider ? 'team/own' : 'platform/p',
    }),
  );
  const answered = finalError(list, {
    model: 'm',
    shape: DIALECTS[clientDialect].errorShape,
    targets: list.length,
    targetsAsked: list.length,
    isOwnProvider,
    usableInMs: 0,
    commonCooldown: undefined,
  });
  return { seen: callerStatus(records), answered: answered.status, codes: records.map((one) => one.failure) };
}

test('a request that failed has the status that its caller got, whatever failed, and in any order', () => {
  let compared = 0;
  for (const dialect of dialects)
    for (const isOwn of [true, false])
      for (const first of failures) {
        for (const list of [[first], ...failures.map((second) => [first, second])]) {
          const { seen, answered, codes } = both(list, dialect, isOwn);
          expect([dialect, isOwn, codes, seen]).toEqual([dialect, isOwn, codes, answered]);
          expect(failuresSeenAs(answered)).toEqual(
            expect.arrayContaining(codes.length === 1 ? (codes as string[]) : []),
          );
          compared += 1;
        }
      }
  expect(compared).toBeGreaterThan(5_000);
});

test('an answer is a 200, also one that broke off; for a client that disconnected first the status is unknown', () => {
  const record = makeRecord();
  expect(callerStatus([{ ...record, outcome: 'answered' }])).toBe(200);
  expect(callerStatus([{ ...record, outcome: 'broken-off', failure: 'truncated' }])).toBe(200);
  const { firstContentMs: _, ...silent } = record;
  expect(callerStatus([{ ...silent, outcome: 'cancelled' }])).toBeUndefined();
  expect(callerStatus([{ ...record, outcome: 'cancelled', firstContentMs: 5 }])).toBe(200);
  expect(callerStatus([])).toBeUndefined();
});

test('each failure has a text that follows the upstream’s name, and a newer gateway’s failure has its code', () => {
  for (const failure of failures) expect(failureWords(failureCode(failure), undefined)).not.toContain('(');
  expect(failureWords('status_500', undefined)).toBe('answered HTTP 500');
  expect(failureWords('unusable', 'it has no choices')).toBe(
    'sent an answer that is not usable: it has no choices',
  );
  expect(failureWords('status_418', undefined)).toBe('answered HTTP 418');
  expect(failureWords('flood', undefined)).toBe('failed (flood)');
  expect(refusalWords('model_not_found')).toBe('The model does not exist, or this key may not use it.');
  expect(refusalWords('flood')).toBe('The gateway refused it: flood.');
});
