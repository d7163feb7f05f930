// What does the status of a ModelRoute say of its targets, out of what the gateway pods report, and how often?

import { describe, expect, test } from 'vitest';
import type { UpstreamHealth } from '../../../core/contract/exchange.ts';
import type { ModelRouteVerdict, RoutingVerdict } from '../../../operator/compile/verdict.ts';
import { createTargetWatch } from '../../../operator/leading/target-news.ts';
import type { PodAnswer } from '../../../operator/pods/pods-state.ts';
import { type HealthOf, indexHealth, type ModelCalls } from '../../../operator/status/health-of.ts';
import type { TargetTrouble } from '../../../operator/status/settle-targets.ts';
import { provider, route, secret, target } from '../make.ts';
import { heard, judge, look, NOW_MS, reports, runs, say, withStatus, written } from './status-support.ts';

const ROUTE = route(
  { targets: [target({ upstreamModel: 'm' }), target({ name: 'spare', upstreamModel: 'n', priority: 1 })] },
  { generation: 2 },
);
const WORLD = { providers: [provider()], secrets: [secret()], modelRoutes: [ROUTE] };
const VERDICT = judge('ModelRoute', WORLD);
const VERDICTS = new Map<string, RoutingVerdict>([
  ['Provider/team-a/openai', judge('Provider', WORLD)],
  ['ModelRoute/team-a/chat', VERDICT],
]);
const at = (seconds: number) => NOW_MS + seconds * 1000;
const about = (state: UpstreamHealth['state'], more: Partial<UpstreamHealth> = {}): UpstreamHealth => ({
  provider: 'team-a/openai',
  state,
  ...more,
});
const m = { upstreamModel: 'm' };
const silent: PodAnswer = { failure: 'it does not answer', atMs: 0 };

function targetWatch(answers: readonly (PodAnswer | undefined)[]) {
  let healthOf: HealthOf = () => undefined;
  const watch = createTargetWatch((verdict) => healthOf(verdict));
  const changed = (next: readonly (PodAnswer | undefined)[]) => {
    healthOf = indexHealth(...heard(next));
    return watch.look(VERDICTS);
  };
  changed(answers);
  return { watch, changed };
}

const failingOf = (...answers: (PodAnswer | undefined)[]) => {
  const names = targetWatch(answers).watch.failingTargets(VERDICT);
  return names === undefined ? undefined : [...names.keys()];
};

describe('calls to a target fail', () => {
  test.each<[string, (PodAnswer | undefined)[], string[] | undefined]>([
    [
      'where every pod finds its model failing',
      [reports(about('open', m)), reports(about('open', m))],
      ['main'],
    ],
    ['where the only pod that used it does', [reports(about('open', m)), reports()], ['main']],
    ['at every target of an address that fails', [reports(about('open'))], ['main', 'spare']],
    [
      'at every target of a Provider that refuses every key',
      [reports(about('rejected', { key: 'main' }))],
      ['main', 'spare'],
    ],
    [
      'at every target of a Provider whose every key is out of credit',
      [reports(about('working'), about('out-of-money', { key: 'main' }))],
      ['main', 'spare'],
    ],
    [
      'where one pod cannot reach the address and another not the model',
      [reports(about('open')), reports(about('open', m), about('working'))],
      ['main'],
    ],
    ['nowhere, where another pod is answered', [reports(about('open', m)), reports(about('working'))], []],
    ['nowhere, where a key cools down', [reports(about('rate-limited', { key: 'main' }))], []],
    ['nowhere, where only a silent pod said so', [{ ...reports(about('open')), ...silent }, reports()], []],
    ['nowhere, where another Provider is meant', [reports(about('open', { provider: 'team-b/openai' }))], []],
    ['one does not know where, before every pod was heard', [reports(about('open')), undefined], undefined],
  ])('%s', (_, answers, expected) => {
    expect(failingOf(...answers)).toEqual(expected);
  });

  test('a model that the upstream does not know is distinguished, whatever else is answered there', () => {
    const misconfigured = [{ provider: 'team-a/openai', upstreamModel: 'm' }];
    const { watch, changed } = targetWatch([reports(about('working'))]);
    expect(changed([runs(1, { health: [about('working')], misconfigured })])).toEqual([
      'ModelRoute/team-a/chat',
    ]);
    expect([...(watch.failingTargets(VERDICT) ?? [])]).toEqual([['main', { kind: 'misconfigured' }]]);
    expect(changed([reports(about('open', m))])).toEqual(['ModelRoute/team-a/chat']);
    expect([...(watch.failingTargets(VERDICT) ?? [])]).toEqual([['main', { kind: 'failing' }]]);
  });

  test('missing credit is distinguished, if every pod reports it', () => {
    const exhausted = about('out-of-money', { key: 'main' });
    const { watch, changed } = targetWatch([reports(about('open'))]);
    expect(changed([reports(exhausted)])).toEqual(['ModelRoute/team-a/chat']);
    expect(watch.failingTargets(VERDICT)?.get('main')?.kind).toBe('exhausted');
    expect(changed([reports(exhausted), reports(about('open'))])).toEqual(['ModelRoute/team-a/chat']);
    expect(watch.failingTargets(VERDICT)?.get('main')?.kind).toBe('failing');
  });

  test('only routes whose targets changed are processed', () => {
    const { changed } = targetWatch([reports(about('working'))]);
    const open = about('open', m);
    expect(changed([reports(about('working'))])).toEqual([]);
    expect(changed([reports(open, about('working'))])).toEqual(['ModelRoute/team-a/chat']);
    expect(changed([reports(open, about('working'), about('open', { upstreamModel: 'x' }))])).toEqual([]);
    expect(changed([reports(open), undefined])).toEqual([]);
    expect(changed([reports(about('working'))])).toEqual(['ModelRoute/team-a/chat']);
  });
});

