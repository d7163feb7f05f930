// What can a user say about a caller? The ApiKey: who it is, what it may call, how much, until when.

import { z } from 'zod';
import {
  ageColumn,
  conditionColumn,
  messageColumn,
  reasonColumn,
  stateColumn,
  untilColumn,
} from './columns.ts';
import { durationField, toMs } from './duration.ts';
import {
  beforeRename,
  commonStatus,
  dataKeySchema,
  limitsSchema,
  objectNameSchema,
  programmedSchema,
  timeSchema,
} from './fields.ts';
import { DEFAULT_DATA_KEY, NEXT_KEY, PREVIOUS_KEY } from './key-secret-names.ts';
import { annotationMap, labelMap, listMap, listSet, stringMap } from './lists.ts';
import type { ObjectMeta } from './metadata.ts';
import { type Parsed, parseResource } from './parse.ts';
import { defineResource } from './resource.ts';
import { type Rule, withRules } from './rule.ts';

const ownerSchema = z.strictObject({
  name: z.string().max(128).optional().describe('A person or a program.'),
  email: z
    .string()
    .max(254)
    // Go and JavaScript do not mean the same by \s.
    .regex(/^[^@\p{Z}\p{Cc}]+@[^@\p{Z}\p{Cc}]+$/u, 'must be an e-mail address')
    .optional()
    .describe('Whom to write to.'),
  team: z.string().max(128).optional().describe('A team or a cost centre.'),
});

const secretSchema = z.strictObject({
  name: objectNameSchema
    .optional()
    .describe(
      'Name of the Secret that the key is written to; default: `<metadata.name>-key`. Never changes.',
    ),
  key: withRules(dataKeySchema, [
    {
      cel: "!(self in ['previousApiKey', 'nextApiKey'])",
      message: 'previousApiKey and nextApiKey are reserved for rotation; choose another key',
      check: (key) => key !== PREVIOUS_KEY && key !== NEXT_KEY,
    },
  ])
    .default(DEFAULT_DATA_KEY)
    .describe(
      'Key in the data of that Secret. `baseURL` is written beside it, and `previousApiKey` while an overlap lasts. Never changes.',
    ),
  labels: labelMap({ entriesMax: 32 })
    .optional()
    .describe(
      'Labels for that Secret; a label removed here is removed there. Names with a prefix need permission of the platform, except app.kubernetes.io.',
    ),
  annotations: annotationMap({ entriesMax: 32, valueMax: 4096 })
    .optional()
    .describe('Annotations for that Secret, by the same rules.'),
  retain: z
    .boolean()
    .default(false)
    .describe(
      'Keep the Secret when the ApiKey is deleted. Its key is invalid until an ApiKey of the same name adopts the Secret.',
    ),
});

const importSchema = z.strictObject({
  sha256: z
    .string()
    .min(64)
    .max(64)
    .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 as 64 lower-case hex digits')
    .describe(
      'SHA-256 of a whole key that was made elsewhere. The key must begin with the key prefix of this installation ' +
        'and hold at least 128 random bits: its hash is not salted.',
    ),
  hint: z
    .string()
    .max(32)
    .regex(/^[!-~…]*$/, 'must be printable, without spaces')
    .optional()
    .describe('Hint to recognise the key: its prefix and last four characters, never more.'),
  notAfter: timeSchema
    .optional()
    .describe('When this key stops working; two entries that overlap make a rotation.'),
});

const rotationSchema = withRules(
  z.strictObject({
    interval: durationField('1h', '87600h').optional().describe('Interval between rotations.'),
    overlap: durationField('0s', '8760h')
      .default('24h')
      .describe(
        'How long the old key stays valid after a rotation. A shorter value ends the current overlap sooner; 0s ends it now.',
      ),
    trigger: z
      .string()
      .max(64)
      .optional()
      .describe('Any text. A change rotates the key now, or at the end of the current overlap.'),
  }),
  [
    {
      cel: '!has(self.interval) || duration(self.overlap) < duration(self.interval)',
      message: 'overlap must be shorter than interval',
      check: (rotation) =>
        rotation.interval === undefined || toMs(rotation.overlap) < toMs(rotation.interval),
    },
  ],
);

