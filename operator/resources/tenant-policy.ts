// What does the platform decide for namespaces? The TenantPolicy: limits that no user of the namespaces can change, and rights beyond
// those of every tenant.

import { z } from 'zod';
import { cloudNames } from '../../core/catalog/clouds.ts';
import { budgetsSchema } from './api-key.ts';
import {
  ageColumn,
  conditionColumn,
  programmedColumns,
  reasonColumn,
  stateColumn,
  untilColumn,
} from './columns.ts';
import {
  commonStatus,
  labelSelectorSchema,
  limitsSchema,
  namespaceNameSchema,
  programmedSchema,
  timeSchema,
} from './fields.ts';
import { atomicList, listMap, listSet } from './lists.ts';
import type { ObjectMeta } from './metadata.ts';
import { type Parsed, parseResource } from './parse.ts';
import { defineResource } from './resource.ts';
import { withRules } from './rule.ts';

const namespacesSchema = withRules(
  z.strictObject({
    names: listSet(namespaceNameSchema.describe('Name of a namespace.'), 1000)
      .optional()
      .describe('Namespaces by name; they need not exist yet.'),
    selector: labelSelectorSchema
      .optional()
      .describe('Namespaces by their labels, in addition to `names`. An empty selector selects all.'),
  }),
  [
    {
      cel: 'has(self.names) || has(self.selector)',
      message: 'must have names or a selector; selector: {} selects all namespaces',
      check: (value) => value.names !== undefined || value.selector !== undefined,
    },
  ],
);

const cidrSchema = withRules(z.string().max(43), [
  {
    cel: 'isCIDR(self)',
    message: 'must be an address range such as 10.20.0.0/16',
    check: (text) => z.cidrv4().safeParse(text).success || z.cidrv6().safeParse(text).success,
  },
]);

const prefixSchema = z
  .string()
  .min(1)
  .max(63)
  .regex(
    /^[a-z0-9][-a-z0-9._]*$/,
    'must be the part of model ids before the "/": lower-case letters, digits, "-", "." and "_", such as acme',
  );

const cloudIdentitySchema = z.strictObject({
  type: z.enum(cloudNames).describe('Cloud of the identity, as auth.type of a Provider names it.'),
  roles: listSet(
    z
      .string()
      .min(1)
      .max(640)
      .regex(/^[^\s*]+[*]?$/, 'must be a role, or the beginning of roles with a "*" at its end')
      .describe('A role, or the beginning of roles with a "*" at its end.'),
    64,
    1,
  )
    .optional()
    .describe(
      'The only roles that a Provider may name, in auth.aws.roleARN, auth.gcp.serviceAccount or auth.azure.clientID. Default: the identity itself, and every role that it may assume.',
    ),
});

const tenantPolicySpecSchema = z.strictObject({
  namespaces: namespacesSchema.describe('Namespaces that this policy applies to.'),
  role: z
    .enum(['Platform'])
    .optional()
    .describe(
      'Platform: platform namespaces. Their Providers and ModelRoutes may use every prefix, share with other namespaces, be Public, and set the prices of shared models. Default: tenant namespaces.',
    ),
  budgets: budgetsSchema
    .optional()
    .describe(
      'Budgets of a namespace: all of its ApiKeys together, each namespace separately. If several policies apply, the smallest limit of a period wins.',
    ),
  limits: limitsSchema
    .optional()
    .describe(
      'Limits of a namespace: all of its ApiKeys together, each namespace separately. If several policies apply, the smallest number wins.',
    ),
  egress: z
    .strictObject({
      allow: listSet(cidrSchema.describe('An address range.'), 64)
        .optional()
        .describe(
          'Address ranges that are closed by default, such as private ones. Ranges of several policies add up; cloud metadata addresses stay closed.',
        ),
    })
    .optional()
    .describe('Addresses that Providers of these namespaces may use, in addition to public ones.'),
  modelPrefixes: listSet(prefixSchema.describe('A prefix, without its "/".'), 32)
    .optional()
    .describe(
      'Prefixes of model ids, such as acme for acme/small. A prefix in a TenantPolicy is reserved for the namespaces of all policies that name it, and for platform namespaces.',
    ),
  cloudIdentities: listMap(cloudIdentitySchema, 'type', cloudNames.length)
    .optional()
    .describe(
      "Clouds at which Providers of these namespaces may use the workload identity of the gateway instead of keys, at the cloud's own addresses. Rights of several policies add up. Platform namespaces have all rights.",
    ),
});
export type TenantPolicySpec = z.infer<typeof tenantPolicySpecSchema>;

