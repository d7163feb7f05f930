// What must the gateway hold, and where does it want to be? Data, and one pure judgement.

/** Another target under the same load, or the same target where nothing is translated. */
type Against = 'floor' | 'envoy' | 'nginx' | 'pass-through';

type Bound = {
  level: 'gate' | 'goal';
  scenario: string;
  limit: { kind: 'cpu-ratio'; against: Against; max: number } | { kind: 'latency-p99'; maxMs: number };
};

/** What one scenario gave for the gateway: median CPU ratios by what they are taken against, median p99 in ms. */
export type GatewayFigures = {
  cpuRatio: { [against: string]: number | undefined };
  latencyP99Ms: number | undefined;
};

export type Judgement = Bound & { measured: number | undefined; verdict: 'pass' | 'miss' | 'not measured' };

const cpu = (level: 'gate' | 'goal', scenario: string, against: Against, max: number): Bound => ({
  level,
  scenario,
  limit: { kind: 'cpu-ratio', against, max },
});

export const bounds: readonly Bound[] = [
  cpu('gate', 'unary-1k', 'floor', 1.35),
  cpu('gate', 'unary-1k', 'envoy', 1.2),
  cpu('gate', 'sse-burst', 'envoy', 1.2),
  cpu('gate', 'unary-200', 'envoy', 1.6),
  cpu('gate', 'sse-paced', 'envoy', 1.5),
  cpu('gate', 'body-256k', 'envoy', 5),
  cpu('gate', 'sse-burst-messages', 'pass-through', 1.5),
  cpu('gate', 'sse-burst-responses', 'pass-through', 1.6),
  cpu('gate', 'sse-paced-messages', 'pass-through', 1.5),
  cpu('goal', 'unary-1k', 'envoy', 1),
  cpu('goal', 'sse-burst', 'envoy', 1),
  cpu('goal', 'unary-200', 'envoy', 1),
  cpu('goal', 'sse-paced', 'envoy', 1),
  cpu('goal', 'body-256k', 'envoy', 1.7),
  cpu('goal', 'sse-burst-messages', 'pass-through', 1.3),
  cpu('goal', 'sse-burst-responses', 'pass-through', 1.3),
  cpu('goal', 'sse-paced-messages', 'pass-through', 1.3),
  { level: 'goal', scenario: 'body-256k', limit: { kind: 'latency-p99', maxMs: 5 } },
];

/** Holds each bound against what was measured; a scenario or target left out of the run is `not measured`. */
export function judge(
  figures: ReadonlyMap<string, GatewayFigures>,
  all: readonly Bound[] = bounds,
): Judgement[] {
  return all.map((bound) => {
    const found = figures.get(bound.scenario);
    const { limit } = bound;
    const measured = limit.kind === 'cpu-ratio' ? found?.cpuRatio[limit.against] : found?.latencyP99Ms;
    const max = limit.kind === 'cpu-ratio' ? limit.max : limit.maxMs;
    const verdict = measured === undefined ? 'not measured' : measured <= max ? 'pass' : 'miss';
    return { ...bound, measured, verdict };
  });
}

/** What fails the build: the gateway's CPU against the floor's, in `npm run bench -- --gate`. */
type Ceiling = {
  scenario: string;
  /** Just above what was measured last; lowered with each step down. */
  max: number;
  /** Where it is going. */
  goal: number;
};

export const ceilings: readonly Ceiling[] = [
  { scenario: 'unary-1k', max: 3, goal: 1.35 },
  { scenario: 'sse-burst', max: 2.4, goal: 1.2 },
  { scenario: 'sse-paced', max: 1.7, goal: 1.15 },
  { scenario: 'body-256k', max: 1.9, goal: 1.25 },
];

/** The ceilings that the measured ratios do not keep; one that was not measured is not kept. */
export function broken(
  ratios: ReadonlyMap<string, number | undefined>,
  all: readonly Ceiling[] = ceilings,
): Ceiling[] {
  return all.filter(({ scenario, max }) => !((ratios.get(scenario) ?? Number.POSITIVE_INFINITY) <= max));
}
