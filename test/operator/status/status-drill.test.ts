// What does the status of a ModelRoute say of its drill, and which events tell of it?

import { describe, expect, test } from 'vitest';
import type { DrillOutcome } from '../../../core/contract/exchange.ts';
import type { DrillReport } from '../../../operator/drills/drills.ts';
import type { ModelRouteStatus } from '../../../operator/resources/model-route.ts';
import { drillNews } from '../../../operator/status/drill-news.ts';
import type { ObjectStatus } from '../../../operator/status/object-status.ts';
import type { RawObject } from '../../../operator/watch/snapshot.ts';
import { provider, route, secret } from '../make.ts';
import { judge, look, NOW_MS, withStatus, written } from './status-support.ts';

const DRILLED = route({ drill: { schedule: '0 3 * * *' } }, { generation: 1 });
const PLAIN = route({}, { generation: 1 });

function decide(object: RawObject, drill?: DrillReport, seconds = 0) {
  const verdict = judge('ModelRoute', {
    modelRoutes: [object],
    providers: [provider()],
    secrets: [secret()],
  });
  return look(object, verdict, { drill, nowMs: NOW_MS + seconds * 1000 });
}

const drillIn = (status: ObjectStatus): ModelRouteStatus['drill'] => {
  const ofRoute: ModelRouteStatus = status;
  return ofRoute.drill;
};

const ran = (outcome: Partial<DrillOutcome>, trigger?: string): DrillReport => ({
  run: { atMs: NOW_MS, trigger, outcome: { id: 'run', isPassed: true, message: 'it was seen', ...outcome } },
});
const passed = ran({ servedBy: 'spare', takeoverMs: 12 }, 'one');
const failed = ran({ isPassed: false, message: 'lower timeouts.firstEvent' });
const stuck: DrillReport = { trouble: 'no gateway pod is ready to run it' };

describe('the status of a drill', () => {
  test('is absent before the first run, and without a drill', () => {
    expect(drillIn(written(decide(DRILLED)))).toBeUndefined();
    expect(drillIn(written(decide(PLAIN, passed)))).toBeUndefined();
  });

  test('has the time, the result and the next time', () => {
    expect(drillIn(written(decide(DRILLED, passed)))).toEqual({
      lastRunTime: '2026-06-01T00:00:00Z',
      result: 'Passed',
      takeover: '12ms',
      servedBy: 'spare',
      message: 'it was seen',
      nextRunTime: '2026-06-01T03:00:00Z',
      observedTrigger: 'one',
    });
  });

  test('is written once, and stays under the next leader, which has seen no run', () => {
    const after = withStatus(DRILLED, written(decide(DRILLED, passed)));
    expect(decide(after, passed, 60).type).toBe('same');
    expect(decide(after, undefined, 60).type).toBe('same');
  });

  test('has another next time with another schedule', () => {
    const { status } = withStatus(DRILLED, written(decide(DRILLED, passed)));
    const later = route({ drill: { schedule: '30 4 * * *' } }, { generation: 1 });
    const next = drillIn(written(decide({ ...later, status })));
    expect(next).toMatchObject({ result: 'Passed', nextRunTime: '2026-06-01T04:30:00Z' });
  });

  test('is removed with the drill', () => {
    const { status } = withStatus(DRILLED, written(decide(DRILLED, passed)));
    expect(drillIn(written(decide({ ...PLAIN, status })))).toBeUndefined();
  });

  test('reports a due drill that no pod can run, and keeps the time of the last one', () => {
    expect(drillIn(written(decide(DRILLED, stuck)))).toEqual({
      result: 'NotRun',
      message: 'no gateway pod is ready to run it',
    });
    const after = withStatus(DRILLED, written(decide(DRILLED, passed)));
    expect(drillIn(written(decide(after, stuck)))).toEqual({
      lastRunTime: '2026-06-01T00:00:00Z',
      result: 'NotRun',
      message: 'no gateway pod is ready to run it',
      nextRunTime: '2026-06-01T03:00:00Z',
      observedTrigger: 'one',
    });
  });

  test('does not make the route unready', () => {
    const conditions = (drill?: DrillReport) => written(decide(DRILLED, drill)).conditions;
    expect(conditions(failed)).toEqual(conditions());
  });
});

describe('an event', () => {
  const [good, bad, none] = [passed, failed, stuck].map((report) => written(decide(DRILLED, report)));
  const reasons = (before: ObjectStatus | undefined, after: ObjectStatus | undefined) =>
    after === undefined ? [] : drillNews(before, after).map(({ type, reason }) => `${type} ${reason}`);

  test.each([
    ['of the first result', undefined, good, ['Normal DrillPassed']],
    ['of a failure', good, bad, ['Warning DrillFailed']],
    ['of a result that is good again', bad, good, ['Normal DrillPassed']],
    ['of none that could be run', good, none, ['Warning DrillNotRun']],
    ['of the same result again: none', bad, bad, []],
    ['of a drill that is taken off: none', bad, written(decide(PLAIN)), []],
  ])('%s', (_, before, after, expected) => {
    expect(reasons(before, after)).toEqual(expected);
  });

  test('names the remedy', () => {
    expect(bad && drillNews(good, bad)[0]?.note).toBe('lower timeouts.firstEvent');
  });
});
