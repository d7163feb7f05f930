// What is written into a status, and when is nothing?

import { describe, expect, test } from 'vitest';
import { CONDITIONS, REASONS, type Reason } from '../../../core/catalog/conditions.ts';
import type { Condition } from '../../../operator/compile/verdict.ts';
import { type PodAnswer, podsState } from '../../../operator/pods/pods-state.ts';
import { apiKeyStatusSchema } from '../../../operator/resources/api-key.ts';
import { ISSUED_SECRET_LABEL } from '../../../operator/resources/issued-secret.ts';
import { modelRouteStatusSchema } from '../../../operator/resources/model-route.ts';
import { providerStatusSchema } from '../../../operator/resources/provider.ts';
import { eventsFor } from '../../../operator/status/events.ts';
import { presentStatus } from '../../../operator/status/object-status.ts';
import type { RawObject, Snapshot } from '../../../operator/watch/snapshot.ts';
import { apiKey, provider, route, secret } from '../make.ts';
import {
  fleet,
  heard,
  judge,
  type Look,
  look,
  NOW,
  NOW_MS,
  runs,
  say,
  withStatus,
  written,
} from './status-support.ts';

const META = { generation: 3, uid: 'u-1', resourceVersion: '1' };
const KEY = apiKey({}, META);
const PROVIDER = provider({}, META);
const PROVIDER_PARTS: Partial<Snapshot> = { providers: [PROVIDER], secrets: [secret()] };
const ROUTE_PARTS: Partial<Snapshot> = { ...PROVIDER_PARTS, modelRoutes: [route({}, META)] };

const keyVerdict = (spec: object = {}, meta: object = {}, more: Partial<Snapshot> = {}) =>
  judge('ApiKey', { apiKeys: [apiKey({ ...spec }, { ...META, ...meta })], ...more });

/** An ApiKey whose status says that it runs since generation 7. */
function programmedKey(): RawObject {
  return withStatus(KEY, written(look(KEY, keyVerdict())));
}

const at = (seconds: number) => NOW_MS + seconds * 1000;
const lagging = () => fleet(runs(7), runs(6));

describe('a status', () => {
  test.each([
    ['Provider', PROVIDER, judge('Provider', PROVIDER_PARTS), providerStatusSchema],
    ['ModelRoute', route({}, META), judge('ModelRoute', ROUTE_PARTS), modelRouteStatusSchema],
    ['ApiKey', KEY, keyVerdict(), apiKeyStatusSchema],
    [
      'Provider',
      provider({ type: 'No' }),
      judge('Provider', { providers: [provider({ type: 'No' })] }),
      providerStatusSchema,
    ],
    [
      'ModelRoute',
      route({ model: '' }),
      judge('ModelRoute', { modelRoutes: [route({ model: '' })] }),
      modelRouteStatusSchema,
    ],
    [
      'ApiKey',
      apiKey({ budgets: 7 }),
      judge('ApiKey', { apiKeys: [apiKey({ budgets: 7 })] }),
      apiKeyStatusSchema,
    ],
  ] as const)(
    'of a %s has every condition that is always there, and fits its schema',
    (kind, object, verdict, schema) => {
      const status = written(look(object, verdict));
      const always = Object.entries(CONDITIONS).filter(
        ([, facts]) => facts.shown === 'always' && (facts.kinds as readonly string[]).includes(kind),
      );
      const types = status.conditions?.map(({ type }) => type) ?? [];
      expect(types).toEqual(expect.arrayContaining(always.map(([type]) => type)));
      expect(new Set(types).size).toBe(types.length);
      expect(schema.parse(status)).toEqual(status);
    },
  );

  test('has the generation that was processed, in the status and in each condition', () => {
    const status = written(look(KEY, keyVerdict()));
    expect(status.observedGeneration).toBe(3);
    expect(new Set(status.conditions?.map((one) => one.observedGeneration))).toEqual(new Set([3]));
  });

  test('has only reasons that are documented for their condition', () => {
    const expired = { expiresAt: '2020-01-01T00:00:00Z' };
    const decisions = [
      ...[{}, { disabled: true }, expired, { budgets: 7 }, { imports: undefined }].map((spec) =>
        look(apiKey(spec, META), keyVerdict(spec), { waitingSinceMs: 0 }),
      ),
      ...[{}, { suspended: true }, { type: 'No' }].flatMap((spec) => {
        const object = provider(spec, META);
        return [[], [secret()]].map((secrets) =>
          look(object, judge('Provider', { providers: [object], secrets }), {
            pods: fleet(),
            waitingSinceMs: 0,
          }),
        );
      }),
      look(route({}, META), judge('ModelRoute', { modelRoutes: [route({}, META)] })),
      look(route({}, META), judge('ModelRoute', ROUTE_PARTS), { pods: lagging(), waitingSinceMs: 0 }),
    ];
    for (const { type, reason } of decisions.flatMap((one) => written(one).conditions ?? [])) {
      const documented: readonly string[] = REASONS[reason as Reason].conditions;
      // These two have the reason of Ready.
      const isSummary = type === 'Stalled' || type === 'Reconciling';
      expect(documented, `${type}/${reason}`).toContain(isSummary ? 'Ready' : type);
    }
  });

  test('of an object that became invalid loses conditions that no longer hold', () => {
    const disabled = withStatus(KEY, written(look(KEY, keyVerdict({ disabled: true }))));
    const status = written(look(disabled, keyVerdict(), { since: 8, pods: fleet(runs(8)) }));
    expect(say(status, 'Disabled')).toBeUndefined();
    expect(say(status, 'Ready')).toBe('True Programmed');
  });

  test('is shortened to the limits of the server', () => {
    const verdict = judge('Provider', PROVIDER_PARTS);
    const long: Condition = {
      type: 'Degraded',
      status: 'True',
      reason: 'SecretNotFound',
      message: '😀'.repeat(40_000),
    };
    const keys = [{ name: 'main', state: 'Invalid' as const, message: 'x'.repeat(5_000) }];
    const status = written(look(PROVIDER, { ...verdict, keys, conditions: [...verdict.conditions, long] }));
    expect(providerStatusSchema.safeParse(status).success).toBe(true);
    expect(say(status, 'Degraded')).toMatch(/😀…$/u);
  });

  test('in a form written by others is written again as a whole', () => {
    const odd = { ...KEY, status: { conditions: 'all is well' } };
    expect(say(written(look(odd, keyVerdict())), 'Ready')).toBe('True Programmed');
    expect(
      presentStatus('ApiKey', { ...KEY, status: { observedGeneration: 3, usage: { spend: '1' } } }),
    ).toEqual({
      observedGeneration: 3,
    });
  });
});

