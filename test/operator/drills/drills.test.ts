// Who runs a drill, when, and what becomes of it? The operator's side, with pods that answer as the test says.

import { describe, expect, test } from 'vitest';
import { DRILL_ORDERS_MAX, type DrillOrder, type DrillOutcome } from '../../../core/contract/exchange.ts';
import type { ModelRouteVerdict } from '../../../operator/compile/verdict.ts';
import { createDrills, type Drills } from '../../../operator/drills/drills.ts';
import type { PodAnswer } from '../../../operator/pods/pods-state.ts';
import type { ModelRouteStatus } from '../../../operator/resources/model-route.ts';
import type { GatewayPod } from '../../../operator/watch/gateway-pods.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { provider, route, secret } from '../make.ts';
import { judge, pod, runs } from '../status/status-support.ts';

const START = Date.parse('2026-11-22T12:00:00Z');
const hourMs = 3_600_000;
const KEY = 'ModelRoute/team-a/m';

/** As the compile makes it. */
function verdictOf(drill: object, annotations: Record<string, string> = {}, more = {}): ModelRouteVerdict {
  const object = route({ drill, ...more }, { name: 'm' });
  const { metadata } = object;
  return judge('ModelRoute', {
    modelRoutes: [{ ...object, metadata: { ...metadata, annotations } }],
    providers: [provider()],
    secrets: [secret()],
  });
}

const nightly = verdictOf({ schedule: '0 3 * * *' });

interface Rig extends Drills {
  readonly clock: ReturnType<typeof makeFakeClock>;
  pods: GatewayPod[];
  readonly answers: Map<string, PodAnswer>;
  since: number | undefined;
  readonly renewed: string[];
  readonly changed: string[];
  /** All orders that stand, by the name of the pod. */
  orders(): readonly (readonly [pod: string, order: DrillOrder])[];
  /** The pod tells how its first order went. */
  tell(name: string, outcome?: Partial<DrillOutcome>): void;
  judged(verdict: ModelRouteVerdict, key?: string): void;
}

function start(reported?: ModelRouteStatus['drill'], names: readonly string[] = ['a', 'b', 'c']): Rig {
  const clock = makeFakeClock(1_000);
  const answers = new Map(names.map((name) => [`uid-${name}`, runs(7, { drills: [] })]));
  const renewed: string[] = [];
  const changed: string[] = [];
  const drills = createDrills({
    clock: { ...clock, wallMs: () => START + clock.now() - 1_000 },
    pods: () => rig.pods,
    answers: () => answers,
    epochFloor: () => 0,
    sinceOf: () => rig.since,
    statusOf: () => reported,
    renew: (uid) => renewed.push(uid),
    onChange: (key) => changed.push(key),
  });
  const rig: Rig = {
    ...drills,
    clock,
    pods: names.map(pod),
    answers,
    since: 7,
    renewed,
    changed,
    orders: () =>
      rig.pods.flatMap(({ name, uid }) => drills.ordersOf(uid).map((one) => [name, one] as const)),
    tell(name, outcome = {}) {
      const [order] = drills.ordersOf(`uid-${name}`);
      if (order === undefined) throw new Error(`pod ${name} has no order`);
      const one = { id: order.id, isPassed: true, message: 'played', ...outcome };
      answers.set(`uid-${name}`, runs(7, { drills: [one] }));
      drills.look();
    },
    judged: (verdict, key = KEY) => drills.watch(new Map([[key, verdict]])),
  };
  return rig;
}

/** Name of the one pod that has an order. */
function runner(rig: Rig): string {
  const [[name] = ['none'], ...others] = rig.orders();
  expect(others).toEqual([]);
  return name;
}

