import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { listUnitFiles } from './tier.ts';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: listUnitFiles(),
    setupFiles: ['test/setup.ts', 'test/unit/closed.ts'],
    isolate: false,
    // As in npm test: no file is rewritten before it is loaded.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    execArgv: ['--max-semi-space-size=64'],
    maxWorkers: availableParallelism(),
    // They calculate; the bound only ends a test that hangs.
    testTimeout: 60_000,
    retry: 0,
    passWithNoTests: false,
  },
});
