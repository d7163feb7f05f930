// What do the pages have to show, to be looked at? A platform with tenants, of which not everything is well.

export const nowMs = Date.now();
export const ago = (minutes: number): string => new Date(nowMs - minutes * 60_000).toISOString();

type Shown = Record<string, unknown>;

interface Said {
  readonly status?: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message?: string;
}

function conditionsOf(said: Readonly<Record<string, Said>>): Shown[] {
  return Object.entries(said).map(([type, { status = 'True', reason, message = '' }], at) => ({
    type,
    status,
    reason,
    message,
    observedGeneration: 1,
    lastTransitionTime: ago(15 + at * 400),
  }));
}

const programmed = { tableGeneration: 1_795_312_400_123, runningPods: 3, readyPods: 3, observedAt: ago(1) };
const metaOf = (namespace: string, name: string, at: number): Shown => ({
  name,
  namespace,
  uid: `${namespace}-${name}`,
  generation: 1,
  resourceVersion: String(1000 + at),
  creationTimestamp: ago(60 * 24 * (at + 3)),
});

const people = [
  'Ada Lovelace',
  'Grace Hopper',
  'nightly-evaluation',
  'Alan Turing',
  'search-indexer',
  'Katherine Johnson',
];

export function makeKeys(count: number): Shown[] {
  return Array.from({ length: count }, (_, at) => {
    const namespace = ['team-a', 'team-b', 'research'][at % 3] ?? 'team-a';
    const name =
      at === 4
        ? 'a-name-that-goes-on-and-on-because-some-pipeline-put-its-whole-path-into-it'
        : `${['ci-bot', 'notebook', 'agent', 'batch'][at % 4]}-${at}`;
    const isDisabled = at % 11 === 5;
    const isExpired = at % 13 === 7;
    const isRejected = at % 17 === 8;
    const spend = (at * 7.391) % 130;
    const isExhausted = at % 9 === 2 || (at % 4 === 0 && spend >= 100);
    return {
      apiVersion: 'penstock.dev/v1alpha1',
      kind: 'ApiKey',
      metadata: metaOf(namespace, name, at),
      spec: {
        owner: {
          name: people[at % people.length],
          team: `Team ${namespace.at(-1)?.toUpperCase()}`,
          email: 'ada@example.com',
        },
        ...(isDisabled ? { disabled: true } : {}),
        ...(at % 3 === 0
          ? {
              imports: [
                // One that is in its overlap.
                ...(at % 6 === 0
                  ? [{ sha256: 'b'.repeat(64), hint: 'psk_…7Qd2', notAfter: ago(-1300) }]
                  : []),
                {
                  sha256: 'a'.repeat(64),
                  hint: `psk_…${(at * 7919).toString(36).padStart(4, '0').slice(-4)}`,
                },
              ],
            }
          : {}),
        ...(at % 2 === 0
          ? { limits: { requestsPerMinute: 60, tokensPerMinute: 100_000, maxConcurrentRequests: 8 } }
          : {}),
        ...(at % 4 === 0
          ? {
              budgets: [
                { period: 'Month', limit: '100.00' },
                { period: 'Day', limit: '10.00', action: 'Warn' },
              ],
            }
          : isExhausted
            ? { budgets: [{ period: 'Month', limit: '50.00' }] }
            : {}),
        ...(at % 5 === 0 ? { models: { allow: ['penstock/*', 'llama'] } } : {}),
        ...(at % 7 === 0 ? { expiresAt: new Date(nowMs + (at - 6) * 86_400_000 * 5).toISOString() } : {}),
      },
      status: {
        observedGeneration: 1,
        keyHint: `psk_…${(at * 7919).toString(36).padStart(4, '0').slice(-4)}`,
        secretName: `${name}-key`,
        ...(at % 6 === 2
          ? {
              versions: [
                { id: 2, fingerprint: '9f86d081884c7d65', state: 'Active', createdAt: ago(60) },
                {
                  id: 1,
                  fingerprint: '60303ae22b998861',
                  state: 'Retiring',
                  createdAt: ago(6000),
                  notAfter: ago(-1300),
                },
              ],
            }
          : {}),
        programmed,
        ...(at % 4 === 3
          ? {}
          : {
              usage: {
                observedAt: ago(4),
                lastUsedAt: ago((at * 37) % 9000),
                spend: spend.toFixed(3),
                periods: [
                  {
                    period: 'Month',
                    start: `${new Date().toISOString().slice(0, 7)}-01T00:00:00Z`,
                    spend: spend.toFixed(3),
                    ...(at % 4 === 0 ? { limit: '100.00' } : {}),
                    requests: 1834,
                    inputTokens: 9_123_456,
                    cachedInputTokens: 2_000_000,
                    outputTokens: 812_345,
                  },
                  {
                    period: 'Day',
                    start: `${ago(0).slice(0, 10)}T00:00:00Z`,
                    spend: '3.21',
                    ...(at % 4 === 0 ? { limit: '10.00' } : {}),
                    requests: 84,
                    inputTokens: 223_456,
                    outputTokens: 12_345,
                  },
                ],
              },
            }),
        conditions: conditionsOf({
          Accepted: isRejected
            ? {
                status: 'False',
                reason: 'Invalid',
                message: `ApiKey ${namespace}/${name}: spec.models.allow[0] is no model id; write one such as penstock/small`,
              }
            : { reason: 'Accepted' },
          Issued: { reason: at % 3 === 0 ? 'Imported' : 'SecretCreated' },
          Programmed: isRejected
            ? { status: 'False', reason: 'NotProgrammed', message: 'see the condition Accepted' }
            : { reason: 'Programmed' },
          Ready: isRejected
            ? {
                status: 'False',
                reason: 'Invalid',
                message: `ApiKey ${namespace}/${name}: spec.models.allow[0] is no model id`,
              }
            : isDisabled
              ? { reason: 'DisabledBySpec' }
              : { reason: 'Programmed' },
          ...(isDisabled ? { Disabled: { reason: 'DisabledBySpec', message: 'spec.disabled is true' } } : {}),
          ...(isExpired
            ? { Expired: { reason: 'PastExpiry', message: 'the key stopped working on 2026-11-20' } }
            : {}),
          ...(isExhausted
            ? {
                BudgetExhausted: {
                  reason: 'BudgetExhausted',
                  message:
                    'Monthly budget used up: $50.02 of $50.00 since 2026-11-01. Calls are refused until 2026-12-01T00:00:00Z, or until spec.budgets allows more',
                },
              }
            : {}),
        }),
      },
    };
  });
}

