// A bug that throws at one object must not stop the others: that object gets a condition, the others are compiled.

import type { Finding } from './verdict.ts';

/** @param instead makes the result after a failure; its text has nothing of the object, which may hold secrets. */
export function contain<T>(run: () => T, instead: (fault: Finding) => T): T {
  try {
    return run();
  } catch (error) {
    const name = error instanceof Error ? error.name : typeof error;
    const message =
      `the operator fails at this object because of a bug (${name}); report it with the object, ` +
      'and write the object differently until the bug is fixed';
    return instead({ reason: 'Invalid', message });
  }
}
