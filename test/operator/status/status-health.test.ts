// What does the status of a Provider say of its upstream, and how often?

import { describe, expect, test } from 'vitest';
import type { TargetCalls, UpstreamHealth } from '../../../core/contract/exchange.ts';
import type { PodAnswer } from '../../../operator/pods/pods-state.ts';
import { FOUND_EARLIER } from '../../../operator/probe/prober.ts';
import { indexHealth } from '../../../operator/status/health-of.ts';
import { withChecks } from '../../../operator/status/with-checks.ts';
import type { RawObject } from '../../../operator/watch/snapshot.ts';
import { provider, secret } from '../make.ts';
import { heard, judge, look, NOW_MS, reports, runs, say, withStatus, written } from './status-support.ts';

const twoKeys = {
  auth: {
    keys: ['main', 'spare'].map((name) => ({ name, secretRef: { name: 'openai', key: name } })),
  },
};
const PROVIDER = provider(twoKeys, { generation: 3 });
const shared = (data: Record<string, string>) => ({ providers: [PROVIDER], secrets: [secret({ data })] });
const VERDICT = judge('Provider', shared({ main: 'sk-a', spare: 'sk-b' }));

const about = (state: UpstreamHealth['state'], more: Partial<UpstreamHealth> = {}): UpstreamHealth => ({
  provider: 'team-a/openai',
  state,
  ...more,
});
const key = (name: string, state: UpstreamHealth['state']) => about(state, { key: name });
const working = reports(about('working'));
const open = reports(about('open'));
const silent: PodAnswer = { failure: 'it does not answer', atMs: 0 };

/** A pod that called these models: each failed so since the minute began, or was answered. */
const called = (models: Readonly<Record<string, Partial<TargetCalls>>>, ...health: UpstreamHealth[]) =>
  runs(1, {
    health,
    targets: Object.entries(models).map(([upstreamModel, more]) => ({
      ...{ provider: 'team-a/openai', upstreamModel, state: 'failing', calls: 1, failed: 1, sinceMs: NOW_MS },
      ...more,
    })),
  });
const answered: Partial<TargetCalls> = { state: 'answering', failed: 0 };
const partly: Partial<TargetCalls> = { state: 'partly', calls: 40, failed: 8, cause: 'status_503' };
const healthOf = (...answers: (PodAnswer | undefined)[]) => indexHealth(...heard(answers))(VERDICT);
const stored = (...answers: PodAnswer[]): RawObject =>
  withStatus(PROVIDER, written(look(PROVIDER, VERDICT, { health: healthOf(...answers) })));
const at = (seconds: number) => NOW_MS + seconds * 1000;

describe('an upstream whose calls fail', () => {
  const dead = { m: { cause: 'dns_failed' } };
  const works = {
    endpoint: { state: 'healthy' as const, against: 0, message: '' },
    refusedKeys: new Map(),
  };

  test('is Unhealthy with the first of them, with time and reason, whatever a check says', () => {
    const health = healthOf(called(dead), reports());
    for (const known of [health, withChecks(health, works, ['main', 'spare'])])
      expect(known).toMatchObject({
        reason: 'Unhealthy',
        totalPods: 1,
        failing: new Set(['m']),
        message:
          'every call has failed since 2026-06-01T00:00:00Z: its name cannot be resolved; check the host of spec.baseURL',
      });
  });

  test('fails since the first failure after the last success, over all models and pods', () => {
    const since = (...pods: PodAnswer[]) => / since (\S+Z)/.exec(healthOf(...pods)?.message ?? '')?.[1];
    const early = { sinceMs: at(0) };
    const late = { sinceMs: at(240) };
    const named = (models: Parameters<typeof called>[0]) =>
      called(
        Object.fromEntries(
          Object.entries(models).map(([name, of]) => [name, { cause: 'dns_failed', ...of }]),
        ),
      );
    expect(since(named({ m: early }))).toBe('2026-06-01T00:00:00Z');
    expect(since(named({ m: early, n: late }))).toBe('2026-06-01T00:00:00Z');
    expect(since(named({ m: early }), named({ m: late }))).toBe('2026-06-01T00:00:00Z');
    // The second model was answered before.
    expect(since(named({ m: early, n: { ...late, calls: 9, failed: 6 } }))).toBe('2026-06-01T00:04:00Z');
  });

  test('is Unhealthy even if it answered earlier, but not if another pod is answered', () => {
    const forLong = called({ m: { calls: 90, failed: 5, cause: 'status_500' } }, about('working'));
    expect(healthOf(forLong, forLong)).toMatchObject({ reason: 'Unhealthy', totalPods: 2 });
    expect(healthOf(called(dead), called({ m: answered }))).toMatchObject({
      reason: 'PartiallyHealthy',
      failing: new Set(),
      message: 'model m: some calls fail: its name cannot be resolved; check the host of spec.baseURL',
    });
  });

  test('is PartiallyHealthy if another model is answered, or only some calls fail', () => {
    expect(healthOf(called({ m: { cause: 'status_500' }, n: answered }))).toMatchObject({
      reason: 'PartiallyHealthy',
      failing: new Set(['m']),
      message:
        'model m: every call has failed since 2026-06-01T00:00:00Z: HTTP 500; check whether its service is up',
    });
    expect(healthOf(called({ a: partly, b: partly }))?.message).toMatch(
      /^model a and 1 more model: some calls/,
    );
    expect(healthOf(called({ a: partly, b: partly, c: partly }))).toMatchObject({
      reason: 'PartiallyHealthy',
      failing: new Set(),
      message: 'model a and 2 more models: some calls fail: HTTP 503; check whether its service is up',
    });
  });

  test('is reported at once if nothing was known, and ten seconds after its last change otherwise', () => {
    const soon = { health: healthOf(called(dead)), nowMs: at(1) };
    const unknown = stored(reports());
    expect(say(written(look(unknown, VERDICT, soon)), 'Healthy')).toContain('False Unhealthy');
    expect(look(stored(working), VERDICT, soon)).toEqual({ type: 'wait', untilMs: at(10) });
  });

  test('is written once while it fails for the same reason, however many calls fail', () => {
    const before = stored(called({ m: { cause: 'status_500' } }));
    for (const calls of [2, 39, 4_000])
      expect(
        look(before, VERDICT, {
          health: healthOf(called({ m: { cause: 'status_500', calls, failed: calls } })),
          nowMs: at(calls),
        }),
      ).toEqual({ type: 'same' });
  });
});

