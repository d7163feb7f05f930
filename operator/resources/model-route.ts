// What can a user say about a model? The ModelRoute: its public id, who may call it, what serves it.

import { z } from 'zod';
import { apis } from '../../core/catalog/dialects.ts';
import { modelCapabilities } from '../../core/catalog/model-capabilities.ts';
import { callersOwnMembers, retryReasonSchema } from '../../core/contract/routing-table.ts';
import {
  ageColumn,
  conditionColumn,
  messageColumn,
  programmedColumns,
  reasonColumn,
  stateColumn,
  untilColumn,
} from './columns.ts';
import { cronProblem } from './cron.ts';
import { durationField, toMs } from './duration.ts';
import {
  allowedNamespacesField,
  apiSchema,
  beforeRename,
  commonStatus,
  entryNameSchema,
  limitsSchema,
  namespaceNameSchema,
  objectNameSchema,
  ownTimeoutsSchema,
  programmedSchema,
  timeSchema,
  upstreamApiSchema,
} from './fields.ts';
import { defaultedLater, listMap, listSet, refObject } from './lists.ts';
import { API_GROUP, type ObjectMeta } from './metadata.ts';
import { type Parsed, parseResource } from './parse.ts';
import { pricingSchema } from './pricing.ts';
import { defineResource } from './resource.ts';
import { celDuration, immutable, withRules } from './rule.ts';

// Each segment begins with a letter or digit: so no segment is empty, "." or "..", and an id is safe in
// a path, a header and a log line.
const modelIdSchema = z
  .string()
  .min(1)
  .max(200)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:@+-]*(\/[A-Za-z0-9][A-Za-z0-9._:@+-]*)*$/,
    'must be a model id such as my-llama or acme/large: segments of letters, digits and . _ : @ + -, split by "/"',
  );

const upstreamModelSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(
    /^[A-Za-z0-9@~_][A-Za-z0-9._:/@+~=%,-]*$/,
    'must be a model id: letters, digits and . _ : / @ + ~ = % , -',
  );

const parametersSchema = z
  .looseObject({})
  .superRefine((value, context) => {
    const keys = Object.keys(value).length;
    if (keys > 32)
      context.addIssue({ code: 'custom', message: `has ${keys} members; at most 32 are allowed` });
    for (const name of callersOwnMembers) {
      if (Object.hasOwn(value, name)) {
        context.addIssue({
          code: 'custom',
          path: [name],
          message: 'cannot be set here: the caller or the gateway sets it in each request; remove it',
        });
      }
    }
  })
  .meta({ 'x-kubernetes-preserve-unknown-fields': true, maxProperties: 32 });

const targetSchema = z.strictObject({
  name: entryNameSchema.describe('Name of this target, for status, metrics and the ledger.'),
  providerRef: refObject({
    group: z.enum([API_GROUP]).optional().describe(`Group of the kind; default: ${API_GROUP}.`),
    kind: z.enum(['Provider']).optional().describe('Kind of the upstream; default: Provider.'),
    name: objectNameSchema.describe('Name of the Provider.'),
    namespace: namespaceNameSchema
      .optional()
      .describe(
        'Its namespace, if not that of the route; the Provider must allow this in allowedNamespaces.',
      ),
  }).describe('The upstream that serves this target.'),
  upstreamModel: upstreamModelSchema.describe('Name of the model at the upstream.'),
  priority: z.int32().min(0).max(15).default(0).describe('Targets with a lower number are tried first.'),
  weight: z
    .int32()
    .min(0)
    .max(1000)
    .default(1)
    .describe('Share of the calls among targets of one priority; 0 drains the target.'),
  api: upstreamApiSchema
    .optional()
    .describe(
      'The only dialect used with this target; default: the dialect of the caller if the Provider speaks it, else the dialect whose translation loses least.',
    ),
  pricing: pricingSchema.optional().describe('Price of this target; replaces spec.pricing as a whole.'),
  timeouts: ownTimeoutsSchema.optional().describe('Timeouts of this target, where they differ.'),
  parameters: parametersSchema.optional().describe('Request fields that are sent if the caller omits them.'),
});