const count = () => z.int().min(0).optional();

const tenantPolicyStatusSchema = z.object({
  ...commonStatus,
  instance: z
    .string()
    .max(63)
    .optional()
    .describe(
      'Helm release that writes this status. With several in one cluster, the first by name writes it; RELEASE-platform belongs to its own release.',
    ),
  namespaces: count().describe('Existing namespaces that this policy applies to.'),
  usage: z
    .object({
      observedAt: timeSchema.describe('When this was read from the ledger.'),
      exhaustedNamespaces: z
        .int()
        .min(0)
        .describe(
          'Namespaces in which a budget of this policy with the action Block is used up: calls of their ApiKeys are refused.',
        ),
      budgets: atomicList(
        z.object({
          namespace: namespaceNameSchema.describe('Which namespace.'),
          period: z.enum(['Day', 'Week', 'Month', 'Total']).describe('Which period.'),
          spend: z.string().max(32).describe('Dollars spent in it.'),
          limit: z.string().max(32).describe('Dollars that this policy allows in it.'),
        }),
        10,
      ).describe('The ten budgets with the largest share spent.'),
    })
    .optional()
    .describe(
      'Spend of the budgets of this policy, from the ledger. Updated at once when a budget is passed, else at most once a minute. Absent without budgets.',
    ),
  platformNamespaces: listSet(namespaceNameSchema.describe('Name of a namespace.'), 1000)
    .optional()
    .describe('With the role Platform: all platform namespaces, of this policy and others.'),
  programmed: programmedSchema.optional().describe('Rollout of the current form to the gateway pods.'),
});
export type TenantPolicyStatus = z.infer<typeof tenantPolicyStatusSchema>;

export interface TenantPolicy {
  readonly apiVersion: 'penstock.dev/v1alpha1';
  readonly kind: 'TenantPolicy';
  readonly metadata: Omit<ObjectMeta, 'namespace'>;
  readonly spec: TenantPolicySpec;
  readonly status?: TenantPolicyStatus;
}

export const tenantPolicyResource = defineResource({
  kind: 'TenantPolicy',
  scope: 'Cluster',
  plural: 'tenantpolicies',
  shortName: 'tpol',
  description: 'Platform policy for namespaces: budgets, limits, address ranges and model prefixes.',
  spec: tenantPolicySpecSchema,
  status: tenantPolicyStatusSchema,
  columns: [
    stateColumn,
    conditionColumn('Ready'),
    {
      name: 'Namespaces',
      type: 'integer',
      jsonPath: '.status.namespaces',
      description: 'Namespaces that the policy applies to.',
    },
    {
      name: 'Used-Up',
      type: 'integer',
      jsonPath: '.status.usage.exhaustedNamespaces',
      description: 'Namespaces with a budget that is used up.',
    },
    {
      name: 'Role',
      type: 'string',
      jsonPath: '.spec.role',
      description: 'Platform, or nothing.',
      priority: 1,
    },
    untilColumn,
    ...programmedColumns,
    reasonColumn,
    ageColumn,
  ],
  selectableFields: ['.spec.role'],
});

/** The parsed status; undefined without one in this form. */
export function tenantPolicyStatusIn(status: unknown): TenantPolicyStatus | undefined {
  return tenantPolicyStatusSchema.safeParse(status).data;
}

/** Turns unknown data, as read from the API server or a file, into a TenantPolicy with its defaults. */
export function parseTenantPolicy(value: unknown): Parsed<TenantPolicy> {
  return parseResource<TenantPolicy>(tenantPolicyResource, value);
}