describe('an upstream', () => {
  test.each<[string, PodAnswer[], string | undefined, number, number]>([
    ['that every pod finds working', [working, working], 'Healthy', 2, 2],
    ['that the only pod that used it finds working', [working, reports()], 'Healthy', 1, 1],
    ['that one of two finds failing', [working, open], 'PartiallyHealthy', 1, 2],
    ['that all find failing', [open, open], 'Unhealthy', 0, 2],
    ['without traffic', [reports(), reports()], 'NoTraffic', 0, 0],
    ['of which a pod spoke that is silent now', [{ ...open, ...silent }, working], 'Healthy', 1, 1],
    [
      'that refuses every key',
      [reports(key('main', 'rejected'), key('spare', 'rejected'))],
      'AuthenticationFailed',
      0,
      1,
    ],
    [
      'where every key is out of credit',
      [reports(about('working'), key('main', 'out-of-money'), key('spare', 'out-of-money'))],
      'CredentialExhausted',
      0,
      1,
    ],
    [
      'that refuses one key, and the other is out of money',
      [reports(key('main', 'rejected'), key('spare', 'out-of-money'))],
      'CredentialExhausted',
      0,
      1,
    ],
    [
      'that refuses every key to one pod, and to another they are out of money',
      [
        reports(key('main', 'rejected'), key('spare', 'rejected')),
        reports(key('main', 'out-of-money'), key('spare', 'rejected')),
      ],
      'CredentialExhausted',
      0,
      2,
    ],
    ['of which one key of two is out of credit', [reports(key('main', 'out-of-money'))], 'Healthy', 1, 1],
    [
      'of which a key is out of money, and the other cools down after a rate limit',
      [reports(key('main', 'out-of-money'), key('spare', 'rate-limited'))],
      'Healthy',
      1,
      1,
    ],
    ['that refuses one key of two', [reports(key('main', 'rejected'), about('working'))], 'Healthy', 1, 1],
    [
      'that refuses every key to one pod and fails another',
      [reports(key('main', 'rejected'), key('spare', 'rejected')), open],
      'Unhealthy',
      0,
      2,
    ],
    [
      'of which a model fails and another is answered',
      [reports(about('open', { upstreamModel: 'm' }), key('main', 'working'))],
      'PartiallyHealthy',
      0,
      1,
    ],
    [
      'of which every model in use fails',
      [reports(about('open', { upstreamModel: 'm' }))],
      'Unhealthy',
      0,
      1,
    ],
    [
      'of which another is spoken',
      [reports(about('open', { provider: 'team-b/openai' }))],
      'NoTraffic',
      0,
      0,
    ],
  ])('%s', (_, answers, reason, healthyPods, totalPods) => {
    expect(healthOf(...answers)).toMatchObject({ reason, healthyPods, totalPods });
  });

  test('is not judged before every ready pod has reported', () => {
    expect(healthOf(working, undefined)).toBeUndefined();
    expect(healthOf()).toBeUndefined();
    expect(healthOf(working, silent)).toBeDefined();
  });
});

