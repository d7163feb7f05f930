// Our own code fails at an object: what becomes of the others? They go on, and that one is told so.

import type { Finding } from './verdict.ts';

/** @param instead what stands for the result; the words hold nothing of the object, which may hold secrets. */
export function contain<T>(run: () => T, instead: (fault: Finding) => T): T {
  try {
    return run();
  } catch (error) {
    const name = error instanceof Error ? error.name : typeof error;
    const message =
      `the operator itself fails at this object (${name}), which is a fault of the operator; please report it with the object, ` +
      'and write the object in another way until it is mended';
    return instead({ reason: 'Invalid', message });
  }
}