export const providers: Shown[] = [
  {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'Provider',
    metadata: metaOf('platform', 'openai', 1),
    spec: {
      type: 'OpenAI',
      displayName: 'OpenAI',
      auth: {
        keys: [
          { name: 'main', secretRef: { name: 'openai', key: 'main' } },
          { name: 'second', secretRef: { name: 'openai', key: 'second' } },
        ],
      },
    },
    status: {
      observedGeneration: 1,
      endpoint: 'https://api.openai.com/v1',
      attachedRoutes: 4,
      keys: [
        { name: 'main', state: 'Active', fingerprint: '9f86d081884c7d65', lastTransitionTime: ago(9000) },
        {
          name: 'second',
          state: 'RateLimited',
          fingerprint: '60303ae22b998861',
          lastTransitionTime: ago(3),
          message: 'Cooldown: 20 s after a 429. The other key serves.',
        },
      ],
      health: { healthyPods: 3, totalPods: 3, lastTransitionTime: ago(9000) },
      programmed,
      conditions: conditionsOf({
        Accepted: { reason: 'Accepted' },
        ResolvedRefs: { reason: 'ResolvedRefs' },
        Healthy: { reason: 'Healthy' },
        Programmed: { reason: 'Programmed' },
        Ready: { reason: 'Programmed' },
      }),
    },
  },
  {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'Provider',
    metadata: metaOf('platform', 'anthropic', 2),
    spec: {
      type: 'Anthropic',
      auth: { keys: [{ name: 'main', secretRef: { name: 'anthropic', key: 'main' } }] },
    },
    status: {
      observedGeneration: 1,
      endpoint: 'https://api.anthropic.com/v1',
      attachedRoutes: 2,
      keys: [
        { name: 'main', state: 'Active', fingerprint: '1f86d081884c7d65', lastTransitionTime: ago(12_000) },
      ],
      health: {
        healthyPods: 2,
        totalPods: 3,
        lastTransitionTime: ago(8),
        lastError: '',
        troubles: [
          {
            reason: 'CircuitOpen',
            podCount: 1,
            pods: [{ name: 'penstock-gateway-7d9f4-x2x8k', sinceTime: ago(8), nextTryTime: ago(-0.2) }],
          },
          {
            key: 'main',
            reason: 'RateLimited',
            podCount: 12,
            pods: ['2fj4k', '9xk2p'].map((end) => ({
              name: `penstock-gateway-7d9f4-${end}`,
              sinceTime: ago(2),
            })),
          },
        ],
        troublesObservedAt: ago(2),
      },
      programmed,
      conditions: conditionsOf({
        Accepted: { reason: 'Accepted' },
        ResolvedRefs: { reason: 'ResolvedRefs' },
        Healthy: {
          status: 'False',
          reason: 'PartiallyHealthy',
          message: 'calls of some gateway pods, or for some models, fail; see status.health',
        },
        Programmed: { reason: 'Programmed' },
        Ready: { reason: 'Programmed' },
      }),
    },
  },
  {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'Provider',
    metadata: metaOf('team-a', 'own-models', 3),
    spec: {
      type: 'OpenAICompatible',
      baseURL: 'https://models.example.com/v1',
      apis: ['ChatCompletions'],
      auth: { keys: [{ name: 'main', secretRef: { name: 'own-models', key: 'key' } }] },
    },
    status: {
      observedGeneration: 1,
      endpoint: 'https://models.example.com/v1',
      attachedRoutes: 1,
      keys: [{ name: 'main', state: 'Missing', lastTransitionTime: ago(40), message: 'label the Secret' }],
      programmed: { ...programmed, runningPods: 0, readyPods: 3 },
      conditions: conditionsOf({
        Accepted: { reason: 'Accepted' },
        ResolvedRefs: {
          status: 'False',
          reason: 'HostNotAllowed',
          message:
            'Provider team-a/own-models: the Secret own-models is not bound to models.example.com; its owner allows it with: kubectl annotate secret own-models -n team-a penstock.dev/allowed-hosts=models.example.com',
        },
        Healthy: { status: 'Unknown', reason: 'NoTraffic', message: 'no recent call' },
        Programmed: { status: 'False', reason: 'NotProgrammed', message: 'see the condition ResolvedRefs' },
        Ready: {
          status: 'False',
          reason: 'HostNotAllowed',
          message: 'the Secret own-models is not bound to models.example.com',
        },
        Stalled: {
          reason: 'HostNotAllowed',
          message: 'the Secret own-models is not bound to models.example.com',
        },
      }),
    },
  },
];

