// Do headers and options set the same request header?

import { PROVIDER_TYPES } from '../../../core/catalog/provider-types.ts';
import type { ProviderSpec } from '../../resources/provider.ts';
import type { Finding } from '../verdict.ts';

export function headerTwice(spec: ProviderSpec): Finding | undefined {
  const { options } = PROVIDER_TYPES[spec.type];
  const names = spec.headers?.map(({ name }) => name.toLowerCase()) ?? [];
  const twice = Object.keys(spec.options ?? {}).filter((option) =>
    names.includes(options[option]?.toLowerCase() ?? ''),
  );
  if (twice.length === 0) return undefined;
  return {
    reason: 'Invalid',
    message: `spec.headers sets what spec.options.${twice.join(', spec.options.')} sets too; keep one of them`,
  };
}
