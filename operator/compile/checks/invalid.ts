// Is every field known, complete and within its bounds?

import type { Problem } from '../../resources/problems.ts';
import type { Finding } from '../verdict.ts';

export function invalid(problems: readonly Problem[]): Finding | undefined {
  if (problems.length === 0) return undefined;
  const sentences = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return { reason: 'Invalid', message: sentences.join('; ') };
}
