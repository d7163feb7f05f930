// What does a process say of itself, in its metrics?

import { until } from '../../support/until.ts';
import type { OperatorProcess } from './installation.ts';

/** One value: the sum of all series that match, 0 where the metric is there and has none of them yet. */
export async function readMetrics(
  metricsUrl: string,
): Promise<(name: string, ...labels: string[]) => number> {
  const lines = (await (await fetch(`${metricsUrl}/metrics`)).text()).split('\n');
  return (name, ...labels) => {
    const found = lines.filter(
      (line) =>
        (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) &&
        labels.every((label) => line.includes(label)),
    );
    const family = name.replace(/_(count|sum)$/, '');
    if (!lines.some((line) => line.startsWith(`# TYPE ${family} `)))
      throw new Error(`${metricsUrl} says nothing of ${name}`);
    return found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  };
}

/** Settled when this operator has decided the status of so many objects. @param pauseMs between two looks, each of which it works for. */
export async function untilDecided(
  { metricsUrl }: OperatorProcess,
  objectCount: number,
  pauseMs?: number,
): Promise<void> {
  await until(async () => {
    const metrics = await readMetrics(metricsUrl);
    const runs = metrics('controller_runtime_reconcile_time_seconds_count', 'controller="status"');
    return runs >= objectCount && metrics('workqueue_depth', 'name="status"') === 0;
  }, pauseMs);
}