const BASE = '100ms';
const MAX = '2s';
const backoffSchema = withRules(
  z.strictObject({
    base: durationField('0ms', '1m').default(BASE).describe('Pause before the first retry; then doubled.'),
    max: durationField('0ms', '10m').default(MAX).describe('Longest pause.'),
  }),
  [
    {
      cel: `${celDuration('base', BASE)} <= ${celDuration('max', MAX)}`,
      message: 'base must not be longer than max',
      check: (backoff) => toMs(backoff.base) <= toMs(backoff.max),
    },
  ],
);

const failoverSchema = z.strictObject({
  retryOn: listSet(retryReasonSchema.describe('A kind of failure.'), 9)
    .default([
      'ConnectFailure',
      'Timeout',
      'RateLimited',
      'ServerError',
      'Overloaded',
      'AuthFailure',
      'ModelNotFound',
      'ContextLengthExceeded',
    ])
    .describe(
      'Failures that cause a retry elsewhere; ContextLengthExceeded only on targets without a known smaller context. Never after the first content has reached the client.',
    ),
  maxAttempts: z
    .int32()
    .min(1)
    .max(16)
    .default(3)
    .describe('Attempts of one upstream call, all targets together.'),
  attemptsPerTarget: z.int32().min(1).max(8).default(1).describe('Attempts at one target before the next.'),
  backoff: defaultedLater(backoffSchema).describe('Pauses between attempts at the same target.'),
  honorRetryAfter: z
    .boolean()
    .default(true)
    .describe(
      'Wait for a short Retry-After of an upstream if no peer can serve, before a lower tier is used, or if no other target is left. The cooldown of the key applies in either case, also for other routes.',
    ),
  affinity: z
    .enum(['None', 'ApiKey', 'PromptPrefix'])
    .default('None')
    .describe(
      'Keep calls that belong together on one target and key of a tier, so that the prompt cache of the upstream stays ' +
        'warm: ApiKey, all calls with one key; PromptPrefix, calls whose prompts begin alike. Shares stay as weighted over ' +
        'many keys or prompts. If that target is unavailable, or clearly busier than its peers, another target serves.',
    ),
});

/** On a ModelRoute: another value than before asks for a drill now. */
export const DRILL_NOW_ANNOTATION = `${API_GROUP}/drill-now`;

const drillSchema = z.strictObject({
  schedule: z
    .string()
    .min(9)
    .max(64)
    .regex(/^[0-9*,/A-Za-z-]+( [0-9*,/A-Za-z-]+){4}$/, 'must be five cron fields such as "0 3 * * *"')
    .superRefine((schedule, context) => {
      // The schema reports other faults of the text. CEL cannot check cron, so this fault is reported in Accepted.
      const problem = context.issues.length > 0 ? undefined : cronProblem(schedule);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    })
    .describe(
      'Schedule, as five cron fields in UTC. Missed times are made up by one run. A new drill runs at once, and so does ' +
        `a drill after a change of the annotation ${DRILL_NOW_ANNOTATION}.`,
    ),
  fault: z
    .enum(['ServerError', 'RateLimited', 'Hang', 'Reset', 'CutStream'])
    .default('ServerError')
    .describe(
      'Fault of the first target. ServerError: 500. RateLimited: 429. Hang: no response. Reset: connection reset. CutStream: reset after the first words.',
    ),
  takeoverWithin: durationField('10ms', '10m')
    .default('2s')
    .describe('Time within which the next target must answer: from the fault to its first content.'),
});

