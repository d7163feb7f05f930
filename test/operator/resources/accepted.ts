// Which objects are right? One table for both judges: our own parse, and the API server with our CRDs.

import { parse as parseYaml } from 'yaml';
import type { RawPolicy } from '../../../operator/watch/snapshot.ts';
import { apiKey, provider, route, target, tenantPolicy } from '../make.ts';
import {
  active,
  auth,
  azure,
  baseURL,
  bedrock,
  compatible,
  failover,
  KEY,
  pricing,
  ROLE,
  TENANT,
  targets,
} from './refusals.ts';

const spec = (text: string): Readonly<Record<string, unknown>> => parseYaml(text);
const from = (allowedNamespaces: object) => provider({ allowedNamespaces });
const secretHeader = { name: 'X-A', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } };

/** What is special about it, and the object. */
export type Accepted = readonly [string, RawPolicy];

/** Objects in which nothing is left to a default: they come out as they went in. */
export const COMPLETE: readonly Accepted[] = [
  [
    'a Provider',
    provider(
      spec(`
        type: OpenAI
        displayName: OpenAI (EU)
        baseURL: https://api.example.com/v1
        apis: [ChatCompletions, Messages, Responses, Completions]
        options: {organization: org-1}
        auth:
          type: ApiKey
          header: {name: Authorization, prefix: "Bearer "}
          keys:
          - name: eu-1
            secretRef: {name: openai-keys, key: eu-1}
            weight: 3
            priority: 0
            disabled: false
            limits: {requestsPerMinute: 500, tokensPerMinute: 200000, maxConcurrentRequests: 50}
        headers:
        - {name: X-Team, value: platform}
        - {name: X-Other, valueFrom: {secretKeyRef: {name: openai-keys, key: other}}}
        tls:
          caRef: {kind: ConfigMap, name: internal-ca, key: ca.crt}
          clientCertificateRef: {name: client-tls}
          serverName: api.internal
          minVersion: TLS12
          insecureSkipVerify: false
        proxy: {url: "http://egress:3128", credentialsRef: {name: proxy-auth}}
        timeouts: {connect: 3s, firstEvent: 12s, lastFirstEvent: 60s, liveness: 30s, progress: 120s, total: 600s, clientWrite: 60s}
        limits: {requestsPerMinute: 5000, tokensPerMinute: 2000000, maxConcurrentRequests: 500}
        healthCheck:
          active: {type: ListModels, interval: 60s, timeout: 5s, unhealthyThreshold: 3, healthyThreshold: 2}
          passive: {consecutiveFailures: 5, openFor: 5s, maxOpen: 25s, rateLimitCooldown: 20s}
        allowedNamespaces:
          from: Selector
          selector:
            matchLabels: {team: a}
            matchExpressions: [{key: env, operator: In, values: [prod, test]}]
          names: [team-a, team-b]
        suspended: false`),
    ),
  ],
  [
    'a ModelRoute',
    route(
      spec(`
        model: penstock/large
        aliases: [penstock/large-latest]
        displayName: Large
        description: General purpose
        ownedBy: acme
        visibility: Public
        allowedNamespaces: {from: All}
        suspended: false
        apis: [ChatCompletions, Messages, Responses]
        capabilities: [Streaming, Tools, Vision, PromptCaching, Reasoning]
        contextLength: 200000
        maxOutputTokens: 32000
        pricing:
          currency: USD
          inputPerMillion: "2.50"
          cachedInputPerMillion: "1.25"
          cacheWritePerMillion: "3.125"
          cacheWriteHourPerMillion: "5"
          outputPerMillion: "10"
          reasoningPerMillion: "10"
          perRequest: "0"
          tiers: [{aboveInputTokens: 128000, inputPerMillion: "5", outputPerMillion: "15"}]
        unpriced: MeterOnly
        responseModel: Served
        delivery: Stream
        holdBack: {events: 8, duration: 500ms}
        upstreamStreaming: Auto
        drill: {schedule: "0 3 * * *", fault: ServerError, takeoverWithin: 2s}
        timeouts: {firstEvent: 20s}
        targets:
        - name: main
          providerRef: {group: penstock.dev, kind: Provider, name: openai-main}
          upstreamModel: gpt-x
          priority: 0
          weight: 9
          api: ChatCompletions
          pricing: {currency: USD, inputPerMillion: "2.00", outputPerMillion: "8"}
          timeouts: {firstEvent: 30s}
          parameters: {temperature: 0.2, stop: [a, b], metadata: {deep: {er: true}}}
        - {name: spare, providerRef: {name: my-vllm, namespace: ml}, upstreamModel: llama, priority: 1, weight: 1}
        failover:
          retryOn: [ConnectFailure, Timeout, RateLimited, ServerError, Overloaded, AuthFailure, ModelNotFound, ContextLengthExceeded, ContentFiltered]
          maxAttempts: 3
          attemptsPerTarget: 1
          backoff: {base: 100ms, max: 2s}
          honorRetryAfter: true
          affinity: None
        limits: {requestsPerMinute: 10000, tokensPerMinute: 5000000, maxConcurrentRequests: 400}`),
    ),
  ],
  [
    'an ApiKey',
    {
      ...apiKey(),
      spec: spec(`
        displayName: CI bot
        owner: {name: Jo, email: jo@example.dev, team: platform}
        disabled: false
        expiresAt: "2027-01-01T00:00:00Z"
        secret:
          name: ci-bot-key
          key: apiKey
          labels: {app: ci}
          annotations: {note: made by hand}
          retain: false
        rotation: {interval: 2160h, overlap: 24h, trigger: "2026-11-20"}
        models: {allow: ["penstock/*", my-llama], deny: ["penstock/huge"]}
        limits: {requestsPerMinute: 60, tokensPerMinute: 100000, maxConcurrentRequests: 8}
        budgets: [{period: Month, limit: "100.00", currency: USD, action: Block, warnPercent: 80}]
        attributes: {costCenter: "4711"}`),
    },
  ],
  [
    'a TenantPolicy',
    tenantPolicy(
      spec(`
        namespaces:
          names: [team-a, team-b]
          selector:
            matchLabels: {tier: research}
            matchExpressions: [{key: env, operator: NotIn, values: [test]}]
        role: Platform
        budgets: [{period: Month, limit: "500.00", currency: USD, action: Block, warnPercent: 80}]
        limits: {requestsPerMinute: 600, tokensPerMinute: 200000, maxConcurrentRequests: 50}
        egress: {allow: [10.20.0.0/16, "fd12::/16"]}
        modelPrefixes: [acme]
        cloudIdentities:
        - {type: AWS, roles: ["arn:aws:iam::123456789012:role/research-*"]}
        - {type: GCP}`),
    ),
  ],
];