describe('in the status', () => {
  const fails = new Map<string, TargetTrouble>([['main', { kind: 'failing' }]]);
  const unknown = new Map<string, TargetTrouble>([['main', { kind: 'misconfigured' }]]);
  const exhausted = new Map<string, TargetTrouble>([['main', { kind: 'exhausted' }]]);
  const none = new Map<string, TargetTrouble>();
  const stored = (failingTargets: ReadonlyMap<string, TargetTrouble>) =>
    withStatus(ROUTE, written(look(ROUTE, VERDICT, { failingTargets })));

  test('a target that fails is Unhealthy, not counted, and Ready does not change', () => {
    const status = written(look(ROUTE, VERDICT, { failingTargets: fails }));
    expect(status).toMatchObject({
      usableTargets: 1,
      totalTargets: 2,
      targets: [
        {
          name: 'main',
          state: 'Unhealthy',
          message: 'every call fails; see the condition Healthy of Provider team-a/openai',
        },
        { name: 'spare', state: 'Ready' },
      ],
    });
    expect(say(status, 'Ready')).toBe('True Programmed');
  });

  test('a target whose upstream does not know its model names the model and the remedy', () => {
    expect(written(look(ROUTE, VERDICT, { failingTargets: unknown }))).toMatchObject({
      usableTargets: 1,
      totalTargets: 2,
      targets: [
        {
          name: 'main',
          state: 'Unhealthy',
          message: 'TargetMisconfigured: the upstream does not know the model "m"; correct upstreamModel',
        },
        { name: 'spare', state: 'Ready' },
      ],
    });
  });

  test('a target whose keys are out of credit says so, and where the details are', () => {
    expect(written(look(ROUTE, VERDICT, { failingTargets: exhausted }))).toMatchObject({
      usableTargets: 1,
      totalTargets: 2,
      targets: [
        {
          name: 'main',
          state: 'Unhealthy',
          message:
            'CredentialExhausted: its keys are out of credit; see the condition Healthy of Provider team-a/openai',
        },
        { name: 'spare', state: 'Ready' },
      ],
    });
  });

  test('the first report is written at once, the next one after a minute at the earliest', () => {
    const working = stored(none);
    const failing = withStatus(
      working,
      written(look(working, VERDICT, { failingTargets: fails, nowMs: at(1) })),
    );
    expect(look(failing, VERDICT, { failingTargets: none, nowMs: at(30) })).toEqual({
      type: 'wait',
      untilMs: at(61),
    });
    const back = written(look(failing, VERDICT, { failingTargets: none, nowMs: at(61) }));
    expect(back).toMatchObject({
      usableTargets: 2,
      totalTargets: 2,
      targets: [{ state: 'Ready' }, { state: 'Ready' }],
    });
  });

  const calls = (more: Partial<ModelCalls>): ModelCalls => ({
    ...{ state: 'failing', calls: 5, failed: 5, cause: 'status_500', sinceMs: NOW_MS },
    ...more,
  });
  const of = (kind: TargetTrouble['kind'], more: Partial<ModelCalls> = {}) =>
    new Map([['main', { kind, calls: calls(more) }]]);

  test('a target whose every call fails has time and reason, and is written once', () => {
    const before = stored(of('failing'));
    expect(before.status).toMatchObject({
      state: 'Degraded',
      targets: [
        {
          state: 'Unhealthy',
          message:
            'every call has failed since 2026-06-01T00:00:00Z: HTTP 500; see the condition Healthy of Provider team-a/openai',
        },
        { state: 'Ready' },
      ],
    });
    for (const failed of [39, 4_000]) {
      // A further pod began to fail later.
      const failingTargets = of('failing', { calls: failed, failed, sinceMs: at(failed) });
      expect(look(before, VERDICT, { failingTargets, nowMs: at(failed) })).toEqual({ type: 'same' });
    }
  });

  test('a target that fails for another reason is updated after a minute', () => {
    const before = stored(of('failing'));
    const failingTargets = of('failing', { cause: 'dns_failed', sinceMs: at(5) });
    expect(look(before, VERDICT, { failingTargets, nowMs: at(9) })).toEqual({
      type: 'wait',
      untilMs: at(60),
    });
    expect(written(look(before, VERDICT, { failingTargets, nowMs: at(60) }))).toMatchObject({
      targets: [{ message: expect.stringContaining(': its name cannot be resolved; see') }, {}],
    });
  });

  test('a target that an edit repairs is updated at once', () => {
    const edited = { ...stored(of('failing')), metadata: { ...ROUTE.metadata, generation: 3 } };
    const verdict = { ...VERDICT, generation: 3 };
    expect(written(look(edited, verdict, { failingTargets: none, nowMs: at(1) }))).toMatchObject({
      targets: [{ state: 'Ready' }, { state: 'Ready' }],
    });
  });

  test('a target with some failing calls is in use, and its route is Degraded until they are answered', () => {
    const before = stored(of('partly', { state: 'partly', calls: 40 }));
    expect(before.status).toMatchObject({
      state: 'Degraded',
      usableTargets: 2,
      targets: [
        {
          state: 'Ready',
          message: 'some calls fail: HTTP 500; see the condition Healthy of Provider team-a/openai',
        },
        { state: 'Ready' },
      ],
    });
    const back = written(look(before, VERDICT, { failingTargets: none, nowMs: at(60) }));
    expect(back.state).toBe('Serving');
    expect(back).toMatchObject({ targets: [{ state: 'Ready' }, { state: 'Ready' }] });
    expect(JSON.stringify(back)).not.toContain('some calls');
  });

  test('another run writes nothing', () => {
    for (const failing of [fails, unknown, exhausted, none]) {
      expect(look(stored(failing), VERDICT, { failingTargets: failing, nowMs: at(900) })).toEqual({
        type: 'same',
      });
    }
  });

  test('without reports of pods, the previous status stays', () => {
    for (const failing of [fails, unknown, exhausted]) {
      expect(look(stored(failing), VERDICT, { failingTargets: undefined, nowMs: at(900) })).toEqual({
        type: 'same',
      });
    }
  });

  test('a verdict of the compile on a target is reported at once', () => {
    const verdict = judge('ModelRoute', { modelRoutes: [ROUTE] });
    const status = written(look(stored(fails), verdict, { failingTargets: none, nowMs: at(2) }));
    expect(status).toMatchObject({ targets: [{ state: 'RefNotFound' }, { state: 'RefNotFound' }] });
  });

  test('for a Provider of another namespace the message refers to its owner', () => {
    const foreign: ModelRouteVerdict = {
      ...VERDICT,
      targets: [{ name: 'main', state: 'Ready', upstream: { provider: 'platform/shared', model: 'm' } }],
    };
    const status = written(look(ROUTE, foreign, { failingTargets: fails }));
    expect(status).toMatchObject({
      targets: [{ message: 'every call fails; ask the owner of Provider platform/shared' }],
    });
  });
});
