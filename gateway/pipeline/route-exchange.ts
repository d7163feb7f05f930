// route → decode*: which candidates can serve this request, and as what? The caller's own bytes
// where a candidate speaks its dialect, else the request in our form, if it can be carried.

import { rankUpstreams } from '../../core/catalog/capabilities.ts';
import type { UpstreamDialectName } from '../../core/contract/routing-table.ts';
import { findImpossible, impossible } from '../dialects/compatibility.ts';
import type { Ask, Conversation } from '../dialects/conversation.ts';
import type { RequestFacts, Translation } from '../dialects/dialect.ts';
import { translateAsRequested } from '../dialects/response-model.ts';
import { parseWhole } from '../endpoints/parse-body.ts';
import { GatewayError, shorten } from '../request/errors.ts';
import { findModel } from '../route/find-model.ts';
import { type Candidate, onlyPlan, type Plan, selectTargets } from '../route/plan.ts';
import { affinityText } from './affinity.ts';
import { isPaidFromBudget } from './budgets.ts';
import { isOwnProvider, readHeader } from './client-headers.ts';
import { readDelivery } from './delivery.ts';
import type { Asking, PipelineParts, Routing } from './parts.ts';

type RoutingParts = Pick<PipelineParts, 'random' | 'health' | 'clock'>;

/** @throws {GatewayError} if the request is not valid, leads nowhere, or cannot be carried. */
export function routeExchange<Of extends Asking>(parts: RoutingParts, exchange: Of): Of & Routing {
  const facts = exchange.dialect.readRequest(exchange.body);
  const plan = billable(exchange, planFor(parts, exchange, facts), facts.model);
  const routed = plan.candidates.every((candidate) => candidate.dialect === exchange.dialect.name)
    ? { plan, translation: undefined }
    : translated(exchange, plan);
  checkStoredState(facts, routed.plan);
  const delivery = readDelivery(plan.route.entry, exchange.request.rawHeaders);
  const translation =
    routed.translation && delivery.namesRequested
      ? translateAsRequested(routed.translation)
      : routed.translation;
  return { ...exchange, facts, plan: routed.plan, translation, delivery };
}

/**
 * Targets without a price are left out where the route denies them, and where the caller has a budget: it would have no end. Calls with the
 * caller's own provider cost nothing here.
 *
 * @throws {GatewayError} `model_not_priced` if none is left.
 */
function billable(exchange: Asking, plan: Plan, model: string): Plan {
  const { candidates, route } = plan;
  const isDenied = route.entry.unpriced === 'Deny';
  if (candidates.every(isPriced)) return plan;
  if (!isDenied && !isPaidFromBudget(exchange)) return plan;
  const left = candidates.filter((candidate) => isPriced(candidate) || isOwnProvider(exchange, candidate));
  if (left.length > 0 || candidates.length === 0) return { ...plan, candidates: left };
  const why = isDenied
    ? `its ModelRoute ${route.entry.id} refuses calls without one. Its condition Priced says how to add one; its owner can also set unpriced: MeterOnly`
    : `a key with a budget can only call models with a price. Its ModelRoute ${route.entry.id} needs spec.pricing; its condition Priced says why`;
  throw new GatewayError('model_not_priced', `The model '${shorten(model)}' has no price, and ${why}.`, {
    param: 'model',
  });
}

function isPriced({ target }: Candidate): boolean {
  return target.entry.price !== null;
}

