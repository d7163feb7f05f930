// What would happen with this request? The router, the limits and the loop of the attempts say it, as they are at this moment in this
// process; nothing is sent, reserved, counted or written down.

import { dialectOfSpoken } from '../../core/catalog/dialects.ts';
import { exactCost } from '../../core/contract/cost.ts';
import type { CatalogAnswer, CatalogRequest, PlanAnswer, PlanRequest } from '../../core/contract/plan.ts';
import type { CandidateFacts } from '../attempt/next-step.ts';
import { findDialect } from '../dialects/registry.ts';
import { syntheticRequest } from '../drill/synthetic-request.ts';
import { parseBody } from '../endpoints/parse-body.ts';
import type { RequestBody } from '../json/request-body.ts';
import type { Glance } from '../limits/glance.ts';
import { costAtMost } from '../pipeline/budgets.ts';
import { factsOf } from '../pipeline/call-job.ts';
import { isOwnProvider } from '../pipeline/client-headers.ts';
import { estimateSpend, type SpendEstimate } from '../pipeline/estimate-spend.ts';
import { failureError } from '../pipeline/fail-request.ts';
import {
  fullnessOf,
  limitError,
  limitsOfAttempt,
  limitsOfRequest,
  type Saturation,
} from '../pipeline/limits.ts';
import type { Asking } from '../pipeline/parts.ts';
import { routeExchange } from '../pipeline/route-exchange.ts';
import { GatewayError } from '../request/errors.ts';
import { findModel } from '../route/find-model.ts';
import type { Candidate } from '../route/plan.ts';
import type { RouteView, TableView } from '../table/view.ts';
import { describeCatalog } from './catalog.ts';
import { findCaller } from './find-caller.ts';
import { type Foreseen, foreseeAttempts } from './foresee-attempts.ts';
import { describeLimits } from './limits.ts';
import type { Planned, PlanParts } from './parts.ts';
import { describeLeftOut, describeTargets } from './targets.ts';

/** @throws {GatewayError} `invalid_api_key`; `not_ready` without a table. */
export function answerCatalog(parts: PlanParts, question: CatalogRequest): CatalogAnswer {
  const view = tableOf(parts);
  const caller = findCaller(view, question, parts.clock.wallMs());
  return { generation: view.generation, pod: parts.pod, models: [...describeCatalog(view, caller)] };
}

/** @throws {GatewayError} `not_ready` without a table. The answer itself holds the error with which the request would be refused. */
export async function answerPlan(parts: PlanParts, question: PlanRequest): Promise<PlanAnswer> {
  const view = tableOf(parts);
  const { model, dialect } = question;
  const head = { generation: view.generation, pod: parts.pod, model, dialect };
  let asking: Asking;
  try {
    asking = askingOf(parts, view, question);
  } catch (error) {
    return { ...head, ...refusalOf(error, 'openai'), targets: [] };
  }
  const planned = planOrRefusal(parts, asking);
  const route = routeOf(asking, planned, model);
  const isOfExample = question.body === undefined;
  const targets = await (planned instanceof GatewayError
    ? { ...refusalOf(planned, asking.dialect.errorShape), targets: [] }
    : describe(parts, planned, { isOfExample, isKeyNamed: question.apiKey !== undefined }));
  const inPlan = planned instanceof GatewayError ? [] : planned.plan.candidates;
  const leftOut = route === undefined ? [] : describeLeftOut(asking, route, inPlan);
  return {
    ...head,
    ...(route && { route: { namespace: route.namespace, name: nameOf(route.entry.id) } }),
    ...targets,
    targets: [...targets.targets, ...leftOut].map((target, at) => ({ ...target, order: at + 1 })),
  };
}

function tableOf({ holder }: PlanParts): TableView {
  const view = holder.current();
  if (view === undefined) throw new GatewayError('not_ready', 'This gateway has no routing table yet.');
  return view;
}

/** @throws {GatewayError} for a key or a body that would be refused. */
function askingOf({ clock }: PlanParts, view: TableView, question: PlanRequest): Asking {
  const dialect = findDialect(dialectOfSpoken[question.dialect]);
  return {
    dialect,
    view,
    caller: findCaller(view, question, clock.wallMs()),
    body: bodyOf(question),
    requestId: 'req_plan',
    request: { url: `/v1${dialect.path}`, rawHeaders: [] },
    arrivedAt: clock.now(),
  };
}

function bodyOf({ body, dialect, model, stream }: PlanRequest): RequestBody {
  if (body === undefined) return syntheticRequest(dialectOfSpoken[dialect], model, stream ?? false);
  const whole = { ...body, model, ...(stream === undefined ? {} : { stream }) };
  return parseBody([Buffer.from(JSON.stringify(whole))]);
}

