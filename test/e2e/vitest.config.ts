import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/e2e/**/*.e2e.ts'],
    testTimeout: 900_000,
    hookTimeout: 900_000,
    // One at a time: each is a whole installation.
    fileParallelism: false,
    retry: 0,
    passWithNoTests: false,
  },
});
