// Which objects are wrong, and where? One table for both judges: our own parse, and the API server with our CRDs.

import { apiKey, provider, route, target, tenantPolicy } from '../make.ts';

export const KEY = { name: 'main', secretRef: { name: 'openai', key: 'key' } };
const BOT_HASH = 'a'.repeat(64);
const PRICE = { inputPerMillion: '1', outputPerMillion: '2' };
export const active = (probe: object) => provider({ healthCheck: { active: probe } });
export const auth = (fields: object) => provider({ auth: { keys: [KEY], ...fields } });
export const targets = (...list: object[]) => route({ targets: list });
export const pricing = (price: object) => route({ pricing: price });
export const failover = (fields: object) => route({ failover: fields });
export const compatible = (fields: object) =>
  provider({ type: 'OpenAICompatible', apis: ['ChatCompletions'], ...fields });
export const bedrock = (fields: object) =>
  provider({ type: 'Bedrock', baseURL: 'https://bedrock-runtime.us-east-1.amazonaws.com', auth: fields });
export const azure = (fields: object) =>
  provider({ type: 'AzureOpenAI', baseURL: 'https://acme.openai.azure.com', auth: fields });
export const ROLE = 'arn:aws:iam::123456789012:role/models';
export const TENANT = '11111111-2222-3333-4444-555555555555';
export const baseURL = (url: string) => compatible({ baseURL: url });

/** What is wrong, the object, the path of the problem, and a part of what our parse says about it. */
export type Refusal = readonly [string, unknown, string, string];

