// Does a plan say what a request does? Tables, histories of upstreams and limits that are partly used are made up; the plan is asked, and then the
// request goes through the whole pipeline, with upstreams that fail every attempt. A plan that were put together by rules of its own would
// differ from it sooner or later; one that took a trial, a place or a draw would change what comes behind it.

import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dialectOfSpoken } from '../../../core/catalog/dialects.ts';
import type { Clock } from '../../../core/clock.ts';
import type { PlanRequest } from '../../../core/contract/plan.ts';
import type { RouteEntry } from '../../../core/contract/routing-table.ts';
import { findDialect } from '../../../gateway/dialects/registry.ts';
import { RequestBody } from '../../../gateway/json/request-body.ts';
import { Limiter } from '../../../gateway/limits/limiter.ts';
import { openMemoryJournal } from '../../../gateway/meter/journal.ts';
import { RequestMetrics } from '../../../gateway/meter/request-metrics.ts';
import type { PipelineParts } from '../../../gateway/pipeline/parts.ts';
import { serve } from '../../../gateway/pipeline.ts';
import type { PlanParts } from '../../../gateway/plan/parts.ts';
import { answerPlan } from '../../../gateway/plan/plan-request.ts';
import { GatewayError } from '../../../gateway/request/errors.ts';
import { Health, type HealthSignal } from '../../../gateway/route/health.ts';
import { selectTargets } from '../../../gateway/route/plan.ts';
import { RefusedMembers } from '../../../gateway/route/refused-members.ts';
import { AnswerRoom } from '../../../gateway/stream/answer-room.ts';
import { OpenStreams } from '../../../gateway/stream/open-streams.ts';
import { TimerQueue } from '../../../gateway/stream/timer-queue.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { staticKey } from '../../../gateway/upstream/credential.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { runs } from '../../support/runs.ts';
import { tableOf } from '../rig.ts';
import { nameOf } from '../route/candidates.ts';

const limits = fc.option(
  fc.record({ requestsPerMinute: fc.constantFrom(1, 2, 50), maxConcurrentRequests: fc.constantFrom(1, 9) }),
  { nil: undefined },
);
const target = fc.record({
  priority: fc.constantFrom(0, 0, 1),
  weight: fc.constantFrom(0, 1, 1, 5),
  dialects: fc.constantFrom(
    ['openai-chat' as const],
    ['openai-chat' as const, 'openai-responses' as const],
    ['anthropic-messages' as const],
    ['openai-completions' as const],
  ),
  keys: fc.constantFrom({ a: 'A' }, { a: 'A', b: 'B' }),
  price: fc.constantFrom(null, { input: 1_000_000, output: 2_000_000, source: 'target' }),
  isPlatform: fc.boolean(),
  limits,
});
const route = fc.record({
  unpriced: fc.constantFrom(undefined, 'Deny' as const),
  maxAttempts: fc.constantFrom(1, 2, 3, 5),
  attemptsPerTarget: fc.constantFrom(1, 2),
  affinity: fc.constantFrom(undefined, 'ApiKey' as const, 'PromptPrefix' as const),
});
const signal = fc.constantFrom<HealthSignal>(
  { type: 'endpoint-failure', cause: 'connect_refused' },
  { type: 'target-failure', cause: 'status_500' },
  { type: 'key-cooldown', forMs: 9_000, reason: 'rate-limit' },
  { type: 'key-cooldown', forMs: 60_000, reason: 'rejected' },
  { type: 'success' },
);
/** So often, at one of the candidates; then time goes on. */
const event = fc.record({
  at: fc.nat(7),
  signal,
  times: fc.constantFrom(1, 5),
  passMs: fc.constantFrom(0, 1_000, 6_000, 31_000),
  isLeftOpen: fc.boolean(),
});
const question = fc.record({
  dialect: fc.constantFrom(
    'chat' as const,
    'messages' as const,
    'responses' as const,
    'completions' as const,
  ),
  hasTools: fc.boolean(),
  stream: fc.boolean(),
});
const scene = fc.record({
  targets: fc.array(target, { minLength: 1, maxLength: 4 }),
  route,
  history: fc.array(event, { maxLength: 6 }),
  question,
  keyLimits: limits,
  used: fc.nat(2),
  random: fc.constantFrom(0, 0.3, 0.7, 0.999),
  hasBudget: fc.boolean(),
});
type Scene = typeof scene extends fc.Arbitrary<infer Made> ? Made : never;