const modelPatternSchema = z
  .string()
  .min(1)
  .max(200)
  .regex(
    /^(\*|[A-Za-z0-9][A-Za-z0-9._:@+/-]*\*?)$/,
    'must be a model id, or the beginning of one with a "*" at its end',
  );

const budgetSchema = z.strictObject({
  period: z
    .enum(['Day', 'Week', 'Month', 'Total'])
    .describe('Calendar period in UTC; weeks begin on Monday.'),
  limit: withRules(z.string().max(16), [
    {
      cel: "self.matches('^(0|[1-9][0-9]{0,8})([.][0-9]{1,6})?$')",
      message: 'must be dollars as a decimal string such as "100.00", with at most 6 decimals',
      check: (value) => /^(0|[1-9][0-9]{0,8})([.][0-9]{1,6})?$/.test(value),
    },
  ]).describe('Dollars that may be spent in one period.'),
  currency: z.enum(['USD']).default('USD').describe('Currency of limit.'),
  action: z
    .enum(['Block', 'Warn'])
    .default('Block')
    .describe('Block: reject further calls, with 402 on messages and 429 elsewhere. Warn: only report.'),
  warnPercent: z
    .int32()
    .min(1)
    .max(100)
    .default(80)
    .describe('Percentage of the limit at which a warning event is sent.'),
});
export type Budget = z.infer<typeof budgetSchema>;
export const budgetsSchema = listMap(budgetSchema, 'period', 4);

/** Of an immutable field of `secret`. `secret` is optional, so the fields are compared one level above. */
function immutableInSecret(field: string, absent: string): Rule<unknown> {
  const valueIn = (object: string) =>
    `(has(${object}.secret) && has(${object}.secret.${field}) ? ${object}.secret.${field} : '${absent}')`;
  return {
    cel: `${valueIn('self')} == ${valueIn('oldSelf')}`,
    message: `secret.${field} cannot be changed; create a new ApiKey instead`,
    check: 'needs-old-object',
  };
}

const apiKeySpecSchema = withRules(
  z.strictObject({
    displayName: z.string().max(128).optional().describe('Name for people.'),
    owner: ownerSchema.optional().describe('Owner of the key; copied to the ledger.'),
    disabled: z
      .boolean()
      .default(false)
      .describe('Disable the key at once, on all pods, without deleting the object: callers get 401.'),
    expiresAt: timeSchema
      .optional()
      .describe('When the key expires, by the clock of each gateway pod. A later time makes it work again.'),
    secret: secretSchema.optional().describe('The Secret that the operator writes the key to.'),
    imports: listMap(importSchema, 'sha256', 4)
      .optional()
      .describe(
        'Keys made elsewhere, by their hash. With imports, no key is made and no Secret is written; a key that was made here before ' +
          'stops at once, unless its hash is among them, and stays in its Secret.',
      ),
    rotation: rotationSchema.optional().describe('Rotation of the key.'),
    models: z
      .strictObject({
        allow: listSet(modelPatternSchema.describe('A model id, or a beginning with "*".'), 64)
          .optional()
          .describe('Models the key may call; left out or empty: all that its namespace can see.'),
        deny: listSet(modelPatternSchema.describe('A model id, or a beginning with "*".'), 64)
          .optional()
          .describe('Models the key may not call, even if allowed.'),
      })
      .optional()
      .describe('Restricts the models that the key may call.'),
    limits: limitsSchema.optional().describe('Limits of this key, all pods together.'),
    budgets: budgetsSchema.optional().describe('How much the key may spend.'),
    attributes: stringMap({ entriesMax: 16, valueMax: 256 })
      .optional()
      .describe('Names and values of your own, which ledger, spans and metrics repeat.'),
    metadata: withRules(z.record(z.string(), z.string().max(256)).meta({ maxProperties: 16 }), [
      {
        // An object that was stored with the old name goes on as it is, until this field changes.
        cel: 'false',
        message: 'is now named attributes; write spec.attributes instead of spec.metadata',
        check: 'needs-old-object',
      },
    ])
      .optional()
      .describe('Old name of `attributes`; refused in new objects.'),
  }),
  [
    immutableInSecret('name', ''),
    immutableInSecret('key', DEFAULT_DATA_KEY),
    {
      // has() is true of an empty list, hence the size.
      cel: '!has(self.rotation) || !has(self.imports) || size(self.imports) == 0',
      message: 'rotation is not possible with imports: a key made elsewhere is rotated there',
      check: (spec) => spec.rotation === undefined || (spec.imports ?? []).length === 0,
    },
  ],
);
export type ApiKeySpec = z.infer<typeof apiKeySpecSchema>;