const modelRouteSpecSchema = withRules(
  z.strictObject({
    model: withRules(modelIdSchema, [immutable('model')]).describe(
      'The public model id, as callers write it. Ids that begin with the service prefix and "/" are for platform ' +
        'namespaces.',
    ),
    aliases: listSet(modelIdSchema.describe('A model id.'), 16)
      .optional()
      .describe('Further ids of the same model, under the same conditions as `model`.'),
    displayName: z.string().max(128).optional().describe('Name for people; part of the model list.'),
    description: z
      .string()
      .max(1024)
      .optional()
      .describe('What the model is good for; part of the model list.'),
    ownedBy: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe(
        '`owned_by` in the model list; default: the vendor of the first target, in tenant namespaces the namespace.',
      ),
    visibility: z
      .enum(['Public', 'Listed', 'Hidden'])
      .default('Listed')
      .describe(
        'Public: listed without a key too, needs `allowedNamespaces.from: All`. Listed: listed for keys that may ' +
          'call it. Hidden: callable, never listed.',
      ),
    allowedNamespaces: allowedNamespacesField('Namespaces whose ApiKeys may call this model.'),
    suspended: z
      .boolean()
      .default(false)
      .describe('Take the model out of service without deleting the object; its id stays reserved.'),
    apis: listSet(apiSchema.describe('A dialect.'), apis.length, 1)
      .optional()
      .describe(
        'Dialects in which the model can be called; default: all four, except those in which no target has all `capabilities`.',
      ),
    capabilities: listSet(z.enum(modelCapabilities).describe('A capability.'), modelCapabilities.length)
      .optional()
      .describe(
        'What the model can do; part of the model list. A dialect counts as served only if a target can carry all of it; left out: text.',
      ),
    contextLength: z
      .int32()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .describe('Maximum of input and output tokens together; part of the model list.'),
    maxOutputTokens: z
      .int32()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .describe('Maximum of tokens in an answer; part of the model list.'),
    pricing: pricingSchema
      .optional()
      .describe(
        'Price of the model at every target without its own price; default: the list price of the vendor, where ' +
          'the Provider is at an address of the vendor and the list knows the model there. It counts text tokens only: ' +
          'no searches and no other service tier. Outside of platform namespaces it counts only at ' +
          'Providers of the same namespace.',
      ),
    unpriced: z
      .enum(['MeterOnly', 'Deny'])
      .default('MeterOnly')
      .describe(
        'How to treat a target without a price. MeterOnly: record tokens; the cost is unknown, never 0. Deny: do not use the target, except for callers with their own Provider.',
      ),
    responseModel: z
      .enum(['Served', 'Requested'])
      .default('Served')
      .describe("`model` in answers. Served: the upstream's own value. Requested: the id in the request."),
    delivery: z
      .enum(['Stream', 'Assured'])
      .default('Stream')
      .describe(
        'Stream: send content as it arrives. Assured: buffer the whole response and fail over on any failure; a response above 1 MiB continues as a stream. Callers may ask for it with the header `x-penstock-delivery: assured`.',
      ),
    holdBack: z
      .strictObject({
        events: z.int32().min(1).max(256).optional().describe('Buffer up to this number of content events.'),
        duration: durationField('1ms', '30s')
          .optional()
          .describe('Buffer for at most this long after the first content.'),
      })
      .optional()
      .describe(
        'Buffer the beginning of a stream, so that failover stays possible for longer: until one of the two bounds, or 1 MiB. Without bounds nothing is buffered. Delays the first words.',
      ),
    upstreamStreaming: z
      .enum(['Auto', 'Always'])
      .default('Auto')
      .describe(
        'Always: fetch the response of a plain call as a stream, so that stream timeouts apply, and assemble it. Auto: as requested by the caller.',
      ),
    drill: drillSchema
      .optional()
      .describe(
        'A scheduled failover drill: one gateway pod sends a synthetic request through the route to simulated targets. No upstream is called and nothing is billed.',
      ),
    timeouts: ownTimeoutsSchema
      .optional()
      .describe('Timeouts of this model, where they differ from those of the Provider.'),
    targets: withRules(listMap(targetSchema, 'name', 16, 1), [
      {
        cel: 'self.exists(t, t.weight > 0)',
        message: 'at least one target needs a weight above 0',
        check: (targets) => targets.some((target) => target.weight > 0),
      },
    ]).describe('Upstreams of the model, grouped by priority.'),
    failover: defaultedLater(failoverSchema).describe('Retries and failover.'),
    limits: limitsSchema.optional().describe('Limits of the model, all keys and all pods together.'),
  }),
  [
    {
      cel: "self.visibility != 'Public' || self.allowedNamespaces.from == 'All'",
      message: 'visibility Public needs allowedNamespaces.from: All',
      check: (spec) => spec.visibility !== 'Public' || spec.allowedNamespaces.from === 'All',
    },
    {
      cel: '!has(self.contextLength) || !has(self.maxOutputTokens) || self.maxOutputTokens <= self.contextLength',
      message: 'maxOutputTokens must not be more than contextLength',
      check: (spec) =>
        spec.contextLength === undefined ||
        spec.maxOutputTokens === undefined ||
        spec.maxOutputTokens <= spec.contextLength,
    },
    {
      cel: '!has(self.aliases) || !(self.model in self.aliases)',
      message: 'aliases must not repeat model',
      check: (spec) => !spec.aliases?.includes(spec.model),
    },
  ],
);
type ModelRouteSpec = z.infer<typeof modelRouteSpecSchema>;
export type TargetSpec = ModelRouteSpec['targets'][number];

