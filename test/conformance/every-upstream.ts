// Where do SDKs meet every upstream dialect? One gateway, one simulator, and a model on each upstream dialect and on each surface of a
// cloud, with a twin for each way to fail.

import type { DialectName, RouteEntry, UpstreamDialectName } from '../../core/contract/routing-table.ts';
import { type Call, type Simulator, startSimulator } from '../../simulator/server.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../gateway/rig.ts';
import {
  type CloudUpstream,
  cloudUpstreams,
  isCloud,
  servedByFront,
  startClouds,
  surfaces,
} from './cloud-fronts.ts';

export const upstreams = ['chat', 'responses', 'messages', 'completions'] as const;
/** A dialect at a provider of its own. */
export type PlainUpstream = (typeof upstreams)[number];
export type Upstream = PlainUpstream | CloudUpstream;

/** For the current version of an SDK; its older one meets the dialects alone. */
export const everyUpstream: readonly Upstream[] = [...upstreams, ...cloudUpstreams];

/** Those that have tools, images, reasoning and structured output. */
export const ableUpstreams = ['chat', 'responses', 'messages'] as const satisfies readonly PlainUpstream[];

export const dialectOf: Readonly<Record<PlainUpstream, DialectName>> = {
  chat: 'openai-chat',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
  completions: 'openai-completions',
};

export const allDialects: readonly DialectName[] = upstreams.map((upstream) => dialectOf[upstream]);

/** The dialect of an upstream. */
export function spokenTo(upstream: Upstream): UpstreamDialectName {
  return isCloud(upstream) ? surfaces[upstream].dialect : dialectOf[upstream];
}

const endpointOf: Readonly<Record<PlainUpstream, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  completions: '/v1/completions',
};

/** Ways to fail, or to be slow or busy, and how the simulator is asked to. */
export const failures = {
  'fails-400': 'fault=error-400+message=Too%20hot',
  'fails-404': 'fault=error-404',
  'fails-429': 'fault=error-429+retry-after=7',
  'fails-503': 'fault=error-503',
  'fails-once': 'fault=error-500+once',
  'limited-once': 'fault=error-429+once+retry-after=1',
  'breaks-first': 'fault=error-first+status=503',
  'breaks-late': 'fault=error-after:3',
  'breaks-cut': 'fault=cut-after:3',
  slow: 'tokens=400+pace=10',
  // Two tools at once, again and again.
  calls: 'call=always+calls=2+reasoning=8',
} as const;
export type Failure = keyof typeof failures;

/** What an SDK raises where the upstream fails before its answer: class, status, and how many seconds to wait. */
export const failuresReported = [
  ['fails-400', 'BadRequestError', 400, /^$/],
  ['fails-404', 'NotFoundError', 404, /^$/],
  ['fails-429', 'RateLimitError', 429, /^[1-7]$/],
  // 529 on messages.
  ['fails-503', 'InternalServerError', 503, /^[1-9]$/],
] as const satisfies readonly (readonly [Failure, string, number, RegExp])[];

/** What the gateway lets an SDK retry: `sdk-retries.test.ts` shows that. The SDK is not left to do so where one answer is looked at. */
export function retriesFor(failure: Failure): { readonly maxRetries?: 0 } {
  return ['fails-429', 'fails-503', 'breaks-first'].includes(failure) ? { maxRetries: 0 } : {};
}

/** How often an upstream is asked by then: a key that cools not at all, one that is overloaded until its breaker opens. */
export function callsFor(failure: Failure): readonly number[] {
  if (failure === 'fails-429') return [0, 1];
  return failure === 'fails-503' ? [1, 2, 3] : [1];
}