function planOrRefusal(parts: PlanParts, asking: Asking): Planned | GatewayError {
  try {
    return routeExchange(parts, asking);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

/** Also of a request that its route cannot serve. */
function routeOf(
  { view, caller, dialect }: Asking,
  planned: Planned | GatewayError,
  model: string,
): RouteView | undefined {
  if (!(planned instanceof GatewayError)) return planned.plan.route;
  try {
    return findModel(view, caller, model, dialect.name);
  } catch {
    return undefined;
  }
}

async function describe(
  parts: PlanParts,
  planned: Planned,
  { isOfExample, isKeyNamed }: { readonly isOfExample: boolean; readonly isKeyNamed: boolean },
): Promise<Omit<PlanAnswer, 'generation' | 'pod' | 'model' | 'dialect'>> {
  const { facts, body, plan, translation } = planned;
  const spend = estimateSpend(facts, body, plan, translation);
  const asked = limitsOfRequest(planned, { estimate: () => spend });
  const [glance, saturated] = await Promise.all([
    asked && parts.limits.glance(asked.subjects, asked.wanted),
    fullQuotas(parts, planned, spend),
  ]);
  const foreseen = foresee(parts, planned, saturated);
  const first = foreseen.first === undefined ? undefined : plan.candidates[foreseen.first];
  return {
    ...(glance && { limits: describeLimits(glance, parts.clock.wallMs()) }),
    estimate: describeEstimate(planned, spend, first, isOfExample),
    ...refusalBy(parts, planned, glance, first, saturated),
    targets: [...describeTargets(parts, planned, foreseen, saturated, isKeyNamed)],
  };
}

/** Candidates whose quotas are used up. */
async function fullQuotas(
  { limits }: PlanParts,
  { plan, translation }: Planned,
  spend: SpendEstimate,
): Promise<ReadonlyMap<Candidate, Saturation>> {
  const calls = translation?.conversations.length ?? 1;
  const waits = await Promise.all(
    plan.candidates.map(async (candidate) => {
      const asked = limitsOfAttempt(candidate, { tokensOfCall: Math.ceil(spend.tokens / calls) });
      const glance = asked && (await limits.glance(asked.subjects, asked.wanted));
      const fullness = glance && fullnessOf(glance.outcome);
      return fullness ? [[candidate, fullness] as const] : [];
    }),
  );
  return new Map(waits.flat());
}

function foresee(
  { health, clock }: PlanParts,
  { plan: { candidates, route }, dialect, body }: Planned,
  saturated: ReadonlyMap<Candidate, Saturation>,
): Foreseen {
  const nowMs = clock.now();
  const at = (position: number): Candidate => {
    const candidate = candidates[position];
    if (candidate === undefined) throw new RangeError(`there is no candidate ${position}`);
    return candidate;
  };
  return foreseeAttempts({
    candidates: candidates.map((candidate): CandidateFacts => factsOf(candidate)),
    isUsable: (position) => health.isUsable(at(position), nowMs) && !saturated.has(at(position)),
    isClosed: (position) => health.isClosed(at(position), nowMs),
    hasRetryBudget: (position) => health.hasBudget(at(position), nowMs),
    lastResort: () => {
      const position = health.lastResort(candidates, nowMs);
      return position === undefined || saturated.has(at(position)) ? undefined : position;
    },
    coolsForMs: (position) =>
      saturated.has(at(position)) ? undefined : health.coolsForMs(at(position), nowMs, false),
    waitedMs: 0,
    failover: route.entry.failover,
    hasSideEffects: () => dialect.hasSideEffects(body),
  });
}

function describeEstimate(
  planned: Planned,
  spend: SpendEstimate,
  first: Candidate | undefined,
  isOfExample: boolean,
): NonNullable<PlanAnswer['estimate']> {
  const { input, output } = spend;
  const price = first?.target.entry.price;
  const isOwn = first !== undefined && isOwnProvider(planned, first);
  const usage = { input, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 };
  const { candidates } = planned.plan;
  const isPriced = candidates.some((one) => one.target.entry.price !== null || isOwnProvider(planned, one));
  return {
    inputTokens: input,
    outputTokensMax: output,
    ...(isOwn ? { costPicodollars: 0 } : price && { costPicodollars: Number(exactCost(usage, price)) }),
    ...(!isOwn && price?.source === 'provisioned' && { isProvisioned: true }),
    ...(isPriced && {
      costPicodollarsMax: costAtMost(planned, planned.plan, spend) * 1_000,
    }),
    isOfExample,
  };
}

/** Limits are checked before any upstream call. */
function refusalBy(
  parts: PlanParts,
  planned: Planned,
  glance: Glance | undefined,
  first: Candidate | undefined,
  saturated: ReadonlyMap<Candidate, Saturation>,
): Pick<PlanAnswer, 'refusal'> {
  const shape = planned.dialect.errorShape;
  if (glance !== undefined && glance.outcome.type !== 'granted')
    return refusalOf(limitError(glance.outcome, planned), shape);
  if (first !== undefined) return {};
  const nowMs = parts.clock.now();
  const fullAt = new Map(
    [...saturated].map(([candidate, { waitMs, isUnknown }]) => [
      candidate,
      { untilMs: nowMs + waitMs, isUnknown },
    ]),
  );
  return refusalOf(failureError(parts, planned, { failures: [], targetsAsked: 0 }, fullAt), shape);
}

function refusalOf(error: unknown, shape: Asking['dialect']['errorShape']): Pick<PlanAnswer, 'refusal'> {
  if (!(error instanceof GatewayError)) throw error;
  const { code, message } = error.toErrorObject(shape);
  return { refusal: { status: error.status, code: code ?? error.code, message } };
}

function nameOf(id: string): string {
  return id.slice(id.indexOf('/') + 1);
}
