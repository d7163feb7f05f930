// In which order do test files run? Files that need the test cluster mostly wait, so they run beside files that calculate, from the
// first to the last. While the programs of the cluster are still to be built, they come last.

import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { makeNeedsCluster } from './needs-cluster.ts';
import { programCacheFolder, programNames } from './programs.ts';

const testFolder = join(import.meta.dirname, '..');

/** Seconds of files that take ten or more, beside three others on two cores. A checkout in which nothing has run yet has no durations. */
export const secondsOf: Readonly<Record<string, number>> = {
  'charts/install': 74,
  'dashboard/browser/browser': 72,
  'flow/cluster/outages': 65,
  'gateway/cost/cost': 56,
  'charts/penstock': 49,
  'cluster/control-plane': 48,
  'flow/budgets': 36,
  'local/user': 34,
  'operator/usage/spending-cluster': 33,
  'flow/cluster/revoked-key': 33,
  'flow/cluster/revocation': 32,
  'flow/cluster/rights': 30,
  'conformance/sdk-retries': 30,
  'dashboard/dashboard': 29,
  'core/kube/real-server': 29,
  'conformance/openai-sdk': 28,
  'flow/reported-errors': 27,
  'flow/cluster/scale': 26,
  'conformance/python': 26,
  'local/editing': 25,
  'dashboard/rig/ledger-views': 23,
  'dashboard/rig/new-key': 23,
  'flow/cluster/last-known-good': 22,
  'ledger/store/store': 22,
  'tools/pack/image': 22,
  'operator/status/status-cluster': 22,
  'flow/cluster/key-lifecycle': 21,
  'flow/cut-streams': 21,
  'conformance/broken-streams': 21,
  'flow/cluster/apply-to-answer': 20,
  'operator/publish/publisher': 20,
  'gateway/process/table-secret': 12,
  'flow/rolling-restart/nobody-notices': 20,
  'flow/cluster/usage': 20,
  'flow/cluster/clock': 19,
  'flow/cluster/failing-publish': 19,
  'cluster/crds': 19,
  'conformance/vercel': 19,
  'flow/cluster/leaders': 18,
  'dashboard/rig/keys': 18,
  'flow/cooldowns': 16,
  'flow/failover': 15,
  'flow/killed-ledger/ledger': 15,
  'flow/keys': 14,
  'flow/bad-ways': 14,
  'conformance/openai-responses': 14,
  'flow/cluster/bad-object': 13,
  'gateway/table/secret-source': 13,
  'conformance/openai-chat': 13,
  'conformance/anthropic-messages': 13,
  'dashboard/rig/frame': 13,
  'flow/ledger-sums/every-fault': 13,
  'gateway/process/watchdog': 13,
  'gateway/process/signals': 11,
  'flow/cluster/tenancy': 11,
  'gateway/endpoints/fuzz': 11,
  'local/start': 11,
  'simulation/every-promise-1': 11,
  'gateway/limits/store-down': 11,
  'flow/cluster/byok': 10,
  'flow/cluster/quickstart': 10,
  'gateway/limits/gateways': 10,
  'simulation/every-promise-2': 10,
};

/** They collect all garbage, of every file that ran before in the same worker. First, there is little of it. */
export const collectors: readonly string[] = ['operator/watch/memory', 'gateway/upstream/send'];

/** Of all others. */
const seconds = { withCluster: 5, other: 1 };

/** A file, and about how long it takes. */
export type Timed<T> = readonly [file: T, seconds: number];

export class MixingSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const needsCluster = makeNeedsCluster();
    const sorted = await super.sort(files);
    const timed = (isWanted: (file: TestSpecification) => boolean, usual: number) =>
      sorted
        .filter(isWanted)
        .map((file): Timed<TestSpecification> => [file, secondsOf[nameOf(file)] ?? usual])
        .toSorted(([, one], [, other]) => other - one);
    const waiting = timed(({ moduleId }) => needsCluster(moduleId), seconds.withCluster);
    const others = timed(({ moduleId }) => !needsCluster(moduleId), seconds.other);
    const collects = ([file]: Timed<TestSpecification>) => collectors.includes(nameOf(file));
    const rest = [...others.filter(collects), ...others.filter((one) => !collects(one))];
    return isBuilt() ? mix(waiting, rest) : [...rest, ...waiting].map(([file]) => file);
  }
}

/** Its path below `test`, such as `local/user`. */
function nameOf({ moduleId }: TestSpecification): string {
  return relative(testFolder, moduleId).replace(/\.test\.ts$/, '');
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
