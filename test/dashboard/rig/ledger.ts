// What does the ledger of the rig say? Numbers that look like a working week, the same at every question.

const models = [
  'penstock/large',
  'penstock/small',
  'llama',
  'penstock/embed',
  'penstock/vision',
  'team-b/own',
  'penstock/old',
  'penstock/code',
  'penstock/beta',
];
const keys = ['team-a/ci-bot-0', 'team-b/notebook-1', 'research/agent-2', 'team-a/batch-3'];
const groups: Readonly<Record<string, readonly string[]>> = {
  model: models,
  apiKey: keys,
  namespace: ['team-a', 'team-b', 'research'],
  provider: ['platform/openai', 'platform/anthropic', 'team-a/own-models'],
};

const failover = (nowMs: number) => ({
  at: new Date(nowMs - 190_000).toISOString(),
  attempts: [
    { target: 'main', outcome: 'failed', failure: 'status_500', cause: 'answered HTTP 500' },
    { target: 'spare', outcome: 'answered' },
  ],
});

const figuresOf = (requests: number) => ({
  requests,
  attempts: requests,
  failed: Math.round(requests / 60),
  refused: Math.round(requests / 9),
  unpriced: 0,
  estimated: 0,
  tokens: {
    input: requests * 1800,
    cachedInput: requests * 400,
    cacheWrite: 0,
    output: requests * 300,
    reasoning: 0,
  },
  costUsd: (requests * 0.0071).toFixed(6),
  costPicodollars: '0',
});

/** One in five was refused, one in five failed, and one in five was saved by the second attempt. */
function logRow(at: number, nowMs: number) {
  const kind = at % 5;
  const apiKey = keys[at % keys.length] ?? '';
  const [namespace] = apiKey.split('/');
  const common = {
    request: `req_c89baf3f09b0e4ece4c401eb${String(at).padStart(6, '0')}`,
    startedAt: new Date(nowMs - at * 41_000).toISOString(),
    ...{ namespace, apiKey, owner: { name: 'Ada Lovelace', team: 'search' } },
    model: models[at % models.length],
  };
  const nothing = { tokens: { input: 0, cachedInput: 0, output: 0 }, costUsd: '0' };
  if (kind === 1)
    return {
      ...common,
      ...{ status: 429, outcome: 'refused', failure: 'rate_limit_exceeded', attempts: 0 },
      ...{ cause: 'The limit of 60 requests a minute is used up.', ...nothing },
    };
  const attempted = {
    ...{ route: 'platform/chat', target: 'main', provider: 'platform/openai', upstreamModel: 'gpt-5-mini' },
    ...{ isStream: true, clientDialect: 'openai-chat' },
  };
  if (kind === 2)
    return {
      ...{ ...common, ...attempted, status: 502, outcome: 'failed', failure: 'status_500', attempts: 1 },
      ...{ cause: 'answered HTTP 500', durationMs: 120, ...nothing },
    };
  const saved =
    kind === 3 ? { provider: 'platform/anthropic', target: 'spare', attempts: 2 } : { attempts: 1 };
  return {
    ...{ ...common, ...attempted, ...saved, status: 200, outcome: 'answered' },
    ...{ tokens: { input: 1_840, cachedInput: 400, output: 212 }, costUsd: '0.00712' },
    ...{ firstContentMs: 412, durationMs: 2_310 },
  };
}

function answerLog(search: URLSearchParams, nowMs: number) {
  const request = search.get('request');
  if (request !== null) {
    const at = Number(request.slice(-6));
    const row = logRow(at, nowMs);
    const {
      durationMs = 0,
      cause,
      failure,
      target,
      provider,
      upstreamModel,
    } = row as {
      durationMs?: number;
      cause?: string;
      failure?: string;
      target?: string;
      provider?: string;
      upstreamModel?: string;
    };
    const last = {
      startedAt: row.startedAt,
      outcome: row.outcome,
      durationMs,
      target,
      provider,
      upstreamModel,
    };
    const common = { tokens: row.tokens, costUsd: row.costUsd, payer: 'tenant' };
    const first = {
      ...{ ...last, ...common, attempt: 1, target: 'main', provider: 'platform/openai', costUsd: '0' },
      ...{ outcome: 'failed', upstreamStatus: 500, failure: 'status_500', cause: 'answered HTTP 500' },
      ...{ durationMs: 120, payer: 'platform' },
    };
    return {
      rows: [row],
      attempts: Array.from({ length: row.attempts }, (_, index) =>
        index + 1 < row.attempts ? first : { ...last, ...common, attempt: index + 1, failure, cause },
      ),
      isTruncated: false,
    };
  }
  const from = Number(search.get('before') ?? 0);
  const wanted = search.get('outcome');
  const isWanted = ({ outcome }: { readonly outcome: string }) =>
    wanted === null ||
    outcome === wanted ||
    (wanted === 'error' && outcome !== 'answered' && outcome !== 'refused');
  const rows = Array.from({ length: 50 }, (_, at) => logRow(from + at, nowMs)).filter(isWanted);
  const isTruncated = from < 100;
  return {
    ...{ rows, isTruncated, ...(isTruncated ? { next: String(from + 50) } : {}) },
    ...(from === 0 ? { refusedWithoutRow: 1_204 } : {}),
  };
}