export const PROVIDER_REFUSALS: readonly Refusal[] = [
  ['the type is unknown', provider({ type: 'Azure' }), 'spec.type', 'must be one of OpenAI, Anthropic'],
  ['there is no auth', { ...provider(), spec: { type: 'OpenAI' } }, 'spec.auth', 'is required'],
  [
    'a field is mistyped',
    provider({ baseUrl: 'https://a.example' }),
    'spec.baseUrl',
    'did you mean baseURL?',
  ],
  ['a field is unknown', provider({ zzzzzzzzzz: 1 }), 'spec.zzzzzzzzzz', 'unknown field'],
  [
    'a deep field is mistyped',
    provider({ timeouts: { firstevent: '1s' } }),
    'spec.timeouts.firstevent',
    'did you mean firstEvent?',
  ],
  ['a Compatible has no address', compatible({}), 'spec', 'baseURL is required'],
  ['an Ollama has no address', provider({ type: 'Ollama' }), 'spec', 'baseURL is required'],
  [
    'a Compatible has no dialects',
    provider({ type: 'OpenAICompatible', baseURL: 'https://a.example/v1' }),
    'spec',
    'apis is required',
  ],
  [
    'requests to OpenAI would be signed for AWS',
    provider({ auth: { type: 'AWS', keys: [KEY] } }),
    'spec',
    'auth.type AWS is for the type Bedrock',
  ],
  [
    'the region to sign for is unknown',
    provider({ type: 'Bedrock', baseURL: 'https://a.example', auth: { type: 'AWS', keys: [KEY] } }),
    'spec',
    'options.region is required',
  ],
  ['a key would go over http', provider({ baseURL: 'http://api.openai.com/v1' }), 'spec', 'plain http'],
  [
    'a secret header would go over http',
    provider({
      baseURL: 'http://a.example',
      auth: { type: 'None' },
      headers: [{ name: 'X-A', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }],
    }),
    'spec',
    'plain http',
  ],
  ['the address has no scheme', baseURL('api.example.com/v1'), 'spec.baseURL', 'absolute http or https URL'],
  ['the address is ftp', baseURL('ftp://a.example/v1'), 'spec.baseURL', 'absolute http or https URL'],
  ['the address has a query', baseURL('https://a.example/v1?x=1'), 'spec.baseURL', 'without query'],
  ['the address has a fragment', baseURL('https://a.example/v1#x'), 'spec.baseURL', 'fragment'],
  ['the address has user info', baseURL('https://me:pw@a.example/v1'), 'spec.baseURL', 'user info'],
  ['the address ends in a slash', baseURL('https://a.example/v1/'), 'spec.baseURL', 'trailing slash'],
  ['the address has a backslash', baseURL('https://a.example\\@b.example'), 'spec.baseURL', 'absolute'],
  ['the address has a line break', baseURL('https://a.example/v1\nx'), 'spec.baseURL', 'absolute'],
  ['the address climbs', baseURL('https://a.example/v1/../x'), 'spec.baseURL', 'path segments'],
  ['the address ends in a climb', baseURL('https://a.example/v1/..'), 'spec.baseURL', 'path segments'],
  ['the port is too large', baseURL('https://a.example:99999/v1'), 'spec.baseURL', '65535'],
  ...['256.0.0.1', '127.1', '0x7f.1', '0177.0.0.1', 'a.123', '1.2.3.4.5', '10.0.0.1.'].map(
    (host): Refusal => [
      `the host is no IPv4 address that all read alike: ${host}`,
      baseURL(`https://${host}/v1`),
      'spec.baseURL',
      'four decimal numbers',
    ],
  ),
  ['an invalid IPv6 address', baseURL('https://[1:2]/v1'), 'spec.baseURL', 'absolute'],
  ['an invalid escape', baseURL('https://a.example/%zz'), 'spec.baseURL', 'absolute'],
  ['the scheme is in upper case', baseURL('HTTPS://a.example/v1'), 'spec.baseURL', 'absolute'],
  ['no dialect is left', provider({ apis: [] }), 'spec.apis', 'at least 1 entries'],
  ['a dialect is twice', provider({ apis: ['ChatCompletions', 'ChatCompletions'] }), 'spec.apis[1]', 'twice'],
  ['ApiKey has no keys', provider({ auth: {} }), 'spec.auth', 'at least one entry'],
  ['None has keys', auth({ type: 'None' }), 'spec.auth', 'none if type is None'],
  ['GCP is for Google', auth({ type: 'GCP' }), 'spec', 'auth.type GCP is for the types Gemini and VertexAI'],
  [
    'GCP has no project at Vertex AI',
    provider({ type: 'VertexAI', auth: { type: 'GCP' } }),
    'spec',
    'options.project is required for the type VertexAI',
  ],
  [
    'tokens have a header of their own',
    auth({ type: 'GCP', header: { name: 'x-key' } }),
    'spec.auth',
    'header is for type ApiKey',
  ],
  [
    'signatures have headers of their own',
    bedrock({ type: 'AWS', header: { name: 'x-key' } }),
    'spec.auth',
    'header is for type ApiKey',
  ],
  [
    'Azure is for Azure OpenAI',
    provider({ auth: { type: 'Azure' } }),
    'spec',
    'auth.type Azure is for the type AzureOpenAI',
  ],
  ['the list of keys is empty', bedrock({ type: 'AWS', keys: [] }), 'spec.auth', 'leave the field out'],
  [
    'a role is for another cloud',
    bedrock({ type: 'AWS', azure: {} }),
    'spec.auth',
    'azure is for type Azure',
  ],
  [
    'a role is named beside a plain key',
    bedrock({ keys: [KEY], aws: { roleARN: ROLE } }),
    'spec.auth',
    'aws is for type AWS',
  ],
  [
    'an account is named beside no key',
    auth({ type: 'ApiKey', gcp: {} }),
    'spec.auth',
    'gcp is for type GCP',
  ],
  [
    'an invalid role',
    bedrock({ type: 'AWS', aws: { roleARN: 'models' } }),
    'spec.auth.aws.roleARN',
    'ARN of a role',
  ],
  [
    'an external id has no role',
    bedrock({ type: 'AWS', aws: { externalID: 'acme' } }),
    'spec.auth.aws',
    'set roleARN too',
  ],
  [
    'session tags have no role',
    bedrock({ type: 'AWS', aws: { sessionTags: 'ApiKey' } }),
    'spec.auth.aws',
    'set roleARN too',
  ],
  [
    'session tags are of something else',
    bedrock({ type: 'AWS', aws: { roleARN: ROLE, sessionTags: 'Team' } }),
    'spec.auth.aws.sessionTags',
    'Namespace',
  ],
  [
    'an account could lead to another address',
    provider({
      type: 'VertexAI',
      options: { project: 'my-project' },
      auth: { type: 'GCP', gcp: { serviceAccount: 'a/../b@p.iam.gserviceaccount.com' } },
    }),
    'spec.auth.gcp.serviceAccount',
    'e-mail address of a service account',
  ],
  [
    'a client secret has no app',
    azure({ type: 'Azure', keys: [KEY], azure: { tenantID: TENANT } }),
    'spec.auth',
    'azure.tenantID and azure.clientID are required with keys',
  ],
  [
    'a tenant could lead to another address',
    azure({ type: 'Azure', azure: { tenantID: '..' } }),
    'spec.auth.azure.tenantID',
    'id of an Entra tenant',
  ],
  [
    'an invalid client id',
    azure({ type: 'Azure', azure: { clientID: 'me' } }),
    'spec.auth.azure.clientID',
    'client id',
  ],
  [
    'an invalid scope',
    azure({ type: 'Azure', azure: { scope: 'https://ai.azure.com' } }),
    'spec.auth.azure.scope',
    'must be a scope',
  ],
  ['two keys have one name', auth({ keys: [KEY, KEY] }), 'spec.auth.keys[1].name', 'twice'],
  [
    'a key reaches into another namespace',
    auth({ keys: [{ ...KEY, secretRef: { ...KEY.secretRef, namespace: 'b' } }] }),
    'spec.auth.keys[0].secretRef.namespace',
    'unknown field',
  ],
  [
    'the key header frames the message',
    auth({ header: { name: 'Content-Length' } }),
    'spec.auth.header.name',
    'cannot carry a key',
  ],
  [
    'the prefix has a line break',
    auth({ header: { name: 'X-A', prefix: 'a\r\nb' } }),
    'spec.auth.header.prefix',
    'printable',
  ],
  [
    'a header is reserved',
    provider({ headers: [{ name: 'Authorization', value: 'x' }] }),
    'spec.headers[0].name',
    'reserved',
  ],
  [
    'an invalid header name',
    provider({ headers: [{ name: 'X A', value: 'x' }] }),
    'spec.headers[0].name',
    'header name',
  ],
  [
    'a header has a line break',
    provider({ headers: [{ name: 'X-A', value: 'a\nHost: b' }] }),
    'spec.headers[0].value',
    'line breaks',
  ],
  ['a header has no value', provider({ headers: [{ name: 'X-A' }] }), 'spec.headers[0]', 'exactly one of'],
  [
    'a header has two values',
    provider({
      headers: [{ name: 'X-A', value: 'x', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }],
    }),
    'spec.headers[0]',
    'exactly one of',
  ],
  [
    'a header is twice in other case',
    provider({
      headers: [
        { name: 'X-A', value: '1' },
        { name: 'x-a', value: '2' },
      ],
    }),
    'spec.headers',
    'ignore case',
  ],
  [
    'a header is the key header',
    provider({
      auth: { header: { name: 'Api-Key' }, keys: [KEY] },
      headers: [{ name: 'api-key', value: '1' }],
    }),
    'spec',
    'auth.header',
  ],
  [
    'a duration has no unit',
    provider({ timeouts: { connect: '3' } }),
    'spec.timeouts.connect',
    'duration such as',
  ],
  [
    'a duration is too long',
    provider({ timeouts: { connect: '2h' } }),
    'spec.timeouts.connect',
    'between 50ms and 1m',
  ],
  ...['1d', '1us', '-1s', '1S', ' 1s', '.5s', ''].map(
    (text): Refusal => [
      `a duration is none: "${text}"`,
      provider({ timeouts: { total: text } }),
      'spec.timeouts.total',
      'duration such as',
    ],
  ),
  [
    'a duration is longer than there are numbers for',
    provider({ timeouts: { total: '9999999h' } }),
    'spec.timeouts.total',
    'between',
  ],
  ['a duration is too short', provider({ timeouts: { total: '1ms' } }), 'spec.timeouts.total', 'between'],
  [
    'openFor is longer than maxOpen',
    provider({ healthCheck: { passive: { openFor: '30s' } } }),
    'spec.healthCheck.passive',
    'maxOpen',
  ],
  ['HTTPGet has no path', active({ type: 'HTTPGet' }), 'spec.healthCheck.active', 'path must be set'],
  ['ListModels has a path', active({ path: '/x' }), 'spec.healthCheck.active', 'path must be set'],
  ['Completion has no model', active({ type: 'Completion' }), 'spec.healthCheck.active', 'model must be set'],
  [
    'a check is slower than its interval',
    active({ interval: '5s', timeout: '5s' }),
    'spec.healthCheck.active',
    'shorter than interval',
  ],
  [
    'Selector selects nothing',
    provider({ allowedNamespaces: { from: 'Selector' } }),
    'spec.allowedNamespaces',
    'selector or names must be set',
  ],
  [
    'Same has names',
    provider({ allowedNamespaces: { names: ['team-a'] } }),
    'spec.allowedNamespaces',
    'selector or names must be set',
  ],
  [
    'All has a selector',
    provider({ allowedNamespaces: { from: 'All', selector: {} } }),
    'spec.allowedNamespaces',
    'selector or names must be set',
  ],
  [
    'the proxy carries user info',
    provider({ proxy: { url: 'http://me:pw@proxy:3128' } }),
    'spec.proxy.url',
    'socks5',
  ],
  ['an option has no name', provider({ options: { '': 'x' } }), 'spec.options', 'keys must have'],
  [
    'there are too many options',
    provider({ options: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`o${i}`, ''])) }),
    'spec.options',
    'at most 16',
  ],
  [
    'the version is another',
    { ...provider(), apiVersion: 'v1' },
    'apiVersion',
    'must be penstock.dev/v1alpha1',
  ],
  ['the kind is another', { ...provider(), kind: 'Route' }, 'kind', 'must be Provider'],
  ['the auth is null', provider({ auth: null }), 'spec.auth', 'is required'],
  ['there is no spec', { ...provider(), spec: null }, 'spec', 'is required'],
  ['the spec is text', { ...provider(), spec: 'x' }, 'spec', 'must be an object'],
  [
    'a text is too long, counted in characters',
    provider({ displayName: '😀'.repeat(129) }),
    'spec.displayName',
    'at most 128',
  ],
  [
    'there are too many keys',
    auth({ keys: Array.from({ length: 65 }, (_, i) => ({ ...KEY, name: `k${i}` })) }),
    'spec.auth.keys',
    'at most 64',
  ],
  [
    'a limit is too high',
    provider({ limits: { tokensPerMinute: 1e12 + 1 } }),
    'spec.limits.tokensPerMinute',
    'at most',
  ],
  ['a top field is mistyped', { ...provider(), specs: {} }, 'specs', 'did you mean spec?'],
  ['the name is no name', provider({}, { name: 'Open AI' }), 'metadata.name', 'DNS name'],
  ['it is no object', 'x', '', 'must be an object'],
];