export interface EveryUpstream {
  readonly rig: Rig;
  /** Of the gateway, without `/v1`, as Anthropic clients want it. */
  readonly url: string;
  /** Of the gateway, with `/v1`, as OpenAI clients want it. */
  readonly baseUrl: string;
  readonly simulator: Simulator;
  /** The public model that is served by this upstream dialect only. */
  model(upstream: Upstream, failure?: Failure): string;
  /** Directives for all further calls of the plain model on this upstream; null for none. */
  script(upstream: Upstream, directives: string | readonly string[] | null): void;
  /** The calls this upstream's models got since the last look, oldest first; counting is no call. */
  newCalls(upstream: Upstream): readonly Call[];
  /** The newest of them, seen before or not. */
  lastCall(upstream: Upstream): Call | undefined;
  /** Waits for the end of a call of this upstream's models. */
  nextCall(upstream: Upstream, fits?: (call: Call) => boolean): Promise<Call>;
  /** What fails once fails once more. */
  reset(): void;
  close(): Promise<void>;
}

function modelOn(upstream: Upstream, failure?: Failure): string {
  return failure === undefined ? `on-${upstream}` : `${upstream}-${failure}`;
}

const simulated = (upstream: Upstream, failure?: Failure): string =>
  failure === undefined ? `sim-${upstream}` : `sim-${upstream}-${failure}`;

/**
 * @param aliases Another name of the plain model on an upstream: programs know some models by their names.
 * @param route What all routes have in common beside it.
 */
export async function startEveryUpstream(
  aliases: Partial<Record<Upstream, string>> = {},
  route: Partial<RouteEntry> = {},
  through?: Parameters<typeof startClouds>[3],
): Promise<EveryUpstream> {
  const simulator = await startSimulator();
  const clouds = await startClouds(() => simulator.url, behind, Object.keys(failures), through);
  const tables = everyUpstream.flatMap((upstream) =>
    [undefined, ...(Object.keys(failures) as Failure[])].map((failure) =>
      tableFor(
        isCloud(upstream) ? clouds.target(upstream, failure) : plainTarget(simulator.url, upstream, failure),
        upstream,
        failure,
        failure === undefined ? aliases[upstream] : undefined,
      ),
    ),
  );
  const rig = await startRig(
    {
      ...tableOf([]),
      providers: tables.flatMap(({ providers }) => providers),
      routes: tables.flatMap(({ routes }) => routes.map((entry) => ({ ...entry, ...route }))),
      credentials: tables.flatMap(({ credentials }) => credentials),
    },
    { random: () => 0, seats: clouds.seats },
  );
  let seen = 0;
  const seenAt: Partial<Record<Upstream, number>> = {};
  return {
    rig,
    url: rig.url,
    baseUrl: rig.baseUrl,
    simulator,
    model: modelOn,
    script(upstream, directives) {
      if (!isServedByFront(upstream)) return simulator.script(simulated(upstream), directives);
      if (Array.isArray(directives)) throw new Error('a front takes one script');
      clouds.direct(upstream, directives as string | null);
    },
    lastCall: (upstream) =>
      isServedByFront(upstream)
        ? clouds.callsOf(upstream).at(-1)
        : simulator.calls().findLast((call) => isOf(call, upstream)),
    nextCall: (upstream, fits = () => true) =>
      isServedByFront(upstream)
        ? clouds.nextCall(upstream, fits)
        : simulator.nextCall((call) => isOf(call, upstream) && fits(call)),
    newCalls(upstream) {
      if (isServedByFront(upstream)) {
        const calls = clouds.callsOf(upstream).filter(({ sequence }) => sequence > (seenAt[upstream] ?? 0));
        seenAt[upstream] = calls.at(-1)?.sequence ?? seenAt[upstream] ?? 0;
        return calls;
      }
      const calls = simulator.calls().filter(({ sequence }) => sequence > seen);
      seen = simulator.calls().at(-1)?.sequence ?? seen;
      const asking = calls.filter((call) => !call.endpoint.endsWith('_tokens'));
      const wanted = isCloud(upstream) ? clouds.endpointOf(upstream) : endpointOf[upstream];
      const strays = asking.filter((call) => call.endpoint !== wanted || !isOf(call, upstream));
      if (strays.length > 0)
        throw new Error(`calls elsewhere: ${strays.map(({ endpoint }) => endpoint).join(', ')}`);
      return asking;
    },
    reset() {
      simulator.reset();
      seen = 0;
    },
    async close() {
      await rig.close();
      await clouds.close();
      await simulator.close();
    },
  };
}