export function answerLedger(
  what: string,
  search: URLSearchParams,
  nowMs: number,
  hasNothing: boolean,
): unknown {
  const from = search.get('from') ?? new Date(nowMs - 30 * 86_400_000).toISOString().slice(0, 10);
  const to = search.get('to') ?? new Date(nowMs + 86_400_000).toISOString().slice(0, 10);
  const interval = search.get('interval') ?? 'day';
  const stepMs = { minute: 60_000, hour: 3_600_000 }[interval] ?? 86_400_000;
  const starts: number[] = [];
  for (let ms = Date.parse(from); ms < Math.min(Date.parse(to), nowMs); ms += stepMs) starts.push(ms);
  const nameOf = (ms: number) =>
    interval === 'day'
      ? new Date(ms).toISOString().slice(0, 10)
      : `${new Date(ms).toISOString().slice(0, 16)}:00Z`;
  const by = search.get('by') ?? 'all';
  const size = (ms: number, at: number) =>
    Math.max(
      0,
      Math.round(
        ((40 + 22 * Math.sin(ms / 1.3e7 + at) + 12 * Math.sin(ms / 1.1e6 + at)) / (at + 1)) *
          ({ minute: 0.2, hour: 12 }[interval] ?? 240),
      ),
    );
  const more = { isTruncated: false };
  if (hasNothing)
    return {
      rows: [],
      keys: [],
      namespaces: [],
      budgets: [],
      health: [],
      total: { requests: 0, refused: 0, outcomes: {}, errorRate: 0 },
      from,
      to,
      ...more,
    };
  switch (what) {
    case 'series':
    case 'sums': {
      const names = groups[by] ?? [];
      const all = (ms: number) => models.reduce((sum, _, at) => sum + size(ms, at), 0);
      if (names.length === 0)
        return {
          ...{ from, to, interval },
          rows: starts.map((ms) => ({ [interval]: nameOf(ms), ...figuresOf(all(ms)) })),
          ...more,
        };
      // They are in the order of their sizes, and what is behind the largest is one row.
      const top = Number(search.get('top') ?? names.length);
      return {
        from,
        to,
        interval,
        rows: starts.flatMap((ms) => {
          const sizes = names.map((_, at) => size(ms, at));
          const rest = sizes.slice(top).reduce((sum, one) => sum + one, 0);
          return [
            ...names.slice(0, top).map((name, at) => ({ [by]: name, ...figuresOf(sizes[at] ?? 0) })),
            ...(names.length > top ? [{ isRest: true, ...figuresOf(rest) }] : []),
          ].map((row) => ({ [interval]: nameOf(ms), ...row }));
        }),
        ...more,
      };
    }
    case 'requests': {
      const countOf = (ms: number) => models.reduce((sum, _, at) => sum + size(ms, at), 0);
      const rowOf = (requests: number) => ({
        requests,
        outcomes: {
          answered: Math.round(requests * 0.985),
          refused: Math.round(requests * 0.004),
          failed: Math.round(requests * 0.006),
          'broken-off': Math.round(requests * 0.001),
          cancelled: Math.round(requests * 0.004),
          interrupted: 0,
        },
        errorRate: 0.007,
        firstContentMs: {
          answers: requests,
          p50: 380 + (requests % 90),
          p90: 1200 + ((requests * 7) % 300),
          p99: 3800 + ((requests * 13) % 900),
        },
      });
      return {
        from,
        to,
        interval,
        total: rowOf(starts.reduce((sum, ms) => sum + countOf(ms), 0)),
        rows: starts.map((ms) => ({ [interval]: nameOf(ms), ...rowOf(countOf(ms)) })),
        ...more,
      };
    }
    case 'request-log':
      return answerLog(search, nowMs);
    case 'refusals': {
      if (by === 'code' && !search.has('interval'))
        return {
          total: { refused: 427 },
          rows: [
            { code: 'rate_limit_exceeded', refused: 400 },
            { code: 'model_not_found', refused: 27 },
          ],
        };
      const rows = [
        ['rate_limit_exceeded', 9],
        ['budget_exceeded', 24],
        ['model_not_found', 60],
      ] as const;
      if (by === 'code,status')
        return {
          ...{ from, to, interval, total: { refused: 93 } },
          rows: starts
            .slice(-1)
            .flatMap((ms) =>
              rows.map(([code, refused]) => ({ [interval]: nameOf(ms), code, status: 429, refused })),
            ),
          ...more,
        };
      // Of one key in thirty days.
      if (search.has('apiKey'))
        return {
          ...{ from, to, total: { refused: 427 } },
          rows: [
            { code: 'rate_limit_exceeded', refused: 400 },
            { code: 'model_not_found', refused: 27 },
          ],
          ...more,
        };
      const keysRefused = keys.map((apiKey, at) => ({ apiKey, refused: 900 >> at }));
      return {
        ...{ from, to, interval },
        total: { refused: 0 },
        rows:
          by === 'apiKey'
            ? keysRefused
            : starts.flatMap((ms) =>
                rows.map(([code, part]) => ({
                  ...{ [interval]: nameOf(ms), code },
                  refused: Math.round(models.reduce((sum, _, at) => sum + size(ms, at), 0) / part),
                })),
              ),
        ...more,
      };
    }
    case 'namespaces':
      return {
        namespaces: ['team-a', 'team-b', 'research'].map((namespace, at) => ({
          namespace,
          month: { costUsd: String(412.5 / (at + 1)) },
        })),
        ...more,
      };
    case 'budgets':
      return {
        budgets: [
          {
            namespace: 'team-a',
            period: 'Month',
            action: 'Block',
            warnPercent: 80,
            since: `${new Date(nowMs).toISOString().slice(0, 7)}-01`,
            limitUsd: '500',
            costUsd: '412.50',
            usedShare: 0.825,
            resetsAt: '2026-12-01T00:00:00.000Z',
          },
          {
            namespace: 'team-a',
            apiKey: 'team-a/ci-bot-0',
            period: 'Month',
            action: 'Block',
            limitUsd: '100',
            costUsd: '41.237',
            usedShare: 0.41237,
            resetsAt: '2026-12-01T00:00:00.000Z',
          },
          {
            namespace: 'research',
            apiKey: 'research/agent-2',
            period: 'Month',
            action: 'Block',
            limitUsd: '50',
            costUsd: '50.02',
            usedShare: 1.0004,
            resetsAt: '2026-12-01T00:00:00.000Z',
          },
        ]
          .filter(({ namespace }) => namespace === (search.get('namespace') ?? namespace))
          .filter(({ apiKey }) => apiKey === undefined || search.get('spender') !== 'namespace')
          .filter(({ usedShare }) => usedShare >= Number(search.get('usedShare') ?? 0)),
        ...more,
      };
    case 'health':
      return {
        from,
        to,
        ...(search.has('route') ? { lastFailover: failover(nowMs) } : {}),
        health: search.has('namespace')
          ? [
              {
                route: 'platform/large',
                requests: 1834,
                attempts: 1851,
                outcomes: { answered: 1820, failed: 31 },
                lastFailedAt: new Date(nowMs - 500_000).toISOString(),
              },
            ]
          : [
              {
                provider: 'platform/openai',
                upstreamModel: 'gpt-6.2',
                requests: 8412,
                attempts: 8431,
                outcomes: { answered: 8400, failed: 31 },
                lastFailedAt: new Date(nowMs - 190_000).toISOString(),
                lastFailure: { request: 'req_01k9f3', status: 500, failure: 'status_500' },
              },
              {
                provider: 'platform/anthropic',
                upstreamModel: 'claude-opus-5',
                requests: 912,
                attempts: 990,
                outcomes: { answered: 900, failed: 90 },
                lastFailedAt: new Date(nowMs - 500_000).toISOString(),
              },
            ],
        ...more,
      };
    default:
      return {};
  }
}