const count = () => z.int().min(0).optional();

const atWorst = {
  requests: count().describe(
    'Requests that may end above the limit, each by its cost above the remaining budget at its start.',
  ),
  dollars: z
    .string()
    .max(32)
    .optional()
    .describe(
      'Further dollars above the limit while some gateways cannot reach the ledger, and so do not know the spend of the others.',
    ),
};

const overshoot = {
  requests: beforeRename(z.int().min(0), 'atWorst.requests'),
  unheard: beforeRename(z.string().max(32), 'atWorst.dollars'),
};

const usageSchema = z.object({
  observedAt: timeSchema.optional().describe('When this was read from the ledger.'),
  lastUsedAt: timeSchema.optional().describe('When the key was last used.'),
  spend: z
    .string()
    .max(32)
    .optional()
    .describe('Dollars spent in the longest budget period; without a budget, in this month.'),
  periods: listMap(
    z.object({
      period: z.enum(['Day', 'Week', 'Month', 'Total']).describe('Which period.'),
      start: timeSchema.optional().describe('When it began.'),
      spend: z.string().max(32).optional().describe('Dollars spent in it.'),
      limit: z.string().max(32).optional().describe('Budget limit of this period, in dollars.'),
      warnPercent: z
        .int32()
        .min(1)
        .max(100)
        .optional()
        .describe('Percentage of the limit at which a warning event is sent.'),
      atWorst: z
        .object({
          ...atWorst,
          withoutStore: z
            .object(atWorst)
            .optional()
            .describe(
              'Requests and dollars above the limit at worst, while the shared store of the gateways does not answer or has lost its data. Absent without a store.',
            ),
        })
        .optional()
        .describe(
          'Worst-case spend above the limit, with the gateways that were ready, if answers are bounded by the caller, by parameters of the target or by maxOutputTokens. An answer without a bound counts as 4,096 output tokens while in flight; each may also spend its tokens above that.',
        ),
      overshoot: beforeRename(
        z.object({ ...overshoot, withoutStore: beforeRename(z.object(overshoot), 'atWorst.withoutStore') }),
        'atWorst',
      ),
      requests: count().describe('Requests in it.'),
      inputTokens: count().describe('Input tokens in it, cached ones included.'),
      cachedInputTokens: count().describe('Input tokens in it that came from a cache.'),
      outputTokens: count().describe('Output tokens in it.'),
    }),
    'period',
    4,
  )
    .optional()
    .describe('Use in every budget period; without a budget, in this month.'),
});
export type ApiKeyUsage = z.infer<typeof usageSchema>;