test('the first target of a plan is the first that a request asks, and the plan changes nothing', async () => {
  const seen = { asked: 0, refused: 0, skipped: 0 };
  await fc.assert(
    fc.asyncProperty(scene, async (made) => {
      const { planParts, pipelineParts, body, ask, advance } = buildScene(made);
      const state = () => inspect([planParts.health, planParts.limits], { depth: 12, maxArrayLength: null });
      const before = state();
      const plan = await answerPlan(planParts, ask);
      expect(await answerPlan(planParts, ask)).toEqual(plan);
      expect(state()).toBe(before);
      const { attempts, error } = await sendRequest(pipelineParts, ask, body, advance);
      const tried = plan.targets.filter(({ state }) => state === 'wouldBeTried');
      if (plan.refusal !== undefined) {
        seen.refused += 1;
        expect([attempts, error?.message]).toEqual([[], plan.refusal.message]);
        expect(error?.status).toBe(plan.refusal.status);
        return;
      }
      seen.asked += 1;
      seen.skipped += plan.targets.length - tried.length;
      const names = tried.map(({ name, providerKey }) => `${name}/${providerKey}`);
      expect(names[0] ?? 'none').toBe(attempts[0]);
      // All others too, in this order, as far as nobody waits.
      const once = [...new Set(attempts)];
      expect(names.filter((name) => once.includes(name))).toEqual(once);
      for (const { reasons } of plan.targets) {
        expect(reasons.length).toBeGreaterThan(0);
        expect(reasons.join()).not.toContain('platform/');
      }
    }),
    { numRuns: runs(400, 2) },
  );
  // The scenes show what they are made for.
  expect(Math.min(seen.asked, seen.refused, seen.skipped)).toBeGreaterThan(40);
});

function buildScene(made: Scene) {
  const table = tableOf(
    made.targets.map(({ limits, isPlatform, dialects, ...one }, at) => ({
      ...one,
      dialects: [...dialects],
      baseUrl: `http://127.0.0.1:${9_000 + at}/v1`,
      provider: isPlatform ? `platform/p${at}` : `team/p${at}`,
      providerEntry: { isPlatform, dialects: [...dialects], ...(limits ? { limits } : {}) },
    })),
  );
  const { unpriced, ...failover } = made.route;
  const view = buildTableView({
    ...table,
    routes: table.routes.map(
      (entry): RouteEntry => ({
        ...entry,
        ...(unpriced ? { unpriced } : {}),
        failover: { ...entry.failover, ...failover },
      }),
    ),
    keys: table.keys.map((key) => ({
      ...key,
      ...(made.keyLimits ? { limits: made.keyLimits } : {}),
      ...(made.hasBudget ? { budgets: [{ period: 'Day' as const, limitMicrodollars: 1_000_000 }] } : {}),
    })),
  });
  const fake = makeFakeClock(1_000_000);
  const clock: Clock = { ...fake, wallMs: () => 1_800_000_000_000 + fake.now() };
  const random = () => made.random;
  const health = new Health(random);
  const limiter = new Limiter({
    clock,
    name: 'pod',
    pods: () => 1,
    onStoreError: 'LocalShare',
    events: { onLimited() {}, onCall() {}, onFailure() {}, onTurn() {} },
  });
  const [only] = view.routes;
  const candidates = only ? selectTargets(only, ([dialect]) => dialect, { random: () => 0 }).candidates : [];
  for (const { at, signal, times, passMs, isLeftOpen } of made.history) {
    const candidate = candidates[at % Math.max(1, candidates.length)];
    if (candidate === undefined) continue;
    for (let count = 0; count < times; count++)
      health.onEnd(health.onStart(candidate, false, fake.now()), signal, fake.now());
    fake.advance(passMs);
    if (isLeftOpen) health.onStart(candidate, false, fake.now());
  }
  const [key] = view.keys.values();
  if (key?.limits !== undefined)
    for (let count = 0; count < made.used; count++)
      void limiter.reserve(
        [{ kind: 'api-key', id: key.id, limits: key.limits }],
        { requests: 1, tokens: 0, takesPlace: true },
        60_000,
      );
  const holder = { current: () => view };
  const ask: PlanRequest = { namespace: 'team', apiKey: 'key', model: 'm', ...questionOf(made) };
  const planParts: PlanParts = { clock, random, health, holder, limits: limiter, pod: 'pod' };
  const pipelineParts: Omit<PipelineParts, 'play'> = {
    clock,
    random,
    health,
    refused: new RefusedMembers(),
    holder,
    limits: limiter,
    pools: {
      poolFor() {
        throw new Error('no connection is opened');
      },
    },
    credentials: { of: staticKey },
    journal: openMemoryJournal(() => {}),
    metrics: new RequestMetrics(),
    streams: new OpenStreams(),
    timers: new TimerQueue(clock),
    answers: new AnswerRoom(Number.POSITIVE_INFINITY),
    onFailure: (failure) => expect.unreachable(String(failure)),
    defaults: {
      timeouts: {
        ...{ connectMs: 3_000, firstEventMs: 12_000, lastFirstEventMs: 60_000, livenessMs: 30_000 },
        ...{ progressMs: 120_000, totalMs: 600_000, clientWriteMs: 60_000 },
      },
      openAfterMs: 25_000,
      keepAliveMs: 15_000,
      callsAtOnce: 8,
      showProvider: true,
    },
  };
  const advance = (ms: number): void => fake.advance(ms);
  return {
    planParts,
    pipelineParts,
    ask,
    advance,
    body: { ...ask.body, model: 'm', stream: made.question.stream },
  };
}