describe('Programmed', () => {
  test('is true in one write, once every pod runs the generation', () => {
    const status = written(look(KEY, keyVerdict()));
    expect(say(status, 'Programmed')).toBe('True Programmed: on 2/2 gateway pods at table generation 7');
    expect(status.programmed).toEqual({ tableGeneration: 7, runningPods: 2, readyPods: 2, observedAt: NOW });
    expect(say(status, 'Ready')).toBe('True Programmed');
  });

  test('counts the pods of a Provider or ModelRoute again when they change, without another change', () => {
    const verdict = judge('ModelRoute', ROUTE_PARTS);
    const is = withStatus(route({}, META), written(look(route({}, META), verdict)));
    const countAgain = (...pods: (PodAnswer | undefined)[]) => look(is, verdict, { pods: fleet(...pods) });
    const three = countAgain(runs(7), runs(8), runs(7));
    expect(written(three).programmed).toMatchObject({ runningPods: 3, readyPods: 3 });
    expect(three).toMatchObject({ type: 'write', transitions: [] });
    expect(written(countAgain()).programmed).toMatchObject({ runningPods: 0, readyPods: 0 });
    // One that is not heard yet says nothing, and a key is not written for it: there may be fifty thousand.
    expect(countAgain(runs(7), undefined).type).toBe('same');
    expect(look(programmedKey(), keyVerdict(), { pods: fleet(runs(7), runs(7), runs(7)) }).type).toBe('same');
  });

  test.each<[string, Look]>([
    ['one pod runs an older table', { pods: lagging() }],
    ['one pod runs none', { pods: fleet(runs(7), { failure: 'it does not answer', atMs: 0 }) }],
    ['one pod was not heard', { pods: fleet(runs(7), undefined) }],
    ['no pod is ready', { pods: fleet() }],
    ['the table is not published', { since: undefined }],
  ])('is not true while %s, and for 5 s nothing else is written', (_, facts) => {
    const verdict = keyVerdict();
    expect(look(KEY, verdict, facts)).toEqual({ type: 'wait', untilMs: at(5) });
    const waiting = { ...facts, waitingSinceMs: NOW_MS };
    expect(look(KEY, verdict, { ...waiting, nowMs: at(4.999) })).toEqual({ type: 'wait', untilMs: at(5) });
    const later = look(KEY, verdict, { ...waiting, nowMs: at(5) });
    expect(later).toMatchObject({ type: 'write', untilMs: at(30) });
    expect(say(written(later), 'Programmed')).toMatch(/^False Pending: /);
    expect(say(written(later), 'Ready')).toMatch(/^False Pending: /);
  });

  test('is never true for a form that is not published, whatever the pods run', () => {
    const edited = keyVerdict({}, { generation: 4 });
    expect(look(programmedKey(), edited, { since: undefined, pods: fleet(runs(99)) }).type).toBe('wait');
  });

  test.each<[string, Look, string]>([
    [
      'no pod is ready',
      { pods: fleet() },
      'no gateway pod is ready; check the pods of the gateway Deployment',
    ],
    [
      'all known pods run it, but the watch of pods is broken',
      { pods: podsState(...heard([runs(7), runs(7)]), 0, false) },
      'the operator cannot watch the gateway pods, so their readiness is unknown; check its rights and its log',
    ],
    ['one of two lags', { pods: lagging() }, 'waiting for 1 of 2 gateway pods'],
    [
      'nothing is published',
      { since: undefined },
      'no table with the current form is published yet; if this lasts, check the log of the operator',
    ],
  ])('pending has its reason: %s', (_, facts, message) => {
    const status = written(look(KEY, keyVerdict(), { ...facts, waitingSinceMs: NOW_MS, nowMs: at(5) }));
    expect(say(status, 'Programmed')).toBe(`False Pending: ${message}`);
  });

  test('after 30 s names the lagging pods, and why', () => {
    const refused = runs(6, { rejected: { generation: 7, reason: 'shard penstock-k-00 is damaged' } });
    const silent = { ...runs(5), failure: 'it does not answer (ECONNREFUSED)' };
    const pods = fleet(runs(7), refused, silent, undefined, runs(6));
    const status = written(look(KEY, keyVerdict(), { pods, waitingSinceMs: NOW_MS, nowMs: at(30) }));
    expect(say(status, 'Programmed')).toBe(
      'False Pending: 1/5 gateway pods; pod b runs table generation 6: shard penstock-k-00 is damaged; ' +
        'pod c runs table generation 5: it does not answer (ECONNREFUSED); pod d runs no table: it has not reported yet; ' +
        'and 1 more',
    );
    expect(status.programmed).toMatchObject({ tableGeneration: 7, runningPods: 1, readyPods: 5 });
  });

  test('pending is written at 5 s, again at 30 s, and then at most every 30 s', () => {
    const verdict = keyVerdict();
    const facts = { pods: lagging(), waitingSinceMs: NOW_MS };
    const first = withStatus(KEY, written(look(KEY, verdict, { ...facts, nowMs: at(5) })));
    expect(look(first, verdict, { ...facts, nowMs: at(20) })).toEqual({ type: 'wait', untilMs: at(30) });
    const second = withStatus(KEY, written(look(first, verdict, { ...facts, nowMs: at(30) })));
    expect(look(second, verdict, { ...facts, waitingSinceMs: undefined, nowMs: at(40) })).toEqual({
      type: 'same',
      lookAgainMs: at(605),
    });
    const other = { pods: fleet(runs(6), runs(6)) };
    expect(look(second, verdict, { ...other, nowMs: at(41) })).toEqual({ type: 'wait', untilMs: at(71) });
    const third = written(look(second, verdict, { ...other, waitingSinceMs: at(41), nowMs: at(71) }));
    expect(say(third, 'Programmed')).toContain('0/2 gateway pods; pod a');
    const last = written(look(withStatus(KEY, third), verdict, { nowMs: at(80) }));
    expect(say(last, 'Programmed')).toContain('True');
  });

  test.each<[string, Look]>([
    ['pods are added that run it', { pods: fleet(runs(7), runs(7), runs(7)) }],
    ['a pod is added that has not reported yet', { pods: fleet(runs(7), undefined) }],
    ['a pod is added that lags', { pods: fleet(runs(7), runs(3)) }],
    ['all pods go', { pods: fleet() }],
    ['later tables are published', { pods: fleet(runs(12), runs(13)) }],
    ['time goes by', { nowMs: at(86_400) }],
    ['a new leader has not published yet', { since: undefined }],
  ])('once true, is not written again if %s', (_, facts) => {
    expect(look(programmedKey(), keyVerdict(), facts)).toEqual({ type: 'same' });
  });

  test('stays true over an edit that does not change the table', () => {
    const status = written(
      look(programmedKey(), keyVerdict({}, { generation: 4 }), {
        pods: fleet(runs(7), runs(6)),
        nowMs: at(9),
      }),
    );
    expect(status.observedGeneration).toBe(4);
    expect(status.programmed).toEqual({ tableGeneration: 7, runningPods: 2, readyPods: 2, observedAt: NOW });
    expect(say(status, 'Programmed')).toBe('True Programmed: on 2/2 gateway pods at table generation 7');
  });

  test('with a new form goes from true to true in one write, or through pending if pods lag', () => {
    const verdict = keyVerdict({}, { generation: 4 });
    const smooth = written(look(programmedKey(), verdict, { since: 8, pods: fleet(runs(8)), nowMs: at(60) }));
    expect(smooth.programmed?.tableGeneration).toBe(8);
    const programmed = smooth.conditions?.find(({ type }) => type === 'Programmed');
    expect(programmed).toMatchObject({ status: 'True', lastTransitionTime: NOW, observedGeneration: 4 });

    const facts = { since: 8, waitingSinceMs: at(60) };
    expect(look(programmedKey(), verdict, { ...facts, nowMs: at(61) }).type).toBe('wait');
    const slow = written(look(programmedKey(), verdict, { ...facts, nowMs: at(65) }));
    expect(slow.conditions?.find(({ type }) => type === 'Programmed')).toMatchObject({
      status: 'False',
      lastTransitionTime: '2026-06-01T00:01:05Z',
    });
  });

  test('of a refused object is false at once', () => {
    const verdict = keyVerdict({ budgets: 7 });
    for (const since of [undefined, 7]) {
      const status = written(look(programmedKey(), verdict, { since, pods: fleet() }));
      expect(say(status, 'Programmed')).toBe(
        'False NotProgrammed: no gateway serves it; see the condition Accepted',
      );
      expect(say(status, 'Ready')).toMatch(/^False Invalid: /);
      expect(status.programmed).toBeUndefined();
    }
  });

  test.each([
    ['disabled', { disabled: true }, /^True DisabledBySpec/],
    ['expired', { expiresAt: '2020-01-01T00:00:00Z' }, /^False PastExpiry/],
    ['both', { disabled: true, expiresAt: '2020-01-01T00:00:00Z' }, /^True DisabledBySpec/],
  ])(
    'of a key that is %s is true once every pod runs a table without it, and Ready says why it serves nothing',
    (_, spec, ready) => {
      const verdict = keyVerdict(spec);
      expect(look(KEY, verdict, { pods: lagging() }).type).toBe('wait');
      const status = written(look(KEY, verdict));
      expect(say(status, 'Programmed')).toBe(
        'True Programmed: out of service on 2/2 gateway pods at table generation 7',
      );
      expect(say(status, 'Ready')).toMatch(ready);
    },
  );

  test.each([
    [
      'Provider',
      () => judge('Provider', { ...PROVIDER_PARTS, providers: [provider({ suspended: true })] }),
      PROVIDER,
    ],
    [
      'ModelRoute',
      () => judge('ModelRoute', { ...ROUTE_PARTS, modelRoutes: [route({ suspended: true })] }),
      route(),
    ],
  ] as const)('of a suspended %s likewise', (_, verdict, object) => {
    const status = written(look(object, verdict()));
    expect(say(status, 'Programmed')).toMatch(/^True Programmed: out of service/);
    expect(say(status, 'Ready')).toMatch(/^True Suspended/);
  });
});