export const MODEL_ROUTE_REFUSALS: readonly Refusal[] = [
  ['the id has an empty segment', route({ model: 'a//b' }), 'spec.model', 'model id'],
  ['the id climbs', route({ model: 'a/../b' }), 'spec.model', 'model id'],
  ['the id has a line break', route({ model: 'a\nb' }), 'spec.model', 'model id'],
  ['the id is too long', route({ model: 'a'.repeat(201) }), 'spec.model', 'at most 200 characters'],
  ['the id ends in a slash', route({ model: 'a/' }), 'spec.model', 'model id'],
  ['there is no id', { ...route(), spec: { targets: [target()] } }, 'spec.model', 'is required'],
  ['the entry of a list is null', route({ aliases: [null] }), 'spec.aliases[0]', 'must be a string'],
  [
    'there are too many targets',
    targets(...Array.from({ length: 17 }, (_, i) => target({ name: `t${i}` }))),
    'spec.targets',
    'at most 16',
  ],
  ['a weight is a fraction', targets(target({ weight: 1.5 })), 'spec.targets[0].weight', 'whole number'],
  ['a weight is text', targets(target({ weight: '1' })), 'spec.targets[0].weight', 'must be a number'],
  ['an alias repeats the id', route({ aliases: ['chat'] }), 'spec', 'must not repeat'],
  ['an alias is twice', route({ aliases: ['a', 'a'] }), 'spec.aliases[1]', 'twice'],
  ['Public is not for all', route({ visibility: 'Public' }), 'spec', 'allowedNamespaces.from: All'],
  [
    'an answer is longer than the context',
    route({ contextLength: 10, maxOutputTokens: 11 }),
    'spec',
    'maxOutputTokens',
  ],
  ['there is no target', route({ targets: [] }), 'spec.targets', 'at least 1 entries'],
  ['all targets are drained', targets(target({ weight: 0 })), 'spec.targets', 'weight above 0'],
  [
    'a target names another kind',
    targets(target({ providerRef: { kind: 'Service', name: 'openai' } })),
    'spec.targets[0].providerRef.kind',
    'must be Provider',
  ],
  [
    'a target names a kind of another group',
    targets(target({ providerRef: { group: 'example.com', name: 'openai' } })),
    'spec.targets[0].providerRef.group',
    'must be penstock.dev',
  ],
  ['two targets have one name', targets(target(), target()), 'spec.targets[1].name', 'twice'],
  [
    'a reference is mistyped',
    targets(target({ providerRef: { nmae: 'a' } })),
    'spec.targets[0].providerRef.nmae',
    'did you mean name?',
  ],
  [
    'an upstream model has a line break',
    targets(target({ upstreamModel: 'a\r\nb' })),
    'spec.targets[0].upstreamModel',
    'model id',
  ],
  [
    'an upstream model has a blank',
    targets(target({ upstreamModel: 'sim-small fault' })),
    'spec.targets[0].upstreamModel',
    'model id',
  ],
  [
    'an upstream model begins with what belongs inside',
    targets(target({ upstreamModel: '=sim-small' })),
    'spec.targets[0].upstreamModel',
    'model id',
  ],
  [
    'a target has too many parameters',
    targets(target({ parameters: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`p${i}`, i])) })),
    'spec.targets[0].parameters',
    'at most 32',
  ],

  [
    "a target's parameters speak for the caller",
    targets(target({ parameters: { n: 2 } })),
    'spec.targets[0].parameters.n',
    'the caller or the gateway sets it',
  ],
  ['a priority is too high', targets(target({ priority: 16 })), 'spec.targets[0].priority', 'at most 15'],
  [
    'a price is a number',
    pricing({ inputPerMillion: 2.5, outputPerMillion: '1' }),
    'spec.pricing.inputPerMillion',
    'must be a string, not a number',
  ],
  [
    'a price is too fine',
    pricing({ ...PRICE, inputPerMillion: '0.0000001' }),
    'spec.pricing.inputPerMillion',
    'cannot be counted exactly',
  ],
  [
    'a price is negative',
    pricing({ ...PRICE, inputPerMillion: '-1' }),
    'spec.pricing.inputPerMillion',
    'decimal string',
  ],
  [
    'a price per request is too fine',
    pricing({ perRequest: '0.0000000000001' }),
    'spec.pricing.perRequest',
    'cannot be counted exactly',
  ],
  ['only input has a price', pricing({ inputPerMillion: '1' }), 'spec.pricing', 'belong together'],
  ['a price says nothing', pricing({ cachedInputPerMillion: '1' }), 'spec.pricing', 'needs an amount'],
  [
    'provisioned capacity has amounts',
    pricing({ ...PRICE, provisioned: true }),
    'spec.pricing',
    'replaces all amounts',
  ],
  [
    'a price is said not to be provisioned',
    pricing({ provisioned: false }),
    'spec.pricing',
    'needs an amount',
  ],
  [
    'two tiers begin together',
    pricing({ ...PRICE, tiers: [{ aboveInputTokens: 1 }, { aboveInputTokens: 1 }] }),
    'spec.pricing.tiers[1].aboveInputTokens',
    'twice',
  ],
  [
    'a reason to retry is unknown',
    failover({ retryOn: ['Always'] }),
    'spec.failover.retryOn[0]',
    'must be one of',
  ],
  ['attempts are too many', failover({ maxAttempts: 17 }), 'spec.failover.maxAttempts', 'at most 16'],
  ['the first pause is the longest', failover({ backoff: { base: '3s' } }), 'spec.failover.backoff', 'max'],
  ['a drill has no schedule', route({ drill: {} }), 'spec.drill.schedule', 'is required'],
  [
    'an invalid schedule',
    route({ drill: { schedule: 'every day' } }),
    'spec.drill.schedule',
    'five cron fields',
  ],
];

