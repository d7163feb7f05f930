// In which order do test files run? Those that need the test cluster last, so that all others run while it is prepared.

import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { makeNeedsCluster } from './needs-cluster.ts';

export class ClusterLastSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const needsCluster = makeNeedsCluster();
    const sorted = await super.sort(files);
    return [
      ...sorted.filter(({ moduleId }) => !needsCluster(moduleId)),
      ...sorted.filter(({ moduleId }) => needsCluster(moduleId)),
    ];
  }
}
