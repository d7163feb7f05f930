import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    // Prepares etcd and the API server when a file of the run needs them, while the others run; puts those files last.
    globalSetup: ['test/cluster/global-setup.ts'],
    // A worker takes one file after the other, and loads what they share once: a quarter of the work of a file is loading. No file
    // may leave anything behind for the next.
    isolate: false,
    // Node loads the files itself: it strips types as it does for the processes, and no file is rewritten before.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // What tests make is soon garbage; with room for more of it from the start, less is copied: a third less time in such collections.
    execArgv: ['--min-semi-space-size=64', '--max-semi-space-size=64'],
    // What waits for an API server or a browser leaves its core to another, and most of the time somebody does. With two more, gateways
    // under test meet such a load that their overload protection refuses requests.
    maxWorkers: availableParallelism() + 2,
    // Every test file starts real servers; a test that hangs is a defect, this bound only ends it, also on a machine with much else to do.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    retry: 0,
    passWithNoTests: false,
  },
});