export const API_KEY_REFUSALS: readonly Refusal[] = [
  [
    'its name leaves no room for the Secret',
    apiKey({}, { name: 'a'.repeat(201) }),
    'metadata.name',
    'at most 200',
  ],
  ['the end is no time', apiKey({ expiresAt: 'tomorrow' }), 'spec.expiresAt', 'RFC 3339'],
  ...[
    '2027-02-30T00:00:00Z',
    '2027-02-29T00:00:00Z',
    '2027-01-01T24:00:00Z',
    '2027-01-01T23:59:60Z',
    '2027-01-01t00:00:00z',
    '2027-01-01 00:00:00Z',
    '2027-01-01T00:00:00',
    '2027-01-01T00:00:00,5Z',
    '2027-01-01T00:00:00.1234567891Z',
    '2027-01-01T00:00:00+24:00',
    '2027-01-01T00:00:00+0200',
    '2027-01-01',
  ].map(
    (time): Refusal => [
      `the end is no time: ${time}`,
      apiKey({ expiresAt: time }),
      'spec.expiresAt',
      'RFC 3339',
    ],
  ),
  ['the end is on no day', apiKey({ expiresAt: '2026-13-40T00:00:00Z' }), 'spec.expiresAt', 'RFC 3339'],
  ['a hash is too short', apiKey({ imports: [{ sha256: 'abc' }] }), 'spec.imports[0].sha256', 'SHA-256'],
  [
    'a hash is in upper case',
    apiKey({ imports: [{ sha256: 'A'.repeat(64) }] }),
    'spec.imports[0].sha256',
    'lower-case',
  ],
  [
    'a hash is twice',
    apiKey({ imports: [{ sha256: BOT_HASH }, { sha256: BOT_HASH }] }),
    'spec.imports[1].sha256',
    'twice',
  ],
  [
    'the key would be written where rotation keeps the next one',
    apiKey({ imports: [], secret: { key: 'nextApiKey' } }),
    'spec.secret.key',
    'are reserved for rotation',
  ],
  ['an imported key would rotate', apiKey({ rotation: {} }), 'spec', 'rotation is not possible'],
  [
    'the overlap is longer than the interval',
    apiKey({ imports: [], rotation: { interval: '24h' } }),
    'spec.rotation',
    'overlap must be shorter',
  ],
  [
    'a star is in the middle',
    apiKey({ models: { allow: ['a*b'] } }),
    'spec.models.allow[0]',
    '"*" at its end',
  ],
  [
    'a budget is a number',
    apiKey({ budgets: [{ period: 'Day', limit: 5 }] }),
    'spec.budgets[0].limit',
    'must be a string',
  ],
  [
    'a budget is no money',
    apiKey({ budgets: [{ period: 'Day', limit: '5 $' }] }),
    'spec.budgets[0].limit',
    'decimal string',
  ],
  ['an invalid e-mail address', apiKey({ owner: { email: 'jo' } }), 'spec.owner.email', 'e-mail'],
  [
    'an attribute is too long',
    apiKey({ attributes: { a: 'x'.repeat(257) } }),
    'spec.attributes.a',
    'at most 256',
  ],
  [
    'a label of the Secret would be refused',
    apiKey({ secret: { labels: { 'a b': 'c' } } }),
    'spec.secret.labels',
    'keys must be such as',
  ],
  [
    'the value of a label would be refused',
    apiKey({ secret: { labels: { app: 'a b' } } }),
    'spec.secret.labels',
    'values of labels',
  ],
  [
    'an annotation of the Secret would be refused',
    apiKey({ secret: { annotations: { 'a/b/c': 'd' } } }),
    'spec.secret.annotations',
    'keys must be such as',
  ],
  [
    'a label would lend the key to Providers',
    apiKey({ secret: { labels: { 'penstock.dev/provider-credential': 'true' } } }),
    'spec.secret.labels',
    'penstock.dev/',
  ],
  [
    'an annotation would bind the key to a host',
    apiKey({ secret: { annotations: { 'penstock.dev/allowed-hosts': 'example.com' } } }),
    'spec.secret.annotations',
    'penstock.dev/',
  ],
  ['an e-mail address has a space', apiKey({ owner: { email: 'a\u00a0b@c' } }), 'spec.owner.email', 'e-mail'],
  [
    'a hint is not printable',
    apiKey({ imports: [{ sha256: BOT_HASH, hint: 'é' }] }),
    'spec.imports[0].hint',
    'printable',
  ],
  [
    'two stars stand together',
    apiKey({ models: { allow: ['**'] } }),
    'spec.models.allow[0]',
    '"*" at its end',
  ],
  ['disabled is a word', apiKey({ disabled: 'yes' }), 'spec.disabled', 'true or false'],
];