describe('a run', () => {
  test('is ordered from one pod, which gets the order at once', () => {
    const rig = start();
    rig.judged(verdictOf({ schedule: '0 3 * * *', fault: 'Hang', takeoverWithin: '1m30s' }));
    const [[name, order] = ['none', undefined]] = rig.orders();
    expect(order).toMatchObject({ route: 'team-a/m', fault: 'Hang', takeoverWithinMs: 90_000 });
    expect(runner(rig)).toBe(name);
    expect(rig.renewed).toEqual([`uid-${name}`]);
  });

  test('ends with the report of the pod, and the next one follows its schedule', () => {
    const rig = start();
    rig.judged(nightly);
    rig.tell(runner(rig), { servedBy: 'spare', takeoverMs: 12 });
    expect(rig.orders()).toEqual([]);
    expect(rig.changed).toEqual([KEY]);
    expect(rig.reportOf(KEY)).toMatchObject({ run: { atMs: START, outcome: { servedBy: 'spare' } } });
    expect(rig.readings()).toEqual([
      { route: 'team-a/m', lastRunMs: START, dueMs: START + 15 * hourMs, isPassed: true, takeoverMs: 12 },
    ]);
    rig.clock.advance(15 * hourMs - 1);
    expect(rig.orders()).toEqual([]);
    rig.clock.advance(1_000);
    expect(rig.orders()).toHaveLength(1);
  });

  test('goes to the same pod each time', () => {
    const rig = start();
    rig.judged(nightly);
    const first = runner(rig);
    rig.tell(first);
    rig.clock.advance(15 * hourMs + 1_000);
    expect(runner(rig)).toBe(first);
  });

  test('of the leader before is not repeated', () => {
    const rig = start({ lastRunTime: '2026-11-22T03:00:00Z', result: 'Failed' });
    rig.judged(nightly);
    expect(rig.orders()).toEqual([]);
    expect(rig.readings()).toEqual([
      {
        route: 'team-a/m',
        lastRunMs: START - 9 * hourMs,
        dueMs: START + 15 * hourMs,
        isPassed: false,
      },
    ]);
  });

  test('missed while no operator ran is made up once', () => {
    const rig = start({ lastRunTime: '2026-11-01T03:00:00Z', result: 'Passed' });
    rig.judged(nightly);
    rig.tell(runner(rig));
    rig.clock.advance(hourMs);
    expect(rig.orders()).toEqual([]);
  });

  test('is started by hand with another value of the annotation', () => {
    const rig = start({ lastRunTime: '2026-11-22T03:00:00Z', result: 'Passed', observedTrigger: 'one' });
    const drill = { schedule: '0 3 * * *' };
    rig.judged(verdictOf(drill, { 'penstock.dev/drill-now': 'one' }));
    expect(rig.orders()).toEqual([]);
    rig.judged(verdictOf(drill, { 'penstock.dev/drill-now': 'two' }));
    rig.tell(runner(rig));
    expect(rig.reportOf(KEY)?.run?.trigger).toBe('two');
    rig.judged(verdictOf(drill, {}));
    rig.clock.advance(hourMs);
    expect(rig.orders()).toEqual([]);
  });

  test('waits until a pod has the form to be tested', () => {
    const rig = start();
    rig.since = undefined;
    rig.judged(nightly);
    expect(rig.orders()).toEqual([]);
    rig.since = 8;
    rig.look();
    expect(rig.orders()).toEqual([]);
    rig.answers.set('uid-b', runs(8, { drills: [] }));
    rig.look();
    expect(runner(rig)).toBe('b');
  });

  test.each([
    [
      'has left',
      (rig: Rig, name: string) => {
        rig.pods = rig.pods.filter((one) => one.name !== name);
      },
    ],
    [
      'fell silent',
      (rig: Rig, name: string) => {
        rig.answers.set(`uid-${name}`, { ...runs(7, { drills: [] }), failure: 'it does not answer' });
      },
    ],
  ])('is ordered from another pod if the first %s', (_, leave) => {
    const rig = start();
    rig.judged(nightly);
    const first = runner(rig);
    leave(rig, first);
    rig.look();
    expect(runner(rig)).not.toBe(first);
    expect(rig.changed).toEqual([]);
  });

  test('of a drill that changes during the run starts again', () => {
    const rig = start();
    rig.judged(nightly);
    const [[, before] = []] = rig.orders();
    rig.judged(verdictOf({ schedule: '0 3 * * *', fault: 'Reset' }));
    const [[, after] = []] = rig.orders();
    expect(after?.fault).toBe('Reset');
    expect(after?.id).not.toBe(before?.id);
  });

  test.each([
    ['its drill is taken off', { drill: undefined }],
    ['it is taken out of service', { suspended: true }],
    ['its present form cannot be served', { apis: ['Nonsense'] }],
  ])('of a model ends if %s', (_, more) => {
    const rig = start();
    rig.judged(nightly);
    rig.judged(verdictOf({ schedule: '0 3 * * *' }, {}, more));
    expect(rig.orders()).toEqual([]);
    expect(rig.readings()).toEqual([]);
    expect(rig.reportOf(KEY)).toBeUndefined();
  });
});

