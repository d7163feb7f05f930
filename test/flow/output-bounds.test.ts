// Does a budget hold by the bound that a caller sets for its answers, by whatever name it sets it? The provider answers at such length as the
// names that it knows allow, and takes no notice of others.

import { expect, test } from 'vitest';
import { asRecord } from '../../gateway/json/record.ts';
import { type RigTarget, tableOf } from '../gateway/rig.ts';
import { ask, type Endpoint } from './ask.ts';
import { type House, inHouse } from './house.ts';

const asked = 20;
const picodollarsPerCent = 1e10;
const price = { input: 0, output: 5_000_000, source: 'target' };
/** An answer of ten cents. */
const longest = 20_000;

interface Bounded {
  readonly endpoint?: Endpoint;
  /** The names of a bound that the provider knows; of several that are there the first counts. */
  readonly knows: readonly string[];
  readonly target?: Partial<RigTarget>;
  /** Members of the request. */
  readonly more: object;
}

/** What so many calls that are all in flight at once spend, in cents, where their key may spend fifteen. */
async function spentBy(house: House, { endpoint = 'chat', knows, target, more }: Bounded): Promise<number> {
  const all = Promise.withResolvers<void>();
  let come = 0;
  const arrive = (): void => {
    if (++come === asked) all.resolve();
  };
  const wall = await house.wallThat(({ json }) => {
    arrive();
    const bound = knows.map((name) => asRecord(json)?.[name]).find((value) => typeof value === 'number');
    const outputTokens = Math.min(longest, Number(bound ?? longest));
    return { type: 'answer', beforeHeaders: { until: all.promise }, usage: { inputTokens: 5, outputTokens } };
  });
  const targets = [{ price, ...target, baseUrl: wall.baseUrl }];
  const rig = await house.rigOf(targets);
  const table = tableOf(targets);
  const budgets = [{ period: 'Day' as const, limitMicrodollars: 150_000 }];
  rig.offer({
    ...table,
    keys: table.keys.map((key) => ({ ...key, budgets })),
    // What is held where the caller sets no bound that is sure to be known.
    routes: table.routes.map((route) => ({ ...route, maxOutputTokens: longest })),
  });
  const askOne = async (): Promise<void> => {
    const { status } = await ask(rig, { endpoint, more });
    if (status !== 200) arrive();
  };
  await Promise.all(Array.from({ length: asked }, askOne));
  expect(rig.records).not.toEqual([]);
  return (
    rig.records.reduce((sum, { costPicodollars }) => sum + (costPicodollars ?? 0), 0) / picodollarsPerCent
  );
}

const older = ['max_tokens'];
const both = ['max_tokens', 'max_completion_tokens'];
const newerFirst = both.toReversed();
const current = { providerEntry: { chatNames: 'current' as const } };
const common = { providerEntry: { chatNames: 'common' as const } };

test.each<[string, Bounded]>([
  ['the older name', { knows: older, more: { max_tokens: longest } }],
  [
    'the newer name, of which the provider knows nothing',
    { knows: older, more: { max_completion_tokens: longest } },
  ],
  [
    'a small one by the newer name, which may not be known',
    { knows: older, more: { max_completion_tokens: 1 } },
  ],
  ['beside null', { knows: older, more: { max_completion_tokens: 1, max_tokens: null } }],
  [
    'a small one by the newer name, which is not known',
    { knows: older, target: common, more: { max_completion_tokens: 1 } },
  ],
  [
    'both names, and the older is known',
    { knows: older, more: { max_completion_tokens: 1, max_tokens: longest } },
  ],
  [
    'both names, and the older counts',
    { knows: both, more: { max_completion_tokens: 1, max_tokens: longest } },
  ],
  [
    'both names, and the newer counts',
    { knows: newerFirst, more: { max_completion_tokens: longest, max_tokens: 1 } },
  ],
  [
    'the newer name, which is known',
    { knows: newerFirst, target: current, more: { max_completion_tokens: longest } },
  ],
])('of chat calls with a limit, one exceeds the budget at most: %s', (_, bounded) =>
  inHouse(async (house) => {
    expect(await spentBy(house, bounded)).toBeLessThanOrEqual(15 + 10);
  })(),
);

const unbounded = { endpoint: 'completions', knows: older } as const;

test.each<[string, Bounded]>([
  [
    'a longer one of the target',
    { ...unbounded, target: { parameters: { max_tokens: longest } }, more: { max_tokens: undefined } },
  ],
  ['a name of chat', { ...unbounded, more: { max_tokens: undefined, max_completion_tokens: longest } }],
  [
    'a name of chat, and a longer one of the target',
    {
      ...unbounded,
      target: { parameters: { max_tokens: longest } },
      more: { max_tokens: undefined, max_completion_tokens: 1 },
    },
  ],
])('of completions without a limit, one exceeds the budget at most: %s', (_, bounded) =>
  inHouse(async (house) => {
    expect(await spentBy(house, bounded)).toBeLessThanOrEqual(15 + 10);
  })(),
);
