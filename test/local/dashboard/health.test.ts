// Does a Provider say in local mode whether its upstream answers, as it does on a cluster?

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { UpstreamHealth } from '../../../core/contract/exchange.ts';
import { healthCondition, troublesHere } from '../../../local/dashboard/health.ts';
import { until } from '../../support/until.ts';
import type { LocalRig } from '../rig.ts';
import { group, type Person, signIn, startDashboardRig } from './person.ts';

describe('an upstream is', () => {
  const of = (state: UpstreamHealth['state'], more: Partial<UpstreamHealth> = {}): UpstreamHealth => ({
    provider: 'default/p',
    state,
    ...more,
  });
  test.each<[string, readonly UpstreamHealth[]]>([
    ['Unknown NoTraffic', []],
    ['True Healthy', [of('working')]],
    ['True Healthy', [of('working'), of('rate-limited', { key: 'main' })]],
    ['False Unhealthy', [of('open')]],
    ['False Unhealthy', [of('open'), of('working', { upstreamModel: 'm' })]],
    ['False Unhealthy', [of('open', { upstreamModel: 'm' })]],
    ['False PartiallyHealthy', [of('open', { upstreamModel: 'm' }), of('working', { upstreamModel: 'n' })]],
    ['False AuthenticationFailed', [of('working'), of('rejected', { key: 'main' })]],
    ['False CredentialExhausted', [of('working'), of('out-of-money', { key: 'main' })]],
  ])('%s: %j', (words, entries) => {
    const { status, reason } = healthCondition(entries, ['main']);
    expect(`${status} ${reason}`).toBe(words);
  });

  test('not said to refuse keys of which one was never tried', () => {
    const entries = [of('working'), of('rejected', { key: 'main' })];
    expect(healthCondition(entries, ['main', 'second']).reason).toBe('Healthy');
  });
});

describe('what is not used is told', () => {
  const entry = (state: UpstreamHealth['state'], more: Partial<UpstreamHealth> = {}): UpstreamHealth => ({
    provider: 'default/p',
    state,
    ...more,
  });
  const nowMs = Date.parse('2026-11-23T06:00:00Z');
  const pod = (sinceTime: string, more: object = {}) => [{ name: 'this gateway', sinceTime, ...more }];

  test('with since when and until when, and nothing where all is well', () => {
    const entries = [
      entry('open', { upstreamModel: 'm', untilMs: nowMs + 5_000 }),
      entry('rejected', { key: 'main' }),
      entry('rate-limited', { key: 'gone' }),
      entry('working'),
    ];
    const troubles = troublesHere(entries, ['main'], undefined, nowMs);
    expect(troubles).toEqual([
      {
        upstreamModel: 'm',
        reason: 'CircuitOpen',
        podCount: 1,
        pods: pod('2026-11-23T06:00:00Z', { nextTryTime: '2026-11-23T06:00:05Z' }),
      },
      { key: 'main', reason: 'Invalid', podCount: 1, pods: pod('2026-11-23T06:00:00Z') },
    ]);
    const later = [entry('rejected', { key: 'main' }), entry('open')];
    expect(troublesHere(later, ['main'], { health: { troubles } }, nowMs + 60_000)).toEqual([
      { key: 'main', reason: 'Invalid', podCount: 1, pods: pod('2026-11-23T06:00:00Z') },
      { reason: 'CircuitOpen', podCount: 1, pods: pod('2026-11-23T06:01:00Z') },
    ]);
    expect(troublesHere([entry('working')], ['main'], undefined, nowMs)).toBeUndefined();
  });
});

describe('over a gateway', () => {
  let rig: LocalRig;
  let person: Person;
  beforeAll(async () => {
    rig = await startDashboardRig();
    person = await signIn(rig);
  }, 30_000);
  afterAll(() => rig?.close());

  test('nothing is known before the first call; then it is told of each what its calls came to', async () => {
    const statusOf = async (name: string) =>
      (await person.kube('GET', `${group}/namespaces/default/providers/${name}`)).body.status;
    const healthyOf = async (name: string) => {
      const { conditions } = await statusOf(name);
      const { status, reason } = conditions.find(({ type }) => type === 'Healthy') ?? {};
      return `${status} ${reason}`;
    };
    expect(await healthyOf('down')).toBe('Unknown NoTraffic');
    expect(await statusOf('down')).not.toHaveProperty('health');
    // Until the breaker of the one that is down is open.
    for (let count = 0; count < 6; count += 1) expect((await rig.ask('penstock/failover')).status).toBe(200);
    await until(async () => (await healthyOf('down')) === 'False Unhealthy');
    await until(async () => (await healthyOf('second')) === 'True Healthy');
    expect(await statusOf('down')).toMatchObject({
      health: {
        healthyPods: 0,
        totalPods: 1,
        troubles: [{ reason: 'CircuitOpen', podCount: 1, pods: [{ name: 'this gateway' }] }],
      },
    });
    expect(await statusOf('second')).not.toHaveProperty('health.troubles');
    // An outage of an upstream is none of the object.
    expect((await statusOf('down')).conditions.find(({ type }) => type === 'Ready')?.status).toBe('True');
  });
});
