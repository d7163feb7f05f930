// Has the target a dialect that can serve the route?

import type { Api, UpstreamApi } from '../../../core/catalog/dialects.ts';
import type { ModelCapability } from '../../../core/catalog/model-capabilities.ts';
import { listed } from '../describe-pairings.ts';
import { pairUp } from '../dialects.ts';
import type { Finding } from '../verdict.ts';
import { providerName, type TargetUse } from './target-use.ts';

/** What a target asks for, and what its route does. */
interface TargetDialects {
  /** The one dialect that the target asks for, if any. */
  readonly forced: UpstreamApi | undefined;
  /** The dialects of the Provider. */
  readonly spoken: readonly UpstreamApi[];
  /** The dialects of the model, if its name says them; else those of the Provider. */
  readonly ofModel: readonly UpstreamApi[];
  /** The dialects of the route, at least one. */
  readonly offered: readonly Api[];
  readonly declared: readonly ModelCapability[];
}

export function targetUnsupported(use: TargetUse, dialects: TargetDialects): Finding | undefined {
  const { forced, spoken, ofModel, offered, declared } = dialects;
  if (forced !== undefined && !spoken.includes(forced)) {
    return {
      reason: 'TargetUnsupported',
      message: `target ${use.target} asks for ${forced}, and Provider ${providerName(use)} speaks ${spoken.join(', ')}; choose one of these`,
    };
  }
  const apis = forced === undefined ? ofModel : [forced];
  const pairings = offered.map((api) => pairUp(api, { name: use.target, apis }, declared));
  if (pairings.some(({ unmet }) => unmet.length === 0)) return undefined;
  const unmet = [...new Set(pairings.flatMap((pairing) => pairing.unmet))];
  return {
    reason: 'TargetUnsupported',
    message:
      `target ${use.target} speaks ${apis.join(', ')}, which cannot carry ${listed(unmet)} of spec.capabilities for ` +
      `${offered.join(', ')}; use another Provider, or change spec.apis or spec.capabilities`,
  };
}