describe('Ready', () => {
  test('has the reason of the first false condition', () => {
    const unresolved = judge('Provider', { providers: [PROVIDER] });
    const status = written(look(PROVIDER, unresolved, { pods: fleet() }));
    expect(say(status, 'Ready')).toMatch(/^False SecretNotFound: /);
    expect(say(status, 'Programmed')).toBe(
      'False NotProgrammed: no gateway serves it; see the condition ResolvedRefs',
    );
  });

  test('tells kstatus if only an edit helps', () => {
    const object = provider({ type: 'No' });
    const status = written(look(object, judge('Provider', { providers: [object] })));
    expect(say(status, 'Stalled')).toMatch(/^True Invalid/);
    expect(say(status, 'Ready')).toMatch(/^False Invalid/);
  });
});

describe('another run', () => {
  test('on the written status writes nothing, for any order of lists', () => {
    const cases: [RawObject, Parameters<typeof look>[1]][] = [
      [PROVIDER, judge('Provider', PROVIDER_PARTS)],
      [route({}, META), judge('ModelRoute', ROUTE_PARTS)],
      [KEY, keyVerdict({ imports: [{ sha256: 'b'.repeat(64) }, { sha256: 'a'.repeat(64) }] })],
      [KEY, keyVerdict({ budgets: 7 })],
    ];
    for (const [object, verdict] of cases) {
      const status = written(look(object, verdict));
      const back = withStatus(object, { ...status, conditions: status.conditions?.toReversed() });
      expect(look(back, verdict, { nowMs: at(3_600) })).toEqual({ type: 'same' });
    }
  });

  test('changes lastTransitionTime only of conditions whose status changed', () => {
    const status = written(
      look(programmedKey(), keyVerdict({ disabled: true }), {
        since: 8,
        pods: fleet(runs(8)),
        nowMs: at(60),
      }),
    );
    const moved = status.conditions?.filter(({ lastTransitionTime }) => lastTransitionTime !== NOW);
    expect(moved?.map(({ type }) => type)).toEqual(['Disabled']);
  });

  test('returns the changed conditions', () => {
    const decision = look(programmedKey(), keyVerdict({ disabled: true }), {
      since: 8,
      pods: fleet(runs(8)),
    });
    if (decision.type !== 'write') throw new Error('no write');
    expect(decision.transitions.map(({ type, from, to, reason }) => [type, from, to, reason])).toEqual([
      ['Disabled', undefined, 'True', 'DisabledBySpec'],
      ['Ready', 'True', 'True', 'DisabledBySpec'],
    ]);
    expect(eventsFor(decision.transitions)).toMatchObject([{ type: 'Normal', reason: 'DisabledBySpec' }]);
  });

  test('counts routes after 5 s without changes at most, and reports at once that there are any, or none', () => {
    const none = { ...judge('Provider', PROVIDER_PARTS), attachedRoutes: 0 };
    const verdict = { ...none, attachedRoutes: 2 };
    const unused = withStatus(PROVIDER, written(look(PROVIDER, none)));
    expect(written(look(unused, verdict))).toMatchObject({ attachedRoutes: 2 });
    const before = withStatus(PROVIDER, written(look(PROVIDER, verdict)));
    const more = { ...verdict, attachedRoutes: 5 };
    expect(look(before, more)).toEqual({ type: 'wait', untilMs: at(5) });
    const status = written(look(before, more, { waitingSinceMs: NOW_MS, nowMs: at(5) }));
    expect(status).toMatchObject({ attachedRoutes: 5 });
    expect(written(look(before, none))).toMatchObject({ attachedRoutes: 0 });
  });
});