export const TENANT_POLICY_REFUSALS: readonly Refusal[] = [
  [
    'no namespace is meant',
    tenantPolicy({ namespaces: {} }),
    'spec.namespaces',
    'must have names or a selector',
  ],
  [
    'an invalid range',
    tenantPolicy({ egress: { allow: ['10.0.0.0'] } }),
    'spec.egress.allow[0]',
    'address range',
  ],
  [
    'a prefix ends in a slash',
    tenantPolicy({ modelPrefixes: ['acme/'] }),
    'spec.modelPrefixes[0]',
    'before the "/"',
  ],
  [
    'an identity is of no cloud',
    tenantPolicy({ cloudIdentities: [{ type: 'Oracle' }] }),
    'spec.cloudIdentities[0].type',
    'AWS',
  ],
  [
    'a cloud is there twice',
    tenantPolicy({ cloudIdentities: [{ type: 'AWS' }, { type: 'AWS', roles: [ROLE] }] }),
    'spec.cloudIdentities[1].type',
    'twice',
  ],
  [
    'an identity has an empty list of roles',
    tenantPolicy({ cloudIdentities: [{ type: 'AWS', roles: [] }] }),
    'spec.cloudIdentities[0].roles',
    'at least 1 entries',
  ],
  [
    'a role has a "*" in its middle',
    tenantPolicy({ cloudIdentities: [{ type: 'AWS', roles: ['arn:*:role/a'] }] }),
    'spec.cloudIdentities[0].roles[0]',
    'at its end',
  ],
  ['an invalid role', tenantPolicy({ role: 'Tenant' }), 'spec.role', 'Platform'],
  [
    'a budget has no number',
    tenantPolicy({ budgets: [{ period: 'Day', limit: 'x' }] }),
    'spec.budgets[0].limit',
    'dollars',
  ],
];