/** Whether the body has to be parsed whole, so that this can be done in advance; routing reports what is wrong with it. */
export function readsWhole(parts: RoutingParts, exchange: Plannable): boolean {
  const { dialect, body } = exchange;
  if (dialect.readsPrompt) return true;
  try {
    const { candidates } = planFor(parts, exchange, dialect.readRequest(body));
    return candidates.some((candidate) => candidate.dialect !== dialect.name);
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

/** The parts of a request that decide its route. */
type Plannable = Pick<Asking, 'dialect' | 'view' | 'caller' | 'body'>;

/** @throws {GatewayError} `model_not_found`. */
export function planFor(
  { random, health, clock }: RoutingParts,
  exchange: Plannable,
  facts: RequestFacts,
): Plan {
  const { dialect, view, caller } = exchange;
  const route = findModel(view, caller, facts.model, dialect.name);
  const speak = (dialects: readonly UpstreamDialectName[]): UpstreamDialectName | undefined =>
    rankUpstreams(dialect.name, dialects)[0];
  const only = onlyPlan(route, dialect.name, speak);
  if (only) return only;
  return selectTargets(route, speak, {
    random,
    load: {
      inFlight: (healthId) => health.inFlight(healthId),
      shareOf: (target) => health.shareOf(target, clock.now()),
    },
    affinity: affinityText(route.entry.failover.affinity, exchange),
  });
}

/**
 * The request in our form. Its body must have been parsed whole: it is read, not passed on.
 *
 * @throws {GatewayError} `invalid_parameter`, naming the parameter.
 */
export function translateFor({ dialect, body, request }: Asking, { candidates }: Plan): Translation {
  return dialect.translate(body, {
    upstreams: new Set(candidates.map((candidate) => candidate.dialect)),
    header: (name) => readHeader(request.rawHeaders, name),
  });
}

/** The used features; all conversations of one request use the same. */
export function firstOf({ conversations: [first] }: Translation): Conversation {
  if (!first) throw new Error('a translation holds no conversation');
  return first;
}

/** Candidates that cannot carry the request are left out; none left: the request is refused. */
function translated(
  exchange: Asking,
  plan: Plan,
): { readonly plan: Plan; readonly translation: Translation | undefined } {
  const { dialect, body } = exchange;
  const isNative = (candidate: Candidate): boolean => candidate.dialect === dialect.name;
  parseWhole(body);
  let translation: Translation;
  try {
    translation = translateFor(exchange, plan);
  } catch (error) {
    // We cannot read the request, but a target that speaks the caller's own dialect may.
    const candidates = plan.candidates.filter(isNative);
    if (candidates.length === 0) throw error;
    return { plan: { ...plan, candidates }, translation: undefined };
  }
  const conversation = firstOf(translation);
  checkStops(conversation);
  let refusal: { readonly ask: Ask; readonly upstream: UpstreamDialectName } | undefined;
  const candidates = plan.candidates.flatMap((candidate): Candidate[] => {
    const { entry, provider } = candidate.target;
    for (const upstream of rankUpstreams(dialect.name, entry.dialects)) {
      const ask = findImpossible(dialect.name, upstream, conversation, provider.entry);
      if (!ask) return [{ ...candidate, dialect: upstream }];
      refusal ??= { ask, upstream };
    }
    return [];
  });
  if (candidates.length === 0 && refusal) throw impossible(refusal.ask, refusal.upstream);
  // Only the caller's own bytes can ask for what no other dialect carries.
  const isTranslated = !candidates.every(isNative);
  return { plan: { ...plan, candidates }, translation: isTranslated ? translation : undefined };
}

/** The gateway may have to look for them itself, in every character of the answer. */
const stopsMax = 64;
const stopCharactersMax = 16 * 1024;

function checkStops({ sampling: { stop = [] }, asks }: Conversation): void {
  const characters = stop.reduce((sum, { length }) => sum + length, 0);
  if (stop.length <= stopsMax && characters <= stopCharactersMax) return;
  const param = asks.find(({ feature }) => feature === 'stop')?.param ?? 'stop';
  throw new GatewayError(
    'invalid_parameter',
    `'${param}' may hold at most ${stopsMax} sequences of ${stopCharactersMax} characters together for this model.`,
    { param },
  );
}

/** What one provider has stored can be asked of that provider only, with the key it was stored under. */
function checkStoredState({ storedState }: RequestFacts, { candidates, route }: Plan): void {
  if (storedState === undefined) return;
  const places = new Set(candidates.map(({ endpoint }) => endpoint.healthId));
  if (places.size <= 1) return;
  throw new GatewayError(
    'invalid_parameter',
    `'${storedState}' refers to what one provider has stored, and the model '${route.entry.model}' is served by several. Send the whole conversation instead.`,
    { param: storedState },
  );
}