describe('a key', () => {
  test.each<[string, PodAnswer[], string | undefined]>([
    ['refused by all', [reports(key('main', 'rejected')), reports(key('main', 'rejected'))], 'Invalid'],
    [
      'refused to one, working for another',
      [reports(key('main', 'rejected')), reports(key('main', 'working'))],
      undefined,
    ],
    ['resting in all pods that used it', [reports(key('main', 'rate-limited')), reports()], 'RateLimited'],
    [
      'out of money',
      [reports(key('main', 'out-of-money')), reports(key('main', 'rate-limited'))],
      'Exhausted',
    ],
    ['that no pod reports', [reports(key('spare', 'rejected'))], undefined],
  ])('%s', (_, answers, state) => {
    expect(healthOf(...answers)?.keys.get('main')?.state).toBe(state);
  });

  test('that its Secret spoils is shown as its Secret has it', () => {
    const verdict = judge('Provider', shared({ main: 'sk-a' }));
    const health = indexHealth(...heard([reports(key('spare', 'rate-limited'))]))(verdict);
    expect(written(look(PROVIDER, verdict, { health }))).toMatchObject({
      keys: [
        { name: 'main', state: 'Active' },
        { name: 'spare', state: 'Missing' },
      ],
    });
  });
});

describe('in the status', () => {
  test.each<[string, PodAnswer[], string]>([
    ['working', [working], 'True Healthy'],
    ['failing', [open], 'False Unhealthy: '],
    ['half', [open, working], 'False PartiallyHealthy: '],
    [
      'refusing',
      [reports(key('main', 'rejected'), key('spare', 'rejected'))],
      'False AuthenticationFailed: ',
    ],
    [
      'out of money',
      [reports(key('main', 'out-of-money'), key('spare', 'out-of-money'))],
      'False CredentialExhausted: every key is out of credit or rejected; top up',
    ],
    ['unused', [reports()], 'Unknown NoTraffic: '],
  ])('%s is reported, and Ready does not change', (_, answers, text) => {
    const status = written(look(PROVIDER, VERDICT, { health: healthOf(...answers) }));
    expect(say(status, 'Healthy')).toContain(text);
    expect(say(status, 'Ready')).toBe('True Programmed');
  });

  test.each([
    ['tls_failed', 'every call fails: TLSFailed, no TLS connection comes about; check its certificate'],
    ['bad_head', 'every call fails: its answers are not HTTP, or their headers are longer'],
    ['status_503', 'every call fails: HTTP 503;'],
    [
      'status_401',
      'every call fails: HTTP 401; put a valid key into the Secret, or grant the identity the right to call this model',
    ],
    ['status_404', 'every call fails: HTTP 404; check the path of spec.baseURL'],
    ['a word of a newer pod', 'every call fails: no answer; check whether its service is up'],
  ])('a breaker that opened for %s is reported with that', (cause, text) => {
    const answers = [
      reports(about('open', { upstreamModel: 'm', cause: 'truncated' }), about('open', { cause })),
    ];
    const status = written(look(PROVIDER, VERDICT, { health: healthOf(...answers) }));
    expect(say(status, 'Healthy')).toContain(text);
  });

  test('another number of pods causes no write', () => {
    expect(look(stored(working), VERDICT, { health: healthOf(working, working), nowMs: at(900) })).toEqual({
      type: 'same',
    });
    const half = stored(open, working);
    expect(look(half, VERDICT, { health: healthOf(open, working, working), nowMs: at(900) })).toEqual({
      type: 'same',
    });
  });

  test('a change for the worse is reported, but at most every 10 s', () => {
    const before = stored(working);
    const health = healthOf(open);
    expect(look(before, VERDICT, { health, nowMs: at(4) })).toEqual({ type: 'wait', untilMs: at(10) });
    const status = written(look(before, VERDICT, { health, nowMs: at(10) }));
    expect(status).toMatchObject({
      health: { healthyPods: 0, totalPods: 1, lastTransitionTime: '2026-06-01T00:00:10Z' },
    });
  });

  describe('the same reason with another message', () => {
    const failsFor = (cause: string) => reports(about('open', { cause }));
    const reported = (before: RawObject, nowMs: number, ...answers: PodAnswer[]) =>
      look(before, VERDICT, { health: healthOf(...answers), nowMs });

    test('is reported within a minute, and not more often; the start of the failure stays', () => {
      const before = stored(failsFor('tls_failed'));
      expect(reported(before, at(20), failsFor('status_404'))).toEqual({ type: 'wait', untilMs: at(60) });
      const status = written(reported(before, at(60), failsFor('status_404')));
      expect(say(status, 'Healthy')).toContain('False Unhealthy: every call fails: HTTP 404');
      const since = status.conditions?.find(({ type }) => type === 'Healthy')?.lastTransitionTime;
      expect(since).toBe('2026-06-01T00:00:00Z');
      const after = withStatus(PROVIDER, status);
      expect(reported(after, at(61), failsFor('tls_failed'))).toEqual({ type: 'wait', untilMs: at(120) });
      expect(reported(after, at(61), failsFor('status_404'))).toEqual({ type: 'same' });
    });

    test('causes no event', () => {
      expect(reported(stored(failsFor('tls_failed')), at(60), failsFor('status_404'))).toMatchObject({
        type: 'write',
        transitions: [],
      });
    });

    test('is reported if pods find another cause, not if one more pod uses it', () => {
      const most = Array.from({ length: 9 }, () => working);
      const before = stored(open, ...most);
      expect(reported(before, at(900), open, ...most, working)).toEqual({ type: 'same' });
      expect(reported(before, at(900), open, ...most.slice(1))).toEqual({ type: 'same' });
      const nine = Array.from({ length: 9 }, () => open);
      expect(reported(before, at(20), ...nine, working)).toEqual({ type: 'wait', untilMs: at(60) });
      expect(written(reported(before, at(900), ...nine, working))).toMatchObject({
        health: { healthyPods: 1, totalPods: 10, troubles: [{ podCount: 9 }] },
      });
    });

    test('is reported together with the troubled pods, once a minute for both', () => {
      const before = withStatus(
        PROVIDER,
        written(reported(stored(open, working, working), at(70), working, open, working)),
      );
      expect(before).toMatchObject({ status: { health: { troublesObservedAt: '2026-06-01T00:01:10Z' } } });
      expect(reported(before, at(80), open, open, working)).toEqual({ type: 'wait', untilMs: at(130) });
      expect(written(reported(before, at(130), open, open, working))).toMatchObject({
        health: { healthyPods: 1, totalPods: 3, troublesObservedAt: '2026-06-01T00:02:10Z' },
      });
    });

    const found = (state: 'healthy' | 'unhealthy', answer: PodAnswer, message = '') =>
      withChecks(healthOf(answer), { endpoint: { state, against: 0, message }, refusedKeys: new Map() }, [
        'main',
        'spare',
      ]);

    test('is unchanged until a new operator has checked', () => {
      const failed = found('unhealthy', reports(), 'GET it was answered with 500');
      const before = withStatus(PROVIDER, written(look(PROVIDER, VERDICT, { health: failed })));
      const earlier = { health: found('unhealthy', reports(), FOUND_EARLIER), nowMs: at(900) };
      expect(look(before, VERDICT, earlier)).toEqual({ type: 'same' });
      const other = { health: found('unhealthy', reports(), 'GET it: no answer'), nowMs: at(900) };
      expect(say(written(look(before, VERDICT, other)), 'Healthy')).toContain('fails: GET it: no answer');
    });

    test('of a working upstream: the first call is reported, the last one is not', () => {
      const first = written(look(PROVIDER, VERDICT, { health: found('healthy', reports()) }));
      expect(say(first, 'Healthy')).toContain('no recent call');
      const before = withStatus(PROVIDER, first);
      const called = written(look(before, VERDICT, { health: found('healthy', working), nowMs: at(60) }));
      expect(say(called, 'Healthy')).toBe('True Healthy');
      const quiet = { health: found('healthy', reports()), nowMs: at(900) };
      expect(look(withStatus(PROVIDER, called), VERDICT, quiet)).toEqual({ type: 'same' });
    });
  });

  describe('the last error', () => {
    const failing = (lastError?: string) => {
      const health = healthOf(open);
      if (health === undefined) throw new Error('every pod was heard');
      return { health: { ...health, ...(lastError === undefined ? {} : { lastError }) } };
    };
    const reported = (lastError?: string) => ({
      health: lastError === undefined ? { totalPods: 1 } : { totalPods: 1, lastError },
    });
    const before = stored(working);
    const failed = (lastError?: string) =>
      withStatus(PROVIDER, written(look(before, VERDICT, { ...failing(lastError), nowMs: at(10) })));

    test('is reported with the change for the worse, with limited length', () => {
      expect(failed('GET it was answered with 500')).toMatchObject({
        status: reported('GET it was answered with 500'),
      });
      expect(failed('x'.repeat(5_000))).toMatchObject({ status: reported(`${'x'.repeat(1_023)}…`) });
      expect(failed()).not.toHaveProperty('status.health.lastError');
    });

    test('that follows during a failure causes no write', () => {
      expect(look(failed('one'), VERDICT, { ...failing('another'), nowMs: at(900) })).toEqual({
        type: 'same',
      });
      expect(look(failed('one'), VERDICT, { ...failing(), nowMs: at(900) })).toEqual({ type: 'same' });
    });

    test('is reported once if a check finds it after the calls', () => {
      const status = written(look(failed(), VERDICT, { ...failing('late'), nowMs: at(60) }));
      expect(status).toMatchObject({
        health: { lastError: 'late', lastTransitionTime: '2026-06-01T00:00:10Z' },
      });
      const again = withStatus(PROVIDER, status);
      expect(look(again, VERDICT, { ...failing('later'), nowMs: at(900) })).toEqual({ type: 'same' });
    });

    test('stays after recovery; the next failure does not start with it, nor does a new spec', () => {
      const health = healthOf(working);
      const mended = written(look(failed('one'), VERDICT, { health, nowMs: at(60) }));
      expect(mended).toMatchObject({ health: { healthyPods: 1, lastError: 'one' } });
      const facts = { ...failing(), nowMs: at(900) };
      const worse = written(look(withStatus(PROVIDER, mended), VERDICT, facts));
      expect(worse).not.toHaveProperty('health.lastError');
      const edited = { ...VERDICT, generation: 4 };
      expect(written(look(failed('one'), edited, { health, nowMs: at(60) }))).not.toHaveProperty(
        'health.lastError',
      );
    });
  });

  test('a waiting change does not delay other news', () => {
    const decision = look(
      stored(working),
      { ...VERDICT, generation: 4 },
      { health: healthOf(working), nowMs: at(4) },
    );
    expect(written(decision).observedGeneration).toBe(4);
  });

  test('an upstream that worked and is idle stays healthy; one that failed does not stay failing', () => {
    expect(look(stored(working), VERDICT, { health: healthOf(reports()), nowMs: at(900) })).toEqual({
      type: 'same',
    });
    const status = written(look(stored(open), VERDICT, { health: healthOf(reports()), nowMs: at(900) }));
    expect(say(status, 'Healthy')).toContain('Unknown NoTraffic');
  });

  test('a new spec is a new upstream, without results', () => {
    const edited = { ...VERDICT, generation: 4 };
    const status = written(look(stored(working), edited, { health: healthOf(reports()), nowMs: at(900) }));
    expect(say(status, 'Healthy')).toContain('Unknown NoTraffic');
  });

  test('a Provider out of service has no health', () => {
    const verdict = judge('Provider', { providers: [PROVIDER] });
    const status = written(look(stored(working), verdict, { health: healthOf(working), nowMs: at(900) }));
    expect(say(status, 'Healthy')).toContain('Unknown NoTraffic');
  });

  test('without reports of pods, the previous status stays', () => {
    const limited = stored(reports(key('main', 'rate-limited'), about('working')));
    for (const before of [limited, stored(open)]) {
      expect(look(before, VERDICT, { health: undefined, nowMs: at(900) })).toEqual({ type: 'same' });
    }
  });

  test('a key that enters and leaves cooldown is written at most once a minute', () => {
    const before = stored(working);
    const health = healthOf(reports(key('main', 'rate-limited')));
    expect(look(before, VERDICT, { health, nowMs: at(20) })).toEqual({ type: 'wait', untilMs: at(60) });
    const status = written(look(before, VERDICT, { health, nowMs: at(60) }));
    expect(status).toMatchObject({
      keys: [
        { name: 'main', state: 'RateLimited', lastTransitionTime: '2026-06-01T00:01:00Z' },
        { name: 'spare', state: 'Active', lastTransitionTime: '2026-06-01T00:00:00Z' },
      ],
    });
  });

  test('a new value in its Secret is news at once', () => {
    const before = stored(reports(key('main', 'rejected')));
    const verdict = judge('Provider', shared({ main: 'sk-new', spare: 'sk-b' }));
    const status = written(look(before, verdict, { health: healthOf(reports()), nowMs: at(1) }));
    expect(status).toMatchObject({ keys: [{ name: 'main', state: 'Active' }, { name: 'spare' }] });
  });
});
