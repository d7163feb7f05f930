// What makes up one kind of ours? Its names, its schemas, its columns: all that a CRD says.

import type { z } from 'zod';
import type { Column } from './columns.ts';
import type { CelRule, Rule } from './rule.ts';

/** The kinds that tenants write, each object in its namespace. */
export type Kind = 'Provider' | 'ModelRoute' | 'ApiKey';

export interface Resource {
  readonly kind: Kind | 'TenantPolicy';
  /** Left out: its objects are in namespaces. */
  readonly scope?: 'Cluster';
  readonly plural: string;
  readonly shortName: string;
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  readonly columns: readonly Column[];
  /** Fields that `kubectl get --field-selector` can filter by. */
  readonly selectableFields: readonly string[];
  /** A rule about `metadata.name`, where derived names must fit. */
  readonly nameRule?: Rule<string>;
}

export function defineResource(resource: Resource): Resource {
  return Object.freeze(resource);
}

/** The rule of a resource about its name, at the root of the CRD. */
export function rootRules(resource: Resource): CelRule[] {
  if (resource.nameRule === undefined) return [];
  const { cel, message } = resource.nameRule;
  return [{ rule: cel, message, fieldPath: '.metadata.name' }];
}
