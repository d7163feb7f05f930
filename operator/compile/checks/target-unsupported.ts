// Is there a dialect in which the target can be spoken to, and which serves the route?

import type { Api } from '../../resources/fields.ts';
import { SERVED_BY } from '../dialects.ts';
import type { Finding } from '../verdict.ts';
import { providerName, type TargetUse } from './target-use.ts';

/**
 * @param forced the one dialect that the target asks for, if any.
 * @param spoken the dialects of the Provider.
 * @param offered the dialects of the route.
 */
export function targetUnsupported(
  use: TargetUse,
  forced: Api | undefined,
  spoken: readonly Api[],
  offered: readonly Api[],
): Finding | undefined {
  if (forced !== undefined && !spoken.includes(forced)) {
    return {
      reason: 'TargetUnsupported',
      message: `target ${use.target} asks for ${forced}, and Provider ${providerName(use)} speaks ${spoken.join(', ')}; choose one of these`,
    };
  }
  const usable = forced === undefined ? spoken : [forced];
  if (offered.some((api) => SERVED_BY[api].some((upstream) => usable.includes(upstream)))) return undefined;
  return {
    reason: 'TargetUnsupported',
    message: `target ${use.target} speaks ${usable.join(', ')}, which cannot serve ${offered.join(', ')}; use another Provider, or change spec.apis`,
  };
}