const routeOf = (namespace: string, name: string, at: number, more: Shown): Shown => ({
  apiVersion: 'penstock.dev/v1alpha1',
  kind: 'ModelRoute',
  metadata: metaOf(namespace, name, at),
  ...more,
});

export const routes: Shown[] = [
  routeOf('platform', 'large', 1, {
    spec: {
      model: 'penstock/large',
      visibility: 'Public',
      drill: { schedule: '0 3 * * *', fault: 'Hang', takeoverWithin: '2s' },
      targets: [
        { name: 'main', providerRef: { name: 'openai' }, upstreamModel: 'gpt-6.2' },
        { name: 'spare', providerRef: { name: 'anthropic' }, upstreamModel: 'claude-opus-5', priority: 1 },
      ],
    },
    status: {
      observedGeneration: 1,
      usableTargets: 2,
      totalTargets: 2,
      targets: [
        { name: 'main', state: 'Ready', lastTransitionTime: ago(9000) },
        {
          name: 'spare',
          state: 'Unhealthy',
          message: 'no gateway gets an answer: connect_timeout',
          lastTransitionTime: ago(8),
        },
      ],
      drill: {
        lastRunTime: ago(600),
        result: 'Failed',
        takeover: '12001ms',
        servedBy: 'spare',
        message:
          'target spare answered 12 s after target main failed, and takeoverWithin is 2 s: the gateway waits for a silent target for timeouts.firstEvent, 12 s at target main; lower it, or raise takeoverWithin',
        nextRunTime: ago(-840),
      },
      programmed,
      conditions: conditionsOf({
        Accepted: { reason: 'Accepted' },
        ResolvedRefs: { reason: 'ResolvedRefs' },
        Translatable: { reason: 'Lossy', message: 'messages at target main loses: cache_control' },
        Priced: { reason: 'Priced' },
        Programmed: { reason: 'Programmed' },
        Ready: { reason: 'Programmed' },
      }),
    },
  }),
  routeOf('platform', 'small', 2, {
    spec: {
      model: 'penstock/small',
      visibility: 'Public',
      targets: [{ name: 'main', providerRef: { name: 'openai' }, upstreamModel: 'gpt-6.2-mini' }],
      drill: { schedule: '0 3 * * *' },
    },
    status: {
      observedGeneration: 1,
      usableTargets: 1,
      totalTargets: 1,
      targets: [{ name: 'main', state: 'Ready', lastTransitionTime: ago(9000) }],
      drill: {
        lastRunTime: ago(600),
        result: 'Passed',
        takeover: '12ms',
        servedBy: 'main',
        message: '',
        nextRunTime: ago(-840),
      },
      programmed,
      conditions: conditionsOf({
        Accepted: { reason: 'Accepted' },
        ResolvedRefs: { reason: 'ResolvedRefs' },
        Translatable: { reason: 'Translated' },
        Priced: { reason: 'Priced' },
        Programmed: { reason: 'Programmed' },
        Ready: { reason: 'Programmed' },
      }),
    },
  }),
  routeOf('team-a', 'llama', 3, {
    spec: {
      model: 'llama',
      targets: [{ name: 'main', providerRef: { name: 'own-models' }, upstreamModel: 'llama-4' }],
    },
    status: {
      observedGeneration: 1,
      usableTargets: 0,
      totalTargets: 1,
      targets: [
        {
          name: 'main',
          state: 'ProviderNotReady',
          message: 'Provider own-models is not ready: HostNotAllowed',
          lastTransitionTime: ago(40),
        },
      ],
      programmed: { ...programmed, runningPods: 2, readyPods: 3 },
      conditions: conditionsOf({
        Accepted: {
          status: 'False',
          reason: 'NoUsableTarget',
          message: 'ModelRoute team-a/llama: no target can be used; status.targets says why',
        },
        ResolvedRefs: {
          status: 'False',
          reason: 'ProviderNotReady',
          message: 'target main: Provider own-models is not ready',
        },
        Translatable: { status: 'Unknown', reason: 'NotEvaluated' },
        Priced: { status: 'False', reason: 'NoPrice', message: 'target main states no price' },
        Programmed: { status: 'False', reason: 'NotProgrammed' },
        Ready: { status: 'False', reason: 'NoUsableTarget', message: 'no target can be used' },
        Reconciling: { reason: 'NoUsableTarget' },
      }),
    },
  }),
];