test('a pod gets no more drills than it accepts, and the others run afterwards', () => {
  const rig = start(undefined, ['a']);
  const keys = Array.from({ length: DRILL_ORDERS_MAX + 3 }, (_, index) => `ModelRoute/team-a/m${index}`);
  rig.watch(new Map(keys.map((key) => [key, { ...nightly, name: key.slice('ModelRoute/team-a/'.length) }])));
  expect(rig.orders()).toHaveLength(DRILL_ORDERS_MAX);
  rig.tell('a');
  expect(rig.orders()).toHaveLength(DRILL_ORDERS_MAX);
  expect(rig.changed).toHaveLength(1);
});

describe('while every place is taken', () => {
  /** As many as there are places, of one namespace, that take long; then one of another. */
  function crowded(): Rig {
    const rig = start(undefined, ['a']);
    const many = Array.from({ length: 3 * DRILL_ORDERS_MAX }, (_, index) => `m${index}`);
    const verdicts = new Map(many.map((name) => [`ModelRoute/team-a/${name}`, { ...nightly, name }]));
    rig.watch(verdicts);
    rig.watch(verdicts.set('ModelRoute/team-b/m', { ...nightly, namespace: 'team-b' }));
    return rig;
  }

  test('by one namespace, the next place goes to another', () => {
    const rig = crowded();
    expect(rig.orders().map(([, { route: of }]) => of)).not.toContain('team-b/m');
    rig.tell('a');
    expect(rig.orders().map(([, { route: of }]) => of)).toContain('team-b/m');
  });

  test('for a minute, that is reported until the drill runs', () => {
    const rig = crowded();
    rig.clock.advance(59_000);
    expect(rig.changed).toEqual([]);
    rig.clock.advance(2_000);
    expect(rig.reportOf('ModelRoute/team-b/m')?.trouble).toContain('runs after them');
    expect(rig.changed).toContain('ModelRoute/team-b/m');
    rig.tell('a');
    const { id } = rig.orders().find(([, { route: of }]) => of === 'team-b/m')?.[1] ?? { id: 'none' };
    rig.answers.set('uid-a', runs(7, { drills: [{ id, isPassed: true, message: 'played' }] }));
    rig.look();
    expect(rig.reportOf('ModelRoute/team-b/m')?.trouble).toBeUndefined();
  });

  test('the drills that have waited longest run first', () => {
    const rig = crowded();
    for (const _ of Array(DRILL_ORDERS_MAX + 1)) rig.tell('a');
    rig.clock.advance(15 * hourMs);
    // The night is there: those that ran are due again, and those that never ran still go before them.
    for (const _ of Array(DRILL_ORDERS_MAX)) rig.tell('a');
    const ran = rig.readings().filter(({ lastRunMs }) => lastRunMs !== undefined);
    expect(ran).toHaveLength(2 * DRILL_ORDERS_MAX + 1);
  });
});

describe('if no pod can run it', () => {
  test.each([
    [
      'no pod is ready',
      (rig: Rig) => {
        rig.pods = [];
      },
      'no gateway pod is ready',
    ],
    [
      'every pod is of a version that knows no drills',
      (rig: Rig) => {
        for (const { uid } of rig.pods) rig.answers.set(uid, runs(7));
      },
      'too old for drills',
    ],
  ])('because %s, that is reported after a minute, and it runs as soon as one can', (_, leave, part) => {
    const rig = start();
    leave(rig);
    rig.judged(nightly);
    rig.clock.advance(59_000);
    expect(rig.changed).toEqual([]);
    rig.clock.advance(2_000);
    expect(rig.changed).toEqual([KEY]);
    expect(rig.reportOf(KEY)?.trouble).toContain(part);
    rig.pods = [pod('d')];
    rig.answers.set('uid-d', runs(7, { drills: [] }));
    rig.look();
    rig.tell('d');
    expect(rig.reportOf(KEY)?.trouble).toBeUndefined();
  });

  test('the due time stays where it was', () => {
    const rig = start({ lastRunTime: '2026-11-22T03:00:00Z', result: 'Passed' });
    rig.pods = [];
    rig.judged(nightly);
    rig.clock.advance(20 * hourMs);
    expect(rig.readings()[0]?.dueMs).toBe(START + 15 * hourMs);
  });
});

test('no call is left after closing', () => {
  const rig = start({ lastRunTime: '2026-11-22T03:00:00Z', result: 'Passed' });
  rig.judged(nightly);
  expect(rig.clock.pending()).toHaveLength(1);
  rig.close();
  rig.look();
  expect(rig.clock.pending()).toEqual([]);
});
