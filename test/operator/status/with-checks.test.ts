// How is an upstream, by calls and by checks together?

import { expect, test } from 'vitest';
import { type CheckFindings, FOUND_EARLIER } from '../../../operator/probe/prober.ts';
import type { ProviderHealth } from '../../../operator/status/health-of.ts';
import { withChecks } from '../../../operator/status/with-checks.ts';

const calls = (reason: ProviderHealth['reason'], more: Partial<ProviderHealth> = {}): ProviderHealth => ({
  reason,
  healthyPods: 0,
  totalPods: 0,
  failing: new Set(),
  calls: new Map(),
  unknownModels: new Set(),
  keys: new Map(),
  answeredKeys: new Set(),
  troubles: [],
  ...more,
});
const checks = (state: CheckFindings['endpoint']['state'], ...refused: string[]): CheckFindings => ({
  endpoint: { state, against: 0, message: state === 'unhealthy' ? 'GET it was answered with 500' : '' },
  refusedKeys: new Map(refused.map((name) => [name, 'GET it was answered with 401'])),
});

test.each([
  [undefined, checks('healthy'), 'Healthy'],
  [undefined, checks('unknown'), 'NoTraffic'],
  [undefined, checks('unhealthy'), 'Unhealthy'],
  [undefined, checks('healthy', 'a', 'b'), 'AuthenticationFailed'],
  [undefined, checks('healthy', 'a'), 'Healthy'],
  [calls('NoTraffic'), checks('healthy'), 'Healthy'],
  [calls('NoTraffic'), checks('unhealthy'), 'Unhealthy'],
  [calls('Healthy'), checks('unhealthy'), 'PartiallyHealthy'],
  [calls('Healthy'), checks('healthy', 'a', 'b'), 'Healthy'],
  [calls('Unhealthy'), checks('healthy'), 'Unhealthy'],
  [calls('PartiallyHealthy'), checks('unhealthy'), 'PartiallyHealthy'],
  [calls('CredentialExhausted'), checks('healthy'), 'CredentialExhausted'],
  [calls('CredentialExhausted'), checks('unhealthy'), 'CredentialExhausted'],
] as const)('calls %j, checks %j: %s', (called, checked, reason) => {
  expect(withChecks(called, checked, ['a', 'b'])?.reason).toBe(reason);
});

test('without a check the calls decide', () => {
  const known = calls('Healthy');
  expect(withChecks(known, undefined, [])).toBe(known);
  expect(withChecks(undefined, undefined, [])).toBeUndefined();
});

test('a failure is reported in a sentence', () => {
  expect(withChecks(undefined, checks('unhealthy'), [])?.message).toBe(
    'the check of the operator fails: GET it was answered with 500',
  );
});

test.each([
  ['while calls fail too', calls('Unhealthy'), checks('unhealthy'), 'GET it was answered with 500'],
  ['while no call is made', undefined, checks('unhealthy'), 'GET it was answered with 500'],
  [
    'of keys that it refuses',
    calls('AuthenticationFailed'),
    checks('healthy', 'a'),
    'GET it was answered with 401',
  ],
  ['where it fails not', calls('Unhealthy'), checks('healthy'), undefined],
  [
    'of a key that calls are answered with',
    calls('Healthy', { answeredKeys: new Set(['a']) }),
    checks('healthy', 'a'),
    undefined,
  ],
  [
    'that only the leader before knew',
    undefined,
    { ...checks('unhealthy'), endpoint: { state: 'unhealthy', against: 0, message: FOUND_EARLIER } },
    undefined,
  ],
] as const)('the result of the check %s is the last error', (_, called, checked, lastError) => {
  expect(withChecks(called, checked, ['a', 'b'])?.lastError).toBe(lastError);
});

test('a key that a check finds rejected is invalid, unless calls with it are answered', () => {
  const found = withChecks(calls('Healthy', { answeredKeys: new Set(['b']) }), checks('healthy', 'a', 'b'), [
    'a',
    'b',
  ]);
  expect([...(found?.keys ?? [])].map(([name, { state }]) => [name, state])).toEqual([['a', 'Invalid']]);
});

test('a check that finds the provider down, or every key rejected, counts for every target, unless calls are answered', () => {
  expect(withChecks(undefined, checks('unhealthy'), ['main'])?.failing).toBe('*');
  expect(withChecks(calls('NoTraffic'), checks('healthy', 'main'), ['main'])?.failing).toBe('*');
  for (const known of [calls('Healthy'), calls('PartiallyHealthy', { failing: new Set(['m']) })]) {
    expect(withChecks(known, checks('unhealthy'), ['main'])?.failing).toBe(known.failing);
  }
});

test('keys that calls find out of credit and keys that a check finds rejected count together as all keys', () => {
  const exhausted = { state: 'Exhausted', message: 'it is out of money' } as const;
  const known = calls('Healthy', { keys: new Map([['a', exhausted]]) });
  const checked = checks('healthy', 'b');
  expect(withChecks(known, checked, ['a', 'b'])).toMatchObject({
    reason: 'CredentialExhausted',
    failing: '*',
  });
  expect(withChecks(known, checked, ['a', 'b', 'c'])?.reason).toBe('Healthy');
  expect(withChecks({ ...known, reason: 'Unhealthy' }, checked, ['a', 'b'])?.reason).toBe('Unhealthy');
  const answered = { ...known, answeredKeys: new Set(['b']) };
  expect(withChecks(answered, checked, ['a', 'b'])?.reason).toBe('Healthy');
});
