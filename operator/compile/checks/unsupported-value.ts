// Does this version support every field and value, for this type?

import type { ProviderSpec } from '../../resources/provider.ts';
import type { Kind } from '../../resources/resource.ts';
import { findUnknownOptions, findUnsupported } from '../../resources/unsupported.ts';
import type { Finding } from '../verdict.ts';

export function unsupportedValue(kind: Kind, spec: object): Finding | undefined {
  return toFinding(findUnsupported(kind, spec));
}

export function unsupportedProviderValue(spec: ProviderSpec): Finding | undefined {
  return toFinding([...findUnsupported('Provider', spec), ...findUnknownOptions(spec)]);
}

function toFinding(
  problems: readonly { readonly path: string; readonly message: string }[],
): Finding | undefined {
  if (problems.length === 0) return undefined;
  const message = problems.map((problem) => `${problem.path} ${problem.message}`).join('; ');
  return { reason: 'UnsupportedValue', message };
}
