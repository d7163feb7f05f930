// What of a caller's request reaches an upstream, and what of the upstream's answer reaches the caller? Requests with every header and
// query that somebody could hope for, sent over the wire to providers that write down all they get and answer with all they have.

import { dialectNameSchema } from '../../core/contract/routing-table.ts';
import { findDialect } from '../../gateway/dialects/registry.ts';
import { type Rig, startRig, tableOf, testKey } from '../gateway/rig.ts';
import { rawCall } from '../support/raw-client.ts';
import { createRandom, pick, type Random } from './random.ts';
import {
  plainAnswers,
  plainAsks,
  startRecordingUpstream,
  type UpstreamRequest,
} from './recording-upstream.ts';

type DialectName = (typeof dialectNameSchema.options)[number];

export interface CallerRequestsRun {
  readonly asked: number;
  /** Calls that the upstream got. */
  readonly received: number;
  readonly answered: number;
  /** What came through that must not, in words. */
  readonly strays: readonly string[];
}

const upstreamKey = 'sk-upstream-0123456789';
/** Stands in every value that a caller sends and that means nothing to an upstream. */
const marker = 'callers-own';

/** Headers of each upstream request, and those that its dialect takes from callers. */
const always = [
  'host',
  'connection',
  'content-type',
  'accept',
  'accept-encoding',
  'user-agent',
  'authorization',
  'content-length',
];
const ofDialect: Readonly<Record<DialectName, RegExp>> = {
  'openai-chat': /^openai-(organization|project)$/,
  'openai-completions': /^openai-(organization|project)$/,
  'openai-responses': /^openai-(organization|project|beta)$/,
  'anthropic-messages': /^anthropic-[a-z-]+$/,
};

/** Headers of each answer. */
const reported =
  /^(content-type|content-length|transfer-encoding|connection|keep-alive|date|cache-control|vary|x-request-id|request-id|x-penstock-[a-z]+|x-accel-buffering|x-should-retry|retry-after(-ms)?)$/;

const headerNames = [
  ...[
    'cookie',
    'forwarded',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-real-ip',
    'via',
    'origin',
    'referer',
    'range',
  ],
  ...[
    'te',
    'trailer',
    'proxy-authorization',
    'proxy-connection',
    'keep-alive',
    'http2-settings',
    'upgrade-insecure-requests',
  ],
  ...[
    'x-api-base',
    'x-base-url',
    'api-key',
    'x-goog-api-key',
    'x-portkey-custom-host',
    'helicone-target-url',
    'x-request-id',
  ],
  ...[
    'accept-language',
    'accept-encoding',
    'user-agent',
    'traceparent',
    'baggage',
    'idempotency-key',
    'x-stainless-lang',
  ],
  ...[
    'openai-organization',
    'openai-project',
    'openai-beta',
    'anthropic-beta',
    'anthropic-version',
    'anthropic-workspace-id',
    'x-authorization',
  ],
  ...[
    '__proto__',
    'constructor',
    'if-none-match',
    'date',
    'authorization2',
    'x-amz-security-token',
    'content-language',
  ],
] as const;

const queries = [
  '',
  '?beta=true',
  '?api_base=http://callers-own',
  '?a=%0d%0aHost:%20callers-own',
  '?x=../../callers-own',
  '?#',
  '?\u00e9',
] as const;

