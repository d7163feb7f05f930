// Reads the operator's own fields from the status of an object.

import { isRecord } from '../../core/kube/object.ts';
import type { Verdict } from '../compile/verdict.ts';
import { type ApiKeyStatus, apiKeyStatusSchema } from '../resources/api-key.ts';
import { type ModelRouteStatus, modelRouteStatusSchema } from '../resources/model-route.ts';
import { type ProviderStatus, providerStatusSchema } from '../resources/provider.ts';
import type { RawObject } from '../watch/snapshot.ts';

export type ObjectStatus = ProviderStatus | ModelRouteStatus | ApiKeyStatus;

/** A condition as stored in a status. */
export type StoredCondition = NonNullable<ObjectStatus['conditions']>[number];

/** What is written in the status now; undefined without a status in this form. */
export function presentStatus(kind: Verdict['kind'], { status }: RawObject): ObjectStatus | undefined {
  if (status === undefined) return undefined;
  switch (kind) {
    case 'Provider':
      return providerStatusSchema.safeParse(status).data;
    case 'ModelRoute':
      return modelRouteStatusSchema.safeParse(status).data;
    case 'ApiKey': {
      const parsed = apiKeyStatusSchema.safeParse(status).data;
      if (parsed === undefined) return undefined;
      // Another field manager writes the usage.
      const { usage: _, ...own } = parsed;
      return own;
    }
  }
}

/** Type and status of the conditions in an untyped status; malformed entries are left out. */
export function conditionsOf(status: unknown): readonly { readonly type: string; readonly status: string }[] {
  if (!isRecord(status) || !Array.isArray(status.conditions)) return [];
  return status.conditions.filter(isCondition);
}

function isCondition(value: unknown): value is { readonly type: string; readonly status: string } {
  return isRecord(value) && typeof value.type === 'string' && isStatus(value.status);
}

function isStatus(value: unknown): boolean {
  return value === 'True' || value === 'False' || value === 'Unknown';
}
