// In which order do test files run? Those that need the test cluster last, so that all others run while it is prepared. Of those the
// long ones first, since nothing would run beside one that is left over; and what only calculates between them, since they wait.

import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { makeNeedsCluster } from './needs-cluster.ts';

/** What takes longer than half a minute, the longest first. A checkout in which nothing has run yet knows of no durations. */
export const long = [
  'flow/cluster/outages',
  'flow/cluster/apply-to-answer',
  'flow/cluster/scale',
  'flow/cluster/revocation',
  'flow/cluster/rights',
  'charts/install',
  'dashboard/browser/browser',
  'flow/cluster/key-lifecycle',
  'flow/cluster/leaders',
  'flow/cluster/tenancy',
  'flow/cluster/failing-publish',
  'flow/cluster/bad-object',
  'flow/cluster/clock',
  'flow/cluster/last-known-good',
];
/** What waits for nobody, and takes longer than ten seconds. */
export const calculating = [
  'simulation/every-promise-1',
  'simulation/every-promise-2',
  'simulation/every-promise-3',
  'simulation/every-promise-4',
  'gateway/dialects/goldens',
  'gateway/dialects/pass-through/marked-state',
  'gateway/dialects/openai/odd-answers',
  'gateway/dialects/properties/streams',
  'gateway/dialects/anthropic-messages/any-input',
  'gateway/json/scan-members',
  'operator/compile/properties',
];

export class ClusterLastSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const needsCluster = makeNeedsCluster();
    const sorted = await super.sort(files);
    const withCluster = sorted.filter(({ moduleId }) => needsCluster(moduleId));
    const rest = sorted.filter((file) => !withCluster.includes(file));
    const named = (files: readonly TestSpecification[], names: readonly string[]) =>
      names.flatMap((name) => files.filter(({ moduleId }) => moduleId.endsWith(`/test/${name}.test.ts`)));
    const [waiting, busy] = [named(withCluster, long), named(rest, calculating)];
    return [
      ...rest.filter((file) => !busy.includes(file)),
      ...inTurn(waiting, busy),
      ...withCluster.filter((file) => !waiting.includes(file)),
    ];
  }
}

/** One of the one, one of the other, until there are no more. */
function inTurn<T>(ones: readonly T[], others: readonly T[]): T[] {
  const mixed = ones.flatMap((one, index) => [one, ...others.slice(index, index + 1)]);
  return [...mixed, ...others.slice(ones.length)];
}
