// `--gate`: does a request cost more than the build allows? Floor and gateway in turns on one core. A cost above its ceiling is measured
// again, up to three times in all: the machine may have been busy, and no chance makes a request cheaper than it is.

import { type ComparisonParts, compare } from './compare.ts';
import { broken, ceilings } from './gates.ts';
import type { Settings } from './settings.ts';
import { summarise } from './summary.ts';

const measurementsMax = 3;

/** @returns Whether all ceilings are kept. */
export async function keepsCeilings(settings: Settings, parts: ComparisonParts): Promise<boolean> {
  const ratios = new Map<string, number | undefined>();
  for (let measurement = 1; measurement <= measurementsMax; measurement++) {
    const missing = broken(ratios).map(({ scenario }) => scenario);
    if (missing.length === 0) break;
    const scenarios = settings.scenarios.filter(({ name }) => missing.includes(name));
    const comparison = await compare({ ...settings, scenarios }, parts);
    for (const { target, scenario, why } of comparison.broken) {
      throw new Error(`${target} broke in ${scenario}: ${why}`);
    }
    for (const summary of summarise(scenarios, settings.targets, comparison.measurements).scenarios) {
      if (summary.kind !== 'load') continue;
      const row = summary.rows.find(({ target }) => target === 'gateway');
      ratios.set(summary.scenario.name, row?.cpuRatio.floor);
    }
  }
  const over = broken(ratios);
  for (const ceiling of ceilings) {
    const { scenario, max, goal } = ceiling;
    const verdict = over.includes(ceiling) ? 'FAILS' : 'passes';
    console.log(
      `${scenario}: ${ratios.get(scenario)?.toFixed(2) ?? '-'} x floor; at most ${max} (goal ${goal}): ${verdict}`,
    );
  }
  return over.length === 0;
}
