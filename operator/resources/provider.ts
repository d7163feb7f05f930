// What can a user say about an upstream? The Provider: where it is, which dialects it speaks, with which keys.

import { z } from 'zod';
import { CLOUDS, cloudNames, isCloudName, SESSION_TAGS } from '../../core/catalog/clouds.ts';
import { upstreamApis } from '../../core/catalog/dialects.ts';
import { typesThat } from '../../core/catalog/provider-types.ts';
import {
  ageColumn,
  conditionColumn,
  messageColumn,
  programmedColumns,
  reasonColumn,
  stateColumn,
  untilColumn,
} from './columns.ts';
import { durationField, toMs } from './duration.ts';
import {
  allowedNamespacesField,
  baseTimeoutsSchema,
  commonStatus,
  dataKeySchema,
  entryNameSchema,
  limitsSchema,
  objectNameSchema,
  programmedSchema,
  secretKeyRefSchema,
  timeSchema,
  upstreamApiSchema,
} from './fields.ts';
import { inWords } from './in-words.ts';
import { atomicList, defaultedLater, listMap, listSet, refObject, stringMap } from './lists.ts';
import type { ObjectMeta } from './metadata.ts';
import { type Parsed, parseResource } from './parse.ts';
import {
  celIsNoneOf,
  celIsOneOf,
  defaultApis,
  keyHeaders,
  knownOptions,
  selfHostedTypes,
  theTypes,
  typesInProject,
  typesOf,
  typesWithoutAddress,
  typesWithoutApis,
} from './provider-type-words.ts';
import { defineResource } from './resource.ts';
import { celDuration, immutable, withRules } from './rule.ts';

const SCHEME_AND_HOST = '(https?|socks5)://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?';
const HTTP_URL =
  '^https?://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?(/([A-Za-z0-9._~!$&()*+,;=:-]|%[0-9A-Fa-f]{2})+)*$';
const PROXY_URL = `^${SCHEME_AND_HOST}$`;

// A host whose last label is a number is an IPv4 address to every browser-like parser, also as 127.1, 0x7f.1
// or 0177.0.0.1; others take it for a name. Only the form that all read alike is let through.
const NUMERIC_HOST = '^[a-z0-9]+://([^/:]*[.])?([0-9]+|0[xX][0-9A-Fa-f]*)[.]?(:|/|$)';
const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const IPV4_HOST = `^[a-z0-9]+://(${OCTET}[.]){3}${OCTET}(:|/|$)`;

function urlField(pattern: string, message: string) {
  const expression = new RegExp(pattern);
  return withRules(z.string().min(1).max(1024), [
    {
      // A raw CEL string: no escape is interpreted, as in the expression itself.
      cel: `self.matches(r'${pattern}') && isURL(self) && (url(self).getPort() == '' || int(url(self).getPort()) <= 65535)`,
      message,
      check: (value) => expression.test(value) && URL.canParse(value),
    },
    {
      cel: "!self.contains('/../') && !self.endsWith('/..') && !self.contains('/./') && !self.endsWith('/.')",
      message: 'must not contain the path segments "." and ".."; write the path they lead to',
      check: (value) => !/\/\.\.?(\/|$)/.test(value),
    },
    {
      cel: `!self.matches(r'${NUMERIC_HOST}') || self.matches(r'${IPV4_HOST}')`,
      message: 'must write an IPv4 address as four decimal numbers such as 10.0.0.1',
      check: (value) => !new RegExp(NUMERIC_HOST).test(value) || new RegExp(IPV4_HOST).test(value),
    },
  ]);
}

