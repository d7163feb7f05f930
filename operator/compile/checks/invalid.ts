// Is every field known, complete and within its bounds?

import type { Problem } from '../../resources/problems.ts';
import type { Finding } from '../verdict.ts';

/** @param problems the known faults; if empty, the finding is that the object could not be read. */
export function invalid(problems: readonly Problem[]): Finding {
  const sentences = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return { reason: 'Invalid', message: sentences.join('; ') || 'the object could not be read' };
}
