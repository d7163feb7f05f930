// Which small shapes do several kinds share?

import { z } from 'zod';
import { apis, upstreamApis } from '../../core/catalog/dialects.ts';
import { LIMITS, type LimitMember, limitMembers } from '../../core/catalog/limits.ts';
import { durationField } from './duration.ts';
import { atomicList, defaulted, listMap, listSet, refObject, stringMap } from './lists.ts';
import { withRules } from './rule.ts';

/** The dialects of the API, as users write them. */
export const apiSchema = z.enum(apis);
/** APIs of upstreams. */
export const upstreamApiSchema = z.enum(upstreamApis);

/** Name of an entry in one of our lists: a DNS label, so that it fits into ids, metrics and paths. */
export const entryNameSchema = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'must be a lower-case DNS label such as eu-1');

export const objectNameSchema = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/, 'must be a lower-case DNS name such as openai-keys');

export const namespaceNameSchema = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'must be a lower-case DNS label such as team-a');

export const dataKeySchema = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[-._a-zA-Z0-9]+$/, 'must be a key of a Secret: letters, digits, ".", "-" and "_"');

/** One value of a Secret. There is no namespace: a Secret serves only its own. */
export const secretKeyRefSchema = refObject({
  name: objectNameSchema.describe("Name of a Secret in this object's own namespace."),
  key: dataKeySchema.describe('Key in the data of that Secret.'),
});

const label = z.string().max(63);

/** A Kubernetes label selector, with bounds. An empty selector selects everything. */
export const labelSelectorSchema = z.strictObject({
  matchLabels: stringMap({ entriesMax: 16, valueMax: 63 })
    .optional()
    .describe('Labels that must be there with exactly these values.'),
  matchExpressions: atomicList(
    z.strictObject({
      key: z.string().min(1).max(317).describe('Label key.'),
      operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).describe('How the label is compared.'),
      values: atomicList(label.describe('A label value.'), 64)
        .optional()
        .describe('Values for In and NotIn; left out for Exists and DoesNotExist.'),
    }),
    16,
  )
    .optional()
    .describe('Requirements that must all hold.'),
});
export type LabelSelector = z.infer<typeof labelSelectorSchema>;

/** Consent of the owner: which other namespaces may use an object. */
export function allowedNamespacesField(whose: string) {
  const schema = withRules(
    z.strictObject({
      from: z
        .enum(['Same', 'All', 'Selector'])
        .default('Same')
        .describe(
          'Same: only the own namespace. All: every namespace. Selector: the namespaces in `names` and those that `selector` picks. ' +
            'Anything but Same is for platform namespaces.',
        ),
      selector: labelSelectorSchema
        .optional()
        .describe('Picks namespaces by their labels; only allowed with `from: Selector`.'),
      names: listSet(namespaceNameSchema.describe('Name of a namespace.'), 256)
        .optional()
        .describe('Namespaces by name; only allowed with `from: Selector`.'),
    }),
    [
      {
        cel: "(self.from == 'Selector') == (has(self.selector) || has(self.names))",
        message: 'selector or names must be set if, and only if, from is Selector',
        check: ({ from, selector, names }) =>
          (from === 'Selector') === (selector !== undefined || names !== undefined),
      },
    ],
  );
  return defaulted(schema).describe(whose);
}
export type AllowedNamespaces = z.infer<ReturnType<typeof allowedNamespacesField>>;

/** Allowed range, default and meaning of every timer of an upstream call. */
const TIMERS = {
  connect: ['50ms', '1m', '3s', 'Time to open the connection, TLS included.'],
  firstEvent: [
    '50ms',
    '1h',
    '12s',
    'Time from sending the request to the first event, while another candidate is left.',
  ],
  lastFirstEvent: ['50ms', '1h', '60s', 'firstEvent of the last candidate.'],
  liveness: ['50ms', '1h', '30s', 'Longest time without a single byte from the upstream.'],
  progress: ['50ms', '1h', '120s', 'Longest time with bytes but without content or progress.'],
  total: [
    '100ms',
    '24h',
    '600s',
    'Deadline of the whole request, all attempts together. If targets differ, the request has the longest, and each attempt its own.',
  ],
  clientWrite: ['50ms', '1h', '60s', 'Longest time a client may take to accept what was written to it.'],
} as const satisfies Record<string, readonly [string, string, string, string]>;

const timer = (name: keyof typeof TIMERS) => durationField(TIMERS[name][0], TIMERS[name][1]);
const timerText = (name: keyof typeof TIMERS) => TIMERS[name][3];
const baseTimer = (name: keyof typeof TIMERS) =>
  timer(name).default(TIMERS[name][2]).describe(timerText(name));
const ownTimer = (name: keyof typeof TIMERS) => timer(name).optional().describe(timerText(name));

