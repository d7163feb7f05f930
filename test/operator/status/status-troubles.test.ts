// Does the status of a Provider say which pods do not use it, or a key of it, and no more often than that helps?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { UpstreamHealth } from '../../../core/contract/exchange.ts';
import type { PodAnswer } from '../../../operator/pods/pods-state.ts';
import { providerStatusSchema } from '../../../operator/resources/provider.ts';
import { indexHealth } from '../../../operator/status/health-of.ts';
import type { ObjectStatus } from '../../../operator/status/object-status.ts';
import { settleTroubles, troublesOf } from '../../../operator/status/troubles.ts';
import { provider, secret } from '../make.ts';
import { heard, judge, look, NOW_MS, reports, withStatus, written } from './status-support.ts';

const keys = ['main', 'spare'].map((name) => ({ name, secretRef: { name: 'openai', key: name } }));
const PROVIDER = provider({ auth: { keys } }, { generation: 3 });
const VERDICT = judge('Provider', {
  providers: [PROVIDER],
  secrets: [secret({ data: { main: 'sk-a', spare: 'sk-b' } })],
});

const about = (state: UpstreamHealth['state'], more: Partial<UpstreamHealth> = {}): UpstreamHealth => ({
  provider: 'team-a/openai',
  state,
  ...more,
});
const working = reports(about('working'));
const open = reports(about('open', { untilMs: NOW_MS + 5_000 }));
const at = (seconds: number) => NOW_MS + seconds * 1000;
const facts = (answers: readonly (PodAnswer | undefined)[], nowMs = NOW_MS) => ({
  health: indexHealth(...heard(answers))(VERDICT),
  nowMs,
});
const first = (...answers: PodAnswer[]) => written(look(PROVIDER, VERDICT, facts(answers)));
const then = (status: ObjectStatus, answers: readonly (PodAnswer | undefined)[], nowMs: number) =>
  look(withStatus(PROVIDER, status), VERDICT, facts(answers, nowMs));

describe('the status names pods', () => {
  test('that have stopped calling the address, with the time of their next try', () => {
    expect(first(working, open)).toMatchObject({
      health: {
        healthyPods: 1,
        totalPods: 2,
        troubles: [
          {
            reason: 'CircuitOpen',
            podCount: 1,
            pods: [{ name: 'b', sinceTime: '2026-06-01T00:00:00Z', nextTryTime: '2026-06-01T00:00:05Z' }],
          },
        ],
        troublesObservedAt: '2026-06-01T00:00:00Z',
      },
    });
  });

  test('by model and by key, with the reason of each', () => {
    const mixed = reports(
      about('rate-limited', { key: 'main' }),
      about('rejected', { key: 'spare' }),
      about('open', { upstreamModel: 'large' }),
    );
    const poor = reports(about('out-of-money', { key: 'main' }), about('open', { upstreamModel: 'large' }));
    expect(first(mixed, poor)).toMatchObject({
      health: {
        troubles: [
          {
            upstreamModel: 'large',
            reason: 'CircuitOpen',
            podCount: 2,
            pods: [{ name: 'a' }, { name: 'b' }],
          },
          { key: 'main', reason: 'Exhausted', podCount: 1, pods: [{ name: 'b' }] },
          { key: 'main', reason: 'RateLimited', podCount: 1, pods: [{ name: 'a' }] },
          { key: 'spare', reason: 'Invalid', podCount: 1, pods: [{ name: 'a' }] },
        ],
      },
    });
  });

  test('and none without errors, without calls, or for a key of another Provider', () => {
    for (const answer of [
      working,
      reports(),
      reports(about('rejected', { key: 'gone' }), about('working')),
    ]) {
      const status = first(answer, working);
      expect(status).not.toHaveProperty('health.troubles');
      expect(status).not.toHaveProperty('health.troublesObservedAt');
    }
  });

  test('and a silent pod counts neither as working nor as troubled', () => {
    const silent: PodAnswer = { ...open, failure: 'it does not answer' };
    const { health } = providerStatusSchema.parse(first(working, silent));
    expect(health).toMatchObject({ healthyPods: 1, totalPods: 1 });
    expect(health).not.toHaveProperty('troubles');
  });

  test('up to ten, with the total, for sixteen troubles; a hundred pods fit well below 32 kB', () => {
    const models = Array.from({ length: 40 }, (_, index) => `${'m'.repeat(250)}-${10 + index}`);
    const entries = models.map((upstreamModel) => about('open', { upstreamModel, untilMs: NOW_MS }));
    const views = Array.from({ length: 100 }, (_, index) => ({
      pod: `${'gateway-'.repeat(7)}${100 + index}`,
      entries,
    }));
    const health = settleTroubles(troublesOf(views.toReversed(), []), undefined, NOW_MS, false);
    expect(health.troubles).toHaveLength(16);
    for (const [index, { podCount, pods, upstreamModel }] of (health.troubles ?? []).entries()) {
      expect([podCount, upstreamModel]).toEqual([100, models[index]]);
      expect(pods.map(({ name }) => name)).toEqual(views.slice(0, 10).map(({ pod }) => pod));
    }
    expect(JSON.stringify(health).length).toBeLessThan(32_000);
    expect(providerStatusSchema.safeParse({ health }).success).toBe(true);
  });
});