const isServedByFront = (upstream: Upstream): upstream is CloudUpstream =>
  isCloud(upstream) && servedByFront(upstream);

/** The simulator's model, with its directives, behind one of a cloud. */
function behind(upstream: CloudUpstream, failure?: string): string {
  const directives = failure === undefined ? '' : `+${failures[failure as Failure]}`;
  return simulated(upstream, failure as Failure | undefined) + directives;
}

const isOf = ({ baseModel }: Call, upstream: Upstream): boolean =>
  baseModel === simulated(upstream) || baseModel.startsWith(`${simulated(upstream)}-`);

/** At clouds, waits between attempts would show nothing new. */
const quick: Partial<RouteEntry> = {
  failover: {
    retryOn: ['RateLimited', 'ServerError', 'Overloaded'],
    maxAttempts: 3,
    attemptsPerTarget: 1,
    backoffBaseMs: 1,
    backoffMaxMs: 1,
    honorRetryAfter: false,
  },
};

/** The wait is left to the SDK: otherwise the gateway would wait itself, and the SDK never learn of it. */
const impatient: Partial<RouteEntry> = {
  failover: {
    retryOn: ['RateLimited'],
    maxAttempts: 1,
    attemptsPerTarget: 1,
    backoffBaseMs: 1,
    backoffMaxMs: 1,
    honorRetryAfter: false,
  },
};

function plainTarget(url: string, upstream: PlainUpstream, failure?: Failure): RigTarget {
  const directives = failure === undefined ? '' : `+${failures[failure]}`;
  return {
    baseUrl: `${url}/v1`,
    dialects: [dialectOf[upstream]],
    upstreamModel: `${simulated(upstream, failure)}${directives}`,
    providerEntry: { dialects: [dialectOf[upstream]] },
  };
}

/** A provider for each model: what one earns, such as a rest, is not for the others. */
function tableFor(target: RigTarget, upstream: Upstream, failure?: Failure, alias?: string) {
  const model = modelOn(upstream, failure);
  const breaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 0 };
  return tableOf(
    [{ ...target, provider: `platform/${model}`, providerEntry: { ...target.providerEntry, breaker } }],
    {
      id: `team/${model}`,
      aliases: alias === undefined ? [] : [alias],
      model,
      endpoints: [...allDialects],
      ...(failure === 'limited-once' ? impatient : {}),
      ...(isCloud(upstream) && failure !== 'limited-once' ? quick : {}),
    },
  );
}

/** Converse counts its reasoning among the output, and does not say how much of that it is. */
export const tellsReasoning = (upstream: Upstream): boolean => spokenTo(upstream) !== 'bedrock-converse';

/** Whether reasoning is shown only to clients that can ask for a summary: also by newer models of Claude and Gemini. */
export function showsOnlySummaries(upstream: Upstream): boolean {
  const isNewClaude = upstream === 'azure-claude' || upstream === 'bedrock-claude';
  return isNewClaude || ['openai-responses', 'google-generate-content'].includes(spokenTo(upstream));
}

/** How long a client is to wait: Bedrock does not say through Converse, so it is the rest of its key. */
export const waitTold = (upstream: Upstream, wait: RegExp): RegExp =>
  upstream === 'bedrock-converse' && wait.test('7') && !wait.test('8') ? /^60$/ : wait;

/** What a call used, summed, as the simulator counted it. */
export function usedBy(calls: readonly Call[]) {
  const sum = (kind: keyof Call['tokens']): number =>
    calls.reduce((total, { tokens }) => total + tokens[kind], 0);
  return {
    input: sum('input'),
    cached: sum('cached'),
    cacheWrite: sum('cacheWrite'),
    output: sum('output'),
    reasoning: sum('reasoning'),
  };
}