const all = (verdict: string, lostFields: string[] = []) => ({ verdict, lostFields });
export const catalog = {
  generation: 1_795_312_400_123,
  pod: 'gateway-7f9c-1',
  models: [
    {
      id: 'penstock/large',
      object: 'model',
      owned_by: 'openai',
      display_name: 'Large',
      description: 'For hard questions and long work.',
      pricing: { prompt: '0.0000025', completion: '0.00001', input_cache_read: '0.00000025' },
      context_length: 400_000,
      max_completion_tokens: 128_000,
      own: false,
      dialects: {
        chat: all('native'),
        messages: all('lossy', ['cache_control', 'top_k']),
        responses: all('native'),
        completions: all('impossible'),
      },
    },
    {
      id: 'penstock/small',
      object: 'model',
      owned_by: 'openai',
      display_name: 'penstock/small',
      pricing: { prompt: '0.00000015', completion: '0.0000006' },
      context_length: 128_000,
      max_completion_tokens: 16_384,
      own: false,
      dialects: {
        chat: all('native'),
        messages: all('translated'),
        responses: all('native'),
        completions: all('translated'),
      },
    },
    {
      id: 'llama',
      object: 'model',
      owned_by: 'team-a',
      display_name: 'llama',
      pricing: { prompt: '0', completion: '0' },
      context_length: null,
      max_completion_tokens: null,
      own: true,
      dialects: {
        chat: all('native'),
        messages: all('translated'),
        responses: all('translated'),
        completions: all('lossy', ['logprobs']),
      },
    },
  ],
};