/** @param asked requests, spread over the dialects, and over the caller's own providers and those of the platform. */
export async function runCallerRequests(asked: number, seed: number): Promise<CallerRequestsRun> {
  const random = createRandom(seed);
  let dialect: DialectName = 'openai-chat';
  const upstream = await startRecordingUpstream(() => {
    const status = pick(random, [200, 200, 200, 400, 422]);
    const body = status === 200 ? plainAnswers[dialect] : { error: { message: 'no', type: 'x' } };
    return { status, headers: upstreamHeaders(random), body: JSON.stringify(body) };
  });
  const { port, requests: received, close } = upstream;
  const baseUrl = `http://127.0.0.1:${port}/inside/v1`;
  const rigs = new Map<string, Rig>();
  const strays: string[] = [];
  let answered = 0;
  try {
    for (const name of dialectNameSchema.options)
      for (const isOwn of [false, true]) rigs.set(`${name} ${isOwn}`, await rigTo(baseUrl, name, isOwn));
    for (let count = 0; count < asked; count++) {
      dialect = pick(random, [...dialectNameSchema.options] as [DialectName, ...DialectName[]]);
      const isOwn = random(2) === 0;
      const rig = rigs.get(`${dialect} ${isOwn}`);
      if (rig === undefined) throw new Error(`no gateway for ${dialect}`);
      const before = received.length;
      const path = `${findDialect(dialect).path}${pick(random, queries)}`;
      const headers = callersHeaders(random);
      const answer = await rawCall(
        { port: Number(new URL(rig.url).port) },
        {
          method: 'POST',
          path: `/v1${path}`,
          headers: [['authorization', `Bearer ${testKey}`], ...headers],
          body: {
            model: 'm',
            ...plainAsks[dialect],
            ...(random(2) === 0 ? { metadata: { api_base: marker }, api_key: marker } : {}),
          },
        },
      );
      answered++;
      const stray = (what: string): void => void strays.push(`${dialect}: ${what}`);
      for (const call of received.slice(before)) judgeCall(call, dialect, isOwn, port, stray);
      for (const name of Object.keys(answer.headers))
        if (!reported.test(name)) stray(`answer header ${name}`);
      if (JSON.stringify(answer.headers).includes('upstreams-own')) stray('a value of an upstream header');
    }
  } finally {
    for (const rig of rigs.values()) await rig.close();
    await close();
  }
  return { asked, received: received.length, answered, strays };
}

function judgeCall(
  { line, rawHeaders, body }: UpstreamRequest,
  dialect: DialectName,
  isOwn: boolean,
  port: number,
  stray: (what: string) => void,
): void {
  const { path } = findDialect(dialect);
  const query = dialect === 'anthropic-messages' ? '(\\?[\\w=&%.~+-]+)?' : '';
  if (!new RegExp(`^POST /inside/v1${path}${query}$`).test(line)) stray(`request line ${line}`);
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = [rawHeaders[at]?.toLowerCase(), rawHeaders[at + 1]];
    const isOfDialect = ofDialect[dialect].test(name) && (isOwn || /^anthropic-(version|beta)$/.test(name));
    if (!always.includes(name) && !isOfDialect) stray(`header ${name}`);
    if (always.includes(name) && (value.includes(marker) || seen.has(name)))
      stray(`header ${name} of the caller`);
    if (name === 'host' && value !== `127.0.0.1:${port}`) stray(`host ${value}`);
    if (name === 'authorization' && value !== `Bearer ${upstreamKey}`) stray('another authorization');
    seen.add(name);
  }
  if (rawHeaders.join(' ').includes(testKey) || body.includes(testKey)) stray('the key of the caller');
}

function callersHeaders(random: Random): readonly (readonly [string, string])[] {
  const names = Array.from({ length: random(12) }, () => pick(random, headerNames));
  return names.map(
    (name) => [random(2) === 0 ? name : name.toUpperCase(), `${marker}-${random(1_000)}`] as const,
  );
}

function upstreamHeaders(random: Random): Record<string, string> {
  const own = (name: string): [string, string] => [name, 'upstreams-own'];
  return {
    ...Object.fromEntries(
      [
        'set-cookie',
        'server',
        'via',
        'location',
        'x-ratelimit-limit-tokens',
        'openai-organization',
        'cf-ray',
        'www-authenticate',
      ]
        .concat(
          'access-control-allow-origin',
          'x-request-id',
          'link',
          'x-penstock-provider',
          'content-language',
          'alt-svc',
          'refresh',
        )
        .filter(() => random(2) === 0)
        .map(own),
    ),
    ...(random(3) === 0 ? { 'retry-after': '86400', 'cache-control': 'public, max-age=9' } : {}),
  };
}

function rigTo(baseUrl: string, dialect: DialectName, isOwn: boolean): Promise<Rig> {
  const provider = isOwn ? 'team/p' : 'platform/p';
  const breaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 };
  const more = { dialects: [dialect], isPlatform: !isOwn, breaker };
  const target = { baseUrl, provider, keys: { main: upstreamKey }, dialects: [dialect], providerEntry: more };
  const failover = {
    maxAttempts: 1,
    attemptsPerTarget: 1,
    backoffBaseMs: 1,
    backoffMaxMs: 1,
    honorRetryAfter: false,
  };
  return startRig(tableOf([target], { failover: { ...failover, retryOn: [] } }));
}