function questionOf({ question: { dialect, hasTools, stream } }: Scene) {
  const messages = [{ role: 'user', content: 'Are you there?' }];
  const parameters = { type: 'object', properties: {} };
  const bodies = {
    chat: {
      messages,
      ...(hasTools ? { tools: [{ type: 'function', function: { name: 'f', parameters } }] } : {}),
    },
    messages: {
      messages,
      max_tokens: 9,
      ...(hasTools ? { tools: [{ name: 'f', input_schema: parameters }] } : {}),
    },
    responses: {
      input: 'Are you there?',
      ...(hasTools ? { tools: [{ type: 'function', name: 'f', parameters }] } : {}),
    },
    completions: { prompt: 'Are you there?', ...(hasTools ? { suffix: '.' } : {}) },
  };
  return { dialect, stream, body: bodies[dialect] };
}

/** Every attempt is answered with 500, until none is left or somebody waits. */
async function sendRequest(
  parts: Omit<PipelineParts, 'play'>,
  { dialect: spoken }: PlanRequest,
  content: object,
  advance: (ms: number) => void,
): Promise<{ readonly attempts: readonly string[]; readonly error: GatewayError | undefined }> {
  const attempts: string[] = [];
  const view = parts.holder.current();
  const [key] = view?.keys.values() ?? [];
  if (view === undefined || key === undefined) throw new Error('the table is empty');
  const body = new RequestBody([Buffer.from(JSON.stringify(content))]);
  body.parse();
  const dialect = findDialect(dialectOfSpoken[spoken]);
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const play: PipelineParts['play'] = (candidate, _, receiver) => {
    attempts.push(nameOf(candidate));
    queueMicrotask(() => {
      receiver.onHead(500, (name) => (name === 'content-type' ? 'application/json' : undefined));
      receiver.onBody(Buffer.from('{"error":{"message":"no"}}'));
      receiver.onEnd();
    });
    return { isSent: true, abort() {}, pause() {}, resume() {} };
  };
  const exchange = {
    ...{ dialect, view, body, response, requestId: 'req_1', caller: { key, namespace: 'team' } },
    request: { url: `/v1${dialect.path}`, rawHeaders: [] },
    isClosing: false,
    arrivedAt: parts.clock.now(),
  };
  const serving = new Promise<unknown>((resolve) =>
    serve({ ...parts, play }, exchange, { onServed: () => resolve(undefined), onFailed: resolve }),
  );
  // A key that cools for a moment is waited for. A wait after that is for a timer of a clock that stops.
  await new Promise((resolve) => setImmediate(resolve));
  if (attempts.length === 0) {
    advance(2_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.emit('close');
  const error = await serving;
  if (error !== undefined && !(error instanceof GatewayError)) throw error;
  return { attempts, error };
}
