// The comparison: start every target once, warm it at full load, then let all take turns, round after round.

import { RunEndedError } from './launcher.ts';
import type { LoadClient } from './load.ts';
import type { Cores } from './measure/cores.ts';
import type { Measurement } from './measurement.ts';
import { scenarios as allScenarios, isServedBy, type LoadScenario, type Scenario } from './scenarios.ts';
import type { Settings } from './settings.ts';
import { takeHold } from './take-hold.ts';
import { takeLoad } from './take-load.ts';
import { awaitAnswer } from './targets/await-answer.ts';
import { targets } from './targets/registry.ts';
import type { RunningTarget, TargetContext, TargetName } from './targets/target.ts';

export type Comparison = { measurements: Measurement[]; broken: BrokenTarget[] };

/** A target that gave a wrong answer, or none. One is enough: its figures are not worth having. */
export type BrokenTarget = { target: TargetName; scenario: string; round: number | 'warm-up'; why: string };

export type ComparisonParts = {
  client: LoadClient;
  context: TargetContext;
  cores: Cores;
  /** Tells a person where the run is. */
  say(text: string): void;
};

export async function compare(settings: Settings, parts: ComparisonParts): Promise<Comparison> {
  const comparison: Comparison = { measurements: [], broken: [] };
  const loads = settings.scenarios.filter((scenario) => scenario.kind === 'load');
  if (loads.length > 0) await compareLoads(settings, loads, parts, comparison);
  await compareHolds(settings, parts, comparison);
  return comparison;
}

async function compareLoads(
  settings: Settings,
  loads: readonly LoadScenario[],
  parts: ComparisonParts,
  comparison: Comparison,
): Promise<void> {
  const running: RunningTarget[] = [];
  for (const name of settings.targets) running.push(await startTarget(name, parts.context));
  const serving = (scenario: LoadScenario) => running.filter(({ name }) => isServedBy(scenario, name));
  for (const scenario of warmUpScenarios(loads)) {
    for (const target of serving(scenario)) {
      parts.say(`warm-up: ${scenario.name} ${target.name}`);
      const at = { round: 0, seconds: settings.warmSeconds, cores: parts.cores };
      await note(comparison, target.name, scenario, 'warm-up', () =>
        takeLoad(parts.client, target, scenario, at),
      );
    }
  }
  for (let round = 1; round <= settings.rounds; round++) {
    // Alternating order: no target and no scenario is always first, or always after the same neighbour.
    for (const scenario of round % 2 === 1 ? loads : loads.toReversed()) {
      for (const target of rotate(serving(scenario), round)) {
        parts.say(`round ${round}: ${scenario.name} ${target.name}`);
        const at = { round, seconds: settings.windowSeconds, cores: parts.cores };
        await note(comparison, target.name, scenario, round, () =>
          takeLoad(parts.client, target, scenario, at),
        );
      }
    }
  }
  await Promise.all(running.map((target) => target.stop()));
}

async function compareHolds(
  settings: Settings,
  parts: ComparisonParts,
  comparison: Comparison,
): Promise<void> {
  const proxies = settings.targets.filter((name) => name !== 'direct');
  for (const scenario of settings.scenarios) {
    if (scenario.kind !== 'hold') continue;
    for (let round = 1; round <= Math.min(settings.rounds, 3); round++) {
      for (const name of rotate(proxies, round)) {
        parts.say(`round ${round}: ${scenario.name} ${name}`);
        const target = await startTarget(name, parts.context);
        const at = { round, upstreamPort: parts.context.upstream.port };
        await note(comparison, name, scenario, round, () => takeHold(parts.client, target, scenario, at));
        await target.stop();
      }
    }
  }
}

export async function startTarget(name: TargetName, context: TargetContext): Promise<RunningTarget> {
  const target = await targets[name].start(context);
  await awaitAnswer(target);
  return target;
}

/** The full load of every kind that the run will measure; a rate of 200/s would warm nothing. */
export function warmUpScenarios(loads: readonly LoadScenario[]): LoadScenario[] {
  const kinds = new Set(loads.map((scenario) => scenario.warmUp));
  const fullLoads = allScenarios.filter(isFullLoad);
  return [...kinds].flatMap((kind) => fullLoads.find((each) => each.warmUp === kind) ?? []);
}

function isFullLoad(scenario: Scenario): scenario is LoadScenario {
  return scenario.kind === 'load' && scenario.ratePerSecond === undefined;
}

export function rotate<T>(list: readonly T[], by: number): T[] {
  const at = list.length === 0 ? 0 : by % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}

/** One target that breaks, or that makes the measurement impossible, does not end the run for the others. */
async function note(
  comparison: Comparison,
  target: TargetName,
  scenario: Scenario,
  round: number | 'warm-up',
  take: () => Promise<Measurement>,
): Promise<void> {
  let why: string | undefined;
  try {
    const measurement = await take();
    why = whyBroken(measurement);
    if (round !== 'warm-up') comparison.measurements.push(measurement);
  } catch (error) {
    if (error instanceof RunEndedError) throw error;
    why = error instanceof Error ? error.message : String(error);
  }
  if (why !== undefined) comparison.broken.push({ target, scenario: scenario.name, round, why });
}

/** Why this measurement does not count, if it does not. */
export function whyBroken({ kind, client }: Measurement): string | undefined {
  if (client.bad > 0) {
    const reasons = Object.entries(client.badReasons).map(([reason, count]) => `${count} ${reason}`);
    const sample = client.firstBad === '' ? '' : `; the first began: ${client.firstBad.slice(0, 200)}`;
    return `${client.bad} bad answers (${reasons.join(', ')})${sample}`;
  }
  if (kind === 'hold')
    return client.lost > 0 ? `${client.lost} streams ended while they were to be held` : undefined;
  return client.good === 0 && client.events === 0 ? 'not one good answer' : undefined;
}
