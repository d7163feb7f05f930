// Does a Provider say in local mode whether its upstream answers, as it does on a cluster?

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { UpstreamHealth } from '../../../core/contract/exchange.ts';
import { troublesHere } from '../../../local/dashboard/health.ts';
import { troublesOf } from '../../../operator/status/troubles.ts';
import { until } from '../../support/until.ts';
import type { LocalRig } from '../rig.ts';
import { group, type Person, signIn, startDashboardRig } from './person.ts';

describe('unavailable upstreams', () => {
  const entry = (state: UpstreamHealth['state'], more: Partial<UpstreamHealth> = {}): UpstreamHealth => ({
    provider: 'default/p',
    state,
    ...more,
  });
  const nowMs = Date.parse('2026-11-23T06:00:00Z');
  const pod = (sinceTime: string, more: object = {}) => [{ name: 'this gateway', sinceTime, ...more }];

  test('are reported with start and end, and none if all work', () => {
    const entries = [
      entry('open', { upstreamModel: 'm', untilMs: nowMs + 5_000 }),
      entry('rejected', { key: 'main' }),
      entry('rate-limited', { key: 'gone' }),
      entry('working'),
    ];
    const here = (of: readonly UpstreamHealth[], before?: object, atMs = nowMs) =>
      troublesHere(troublesOf([{ pod: 'this gateway', entries: of }], ['main']), before, atMs);
    const troubles = here(entries);
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
    expect(here(later, { health: { troubles } }, nowMs + 60_000)).toEqual([
      { reason: 'CircuitOpen', podCount: 1, pods: pod('2026-11-23T06:01:00Z') },
      { key: 'main', reason: 'Invalid', podCount: 1, pods: pod('2026-11-23T06:00:00Z') },
    ]);
    expect(here([entry('working')])).toBeUndefined();
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

  test('nothing is known before the first call; then each has the result of its calls', async () => {
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

  test('a model whose every call fails is reported with reason and time, until it is repaired', async () => {
    const at = (plural: string, name: string) => `${group}/namespaces/default/${plural}/${name}`;
    const statusOf = async (plural: string, name: string) =>
      (await person.kube('GET', at(plural, name))).body.status;
    const broken = (name: string, providerName: string, upstreamModel: string) => `
apiVersion: penstock.dev/v1alpha1
kind: ModelRoute
metadata: { name: ${name}, namespace: default }
spec:
  model: ${name}
  visibility: Public
  allowedNamespaces: { from: All }
  targets: [{ name: main, providerRef: { name: ${providerName} }, upstreamModel: ${upstreamModel} }]
---
`;
    const lost = `
apiVersion: penstock.dev/v1alpha1
kind: Provider
metadata: { name: lost, namespace: default }
spec: { type: OpenAICompatible, baseURL: "http://nowhere.invalid/v1", apis: [ChatCompletions], auth: { type: None } }
`;
    const failing = broken('broken', 'first', 'sim-x+fault=error-500') + broken('gone', 'lost', 'm') + lost;
    await rig.write('broken.yaml', failing);
    await until(async () => (await rig.ask('broken')).status === 502);
    await until(async () => (await rig.ask('gone')).status === 502);
    await until(async () => (await statusOf('modelroutes', 'broken')).state === 'Failing');
    await until(async () => (await statusOf('modelroutes', 'gone')).state === 'Failing');
    expect(await statusOf('modelroutes', 'broken')).toMatchObject({
      usableTargets: 0,
      targets: [
        {
          state: 'Unhealthy',
          message: expect.stringMatching(/^every call has failed since \S+Z: HTTP 500; see the condition/),
        },
      ],
    });
    expect(await statusOf('modelroutes', 'gone')).toMatchObject({
      targets: [{ message: expect.stringContaining('its name cannot be resolved') }],
    });
    expect(await statusOf('providers', 'lost')).toMatchObject({ state: 'Failing' });
    await rig.write('broken.yaml', failing.replace('sim-x+fault=error-500', 'sim-x'));
    await until(async () => (await rig.ask('broken')).status === 200);
    await until(async () => (await statusOf('modelroutes', 'broken')).state === 'Serving');
    expect(JSON.stringify(await statusOf('modelroutes', 'broken'))).not.toContain('failed');
  });
});