export const ACCEPTED: readonly Accepted[] = [
  ['a Provider that says next to nothing', provider()],
  [
    'a Provider without a key over http',
    compatible({ baseURL: 'http://10.0.0.1:8000/v1', auth: { type: 'None' } }),
  ],
  ['a Provider without a key that knows its own address', provider({ auth: { type: 'None' } })],
  ['no key beside an empty list of keys', provider({ auth: { type: 'None', keys: [] } })],
  ['the identity of the gateway at AWS', bedrock({ type: 'AWS' })],
  ['a role at AWS', bedrock({ type: 'AWS', aws: { roleARN: ROLE, externalID: 'acme/1' } })],
  [
    'sessions of a role that show the caller',
    bedrock({ type: 'AWS', aws: { roleARN: ROLE, sessionTags: 'ApiKey' } }),
  ],
  ['access keys that assume a role', bedrock({ type: 'AWS', keys: [KEY], aws: { roleARN: ROLE } })],
  ['the identity of the gateway at Azure', azure({ type: 'Azure' })],
  [
    'a client secret of an app',
    azure({ type: 'Azure', keys: [KEY], azure: { tenantID: 'acme.onmicrosoft.com', clientID: TENANT } }),
  ],
  ['another scope', azure({ type: 'Azure', azure: { scope: 'https://ai.azure.com/.default' } })],
  [
    'a service account at Google',
    provider({
      type: 'VertexAI',
      options: { project: 'my-project' },
      auth: { type: 'GCP', gcp: { serviceAccount: 'models@my-project.iam.gserviceaccount.com' } },
    }),
  ],
  ['the identity of the gateway at the Gemini API', provider({ type: 'Gemini', auth: { type: 'GCP' } })],
  ['an IPv6 address', baseURL('https://[2001:db8::1]:8443/v1')],
  ['an address without a path', baseURL('https://a.example')],
  ['an address with the largest port', baseURL('https://a.example:65535/v1')],
  ['an escaped path', baseURL('https://a.example/a%20b/v1')],
  ['a path segment that begins with a dot', baseURL('https://a.example/.well-known/..a/v1')],
  ['an Ollama over http with a key', provider({ type: 'Ollama', baseURL: 'http://ollama:11434/v1' })],
  [
    'a plain header over http',
    provider({
      baseURL: 'http://a.example',
      auth: { type: 'None' },
      headers: [{ name: 'X-A', value: '' }],
    }),
  ],
  ['a header from a Secret', provider({ headers: [secretHeader] })],
  ['a key header with the defaults of its prefix', auth({ header: { name: 'Api-Key' } })],
  ['a drained key and one of the last priority', auth({ keys: [{ ...KEY, weight: 0, priority: 15 }] })],
  ['a socks proxy', provider({ proxy: { url: 'socks5://[::1]:1080' } })],
  ['a CA in a Secret', provider({ tls: { caRef: { kind: 'Secret', name: 'ca' } } })],
  ['a CA with the defaults of its reference', provider({ tls: { caRef: { name: 'ca' } } })],
  ['an active check with its defaults', active({})],
  ['an active check by path', active({ type: 'HTTPGet', path: '/health?deep=1' })],
  [
    'an active check by a call',
    active({ type: 'Completion', model: 'gpt-x', interval: '1h', timeout: '5m' }),
  ],
  ['no passive check', provider({ healthCheck: { passive: { consecutiveFailures: 0 } } })],
  ['one timer of seven', provider({ timeouts: { firstEvent: '1m30s' } })],
  ['a duration with a fraction', provider({ timeouts: { connect: '1.5s' } })],
  ['a Provider for all', from({ from: 'All' })],
  ['a Provider for whom an empty selector picks', from({ from: 'Selector', selector: {} })],
  ['a Provider for namespaces by name', from({ from: 'Selector', names: ['team-a'] })],
  [
    'a Provider for whom expressions pick',
    from({ from: 'Selector', selector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } }),
  ],
  ['an address by number', baseURL('https://10.0.0.1:8443/v1')],
  ['a host that begins with a number', baseURL('https://1.2.3.4.example:8443/v1')],
  ['a text of the longest length, counted in characters', provider({ displayName: '😀'.repeat(128) })],
  [
    'members that are null: they are as if left out',
    provider({
      displayName: null,
      suspended: null,
      limits: null,
      timeouts: { connect: null },
      options: { organization: null, project: 'p' },
      allowedNamespaces: { from: 'Same', selector: null },
    }),
  ],
  ['options without an entry', provider({ options: {} })],

  ['a route that says next to nothing', route()],
  ['a Public route', route({ visibility: 'Public', allowedNamespaces: { from: 'All' } })],
  ['an id of the longest length', route({ model: 'a'.repeat(200) })],
  ['an id with every character', route({ model: 'A/b.c_d:e@f+g-h/0' })],
  ['aliases', route({ aliases: ['chat-2', 'team/chat'] })],
  ['an answer as long as the context', route({ contextLength: 10, maxOutputTokens: 10 })],
  ['a price per request alone', pricing({ perRequest: '0.000000000001' })],
  ['capacity that is paid by the hour', pricing({ provisioned: true })],
  ['a free model', pricing({ inputPerMillion: '0', outputPerMillion: '0' })],
  [
    'a price with a tier that says only its output',
    pricing({
      inputPerMillion: '1',
      outputPerMillion: '2',
      tiers: [{ aboveInputTokens: 1_000_000_000, outputPerMillion: '3' }],
    }),
  ],
  ['a drained target beside another', targets(target({ weight: 0 }), target({ name: 'b' }))],
  ['parameters of every type', targets(target({ parameters: { a: 1, b: 'x', c: [1], d: { e: false } } }))],
  ['a parameter that is null: it stays', targets(target({ parameters: { a: null } }))],
  ['no parameters', targets(target({ parameters: {} }))],
  ['nothing is tried again', failover({ retryOn: [] })],
  ['a part of the pauses', failover({ backoff: { base: '2s' } })],
  ['a drill with its defaults', route({ drill: { schedule: '*/5 * * * MON-FRI' } })],
  ['one timer of a route', route({ timeouts: { total: '24h' } })],
  ['a stream that is held back', route({ holdBack: {} })],

  ['a key that says nothing', { ...apiKey(), spec: {} }],
  ['a name of the longest length', apiKey({}, { name: 'a'.repeat(200) })],
  ['an end in another time zone', apiKey({ expiresAt: '2027-01-01T00:00:00.123+02:00' })],
  [
    'two imports that overlap',
    apiKey({
      imports: [
        { sha256: 'a'.repeat(64), hint: 'psk_…9f3a', notAfter: '2027-01-01T00:00:00Z' },
        { sha256: 'b'.repeat(64) },
      ],
    }),
  ],
  ['rotation beside an empty list of imports', apiKey({ imports: [], rotation: { interval: '2160h' } })],
  ['a rotation by hand alone', apiKey({ imports: [], rotation: { trigger: 'now' } })],
  [
    'labels and annotations as Kubernetes takes them',
    apiKey({ secret: { labels: { 'a.b/c_D.e': '', x: 'A-b_1' }, annotations: { 'a-b.c/D': 'any thing' } } }),
  ],
  ['a Secret with its defaults', { ...apiKey(), spec: { secret: {} } }],
  ['a key for every model', apiKey({ models: { allow: ['*'], deny: [] } })],
  [
    'a budget for every period',
    apiKey({
      budgets: ['Day', 'Week', 'Month', 'Total'].map((period) => ({ period, limit: '0.000001' })),
    }),
  ],
  [
    'what the API server adds to metadata',
    apiKey(
      {},
      {
        managedFields: [],
        ownerReferences: [],
        uid: 'a3a7b4a8-2c1c-4b0e-9d0e-0d6d1c6b7a11',
        generation: 1,
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
    ),
  ],
  ['a status that cannot be read: it is ours alone', { ...apiKey(), status: { versions: 'none' } }],
];
