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
    // What tests make is soon garbage; with room for more of it, less is copied.
    execArgv: ['--max-semi-space-size=64'],
    // Most of the time of the files that need an API server, a browser or the retries of a client library is waiting. While two files
    // wait, two others calculate, and two more take a core that is free between them.
    maxWorkers: availableParallelism() + 4,
    // Every test file starts real servers; a test that hangs is a defect, this bound only ends it, also on a machine with much else to do.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    retry: 0,
    passWithNoTests: false,
  },
});
