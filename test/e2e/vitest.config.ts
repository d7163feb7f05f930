import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/e2e/**/*.e2e.ts'],
    // Prepares etcd and the API server when a file of the run needs them.
    globalSetup: ['test/cluster/global-setup.ts'],
    testTimeout: 900_000,
    // The first run on a machine builds what its nodes are made of, which takes long where the machine has other things to do.
    hookTimeout: 2_700_000,
    // One at a time: each is a whole installation.
    fileParallelism: false,
    retry: 0,
    passWithNoTests: false,
  },
});