export const plan = {
  generation: 1_795_312_400_123,
  pod: 'gateway-7f9c-1',
  model: 'penstock/large',
  dialect: 'messages',
  route: { namespace: 'platform', name: 'large' },
  targets: [
    {
      order: 1,
      isOwn: false,
      priority: 0,
      share: 1,
      verdict: 'lossy',
      lostFields: ['cache_control'],
      state: 'wouldBeTried',
      reasons: [
        'Priority 0 is the lowest with an available target; chosen by weight, like 100 % of the calls: another request may start elsewhere.',
      ],
      name: 'main',
      provider: 'platform/openai',
      upstreamModel: 'gpt-6.2',
      endpoint: 'api.openai.com',
      providerKey: 'main',
      upstreamDialect: 'openai-responses',
    },
    {
      order: 2,
      isOwn: false,
      priority: 1,
      verdict: 'native',
      lostFields: [],
      state: 'wouldBeTried',
      reasons: [
        'It is tried if the targets before it fail.',
        'This provider was paused; this call would test it.',
      ],
      name: 'spare',
      provider: 'platform/anthropic',
      upstreamModel: 'claude-opus-5',
      endpoint: 'api.anthropic.com',
      providerKey: 'main',
      upstreamDialect: 'anthropic-messages',
    },
    {
      order: 3,
      isOwn: false,
      priority: 1,
      verdict: 'native',
      lostFields: [],
      state: 'wouldBeSkipped',
      reasons: ['Its weight is 0: it is drained.'],
      name: 'old',
      provider: 'platform/anthropic',
      upstreamModel: 'claude-opus-4',
      endpoint: 'api.anthropic.com',
    },
  ],
  limits: {
    sharedBy: 3,
    rates: [
      { of: 'apiKey', name: 'requests', perMinute: 60, remaining: 57, resetMs: 3000 },
      { of: 'apiKey', name: 'tokens', perMinute: 100_000, remaining: 91_230, resetMs: 5300 },
    ],
    concurrency: [{ of: 'apiKey', limit: 8, underWay: 1 }],
    budgets: [
      {
        of: 'apiKey',
        period: 'Month',
        limitUsd: '100',
        spentUsd: '41.237',
        heldUsd: '0.02',
        remainingUsd: '58.743',
        resetsAt: '2026-12-01T00:00:00Z',
      },
    ],
  },
  estimate: {
    inputTokens: 12,
    outputTokensMax: 4096,
    costPicodollars: 30_000_000,
    costPicodollarsMax: 40_990_000_000,
    isOfExample: true,
  },
};

const usedBy = (name: string, requests: number, isRest = false) => ({
  ...{ name, isRest, requests, tokens: requests * 2100, cost: requests * 0.0071 },
});

export const owners = {
  owners: [
    ...people.map((name, at) => usedBy(name, Math.round(900 / (at + 1)))),
    usedBy('All others', 410, true),
  ],
  teams: [usedBy('Team A', 1240), usedBy('Team B', 820), usedBy('none', 96)],
};
