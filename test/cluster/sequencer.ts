// In which order do test files run? Files that need the test cluster mostly wait, so they run beside files that calculate, from the
// first to the last. While the programs of the cluster are still to be built, they come last.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { makeNeedsCluster } from './needs-cluster.ts';
import { programCacheFolder, programNames } from './programs.ts';

/** Files that take longer than half a minute, the longest first. A checkout in which nothing has run yet has no durations. */
export const long = [
  'flow/cluster/outages',
  'flow/cluster/rights',
  'flow/cluster/scale',
  'flow/cluster/leaders',
  'flow/cluster/key-lifecycle',
  'flow/cluster/revocation',
  'dashboard/browser/browser',
  'flow/cluster/apply-to-answer',
  'flow/cluster/tenancy',
  'charts/penstock',
  'charts/install',
  'operator/publish/publisher',
  'flow/cluster/bad-object',
  'flow/cluster/last-known-good',
  'flow/cluster/clock',
  'flow/cluster/failing-publish',
  'local/editing',
  'ledger/store/store',
  'conformance/python',
  'dashboard/rig/new-key',
  'local/user',
  'tools/pack/image',
  'dashboard/rig/ledger-views',
  'flow/cooldowns',
  'flow/budgets',
  'gateway/upstream/send',
  'gateway/process/signals',
  'flow/failover',
];

const seconds = { long: 45, withCluster: 15, other: 3 };

/** A file, and about how long it takes. */
export type Timed<T> = readonly [file: T, seconds: number];

export class MixingSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const needsCluster = makeNeedsCluster();
    const sorted = await super.sort(files);
    const named = long.flatMap((name) =>
      sorted.filter(({ moduleId }) => moduleId.endsWith(`/test/${name}.test.ts`)),
    );
    const ordered = [...named, ...sorted.filter((file) => !named.includes(file))];
    const timed = (isWanted: (file: TestSpecification) => boolean, usual: number) =>
      ordered.filter(isWanted).map((file): Timed<TestSpecification> => {
        return [file, named.includes(file) ? seconds.long : usual];
      });
    const waiting = timed(({ moduleId }) => needsCluster(moduleId), seconds.withCluster);
    const rest = timed(({ moduleId }) => !needsCluster(moduleId), seconds.other);
    return isBuilt() ? mix(waiting, rest) : [...rest, ...waiting].map(([file]) => file);
  }
}

function isBuilt(): boolean {
  const folder = programCacheFolder(process.env);
  return programNames.every((name) => existsSync(join(folder, name)));
}

/** Each in its order, and at any place the same share of the time of both is behind it. */
export function mix<T>(ones: readonly Timed<T>[], others: readonly Timed<T>[]): T[] {
  return [...shares(ones), ...shares(others)].toSorted((a, b) => a.share - b.share).map(({ file }) => file);
}

function shares<T>(files: readonly Timed<T>[]): { readonly file: T; readonly share: number }[] {
  const total = files.reduce((sum, [, time]) => sum + time, 0);
  let before = 0;
  return files.map(([file, time]) => {
    const share = before / total;
    before += time;
    return { file, share };
  });
}
