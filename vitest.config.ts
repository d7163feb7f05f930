import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    // Every test file starts real servers; a test that hangs is a defect, this bound only ends it.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    retry: 0,
    passWithNoTests: false,
  },
});