/** The timers of a Provider: where nothing nearer says otherwise, these hold. */
export const baseTimeoutsSchema = z.strictObject({
  connect: baseTimer('connect'),
  firstEvent: baseTimer('firstEvent'),
  lastFirstEvent: baseTimer('lastFirstEvent'),
  liveness: baseTimer('liveness'),
  progress: baseTimer('progress'),
  total: baseTimer('total'),
  clientWrite: baseTimer('clientWrite'),
});

/** The timers of a route or a target: only what differs. */
export const ownTimeoutsSchema = z.strictObject({
  connect: ownTimer('connect'),
  firstEvent: ownTimer('firstEvent'),
  lastFirstEvent: ownTimer('lastFirstEvent'),
  liveness: ownTimer('liveness'),
  progress: ownTimer('progress'),
  total: ownTimer('total'),
  clientWrite: ownTimer('clientWrite'),
});
export type OwnTimeouts = z.infer<typeof ownTimeoutsSchema>;

/** How much may pass. Absent: no limit of this kind. */
export const limitsSchema = z.strictObject(
  Object.fromEntries(limitMembers.map((member) => [member, limitField(LIMITS[member])])) as Record<
    LimitMember,
    ReturnType<typeof limitField>
  >,
);

function limitField({ max, text }: { readonly max: number; readonly text: string }) {
  const whole = max < 2 ** 31 ? z.int32() : z.int();
  return whole.min(1).max(max).optional().describe(text);
}

// The format `date-time` of the API server knows the calendar, but takes spellings that JavaScript does not:
// the pattern leaves those out, and `isOnCalendar` does here what the format does there.
const RFC3339 =
  /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d([.]\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** JavaScript takes the 30th of February for the 2nd of March. */
function isOnCalendar(text: string): boolean {
  const midnight = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text.slice(0, 10));
}

/** RFC 3339 time. A string, since a date column prints a time to come as `<invalid>`. */
export const timeSchema = z
  .string()
  .max(64)
  .refine((text) => RFC3339.test(text) && isOnCalendar(text), {
    error: 'must be an RFC 3339 time such as 2027-01-01T00:00:00Z',
  })
  .meta({ format: 'date-time', pattern: RFC3339.source });

/**
 * A field of a status under its old name. It stays in the schema for one release: an operator of the version before cannot
 * apply a status with a field that the schema does not know.
 */
export function beforeRename<S extends z.ZodType>(schema: S, names: string) {
  return schema.optional().describe(`Written by older operators; now ${names}.`);
}

/** Where an object is running; the same on every kind. */
export const programmedSchema = z.object({
  tableGeneration: z
    .int()
    .min(0)
    .optional()
    .describe("First table generation with the object's current form."),
  runningPods: z.int32().min(0).optional().describe('Ready gateway pods that run the current form.'),
  readyPods: z.int32().min(0).optional().describe('Gateway pods that are ready.'),
  pods: beforeRename(z.string().max(32), 'runningPods and readyPods'),
  observedAt: timeSchema.optional().describe('When this was observed.'),
});

/** One condition, shaped as `metav1.Condition`. */
const conditionSchema = z.object({
  type: z
    .string()
    .max(316)
    .regex(/^[A-Za-z][A-Za-z0-9]*$/)
    .describe('Type of the condition.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('True, False or Unknown.'),
  observedGeneration: z.int().min(0).optional().describe('metadata.generation that was evaluated.'),
  lastTransitionTime: timeSchema.describe('When status last changed.'),
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe('Machine-readable reason; docs/reasons.md lists all.'),
  message: z.string().max(32_768).describe('The fact, and the action to take.'),
});

/** Members every status has. */
/** The state of an object in one word; the worst first. */
export const states = [
  'Invalid',
  'Failing',
  'Expired',
  'Disabled',
  'Suspended',
  'OverBudget',
  'Held',
  'Degraded',
  'Pending',
  'Serving',
] as const;
export type State = (typeof states)[number];

export const commonStatus = {
  state: z
    .enum(states)
    .optional()
    .describe(
      'The most severe current state, in one word. Invalid: the object has an error, or another object holds its id or key. Failing: a dependency is missing, or calls fail. Expired, Disabled, Suspended: out of service by its own fields. OverBudget: a budget is used up. Held: the last good form serves. Degraded: a part fails, or another object claims the same key. Pending: not on every gateway pod yet, or a reference has just become missing.',
    ),
  until: timeSchema
    .optional()
    .describe(
      'When the state ends automatically: a held form leaves service, or the period of a budget is over.',
    ),
  observedGeneration: z.int().min(0).optional().describe('metadata.generation that this status describes.'),
  conditions: listMap(conditionSchema, 'type', 32).optional().describe('Conditions of this object.'),
};
