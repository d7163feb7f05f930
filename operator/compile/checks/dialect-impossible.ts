// Is a dialect promised that no usable target can serve?

import type { Api } from '../../resources/fields.ts';
import type { Finding } from '../verdict.ts';

export function dialectImpossible(asked: readonly Api[], served: readonly Api[]): Finding | undefined {
  const missing = asked.filter((api) => !served.includes(api));
  if (missing.length === 0) return undefined;
  return {
    reason: 'DialectImpossible',
    message: `spec.apis names ${missing.join(', ')}, which no usable target can serve; remove it, or add a target that can`,
  };
}