describe('the Secret of a key', () => {
  const pendingKey = apiKey({ imports: undefined }, META);

  test('that is about to be written does not change the status', () => {
    const verdict = keyVerdict({ imports: undefined });
    expect(look(pendingKey, verdict)).toEqual({ type: 'wait', untilMs: at(60) });
    const decision = look(pendingKey, verdict, { waitingSinceMs: NOW_MS, nowMs: at(60) });
    expect(say(written(decision), 'Ready')).toMatch(/^False SecretPending/);
    // Nobody has to act.
    if (decision.type !== 'write') throw new Error('no write');
    expect(eventsFor(decision.transitions).map(({ type }) => type)).not.toContain('Warning');
  });

  test('that cannot be written is reported at once, with the reason', () => {
    const status = written(
      look(pendingKey, keyVerdict({ imports: undefined }), { issueFailure: 'quota is used up' }),
    );
    expect(say(status, 'Issued')).toBe(
      'False SecretPending: the Secret with the key could not be written: quota is used up',
    );
  });

  test('of a disabled ApiKey is not waited for', () => {
    const verdict = keyVerdict({ imports: undefined, disabled: true });
    expect(verdict.needsSecret).toBe(false);
    expect(say(written(look(pendingKey, verdict)), 'Issued')).toMatch(/once spec.disabled is false$/);
  });

  test('that belongs to another owner is reported at once', () => {
    const secrets = [secret({ name: 'bot-key', labels: { [ISSUED_SECRET_LABEL]: 'other' } })];
    const verdict = keyVerdict({ imports: undefined }, {}, { secrets });
    expect(say(written(look(pendingKey, verdict)), 'Issued')).toMatch(/^False SecretTaken/);
  });
});

test('versions of a key keep their numbers', () => {
  const spec = (...digits: string[]) => ({ imports: digits.map((digit) => ({ sha256: digit.repeat(64) })) });
  const first = withStatus(KEY, written(look(KEY, keyVerdict(spec('b', 'c')))));
  const status = written(look(first, keyVerdict(spec('a', 'c'), { generation: 4 })));
  expect(status).toMatchObject({
    versions: [
      { id: 3, fingerprint: 'a'.repeat(16) },
      { id: 2, fingerprint: 'c'.repeat(16) },
    ],
  });
});
