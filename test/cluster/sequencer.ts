// In which order do test files run? Those that need the test cluster last, so that all others run while it is prepared;
// of those, what waits for minutes first, so that the others run beside it.

import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { makeNeedsCluster } from './needs-cluster.ts';

const patient = /\/test\/flow\/cluster\/(outages|scale)\.test\.ts$/;

export class ClusterLastSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const needsCluster = makeNeedsCluster();
    const sorted = await super.sort(files);
    const withCluster = sorted.filter(({ moduleId }) => needsCluster(moduleId));
    return [
      ...sorted.filter(({ moduleId }) => !needsCluster(moduleId)),
      ...withCluster.filter(({ moduleId }) => patient.test(moduleId)),
      ...withCluster.filter(({ moduleId }) => !patient.test(moduleId)),
    ];
  }
}