const headerNameSchema = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[A-Za-z0-9!#$%&*+.^_|~-]+$/, 'must be an HTTP header name: letters, digits and "-"');
const headerValueSchema = z.string().regex(/^[ -~]*$/, 'must be printable ASCII, without line breaks');

// Headers that frame the message or belong to the connection: setting one would break the request or
// smuggle another one into it (RFC 9110 §7.6.1, RFC 9112 §6).
const FRAMING_HEADERS = [
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
const RESERVED_HEADERS = [
  ...FRAMING_HEADERS,
  'accept',
  'accept-encoding',
  'authorization',
  'cookie',
  'forwarded',
];
const celList = (names: readonly string[]) => `[${names.map((name) => `'${name}'`).join(', ')}]`;

const authHeaderSchema = z.strictObject({
  name: withRules(headerNameSchema, [
    {
      cel: `!(self.lowerAscii() in ${celList([...FRAMING_HEADERS, 'cookie'])})`,
      message: 'this header cannot carry a key; most upstreams want Authorization, x-api-key or api-key',
      check: (name) => ![...FRAMING_HEADERS, 'cookie'].includes(name.toLowerCase()),
    },
  ]).describe('Name of the request header.'),
  prefix: headerValueSchema.max(32).default('').describe('Text before the key, with its space: "Bearer ".'),
});

const keySchema = z.strictObject({
  name: entryNameSchema.describe('Name of this key, for status, metrics and the ledger.'),
  secretRef: secretKeyRefSchema.describe(
    'The Secret value to use as key. The Secret must carry the label `penstock.dev/provider-credential: "true"`, ' +
      'and its annotation `penstock.dev/allowed-hosts` must name the host of the Provider: exact `host` or ' +
      '`host:port`, separated by commas; plain http to a public host takes `http://host`. Without the annotation, only ' +
      'the built-in host of the type is allowed. ' +
      'One line break at the end of the value is dropped.',
  ),
  weight: z
    .int32()
    .min(0)
    .max(1000)
    .default(1)
    .describe('Share of the calls among keys of one priority; 0 drains the key.'),
  priority: z.int32().min(0).max(15).default(0).describe('Keys with a lower number are used first.'),
  disabled: z.boolean().default(false).describe('Disable this key and keep the entry.'),
  limits: limitsSchema.optional().describe('The quota of this key at the upstream.'),
});

const regionInHost = /bedrock-(runtime|mantle)(-fips)?[.][a-z0-9-]+[.]/;

const awsSchema = withRules(
  z.strictObject({
    roleARN: z
      .string()
      .max(640)
      .regex(
        /^arn:aws[a-z-]*:iam::[0-9]{12}:role\/[A-Za-z0-9_+=,.@/-]+$/,
        'must be the ARN of a role, such as arn:aws:iam::123456789012:role/models',
      )
      .optional()
      .describe('Role to assume, by the identity of the gateway or by the access keys.'),
    externalID: z
      .string()
      .min(2)
      .max(1224)
      .regex(/^[A-Za-z0-9_+=,.@:/-]+$/, 'must be letters, digits and _+=,.@:/-')
      .optional()
      .describe('External id that the trust policy of the role asks for.'),
    sessionTags: z
      .enum(SESSION_TAGS)
      .optional()
      .describe(
        'Session tags of the role, so that the bill of AWS shows who calls: Namespace is `penstock.dev/namespace`, the namespace of the ApiKey, and ' +
          'ApiKey is that and `penstock.dev/api-key`, its name. Each has its own session. The trust policy must allow sts:TagSession.',
      ),
  }),
  [
    {
      cel: '!has(self.externalID) || has(self.roleARN)',
      message: 'externalID is for a role; set roleARN too',
      check: ({ externalID, roleARN }) => externalID === undefined || roleARN !== undefined,
    },
    {
      cel: '!has(self.sessionTags) || has(self.roleARN)',
      message: 'sessionTags are for a role; set roleARN too',
      check: ({ sessionTags, roleARN }) => sessionTags === undefined || roleARN !== undefined,
    },
  ],
);

const gcpSchema = z.strictObject({
  serviceAccount: z
    .string()
    .max(256)
    .regex(
      /^[a-z0-9][-a-z0-9]*@[a-z0-9][-.a-z0-9]*[.]gserviceaccount[.]com$/,
      'must be the e-mail address of a service account, such as models@my-project.iam.gserviceaccount.com',
    )
    .optional()
    .describe('Service account to impersonate, by the identity of the gateway or by the key.'),
});

const azureSchema = z.strictObject({
  tenantID: z
    .string()
    .max(253)
    .regex(/^[A-Za-z0-9][-A-Za-z0-9]*([.][A-Za-z0-9][-A-Za-z0-9]*)*$/, 'must be the id of an Entra tenant')
    .optional()
    .describe(
      'Entra tenant of the app. Required with keys; else the default is AZURE_TENANT_ID of the gateway.',
    ),
  clientID: z
    .string()
    .max(36)
    .regex(/^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/, 'must be the client id of an Entra app')
    .optional()
    .describe(
      'Client id of the app or managed identity. Required with keys; else the default is AZURE_CLIENT_ID of the gateway.',
    ),
  scope: z
    .string()
    .max(256)
    .regex(
      /^(https|api):\/\/[A-Za-z0-9][A-Za-z0-9._/-]*\/[.]default$/,
      'must be a scope such as https://ai.azure.com/.default',
    )
    .optional()
    .describe(
      'Scope of the tokens: `https://ai.azure.com/.default` for the address of a Foundry project. Default: ' +
        '`https://cognitiveservices.azure.com/.default`.',
    ),
});

const plainAuthSchema = z.strictObject(
  {
    type: z
      .enum(['ApiKey', ...cloudNames, 'None'])
      .default('ApiKey')
      .describe(
        'ApiKey: every call carries one of `keys`. AWS, GCP and Azure: credentials of that cloud. With `keys`: an AWS ' +
          'credentials file with one profile, the JSON key of a Google service account, or the client secret of an Entra app, or its ' +
          'certificate and private key in PEM. Without `keys`, the workload identity of the gateway; tenant namespaces may use it ' +
          `only if a TenantPolicy allows it. AWS is for ${theTypes(typesOf.AWS)}, GCP for ${theTypes(typesOf.GCP)}, ` +
          `Azure for ${theTypes(typesOf.Azure)}. None: the upstream takes no key.`,
      ),
    aws: awsSchema.optional().describe('For type AWS.'),
    gcp: gcpSchema.optional().describe('For type GCP.'),
    azure: azureSchema.optional().describe('For type Azure.'),
    header: authHeaderSchema
      .optional()
      .describe(`How the key is presented, for type ApiKey; default by type: ${keyHeaders()}.`),
    keys: listMap(keySchema, 'name', 64)
      .optional()
      .describe(
        'Keys of this upstream. Required if type is ApiKey; absent if it is None, or to use the identity of the gateway.',
      ),
  },
  {
    error: ({ input }) =>
      input === undefined
        ? 'is required; for a server without keys write auth: { type: None }, otherwise list its keys under auth.keys'
        : undefined,
  },
);

const authSchema = withRules(plainAuthSchema, [
  {
    cel: "self.type == 'None' ? (!has(self.keys) || size(self.keys) == 0) : (self.type != 'ApiKey' || (has(self.keys) && size(self.keys) > 0))",
    message: 'keys must hold at least one entry, and none if type is None',
    check: ({ type, keys = [] }) =>
      type === 'None' ? keys.length === 0 : type !== 'ApiKey' || keys.length > 0,
  },
  {
    cel: "self.type in ['ApiKey', 'None'] || !has(self.keys) || size(self.keys) > 0",
    message: 'keys must hold at least one entry; leave the field out to use the identity of the gateway',
    check: ({ type, keys }) => !isCloudName(type) || keys === undefined || keys.length > 0,
  },
  {
    cel: `self.type in ['ApiKey', 'None'] || !has(self.header)`,
    message: 'header is for type ApiKey; requests with credentials of a cloud have headers of their own',
    check: ({ type, header }) => !isCloudName(type) || header === undefined,
  },
  ...cloudNames.map((cloud) => {
    const { member } = CLOUDS[cloud];
    return {
      cel: `!has(self.${member}) || self.type == '${cloud}'`,
      message: `${member} is for type ${cloud}; set that type, or remove the field`,
      check: (auth: z.output<typeof plainAuthSchema>) => auth[member] === undefined || auth.type === cloud,
    };
  }),
  {
    cel: "self.type != 'Azure' || !has(self.keys) || (has(self.azure) && has(self.azure.tenantID) && has(self.azure.clientID))",
    message:
      'azure.tenantID and azure.clientID are required with keys: they name the app that the keys belong to',
    check: ({ type, keys, azure }) =>
      type !== 'Azure' ||
      keys === undefined ||
      (azure?.tenantID !== undefined && azure.clientID !== undefined),
  },
]);

const headerSchema = withRules(
  z.strictObject({
    name: withRules(headerNameSchema, [
      {
        cel: `!(self.lowerAscii() in ${celList(RESERVED_HEADERS)})`,
        message: 'this header is reserved; the key belongs in auth, the rest is set by the gateway',
        check: (name) => !RESERVED_HEADERS.includes(name.toLowerCase()),
      },
    ]).describe('Name of the request header.'),
    value: headerValueSchema.max(4096).optional().describe('The value itself.'),
    valueFrom: z
      .strictObject({
        secretKeyRef: secretKeyRefSchema.describe('A Secret value, under the same conditions as a key.'),
      })
      .optional()
      .describe('Source of the value.'),
  }),
  [
    {
      cel: 'has(self.value) != has(self.valueFrom)',
      message: 'set exactly one of value and valueFrom',
      check: (header) => (header.value === undefined) !== (header.valueFrom === undefined),
    },
  ],
);

const tlsSchema = z.strictObject({
  caRef: refObject({
    kind: z
      .enum(['ConfigMap', 'Secret'])
      .default('ConfigMap')
      .describe('Kind of the object that holds the CA.'),
    name: objectNameSchema.describe("Its name, in this object's own namespace."),
    key: dataKeySchema.default('ca.crt').describe('Key in its data: PEM certificates.'),
  })
    .optional()
    .describe(
      "Certificate authorities to trust in place of the system's. A Secret must carry the label " +
        '`penstock.dev/provider-credential: "true"`.',
    ),
  clientCertificateRef: refObject({
    name: objectNameSchema.describe(
      'Name of a Secret of type kubernetes.io/tls in the same namespace, opted in for Providers and bound to the host, like ' +
        'the Secret of a key.',
    ),
  })
    .optional()
    .describe('Certificate to present to the upstream.'),
  serverName: z
    .string()
    .min(1)
    .max(253)
    .regex(/^[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?$/, 'must be a DNS name')
    .optional()
    .describe('Server name (SNI) to request and verify, if it differs from the host of baseURL.'),
  minVersion: z.enum(['TLS12', 'TLS13']).default('TLS12').describe('Oldest TLS version to accept.'),
  insecureSkipVerify: z
    .boolean()
    .default(false)
    .describe('Accept any certificate. For tests only; the Provider becomes Degraded.'),
});

const proxySchema = z.strictObject({
  url: urlField(
    PROXY_URL,
    'must be http://, https:// or socks5:// with a host and nothing after it',
  ).describe(
    'Address of the proxy; default ports 80, 443 and 1080. Every call goes through a tunnel: CONNECT over http and https, ' +
      'for plain http upstreams too; over socks5 the proxy resolves the name.',
  ),
  credentialsRef: refObject({
    name: objectNameSchema.describe(
      'Name of a Secret with the keys username and password, in the own namespace. It must carry the label ' +
        '`penstock.dev/provider-credential: "true"`, and its annotation `penstock.dev/allowed-hosts` must name the proxy, ' +
        'with its scheme where that is not https: `http://host:port`.',
    ),
  })
    .optional()
    .describe('Credentials for the proxy.'),
});

const INTERVAL = '60s';
const TIMEOUT = '5s';
const activeCheckSchema = withRules(
  z.strictObject({
    type: z
      .enum(['ListModels', 'HTTPGet', 'Completion', 'Disabled'])
      .default('ListModels')
      .describe(
        'ListModels: an authenticated model listing, free of charge. HTTPGet: a GET on `path`. ' +
          'Completion: a one-token call of `model`, which costs money. Disabled: no active check.',
      ),
    path: z
      .string()
      .min(1)
      .max(256)
      .regex(/^\/[A-Za-z0-9._~!$&()*+,;=:@/%?-]*$/, 'must be an absolute path such as /health')
      .optional()
      .describe('Path for HTTPGet, on the host of baseURL.'),
    model: z.string().min(1).max(256).optional().describe('Upstream model for Completion.'),
    interval: durationField('5s', '1h').default(INTERVAL).describe('Time from one check to the next.'),
    timeout: durationField('100ms', '5m').default(TIMEOUT).describe('Time after which a check has failed.'),
    unhealthyThreshold: z
      .int32()
      .min(1)
      .max(20)
      .default(3)
      .describe('Failures in a row that make it unhealthy.'),
    healthyThreshold: z
      .int32()
      .min(1)
      .max(20)
      .default(2)
      .describe('Successes in a row that make it healthy again.'),
  }),
  [
    {
      cel: "(has(self.type) && self.type == 'HTTPGet') == has(self.path)",
      message: 'path must be set if, and only if, type is HTTPGet',
      check: (probe) => (probe.type === 'HTTPGet') === (probe.path !== undefined),
    },
    {
      cel: "(has(self.type) && self.type == 'Completion') == has(self.model)",
      message: 'model must be set if, and only if, type is Completion',
      check: (probe) => (probe.type === 'Completion') === (probe.model !== undefined),
    },
    {
      cel: `${celDuration('timeout', TIMEOUT)} < ${celDuration('interval', INTERVAL)}`,
      message: 'timeout must be shorter than interval',
      check: (probe) => toMs(probe.timeout) < toMs(probe.interval),
    },
  ],
);

const OPEN_FOR = '5s';
const MAX_OPEN = '25s';
const passiveCheckSchema = withRules(
  z.strictObject({
    consecutiveFailures: z
      .int32()
      .min(0)
      .max(1000)
      .default(5)
      .describe(
        'Failures in a row after which a pod stops using the upstream for a while; it also stops at 50 % of at ' +
          'least 20 calls in 30 s. 0 switches this off.',
      ),
    openFor: durationField('100ms', '10m')
      .default(OPEN_FOR)
      .describe('How long the circuit stays open the first time; doubled each further time.'),
    maxOpen: durationField('100ms', '1h')
      .default(MAX_OPEN)
      .describe('Longest time that the circuit stays open.'),
    rateLimitCooldown: durationField('100ms', '1h')
      .default('20s')
      .describe('Cooldown of a key after a 429 without Retry-After.'),
  }),
  [
    {
      cel: `${celDuration('openFor', OPEN_FOR)} <= ${celDuration('maxOpen', MAX_OPEN)}`,
      message: 'openFor must not be longer than maxOpen',
      check: (check) => toMs(check.openFor) <= toMs(check.maxOpen),
    },
  ],
);

/** No default of the kind: an operator that knows no checks refuses the field, and would find it in every object. */
export const checkWhereNoneIsNamed = activeCheckSchema.parse({});

const healthCheckSchema = z.strictObject({
  active: activeCheckSchema
    .optional()
    .describe(
      `Checks by the operator, with the Provider's own keys. Default: ListModels, with the defaults of its fields. Not available for ${inWords(typesThat(({ hasOwnSeats }) => hasOwnSeats === true))}.`,
    ),
  passive: defaultedLater(passiveCheckSchema).describe(
    'Circuit breaker of each gateway pod, driven by its own calls.',
  ),
});

export const providerSpecSchema = withRules(
  z.strictObject({
    type: withRules(z.enum(typesThat()), [immutable('type')]).describe(
      'The vendor of the API. Sets the defaults of address, dialects and key header.',
    ),
    displayName: z.string().max(128).optional().describe('Name for people.'),
    baseURL: urlField(
      HTTP_URL,
      'must be an absolute http or https URL such as https://api.example.com/v1, without query, fragment, ' +
        'user info and trailing slash, and with a port of at most 65535',
    )
      .optional()
      .describe(
        'Address in front of the dialect paths, with its version: https://api.example.com/v1. Required for ' +
          `${inWords(typesWithoutAddress)}; the other types have a default.`,
      ),
    apis: listSet(upstreamApiSchema.describe('A dialect.'), upstreamApis.length, 1)
      .optional()
      .describe(
        `Dialects the upstream speaks. Required for ${inWords(typesWithoutApis)}. Defaults: ${defaultApis()}.`,
      ),
    options: stringMap({ entriesMax: 16, valueMax: 256 })
      .optional()
      .describe(`Extras of one type. ${knownOptions()}. Unknown ones are refused.`),
    auth: authSchema.describe('Authentication at the upstream.'),
    headers: withRules(listMap(headerSchema, 'name', 32), [
      {
        cel: 'self.all(a, self.exists_one(b, b.name.lowerAscii() == a.name.lowerAscii()))',
        message: 'the same header appears twice in different spelling; header names ignore case',
        check: (headers) =>
          new Set(headers.map((header) => header.name.toLowerCase())).size === headers.length,
      },
    ])
      .optional()
      .describe('Further request headers.'),
    tls: tlsSchema.optional().describe('TLS towards the upstream; for an https baseURL alone.'),
    proxy: proxySchema.optional().describe('Proxy on the way to the upstream.'),
    timeouts: defaultedLater(baseTimeoutsSchema).describe(
      'Timeouts of a call. A route and a target may override them; the most specific value wins.',
    ),
    limits: limitsSchema.optional().describe('Limits of the whole upstream, all keys and all pods together.'),
    healthCheck: defaultedLater(healthCheckSchema).describe('When the upstream counts as failing.'),
    allowedNamespaces: allowedNamespacesField('Namespaces whose ModelRoutes may name this Provider.'),
    suspended: z
      .boolean()
      .default(false)
      .describe('Take the upstream out of service without deleting the object.'),
  }),
  [
    {
      cel: `${celIsNoneOf(typesWithoutAddress)} || has(self.baseURL)`,
      message: `baseURL is required for ${theTypes(typesWithoutAddress)}`,
      check: (spec) => !typesWithoutAddress.includes(spec.type) || spec.baseURL !== undefined,
    },
    {
      cel: `${celIsNoneOf(typesWithoutApis)} || has(self.apis)`,
      message: `apis is required for ${theTypes(typesWithoutApis)}; most such servers speak ChatCompletions`,
      check: (spec) => !typesWithoutApis.includes(spec.type) || spec.apis !== undefined,
    },
    {
      cel: `self.auth.type != 'AWS' || ${celIsOneOf(typesOf.AWS)}`,
      message: `auth.type AWS is for ${theTypes(typesOf.AWS)}`,
      check: (spec) => spec.auth.type !== 'AWS' || typesOf.AWS.includes(spec.type),
    },
    {
      cel: `self.auth.type != 'Azure' || ${celIsOneOf(typesOf.Azure)}`,
      message: `auth.type Azure is for ${theTypes(typesOf.Azure)}`,
      check: (spec) => spec.auth.type !== 'Azure' || typesOf.Azure.includes(spec.type),
    },
    {
      cel:
        `${celIsNoneOf(typesOf.AWS)} || ` +
        "self.auth.type != 'AWS' || (has(self.options) && 'region' in self.options) || " +
        `(has(self.baseURL) && self.baseURL.matches('${regionInHost.source}'))`,
      message:
        'options.region is required where the host of baseURL does not say the region that requests are signed for',
      check: (spec) =>
        !typesOf.AWS.includes(spec.type) ||
        spec.auth.type !== 'AWS' ||
        spec.options?.region !== undefined ||
        (spec.baseURL !== undefined && regionInHost.test(spec.baseURL)),
    },
    {
      cel:
        `!has(self.baseURL) || !self.baseURL.startsWith('http://') || ${celIsOneOf(selfHostedTypes)} || ` +
        "(self.auth.type == 'None' && (!has(self.headers) || !self.headers.exists(h, has(h.valueFrom))))",
      message: `a key may not be sent over plain http; use https, or the type ${inWords(selfHostedTypes, 'or')}`,
      check: (spec) =>
        !spec.baseURL?.startsWith('http://') ||
        selfHostedTypes.includes(spec.type) ||
        (spec.auth.type === 'None' && !spec.headers?.some((header) => header.valueFrom !== undefined)),
    },
    {
      cel: `self.auth.type != 'GCP' || ${celIsOneOf(typesOf.GCP)}`,
      message: `auth.type GCP is for ${theTypes(typesOf.GCP)}`,
      check: (spec) => spec.auth.type !== 'GCP' || typesOf.GCP.includes(spec.type),
    },
    {
      cel: `self.auth.type != 'GCP' || ${celIsNoneOf(typesInProject)} || (has(self.options) && 'project' in self.options)`,
      message: `options.project is required for ${theTypes(typesInProject)} with auth.type GCP`,
      check: (spec) =>
        spec.auth.type !== 'GCP' ||
        !typesInProject.includes(spec.type) ||
        spec.options?.project !== undefined,
    },
    {
      cel:
        '!has(self.headers) || !has(self.auth.header) || ' +
        '!self.headers.exists(h, h.name.lowerAscii() == self.auth.header.name.lowerAscii())',
      message: 'headers must not name the header that auth.header uses for the key',
      check: (spec) => {
        const keyHeader = spec.auth.header?.name.toLowerCase();
        return !spec.headers?.some((header) => header.name.toLowerCase() === keyHeader);
      },
    },
  ],
);
export type ProviderSpec = z.infer<typeof providerSpecSchema>;

/** Of one Provider; only the first ones are reported. */
export const TROUBLES_MAX = 16;
/** Named of one trouble. */
export const TROUBLE_PODS_MAX = 10;

const troubleSchema = z.object({
  key: z
    .string()
    .max(63)
    .optional()
    .describe('Name of the key; absent if the address or a model has the problem.'),
  upstreamModel: z.string().max(256).optional().describe('The affected model at the upstream.'),
  reason: z
    .enum(['CircuitOpen', 'RateLimited', 'Exhausted', 'Invalid'])
    .describe('Why it is not used: its calls fail, or the upstream rejects or limits the key.'),
  podCount: z.int32().min(1).describe('Gateway pods that do not use the key or model.'),
  pods: atomicList(
    z.object({
      name: z.string().max(253).describe('Name of the pod.'),
      sinceTime: timeSchema.describe('When the pod first reported this problem.'),
      nextTryTime: timeSchema
        .optional()
        .describe('When the pod may retry, as first reported; not updated later.'),
    }),
    TROUBLE_PODS_MAX,
  ).describe('The first of these pods, by name.'),
});

export const providerStatusSchema = z.object({
  ...commonStatus,
  endpoint: z.string().max(1024).optional().describe('Address in use.'),
  attachedRoutes: z
    .int32()
    .min(0)
    .optional()
    .describe('Number of ModelRoutes with a target on this Provider.'),
  keys: listMap(
    z.object({
      name: z.string().max(63).describe('Name of the key in spec.auth.keys.'),
      state: z
        .enum(['Active', 'Disabled', 'Missing', 'Invalid', 'RateLimited', 'Exhausted'])
        .describe('Whether the key is in use, or why not.'),
      fingerprint: z
        .string()
        .max(16)
        .optional()
        .describe('First 16 hex digits of the SHA-256 of the value; identifies the version.'),
      lastTransitionTime: timeSchema.optional().describe('When state last changed.'),
      message: z.string().max(1024).optional().describe('Action to take if the key is not in use.'),
    }),
    'name',
    64,
  )
    .optional()
    .describe('State of each key.'),
  health: z
    .object({
      healthyPods: z.int32().min(0).optional().describe('Gateway pods that find the upstream healthy.'),
      totalPods: z.int32().min(0).optional().describe('Gateway pods with recent calls to it.'),
      lastTransitionTime: timeSchema
        .optional()
        .describe('When the condition Healthy, its message or these counts last changed.'),
      lastError: z
        .string()
        .max(1024)
        .optional()
        .describe(
          "Error of the operator's own check when the condition Healthy last reported a problem; without secrets.",
        ),
      troubles: atomicList(troubleSchema, TROUBLES_MAX)
        .optional()
        .describe(
          'Keys and models that some gateway pods do not use now, and the pods. Updated with the condition Healthy, and otherwise at most once a minute. Absent without problems.',
        ),
      troublesObservedAt: timeSchema.optional().describe('When troubles last changed.'),
    })
    .optional()
    .describe('Health as seen by the gateway pods.'),
  programmed: programmedSchema.optional().describe('Rollout of the current form to the gateway pods.'),
});
export type ProviderStatus = z.infer<typeof providerStatusSchema>;

export interface Provider {
  readonly apiVersion: 'penstock.dev/v1alpha1';
  readonly kind: 'Provider';
  readonly metadata: ObjectMeta;
  readonly spec: ProviderSpec;
  readonly status?: ProviderStatus;
}

export const providerResource = defineResource({
  kind: 'Provider',
  plural: 'providers',
  shortName: 'mprov',
  description:
    'An upstream of the gateway: its address, its dialects, its keys and when it counts as failing.',
  spec: providerSpecSchema,
  status: providerStatusSchema,
  columns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type', description: 'Provider type.' },
    stateColumn,
    conditionColumn('Ready'),
    conditionColumn('Healthy'),
    {
      name: 'Routes',
      type: 'integer',
      jsonPath: '.status.attachedRoutes',
      description: 'ModelRoutes that use it.',
    },
    untilColumn,
    ...programmedColumns,
    reasonColumn,
    {
      name: 'Endpoint',
      type: 'string',
      jsonPath: '.status.endpoint',
      description: 'Address in use.',
      priority: 1,
    },
    ageColumn,
    messageColumn(
      '.status.conditions[?(@.status=="False")].message',
      'Message of the first condition that is False.',
    ),
  ],
  selectableFields: ['.spec.type', '.spec.suspended'],
});

/** Turns unknown data, as read from the API server or a file, into a Provider with its defaults. */
export function parseProvider(value: unknown): Parsed<Provider> {
  return parseResource<Provider>(providerResource, value);
}