export const apiKeyStatusSchema = z.object({
  ...commonStatus,
  secretName: z.string().max(253).optional().describe('Secret that holds the key.'),
  keyHint: z
    .string()
    .max(64)
    .optional()
    .describe('Prefix and last four characters of the key; of several imports, of the newest that works.'),
  versions: listMap(
    z.object({
      id: z.int().min(1).describe('Number of the key, from 1.'),
      fingerprint: z.string().max(16).describe('First 16 hex digits of the SHA-256 of the key.'),
      state: z.enum(['Active', 'Retiring', 'Expired']).describe('State of the key.'),
      createdAt: timeSchema.optional().describe('When it was made.'),
      notAfter: timeSchema.optional().describe('When the key expires.'),
    }),
    'id',
    16,
  )
    .optional()
    .describe('The keys of this object.'),
  observedTrigger: z.string().max(64).optional().describe('Last processed rotation trigger.'),
  expiresAt: timeSchema.optional().describe('When the last key stops working.'),
  nextRotationAt: timeSchema.optional().describe('When the next key is made.'),
  usage: usageSchema
    .optional()
    .describe(
      'Usage from the ledger, updated at most every five minutes, or when a budget is passed. Amounts are cut to millionths of a dollar. Absent before the first use, unless the key has a budget.',
    ),
  programmed: programmedSchema.optional().describe('Rollout of the current form to the gateway pods.'),
});
export type ApiKeyStatus = z.infer<typeof apiKeyStatusSchema>;

export interface ApiKey {
  readonly apiVersion: 'penstock.dev/v1alpha1';
  readonly kind: 'ApiKey';
  readonly metadata: ObjectMeta;
  readonly spec: ApiKeySpec;
  readonly status?: ApiKeyStatus;
}

export const apiKeyResource = defineResource({
  kind: 'ApiKey',
  plural: 'apikeys',
  shortName: 'akey',
  description: 'A caller: its key, the models it may call, and its limits and budgets.',
  spec: apiKeySpecSchema,
  status: apiKeyStatusSchema,
  nameRule: {
    cel: 'size(self.metadata.name) <= 200',
    message: 'the name must have at most 200 characters, so that the name of its Secret fits',
    check: (name) => name.length <= 200,
  },
  columns: [
    stateColumn,
    conditionColumn('Ready'),
    { name: 'Hint', type: 'string', jsonPath: '.status.keyHint', description: 'How to recognise the key.' },
    { name: 'Owner', type: 'string', jsonPath: '.spec.owner.name', description: 'Owner of the key.' },
    {
      name: 'Spend',
      type: 'string',
      jsonPath: '.status.usage.spend',
      description: 'Dollars spent in the longest budget period, or in this month.',
    },
    {
      name: 'Last-Used',
      type: 'date',
      jsonPath: '.status.usage.lastUsedAt',
      description: 'Time since the last call.',
    },
    {
      name: 'Disabled',
      type: 'boolean',
      jsonPath: '.spec.disabled',
      description: 'Switched off.',
      priority: 1,
    },
    {
      name: 'Team',
      type: 'string',
      jsonPath: '.spec.owner.team',
      description: 'Team of the owner.',
      priority: 1,
    },
    {
      name: 'Expires',
      type: 'string',
      jsonPath: '.status.expiresAt',
      description: 'When the key expires.',
      priority: 1,
    },
    {
      name: 'Rotates',
      type: 'string',
      jsonPath: '.status.nextRotationAt',
      description: 'When the next key is made.',
      priority: 1,
    },
    untilColumn,
    reasonColumn,
    ageColumn,
    messageColumn('.status.conditions[?(@.type=="Ready")].message', 'Message of Ready: fault and remedy.'),
  ],
  selectableFields: ['.spec.disabled', '.spec.owner.team'],
});

/** The budgets in a spec that was stored, whatever else is in it; none where they are no budgets. */
export function budgetsIn(spec: unknown): readonly Budget[] {
  if (typeof spec !== 'object' || spec === null || !('budgets' in spec)) return [];
  return budgetsSchema.safeParse(spec.budgets).data ?? [];
}

/** The usage in a status; undefined without one in this form. */
export function usageIn(status: unknown): ApiKeyUsage | undefined {
  if (typeof status !== 'object' || status === null || !('usage' in status)) return undefined;
  return usageSchema.safeParse(status.usage).data;
}

/** Turns unknown data, as read from the API server or a file, into an ApiKey with its defaults. */
export function parseApiKey(value: unknown): Parsed<ApiKey> {
  return parseResource<ApiKey>(apiKeyResource, value);
}
