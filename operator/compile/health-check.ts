// The health check of a Provider, if it has one.

import { PROVIDER_TYPES } from '../../core/catalog/provider-types.ts';
import { toMs } from '../resources/duration.ts';
import { checkWhereNoneIsNamed, type Provider } from '../resources/provider.ts';

/** What is asked. */
export type CheckRequest =
  | { readonly type: 'ListModels' }
  /** @param path behind the host. */
  | { readonly type: 'HTTPGet'; readonly path: string }
  | { readonly type: 'Completion'; readonly model: string };

export interface HealthCheck {
  /** `namespace/name` of the Provider. */
  readonly provider: string;
  readonly request: CheckRequest;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Failures in a row that make it unhealthy. */
  readonly unhealthyThreshold: number;
  /** Successes in a row that make it healthy again. */
  readonly healthyThreshold: number;
}

export function healthCheckOf({ metadata, spec }: Provider): HealthCheck | undefined {
  if (PROVIDER_TYPES[spec.type].hasOwnSeats === true) return undefined;
  const { active = checkWhereNoneIsNamed } = spec.healthCheck;
  const request = requestOf(active);
  if (request === undefined) return undefined;
  return {
    provider: `${metadata.namespace}/${metadata.name}`,
    request,
    intervalMs: toMs(active.interval),
    timeoutMs: toMs(active.timeout),
    unhealthyThreshold: active.unhealthyThreshold,
    healthyThreshold: active.healthyThreshold,
  };
}

function requestOf({ type, path, model }: typeof checkWhereNoneIsNamed): CheckRequest | undefined {
  switch (type) {
    case 'ListModels':
      return { type };
    case 'HTTPGet':
      return path === undefined ? undefined : { type, path };
    case 'Completion':
      return model === undefined ? undefined : { type, model };
    case 'Disabled':
      return undefined;
  }
}
