// What does a finished attempt say about its upstream?

import { describe, expect, test } from 'vitest';
import { type AttemptFailure, judgeFailure } from '../../../gateway/attempt/failure.ts';
import type { UpstreamError } from '../../../gateway/dialects/dialect.ts';
import { healthSignal, type SignalFacts } from '../../../gateway/pipeline/health-signal.ts';
import type { HealthSignal } from '../../../gateway/route/health.ts';

const noWords: UpstreamError = { message: '', type: null, code: null, param: null, status: null };
const status = (code: number, words: Partial<UpstreamError> = {}, retryAfterMs?: number): AttemptFailure => ({
  kind: 'status',
  status: code,
  error: { ...noWords, ...words },
  retryAfterMs,
});
const timeout = (timer: 'first-event' | 'liveness' | 'total'): AttemptFailure => ({ kind: 'timeout', timer });
const unknown = status(404, { message: 'The model `x` does not exist', code: 'model_not_found' });

function signalOf(
  failure: AttemptFailure,
  {
    hasStoredState = false,
    firstContentMs = undefined as number | undefined,
    durationMs = 1,
    patience = undefined as SignalFacts['patience'],
  } = {},
): HealthSignal {
  const outcome = firstContentMs === undefined ? 'failed' : 'broken-off';
  return healthSignal({ outcome, failure, firstContentMs, durationMs }, judgeFailure(failure), {
    rateLimitCooldownMs: 20_000,
    hasStoredState,
    patience,
  });
}

const rest = (reason: 'rate-limit' | 'out-of-money' | 'rejected', forMs: number): HealthSignal => ({
  type: 'key-cooldown',
  reason,
  cause: { 'rate-limit': 'status_429', 'out-of-money': 'status_402', rejected: 'status_401' }[reason],
  forMs,
});

test.each<[string, HealthSignal, HealthSignal]>([
  ['500', signalOf(status(500)), { type: 'target-failure', cause: 'status_500', mayBeCallers: true }],
  ['503', signalOf(status(503)), { type: 'target-failure', cause: 'status_503' }],
  [
    'silence',
    signalOf(timeout('first-event')),
    { type: 'target-failure', cause: 'timeout_first_event', mayBeCallers: true },
  ],
  [
    'no connection',
    signalOf({ kind: 'transport', code: 'tls_failed', detail: '' }),
    { type: 'endpoint-failure', cause: 'tls_failed' },
  ],
  ["a caller's mistake", signalOf(status(400)), { type: 'none' }],
  ['429 without a time', signalOf(status(429)), rest('rate-limit', 20_000)],
  ['429 with a time', signalOf(status(429, {}, 1_500)), rest('rate-limit', 1_500)],
  ['429 with a time of a day', signalOf(status(429, {}, 86_400_000)), rest('rate-limit', 300_000)],
  ['402', signalOf(status(402)), rest('out-of-money', 300_000)],
  ['401', signalOf(status(401)), rest('rejected', 60_000)],
  ['403', signalOf(status(403)), { type: 'denied', cause: 'status_403' }],
  [
    '401 of what the identity may not do',
    signalOf(status(401, { code: 'PermissionDenied' })),
    { type: 'denied', cause: 'status_401' },
  ],
  ['a model that is not known', signalOf(unknown), { type: 'misconfigured', cause: 'status_404' }],
  ['404 of what the request refers to', signalOf(unknown, { hasStoredState: true }), { type: 'none' }],
  [
    '410 of a model',
    signalOf(status(410, { message: 'The model `x` was retired' })),
    { type: 'misconfigured', cause: 'status_410' },
  ],
  ['410 of what the request refers to', signalOf(status(410), { hasStoredState: true }), { type: 'none' }],
  ['407', signalOf(status(407)), { type: 'endpoint-failure', cause: 'status_407' }],
  [
    '404 of a deployment',
    signalOf(status(404, { message: 'No such thing', code: 'DeploymentNotFound' })),
    { type: 'misconfigured', cause: 'status_404' },
  ],
  [
    '404 of an address without the API',
    signalOf(status(404, { message: 'Not Found' })),
    { type: 'target-failure', cause: 'status_404' },
  ],
  [
    'the same, where the request refers to something',
    signalOf(status(404, { message: 'Not Found' }), { hasStoredState: true }),
    { type: 'none' },
  ],
  ['404 that says nothing of a model', signalOf(status(404, { message: 'No such file' })), { type: 'none' }],
  [
    'a stream that fell silent',
    signalOf(timeout('liveness'), { firstContentMs: 5 }),
    { type: 'target-failure', cause: 'timeout_liveness' },
  ],
  ['a stream longer than the deadline', signalOf(timeout('total'), { firstContentMs: 5 }), { type: 'none' }],
  [
    'nothing until the deadline',
    signalOf(timeout('total')),
    { type: 'target-failure', cause: 'timeout_total', mayBeCallers: true },
  ],
])('%s', (_name, signal, expected) => {
  expect(signal).toEqual(expected);
});

test('an answer is a success, and a cancelled attempt does not count', () => {
  const facts = { rateLimitCooldownMs: 1, hasStoredState: false };
  const cancelled = { outcome: 'cancelled', firstContentMs: undefined, durationMs: 5 } as const;
  expect(healthSignal({ outcome: 'answered', firstContentMs: 3, durationMs: 5 }, undefined, facts)).toEqual({
    type: 'success',
  });
  expect(healthSignal(cancelled, undefined, facts)).toEqual({ type: 'none' });
});

describe('a route of another namespace that waits', () => {
  const connect: AttemptFailure = { kind: 'transport', code: 'connect_timeout', detail: '' };
  const failures = [timeout('first-event'), timeout('liveness'), timeout('total'), connect];
  const givenOf = (givenMs: number) => () => ({ givenMs, ownersMs: 1_000 });

  test.each(failures)('less than the owner of the upstream allows: %o does not count', (failure) => {
    expect(signalOf(failure, { patience: givenOf(999), durationMs: 1_000 })).toEqual({ type: 'none' });
  });

  test.each(failures)('as long as the owner of the upstream allows: %o is a failure', (failure) => {
    expect(signalOf(failure, { patience: givenOf(1_000), durationMs: 950 })).toMatchObject({
      type: expect.stringMatching(/-failure$/),
    });
  });

  test('as long, but for a request whose time earlier attempts have used: does not count', () => {
    expect(signalOf(timeout('total'), { patience: givenOf(1_000), durationMs: 500 })).toEqual({
      type: 'none',
    });
  });

  test('for anything but a timeout counts as always', () => {
    const patience = givenOf(1);
    expect(signalOf(status(500), { patience })).toMatchObject({ type: 'target-failure' });
    expect(signalOf({ kind: 'transport', code: 'connect_refused', detail: '' }, { patience })).toMatchObject({
      type: 'endpoint-failure',
    });
  });
});