describe('the status is written', () => {
  const half = first(working, open);

  test('for troubles alone at most once a minute', () => {
    const served = reports(about('working', { key: 'main' }));
    const healthy = first(served, served, served);
    const limited = reports(about('working'), about('rate-limited', { key: 'main' }));
    expect(then(healthy, [served, limited, served], at(20))).toEqual({ type: 'wait', untilMs: at(60) });
    const reported = written(then(healthy, [served, limited, served], at(70)));
    expect(reported).toMatchObject({ health: { troubles: [{ key: 'main', pods: [{ name: 'b' }] }] } });
    expect(then(reported, [limited, limited, served], at(90))).toEqual({ type: 'wait', untilMs: at(130) });
    expect(written(then(reported, [limited, limited, served], at(130)))).toMatchObject({
      health: {
        troubles: [
          {
            podCount: 2,
            pods: [
              { name: 'a', sinceTime: '2026-06-01T00:02:10Z' },
              { name: 'b', sinceTime: '2026-06-01T00:01:10Z' },
            ],
          },
        ],
        troublesObservedAt: '2026-06-01T00:02:10Z',
      },
    });
  });

  test('with other news of the upstream', () => {
    const worse = written(then(half, [open, open], at(10)));
    expect(worse).toMatchObject({
      health: { healthyPods: 0, troubles: [{ podCount: 2, pods: [{ name: 'a' }, { name: 'b' }] }] },
    });
    const mended = written(then(worse, [working, working], at(20)));
    expect(mended).toMatchObject({ health: { healthyPods: 2, troublesObservedAt: '2026-06-01T00:00:20Z' } });
    expect(mended).not.toHaveProperty('health.troubles');
  });

  test('not for a new time of the next try, nor for a pod after the tenth', () => {
    const later = reports(about('open', { untilMs: at(925) }));
    expect(then(half, [working, later], at(900))).toEqual({ type: 'same' });
    const eleven = Array.from({ length: 11 }, () => open);
    expect(then(first(...eleven, working), [...eleven, open, working], at(900))).toEqual({ type: 'same' });
  });

  test('not while reports of a pod are missing; the previous status stays', () => {
    expect(then(half, [working, undefined], at(900))).toEqual({ type: 'same' });
  });

  test('without troubles for a Provider that is out of service', () => {
    const verdict = judge('Provider', { providers: [PROVIDER] });
    const status = written(look(withStatus(PROVIDER, half), verdict, facts([open, open], at(1))));
    expect(status).not.toHaveProperty('health.troubles');
  });
});

test('reports of pods in any order give the same status, and an unchanged status is not written again', () => {
  const entry = fc.record(
    {
      state: fc.constantFrom<UpstreamHealth['state']>('working', 'open', 'rate-limited', 'rejected'),
      key: fc.constantFrom('main', 'spare', 'gone'),
      upstreamModel: fc.constantFrom('m', 'n'),
      untilMs: fc.integer({ min: NOW_MS, max: NOW_MS + 60_000 }),
    },
    { requiredKeys: ['state'] },
  );
  const views = fc.uniqueArray(
    fc.record({
      pod: fc.stringMatching(/^[a-z]{1,3}$/),
      entries: fc.array(
        entry.map((more) => ({ provider: 'team-a/openai', ...more })),
        { maxLength: 6 },
      ),
    }),
    { selector: ({ pod }) => pod, maxLength: 30 },
  );
  fc.assert(
    fc.property(views, (all) => {
      const usedKeys = ['main', 'spare'];
      const troubles = troublesOf(all, usedKeys);
      expect(troublesOf(all.toReversed(), usedKeys)).toEqual(troubles);
      const { againMs: _, ...reported } = settleTroubles(troubles, undefined, NOW_MS, false);
      expect(providerStatusSchema.safeParse({ health: reported }).success).toBe(true);
      expect(settleTroubles(troubles, reported, at(900), true)).toEqual(reported);
      const names = new Set(all.map(({ pod }) => pod));
      for (const { podCount, pods } of reported.troubles ?? []) {
        expect(pods.length).toBe(Math.min(podCount, 10));
        expect(pods.every(({ name }) => names.has(name))).toBe(true);
      }
    }),
  );
});
