// In which order do test files run? Those that need the test cluster last, so that all others run while it is prepared. Of those the
// long ones first, since nothing would run beside one that is left over; and what only calculates between them, since they wait.

import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { makeNeedsCluster } from './needs-cluster.ts';

/** What takes longer than half a minute, the longest first. A checkout in which nothing has run yet knows of no durations. */
const long = [
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
const calculating = /\/test\/simulation\/every-promise-\d+\.test\.ts$/;

export class ClusterLastSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const needsCluster = makeNeedsCluster();
    const sorted = await super.sort(files);
    const withCluster = sorted.filter(({ moduleId }) => needsCluster(moduleId));
    const rest = sorted.filter((file) => !withCluster.includes(file));
    const isLong = ({ moduleId }: TestSpecification) => rankOf(moduleId) < long.length;
    return [
      ...rest.filter(({ moduleId }) => !calculating.test(moduleId)),
      ...inTurn(
        withCluster.filter(isLong).sort((a, b) => rankOf(a.moduleId) - rankOf(b.moduleId)),
        rest.filter(({ moduleId }) => calculating.test(moduleId)),
      ),
      ...withCluster.filter((file) => !isLong(file)),
    ];
  }
}

function rankOf(moduleId: string): number {
  const rank = long.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return rank === -1 ? long.length : rank;
}

/** Two of the one, one of the other, until there are no more. */
function inTurn<T>(ones: readonly T[], others: readonly T[]): T[] {
  const mixed = ones.flatMap((one, index) => [
    one,
    ...(index % 2 === 1 ? others.slice((index - 1) / 2, (index + 1) / 2) : []),
  ]);
  return [...mixed, ...others.slice(Math.floor(ones.length / 2))];
}
