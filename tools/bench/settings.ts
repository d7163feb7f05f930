// What was asked for? Command line and environment, read once, checked.

import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ceilings } from './gates.ts';
import { isServedBy, type Scenario, scenarios } from './scenarios.ts';
import { type TargetName, targetNames } from './targets/target.ts';

/** The scenarios in which parts of the gateway are measured. */
const partScenarios = ['unary-1k', 'sse-burst'];

export type Settings = {
  targets: TargetName[];
  scenarios: Scenario[];
  rounds: number;
  warmSeconds: number;
  windowSeconds: number;
  isQuick: boolean;
  /** Write a CPU profile of one Node target in one scenario instead of comparing. */
  isProfile: boolean;
  /** Measure the cost of a change of configuration instead of comparing. */
  isTable: boolean;
  /** Measure what a request costs beside a large table and many streams instead of comparing. */
  isGrowth: boolean;
  /** Measure what each part of the gateway costs against none of them instead of comparing. */
  isParts: boolean;
  /** Hold the gateway against the ceilings of the build, in less than two minutes where all are kept. */
  isGate: boolean;
  cacheFolder: string;
  resultsFolder: string;
  /** What started processes see of the environment. */
  environment: Readonly<Record<string, string>>;
};

type Invocation = { kind: 'help'; text: string } | { kind: 'run'; settings: Settings };

const help = `npm run bench -- [options]

  --targets a,b      of ${targetNames.join(', ')} (default: all)
  --scenarios a,b    of ${scenarios.map((scenario) => scenario.name).join(', ')} (default: all)
  --rounds N         alternating rounds (default 5)
  --seconds S        measured window of one target in one scenario (default 3)
  --quick            2 rounds of 1 s after 1 s of warm-up: does everything work? Its figures mean little
  --profile          profile the gateway (or --targets floor) in one scenario (default unary-1k): time and allocated bytes
  --table            measure compile, load and swap of large routing tables instead, without neighbours
  --growth           measure what a request costs with 50,000 keys and beside 5,000 open streams, each against a small gateway
  --parts            measure what limits, budgets, ledger, metrics and tracing cost the gateway instead, each against none,
                     under ${partScenarios.join(' and ')}
  --gate             hold the gateway against the floor, and fail above the ceilings of the build
  --results FOLDER   where to write (default tools/bench/results)

  PENSTOCK_BENCH_CACHE   folder for compiled programs and downloads (default: penstock-bench in the user's cache folder)
`;

/** @throws Error that names the option and what it may be. */
export function readSettings(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Invocation {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      targets: { type: 'string' },
      scenarios: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      table: { type: 'boolean', default: false },
      growth: { type: 'boolean', default: false },
      parts: { type: 'boolean', default: false },
      gate: { type: 'boolean', default: false },
      results: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return { kind: 'help', text: help };
  const home = env.HOME ?? homedir();
  const { profile: isProfile, parts: isParts, gate: isGate, growth: isGrowth } = values;
  const chosenTargets = choose(
    '--targets',
    values.targets ?? (isGate ? 'floor,gateway' : isProfile || isParts || isGrowth ? 'gateway' : undefined),
    targetNames,
  );
  const gateScenarios = ceilings.map(({ scenario }) => scenario);
  const scenarioNames = isParts ? partScenarios : isGate ? gateScenarios : scenarios.map(({ name }) => name);
  const chosenScenarios = choose(
    '--scenarios',
    values.scenarios ?? (isProfile ? 'unary-1k' : undefined),
    scenarioNames,
  );
  const isServed = (scenario: Scenario) => chosenTargets.some((target) => isServedBy(scenario, target));
  const wanted = scenarios.filter((scenario) => chosenScenarios.includes(scenario.name));
  const unserved = wanted.find((scenario) => !isServed(scenario));
  if (unserved && values.scenarios !== undefined)
    throw new Error(`--scenarios: ${unserved.name} can be served by none of ${chosenTargets.join(', ')}`);
  const settings: Settings = {
    targets: chosenTargets,
    scenarios: wanted.filter(isServed),
    rounds: readNumber('--rounds', values.rounds, values.quick ? 2 : isGate ? 3 : 5, 1),
    // Below 6 s at full load some Node code still runs unoptimised, and every figure flatters its rivals.
    // The parts of the gateway are all as warm as each other, and there are many of them.
    warmSeconds: values.quick ? 1 : isParts ? 4 : isGate ? 5 : 6,
    windowSeconds: readNumber(
      '--seconds',
      values.seconds,
      values.quick ? 1 : isParts ? 1.2 : isGate ? 1.5 : 3,
      0.2,
    ),
    isQuick: values.quick,
    isProfile,
    isTable: values.table,
    isGrowth,
    isParts,
    isGate,
    cacheFolder:
      env.PENSTOCK_BENCH_CACHE ?? join(env.XDG_CACHE_HOME ?? join(home, '.cache'), 'penstock-bench'),
    resultsFolder: values.results ?? join(import.meta.dirname, 'results'),
    environment: { PATH: env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin', HOME: home },
  };
  if (isProfile) checkProfile(settings);
  if (isParts && settings.targets.join() !== 'gateway')
    throw new Error('--parts measures the gateway alone; it takes no other --targets');
  if (isGrowth && settings.targets.join() !== 'gateway')
    throw new Error('--growth measures the gateway alone; it takes no other --targets');
  if (isGate && settings.targets.join() !== 'floor,gateway')
    throw new Error('--gate measures floor and gateway; it takes no other --targets');
  return { kind: 'run', settings };
}

function checkProfile(settings: Settings): void {
  const [target, ...moreTargets] = settings.targets;
  const [scenario, ...moreScenarios] = settings.scenarios;
  if (moreTargets.length > 0 || (target !== 'gateway' && target !== 'floor')) {
    throw new Error('--profile takes one target that runs on Node: --targets gateway or --targets floor');
  }
  if (moreScenarios.length > 0 || scenario?.kind !== 'load') {
    throw new Error('--profile takes one scenario that puts on load, for example --scenarios unary-1k');
  }
}

function choose<T extends string>(option: string, list: string | undefined, allowed: readonly T[]): T[] {
  if (list === undefined) return [...allowed];
  const wanted = list.split(',').map((name) => name.trim());
  const unknown = wanted.find((name) => !allowed.some((known) => known === name));
  if (unknown !== undefined) throw new Error(`${option}: '${unknown}' is none of ${allowed.join(', ')}`);
  return allowed.filter((name) => wanted.includes(name));
}

function readNumber(option: string, text: string | undefined, fallback: number, min: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!(value >= min && value <= 1000))
    throw new Error(`${option}: '${text}' is not a number from ${min} to 1000`);
  return value;
}
