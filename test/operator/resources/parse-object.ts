// What does our own check say of an object, whichever of our kinds it is?

import { type ApiKey, parseApiKey } from '../../../operator/resources/api-key.ts';
import { type ModelRoute, parseModelRoute } from '../../../operator/resources/model-route.ts';
import type { Parsed } from '../../../operator/resources/parse.ts';
import { type Provider, parseProvider } from '../../../operator/resources/provider.ts';
import { parseTenantPolicy, type TenantPolicy } from '../../../operator/resources/tenant-policy.ts';
import type { RawPolicy } from '../../../operator/watch/snapshot.ts';

export function parseObject(object: RawPolicy): Parsed<Provider | ModelRoute | ApiKey | TenantPolicy> {
  switch (object.kind) {
    case 'Provider':
      return parseProvider(object);
    case 'ModelRoute':
      return parseModelRoute(object);
    case 'ApiKey':
      return parseApiKey(object);
    case 'TenantPolicy':
      return parseTenantPolicy(object);
    default:
      throw new Error(`A test has an object of the kind ${String(object.kind)}, which is none of ours.`);
  }
}
