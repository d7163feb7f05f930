import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    // Prepares etcd and the API server when a file of the run needs them, while the others run; puts those files last.
    globalSetup: ['test/cluster/global-setup.ts'],
    // What waits for an API server leaves the cores to the others.
    maxWorkers: availableParallelism() + 1,
    // Every test file starts real servers; a test that hangs is a defect, this bound only ends it.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    retry: 0,
    passWithNoTests: false,
  },
});
