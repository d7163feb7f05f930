// Can every dialect read what a process reads to itself before its first caller? A dialect that began to refuse it would end the start.

import { expect, test } from 'vitest';
import { warmUp } from '../../../gateway/process/warm-up.ts';

test('every dialect reads and translates the sample', () => {
  expect(warmUp).not.toThrow();
});