/** What a target is doing, as status shows it. */
const targetStateSchema = z.enum([
  'Ready',
  'Drained',
  'Unhealthy',
  'RefNotFound',
  'RefNotPermitted',
  'ProviderNotReady',
  'Unsupported',
]);

export const modelRouteStatusSchema = z.object({
  ...commonStatus,
  usableTargets: z.int32().min(0).optional().describe('Targets that can be used.'),
  totalTargets: z.int32().min(0).optional().describe('Targets that the route names.'),
  readyTargets: beforeRename(z.string().max(16), 'usableTargets and totalTargets'),
  targets: listMap(
    z.object({
      name: z.string().max(63).describe('Name of the target in spec.targets.'),
      state: targetStateSchema.describe('Whether the target is in use, or why not.'),
      message: z
        .string()
        .max(1024)
        .optional()
        .describe('The problem of the target, since when, and what to do. In state Ready: some calls fail.'),
      lastTransitionTime: timeSchema
        .optional()
        .describe('When calls started to fail, to fail for another reason, or to succeed again.'),
    }),
    'name',
    16,
  )
    .optional()
    .describe('State of each target.'),
  conflictsWith: z
    .object({
      namespace: z.string().max(63).describe('Namespace of the ModelRoute that holds the id.'),
      name: z.string().max(253).describe('Name of the ModelRoute that holds the id.'),
    })
    .optional()
    .describe('The ModelRoute that holds the id, if another one does.'),
  drill: z
    .object({
      lastRunTime: timeSchema.optional().describe('Time of the last run.'),
      result: z
        .enum(['Passed', 'Failed', 'NotRun'])
        .optional()
        .describe('Result. NotRun: the drill is due, and no gateway pod could run it.'),
      takeover: z
        .string()
        .max(20)
        .optional()
        .describe('From the fault to the first content of the next target, such as "12ms".'),
      servedBy: z.string().max(63).optional().describe('Name of the target that answered.'),
      message: z
        .string()
        .max(1024)
        .optional()
        .describe('Result in words, and the change to make after a failure.'),
      nextRunTime: timeSchema.optional().describe('Time of the next run.'),
      observedTrigger: z
        .string()
        .max(256)
        .optional()
        .describe(`Value of the annotation ${DRILL_NOW_ANNOTATION} at the last run.`),
    })
    .optional()
    .describe('The last drill; absent before the first run.'),
  programmed: programmedSchema.optional().describe('Rollout of the current form to the gateway pods.'),
});
export type ModelRouteStatus = z.infer<typeof modelRouteStatusSchema>;

export interface ModelRoute {
  readonly apiVersion: 'penstock.dev/v1alpha1';
  readonly kind: 'ModelRoute';
  readonly metadata: ObjectMeta;
  readonly spec: ModelRouteSpec;
  readonly status?: ModelRouteStatus;
}

export const modelRouteResource = defineResource({
  kind: 'ModelRoute',
  plural: 'modelroutes',
  shortName: 'mroute',
  description: 'A public model id, who may call it, and the ordered targets that serve it.',
  spec: modelRouteSpecSchema,
  status: modelRouteStatusSchema,
  columns: [
    { name: 'Model', type: 'string', jsonPath: '.spec.model', description: 'The public model id.' },
    { name: 'Visibility', type: 'string', jsonPath: '.spec.visibility', description: 'Where it is listed.' },
    stateColumn,
    conditionColumn('Ready'),
    {
      name: 'Usable',
      type: 'integer',
      jsonPath: '.status.usableTargets',
      description: 'Targets that can be used.',
    },
    {
      name: 'Targets',
      type: 'integer',
      jsonPath: '.status.totalTargets',
      description: 'Targets that the route names.',
    },
    untilColumn,
    ...programmedColumns,
    reasonColumn,
    ageColumn,
    messageColumn(
      '.status.targets[?(@.message)].message',
      'What is wrong with the first target that has a problem.',
    ),
  ],
  selectableFields: ['.spec.model', '.spec.visibility', '.spec.suspended'],
});

/** Turns unknown data, as read from the API server or a file, into a ModelRoute with its defaults. */
export function parseModelRoute(value: unknown): Parsed<ModelRoute> {
  return parseResource<ModelRoute>(modelRouteResource, value);
}
