// What does a status say of the drill of a route? The last run, by what this operator saw of it or else by what was said before.

import { timeOf } from '../../core/kube/time.ts';
import type { Drill } from '../compile/drill.ts';
import { cutText } from '../cut-text.ts';
import type { DrillReport, DrillRun } from '../drills/drills.ts';
import { nextCronMs } from '../resources/cron.ts';
import type { ModelRouteStatus } from '../resources/model-route.ts';
import type { ObjectStatus } from './object-status.ts';

type DrillStatus = NonNullable<ModelRouteStatus['drill']>;

const messageCharsMax = 1_024;

/**
 * @param drill undefined where none is to be run: then nothing is said of earlier ones either.
 * @param report undefined where this operator has nothing to add to what was said before.
 */
export function settleDrill(
  drill: Drill | undefined,
  report: DrillReport | undefined,
  present: ObjectStatus | undefined,
): DrillStatus | undefined {
  if (drill === undefined) return undefined;
  const before: ModelRouteStatus = present ?? {};
  const { nextRunTime: _, ...last } =
    report?.run === undefined ? (before.drill ?? {}) : statusOfRun(report.run);
  const lastMs = Date.parse(last.lastRunTime ?? '');
  const next = Number.isNaN(lastMs) ? {} : { nextRunTime: timeOf(nextCronMs(drill.schedule, lastMs)) };
  if (report?.trouble !== undefined) {
    const { lastRunTime, observedTrigger } = last;
    return {
      ...(lastRunTime === undefined ? {} : { lastRunTime }),
      ...(observedTrigger === undefined ? {} : { observedTrigger }),
      result: 'NotRun',
      message: report.trouble,
      ...next,
    };
  }
  return last.result === undefined ? undefined : { ...last, ...next };
}

function statusOfRun({ atMs, trigger, outcome }: DrillRun): DrillStatus {
  const { isPassed, servedBy, takeoverMs, message } = outcome;
  return {
    lastRunTime: timeOf(atMs),
    result: isPassed ? 'Passed' : 'Failed',
    ...(takeoverMs === undefined ? {} : { takeover: `${takeoverMs}ms` }),
    ...(servedBy === undefined ? {} : { servedBy }),
    message: cutText(message, messageCharsMax),
    ...(trigger === undefined ? {} : { observedTrigger: trigger }),
  };
}
