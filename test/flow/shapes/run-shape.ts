// What becomes of requests while a provider fails in one of the sixteen shapes? Each shape has walls and a gateway of its own;
// its verdict is computed from the walls' logs and from what the caller got.

import type { RouteEntry } from '../../../core/contract/routing-table.ts';
import type { Rig, RigTarget } from '../../gateway/rig.ts';
import { openRaw, writeRequest } from '../../support/raw-client.ts';
import { endsWell, errorOf, isBag, parseJson, textOf, usageOf } from '../../support/said.ts';
import { sixtyWords } from '../../support/wall.ts';
import { portOf, requestOf, type Seen } from '../ask.ts';
import type { House } from '../house.ts';
import {
  type AskedOnce,
  healthy,
  type Shape,
  type ShapeMode,
  type ShapeRun,
  type Timing,
  type Verdict,
} from './shape.ts';

export interface ShapeResult {
  readonly id: string;
  readonly mode: ShapeMode;
  readonly verdict: Verdict;
  /** Checks that did not hold. */
  readonly missed: readonly string[];
  readonly calls: { readonly first: number; readonly fallback: number };
  /** Of the longest request. */
  readonly longestMs: number;
}

export async function runShape(
  house: House,
  shape: Shape,
  mode: ShapeMode,
  timing: Timing,
): Promise<ShapeResult> {
  // The script of a shape that changes with time begins with the first request.
  let begunAtMs = performance.now();
  const first = await house.wallThat(() => ({ type: 'answer', ...healthy(timing) }));
  const fallback = await house.wallThat(shape.fallback ?? { type: 'answer', ...healthy(timing) });
  const rig = await house.rigOf(
    [
      { ...targetOf('first', shape, timing), baseUrl: first.baseUrl },
      { ...targetOf('fallback', shape, timing), baseUrl: fallback.baseUrl },
    ],
    routeOf(mode),
  );
  begunAtMs = performance.now();
  first.script(shape.first(timing, begunAtMs));

  const { count, everyMs } = shape.requests ?? { count: 1, everyMs: 0 };
  const requests = count === 1 ? 1 : count + timing.moreRequests;
  const asked = await Promise.all(
    Array.from({ length: requests }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, timing.own(index * everyMs)));
      return askOnce(rig, mode, timing.limit(shape.limitMs));
    }),
  );
  const firstCalls = [...first.calls];
  const fallbackCalls = [...fallback.calls];
  for (const wall of [first, fallback]) wall.script({ type: 'answer', text: sixtyWords });
  const after = await askOnce(rig, mode, 10_000);

  const run: ShapeRun = {
    timing,
    begunAtMs,
    asked,
    firstCalls,
    fallbackCalls,
    isHealthyAfter: after.result === 'whole',
  };
  return {
    id: shape.id,
    mode,
    ...judge(shape, run),
    calls: { first: firstCalls.length, fallback: fallbackCalls.length },
    longestMs: Math.max(...asked.map(({ durationMs }) => durationMs)),
  };
}

function judge(shape: Shape, run: ShapeRun): Pick<ShapeResult, 'verdict' | 'missed'> {
  const required = shape.required.filter(({ holds }) => !holds(run));
  const advisory = shape.advisory.filter(({ holds }) => !holds(run));
  const missed = [...required, ...advisory].map(({ what }) => what);
  if (!run.isHealthyAfter) missed.push('a healthy request is answered within 10 s');
  // Without a call there was no fault, and the verdict would say nothing.
  const hasFired = run.firstCalls.length > 0;
  if (!hasFired) missed.push('the first provider was asked');
  const results = new Set(run.asked.map(({ result }) => result));
  if (results.has('unclear')) missed.push('who gets no answer is reported an error');
  const isIdeal = results.size === 1 && results.has(shape.ideal === 'error' ? 'error' : 'whole');
  const isBad = (['unclear', 'cut', 'hang'] as const).some((result) => results.has(result));
  if (required.length > 0 || !hasFired || !run.isHealthyAfter || isBad) return { verdict: 'fail', missed };
  if (results.has('error') && !isIdeal) return { verdict: 'safe', missed };
  return { verdict: advisory.length === 0 ? 'pass' : 'partial', missed };
}

/**
 * As an operator sets up one model with one fallback, and nothing else but this: of a plain answer a provider says nothing until
 * it is done, and only as a stream its silence is seen.
 */
function routeOf(mode: ShapeMode): Partial<RouteEntry> {
  return mode === 'plain' ? { upstreamStreaming: 'Always' } : {};
}

/** As the gateway has them by itself. */
const ownTimers = { firstEventMs: 12_000, livenessMs: 30_000 };

function targetOf(name: string, { timer }: Shape, { own }: Timing): Omit<RigTarget, 'baseUrl'> {
  const breaker = {
    consecutiveFailures: 5,
    openForMs: own(5_000),
    maxOpenMs: own(25_000),
    rateLimitCooldownMs: own(20_000),
  };
  return {
    name,
    upstreamModel: name,
    dialects: ['openai-chat'],
    providerEntry: { breaker },
    ...(timer && { timeouts: { [timer]: own(ownTimers[timer]) } }),
  };
}

async function askOnce(rig: Rig, mode: ShapeMode, limitMs: number): Promise<AskedOnce> {
  const isStream = mode !== 'plain';
  const request = requestOf({
    isStream,
    more: isStream ? { stream_options: { include_usage: true } } : {},
  });
  const headers = {
    ...request.headers,
    ...(mode === 'assured' && { 'x-penstock-delivery': 'assured' }),
  };
  const startedAtMs = performance.now();
  const connection = await openRaw({ port: portOf(rig) });
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limitMs);
  });
  const answered = async (): Promise<Seen | 'broken'> => {
    try {
      await connection.send(writeRequest({ ...request, headers }));
      const answer = await connection.answer();
      return { ...answer, ...(await answer.finished) };
    } catch {
      return 'broken';
    }
  };
  const seen = await Promise.race([answered(), tooLong]);
  clearTimeout(timer);
  connection.close();
  const endedAtMs = performance.now();
  const times = { durationMs: endedAtMs - startedAtMs, endedAtMs };
  const nothing = { ...times, model: undefined, usage: undefined, errorCode: undefined };
  if (seen === undefined) return { ...nothing, result: 'hang' };
  if (seen === 'broken') return { ...nothing, result: 'unclear' };
  return {
    ...times,
    result: resultOf(seen, isStream),
    model: modelOf(seen),
    usage: usageOf(seen),
    errorCode: errorOf(seen)?.code ?? undefined,
  };
}

/** As an official client takes it: an error frame raises, and so does a body that does not end as it should. Only the first says why. */
function resultOf(seen: Seen, isStream: boolean): AskedOnce['result'] {
  const hasGoodEnd = seen.ending === 'last-chunk' || seen.ending === 'length-complete';
  if (errorOf(seen) !== undefined) return 'error';
  if (seen.status !== 200 || !hasGoodEnd) return 'unclear';
  const isEnded = !isStream || endsWell(seen);
  return isEnded && textOf(seen) === sixtyWords ? 'whole' : 'cut';
}

function modelOf(seen: Seen): string | undefined {
  const documents =
    seen.json === undefined ? seen.events.map(({ data }) => parseJson(data ?? '')) : [seen.json];
  const reported = documents.filter(isBag).find(({ model }) => typeof model === 'string');
  return reported === undefined ? undefined : String(reported.model);
}
