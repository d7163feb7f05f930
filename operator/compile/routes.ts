// Compiles one ModelRoute: first a claim on its ids; then, if no other route has them, its entry with the usable targets.

import {
  type Api,
  apisInOrder,
  dialectOfApi,
  type UpstreamApi,
  upstreamDialectOfApi,
} from '../../core/catalog/dialects.ts';
import type { ModelCapability } from '../../core/catalog/model-capabilities.ts';
import type {
  Price,
  RouteEntry,
  TargetEntry,
  Timeouts,
  UnavailableRoute,
} from '../../core/contract/routing-table.ts';
import { toMs } from '../resources/duration.ts';
import type { OwnTimeouts } from '../resources/fields.ts';
import type { ModelRoute, TargetSpec } from '../resources/model-route.ts';
import type { Parsed } from '../resources/parse.ts';
import type { NamespaceRecord, PlatformSettings, RawObject } from '../watch/snapshot.ts';
import { dialectImpossible } from './checks/dialect-impossible.ts';
import { invalid } from './checks/invalid.ts';
import { type Claim, type Conflict, mayKnow, modelConflict } from './checks/model-conflict.ts';
import { noPrice, notCounting } from './checks/no-price.ts';
import { noUsableTarget } from './checks/no-usable-target.ts';
import { notPermitted } from './checks/not-permitted.ts';
import { providerNotReady } from './checks/provider-not-ready.ts';
import { refNotFound } from './checks/ref-not-found.ts';
import { refNotPermitted } from './checks/ref-not-permitted.ts';
import { reservedPrefix } from './checks/reserved-prefix.ts';
import { targetUnsupported } from './checks/target-unsupported.ts';
import type { TargetUse } from './checks/target-use.ts';
import { unsupportedValue } from './checks/unsupported-value.ts';
import { describePairings } from './describe-pairings.ts';
import { inOrder, type Pairing, pairUp } from './dialects.ts';
import { drillOf } from './drill.ts';
import { buildLimits, hasTenantBudget, wordsOnLimits } from './limits.ts';
import { compareText, sortedMap } from './order.ts';
import { compilePrice } from './price.ts';
import type { CompiledProvider } from './providers.ts';
import type { Quote } from './quotes.ts';
import { resolveNamespaces } from './selector.ts';
import { mayPrice, type StatedPrice, statedPrice } from './stated-price.ts';
import {
  type Condition,
  type Finding,
  fails,
  holds,
  joined,
  type ModelRouteVerdict,
  notEvaluated,
  type TargetState,
} from './verdict.ts';

/** A route that is right in itself, and what it claims. */
export interface RouteClaim extends Claim {
  readonly route: ModelRoute;
}

export type RouteDraft =
  | { readonly kind: 'claim'; readonly claim: RouteClaim }
  | { readonly kind: 'refused'; readonly verdict: ModelRouteVerdict };

interface DraftInput {
  readonly object: RawObject;
  readonly parsed: Parsed<ModelRoute>;
  readonly namespaces: readonly NamespaceRecord[];
  readonly platform: PlatformSettings;
}

/** Checks the route's own fields. */
export function draftRoute({ object, parsed, namespaces, platform }: DraftInput): RouteDraft {
  if (!parsed.ok) return { kind: 'refused', verdict: refuse(object, invalid(parsed.problems)) };
  const { spec, metadata } = parsed.value;
  const ids = [spec.model, ...[...(spec.aliases ?? [])].sort(compareText)];
  const fault =
    unsupportedValue('ModelRoute', spec) ??
    reservedPrefix(metadata.namespace, ids, platform) ??
    notPermitted(metadata.namespace, spec, platform);
  if (fault !== undefined) return { kind: 'refused', verdict: refuse(object, fault) };
  const claim = {
    route: parsed.value,
    namespace: metadata.namespace,
    name: metadata.name,
    createdAt: metadata.creationTimestamp ?? '',
    ids,
    sharedWith: resolveNamespaces(spec.allowedNamespaces, metadata.namespace, namespaces),
  };
  return { kind: 'claim', claim };
}

/** The verdict on a route that is out of service through its own fault. */
export function refuse(
  { metadata }: { readonly metadata: RawObject['metadata'] | ModelRoute['metadata'] },
  fault: Finding,
): ModelRouteVerdict {
  const { namespace, name, generation } = metadata;
  return {
    kind: 'ModelRoute',
    namespace,
    name,
    ...(typeof generation === 'number' ? { generation } : {}),
    conditions: [
      fails('Accepted', fault),
      notEvaluated('ResolvedRefs'),
      notEvaluated('Translatable'),
      notEvaluated('Priced'),
    ],
    isInTable: false,
    targets: [],
  };
}

export interface CompiledRoute {
  readonly verdict: ModelRouteVerdict;
  readonly entry?: RouteEntry;
  /** Where it holds its ids, and nothing serves them. */
  readonly unavailable?: UnavailableRoute;
  /** Ids of the Providers that its targets name and may name. */
  readonly attachedTo: readonly string[];
}

/** The namespace and name of the Provider that a target names. */
export function refOf(namespace: string, target: TargetSpec): { namespace: string; name: string } {
  return { namespace: target.providerRef.namespace ?? namespace, name: target.providerRef.name };
}

/**
 * @param providers what became of the Provider of each target, in the order of the targets.
 * @param quotes what the catalog charges at each, where it was asked.
 * @param windows how many tokens fit into the model of each, where the catalog knows it.
 */
export function compileRoute(
  claim: RouteClaim,
  conflict: Conflict | undefined,
  providers: readonly (CompiledProvider | undefined)[],
  quotes: readonly (Quote | undefined)[],
  windows: readonly (number | undefined)[],
  platform: PlatformSettings,
): CompiledRoute {
  const { spec, metadata } = claim.route;
  const offered = inOrder(spec.apis ?? apisInOrder);
  const declared = inCapabilityOrder(spec.capabilities ?? []);
  const targets = spec.targets.map((target, index): JudgedTarget => {
    const judged = judgeTarget(claim.namespace, target, providers[index], quotes[index], offered, declared);
    const contextLength = windows[index];
    return contextLength === undefined ? judged : { ...judged, contextLength };
  });
  const usable = targets.filter((target) => target.isUsable);
  const bad = targets.flatMap(({ finding }) => (finding === undefined ? [] : [finding]));
  const pairings = pairAll(offered, usable, declared);
  const served = servedBy(offered, pairings);
  const entryTargets = usable.map((target) => buildTarget(claim.route, target, platform));

  const lost = conflict === undefined ? undefined : modelConflict(claim, conflict);
  const fault = lost ?? noUsableTarget(usable.length, targets.map(whyOut));
  const isInTable = fault === undefined && !spec.suspended;
  const described = describeModel(claim, targets, platform);
  const drill = drillOf(claim.route);
  const verdict: ModelRouteVerdict = {
    kind: 'ModelRoute',
    namespace: claim.namespace,
    name: claim.name,
    ...(metadata.generation === undefined ? {} : { generation: metadata.generation }),
    conditions: [
      acceptedCondition(fault, spec.suspended, wordsOnLimits([spec.limits], platform)),
      ...referenceConditions(bad, usable.length),
      // If every target fails by its dialects alone, report the dialects.
      translatableCondition(
        spec.apis === undefined ? served : offered,
        usable.length > 0 ? pairings : pairAll(offered, targets, declared),
      ),
      pricedCondition(claim.route, entryTargets, usable, platform),
      ...(lost === undefined ? [] : [holds('Conflicted', lost.reason, lost.message)]),
    ],
    isInTable,
    targets: targets.map(({ spec: { name, upstreamModel }, state, finding, isUsable, providerId }) => ({
      name,
      state,
      ...(finding === undefined ? {} : { message: finding.message }),
      ...(isUsable ? { upstream: { provider: providerId, model: upstreamModel } } : {}),
    })),
    ...(conflict !== undefined && mayKnow(claim, conflict.winner)
      ? { conflictsWith: { namespace: conflict.winner.namespace, name: conflict.winner.name } }
      : {}),
    ...(isInTable && drill !== undefined ? { drill } : {}),
  };
  return {
    verdict,
    ...(isInTable ? { entry: buildEntry(claim, described, entryTargets, served) } : {}),
    ...(isInTable || lost !== undefined || !targets.some(isOwnMatter)
      ? {}
      : { unavailable: { reason: spec.suspended ? 'Suspended' : 'NoUsableTarget', ...described } }),
    attachedTo: [...new Set(targets.flatMap(({ attachedTo }) => attachedTo ?? []))],
  };
}

interface JudgedTarget {
  readonly spec: TargetSpec;
  readonly state: TargetState;
  readonly isUsable: boolean;
  readonly finding?: Finding;
  readonly provider?: CompiledProvider;
  /** Id of the Provider, where the target may name it. */
  readonly attachedTo?: string;
  readonly providerId: string;
  /** Dialects that may be used with it, best first. */
  readonly apis: readonly UpstreamApi[];
  /** Where it has no price that the route states. */
  readonly quote?: Quote;
  /** Tokens that fit into its model, where the catalog knows it. */
  readonly contextLength?: number;
}

function judgeTarget(
  namespace: string,
  spec: TargetSpec,
  provider: CompiledProvider | undefined,
  quote: Quote | undefined,
  offered: readonly Api[],
  declared: readonly ModelCapability[],
): JudgedTarget {
  const ref = refOf(namespace, spec);
  const providerId = `${ref.namespace}/${ref.name}`;
  const use: TargetUse = { target: spec.name, namespace, provider: ref };
  const none = { spec, isUsable: false, providerId, apis: [], ...(quote === undefined ? {} : { quote }) };

  const unresolved = refNotFound(use, provider !== undefined) ?? refNotPermitted(use, provider?.sharedWith);
  if (unresolved !== undefined || provider === undefined) {
    const state = unresolved?.reason === 'RefNotPermitted' ? 'RefNotPermitted' : 'RefNotFound';
    return { ...none, state, ...(unresolved === undefined ? {} : { finding: unresolved }) };
  }
  const attached = { ...none, provider, attachedTo: providerId };
  const notReady = providerNotReady(use, provider.entry !== undefined, provider.outOfService);
  if (notReady !== undefined) return { ...attached, state: 'ProviderNotReady', finding: notReady };
  const { api: forced } = spec;
  const ofModel = provider.apisOf?.(spec.upstreamModel) ?? provider.apis;
  const dialects = { forced, spoken: provider.apis, ofModel, offered, declared };
  const apis = forced === undefined ? ofModel : provider.apis.filter((api) => api === forced);
  const unsupported = targetUnsupported(use, dialects);
  if (unsupported !== undefined) return { ...attached, apis, state: 'Unsupported', finding: unsupported };
  if (spec.weight === 0) return { ...attached, state: 'Drained' };
  return { ...attached, state: 'Ready', isUsable: true, apis };
}

/** Whether the callers of the route may learn of the target: not if the platform withholds it, or no gateway can serve it. */
function isOwnMatter({ state }: JudgedTarget): boolean {
  return state !== 'RefNotPermitted' && state !== 'Unsupported';
}

function whyOut({ spec, state, finding }: JudgedTarget): string {
  return finding?.message ?? (state === 'Drained' ? `target ${spec.name} is drained by weight: 0` : '');
}

/** Every dialect at every target that can be used. */
function pairAll(
  apis: readonly Api[],
  targets: readonly JudgedTarget[],
  declared: readonly ModelCapability[],
): Pairing[] {
  return targets
    .filter((target) => target.apis.length > 0)
    .flatMap((target) =>
      apis.map((api) => pairUp(api, { name: target.spec.name, apis: target.apis }, declared)),
    );
}

/** One target with all declared capabilities of the model is enough. */
function servedBy(apis: readonly Api[], pairings: readonly Pairing[]): Api[] {
  return apis.filter((api) => pairings.some((pairing) => pairing.api === api && pairing.unmet.length === 0));
}

function inCapabilityOrder(capabilities: readonly ModelCapability[]): ModelCapability[] {
  return [...capabilities].sort(compareText);
}

function acceptedCondition(fault: Finding | undefined, isSuspended: boolean, words: string): Condition {
  if (fault !== undefined) return fails('Accepted', fault);
  if (isSuspended) return holds('Accepted', 'Suspended', 'spec.suspended keeps it out of service');
  return holds('Accepted', 'Accepted', words);
}

/** One bad target does not spoil a route that has others. */
function referenceConditions(bad: readonly Finding[], usable: number): Condition[] {
  const [first, ...rest] = bad;
  if (first === undefined) return [holds('ResolvedRefs', 'ResolvedRefs')];
  const finding = joined(first, rest);
  if (usable === 0) return [fails('ResolvedRefs', finding)];
  return [holds('ResolvedRefs', 'ResolvedRefs'), holds('Degraded', finding.reason, finding.message)];
}

/** @param promised dialects of spec.apis; without it, those that are served. */
function translatableCondition(promised: readonly Api[], pairings: readonly Pairing[]): Condition {
  if (pairings.length === 0) return notJudgedWithoutTarget('Translatable');
  const served = servedBy(promised, pairings);
  const impossible = dialectImpossible(
    pairings.filter(({ api }) => promised.includes(api) && !served.includes(api)),
  );
  if (impossible !== undefined) return fails('Translatable', impossible);
  const foreign = pairings.filter(({ api, isNative }) => served.includes(api) && !isNative);
  if (foreign.length === 0) return holds('Translatable', 'Native');
  const isLossy = foreign.some(({ lost, refused }) => lost.length + refused.length > 0);
  return holds('Translatable', isLossy ? 'Lossy' : 'Translated', describePairings(foreign));
}

function pricedCondition(
  route: ModelRoute,
  targets: readonly TargetEntry[],
  judged: readonly JudgedTarget[],
  platform: PlatformSettings,
): Condition {
  if (targets.length === 0) return notJudgedWithoutTarget('Priced');
  const { spec, metadata } = route;
  const unpriced = noPrice(
    judged.flatMap(({ spec: target, quote }) =>
      quote !== undefined && 'why' in quote
        ? [{ name: target.name, why: quote.why, mayPrice: mayPrice(route, target, platform) }]
        : [],
    ),
    {
      namespace: metadata.namespace,
      isDenied: spec.unpriced === 'Deny',
      hasBudget: hasTenantBudget(metadata.namespace, platform),
    },
  );
  if (unpriced !== undefined) return fails('Priced', unpriced);
  const listed = targets.flatMap(({ name, price }) => {
    if (price?.source === 'provisioned') return [`target ${name} is provisioned capacity, its calls cost 0`];
    return price?.catalog === undefined ? [] : [`target ${name} by ${describeEntry(price.catalog)}`];
  });
  const ignored = judged.flatMap(({ spec: target }) =>
    (target.pricing ?? spec.pricing) === undefined || mayPrice(route, target, platform) ? [] : [target.name],
  );
  const words = ignored.length === 0 ? listed : [...listed, notCounting(ignored, metadata.namespace)];
  return holds('Priced', 'Priced', words.join('; '));
}

function describeEntry({
  name,
  version,
  provider,
  model,
  surchargePercent,
}: NonNullable<Price['catalog']>): string {
  const more = surchargePercent === undefined ? '' : `, and ${surchargePercent} % for its location`;
  return `the entry ${provider}/${model} of ${name} ${version}${more}`;
}

function notJudgedWithoutTarget(type: 'Translatable' | 'Priced'): Condition {
  const message = 'not evaluated, because no target can be used; see the condition Accepted';
  return { ...notEvaluated(type), message };
}

function buildTarget(
  route: ModelRoute,
  { spec, providerId, apis, quote, contextLength }: JudgedTarget,
  platform: PlatformSettings,
): TargetEntry {
  return {
    name: spec.name,
    provider: providerId,
    upstreamModel: spec.upstreamModel,
    priority: spec.priority,
    weight: spec.weight,
    dialects: apis.map((api) => upstreamDialectOfApi[api]),
    price: priceOf(statedPrice(route, spec, platform), quote),
    ...(contextLength === undefined ? {} : { contextLength }),
    timeouts: buildTimeouts(spec.timeouts),
    parameters: sortedMap(spec.parameters ?? {}),
  };
}

/** A stated price comes before the catalog's. */
function priceOf(stated: StatedPrice | undefined, quote: Quote | undefined): TargetEntry['price'] {
  if (stated !== undefined) return compilePrice(stated.pricing, stated.source);
  return quote !== undefined && 'price' in quote ? quote.price : null;
}

/** What callers see of the model, whether it is served or not. */
function describeModel(
  { route, ids, sharedWith, createdAt }: RouteClaim,
  judged: readonly JudgedTarget[],
  platform: PlatformSettings,
): Omit<UnavailableRoute, 'reason'> {
  const { spec, metadata } = route;
  const [model = spec.model, ...aliases] = ids;
  return {
    id: `${metadata.namespace}/${metadata.name}`,
    model,
    aliases,
    ...(spec.displayName === undefined ? {} : { displayName: spec.displayName }),
    ...(spec.description === undefined ? {} : { description: spec.description }),
    ownedBy: spec.ownedBy ?? ownerOf(metadata.namespace, judged, platform),
    createdAt: createdAt === '' ? 0 : Math.floor(Date.parse(createdAt) / 1000),
    visibility: spec.visibility,
    sharedWith,
    capabilities: [...(spec.capabilities ?? [])].sort(compareText),
    ...(spec.contextLength === undefined ? {} : { contextLength: spec.contextLength }),
    ...(spec.maxOutputTokens === undefined ? {} : { maxOutputTokens: spec.maxOutputTokens }),
  };
}

function buildEntry(
  { route: { spec } }: RouteClaim,
  described: Omit<UnavailableRoute, 'reason'>,
  targets: readonly TargetEntry[],
  served: readonly Api[],
): RouteEntry {
  const { failover } = spec;
  return {
    ...described,
    endpoints: served.map((api) => dialectOfApi[api]),
    ...buildLimits(spec.limits),
    timeouts: buildTimeouts(spec.timeouts),
    ...(spec.unpriced === 'MeterOnly' ? {} : { unpriced: spec.unpriced }),
    ...buildDelivery(spec),
    failover: {
      retryOn: [...failover.retryOn].sort(compareText),
      maxAttempts: failover.maxAttempts,
      attemptsPerTarget: failover.attemptsPerTarget,
      backoffBaseMs: toMs(failover.backoff.base),
      backoffMaxMs: toMs(failover.backoff.max),
      honorRetryAfter: failover.honorRetryAfter,
      ...(failover.affinity === 'None' ? {} : { affinity: failover.affinity }),
    },
    targets: [...targets].sort((a, b) => a.priority - b.priority || compareText(a.name, b.name)),
  };
}

/** Defaults are left out. */
function buildDelivery({
  delivery,
  holdBack,
  upstreamStreaming,
  responseModel,
}: ModelRoute['spec']): Pick<RouteEntry, 'delivery' | 'holdBack' | 'upstreamStreaming' | 'responseModel'> {
  const { events, duration } = holdBack ?? {};
  const held = {
    ...(events === undefined ? {} : { events }),
    ...(duration === undefined ? {} : { durationMs: toMs(duration) }),
  };
  return {
    ...(delivery === 'Stream' ? {} : { delivery }),
    ...(Object.keys(held).length === 0 ? {} : { holdBack: held }),
    ...(upstreamStreaming === 'Auto' ? {} : { upstreamStreaming }),
    ...(responseModel === 'Served' ? {} : { responseModel }),
  };
}

/** A tenant owns its models; a model of the platform belongs to the vendor that serves it first. */
function ownerOf(namespace: string, judged: readonly JudgedTarget[], platform: PlatformSettings): string {
  if (!platform.platformNamespaces.includes(namespace)) return namespace;
  // Of all targets, not of the usable ones: an outage must not change who owns a model.
  const first = judged.toSorted(
    (a, b) => a.spec.priority - b.spec.priority || compareText(a.spec.name, b.spec.name),
  );
  return first.find(({ provider }) => (provider?.ownedBy ?? '') !== '')?.provider?.ownedBy ?? namespace;
}

function buildTimeouts(timeouts: OwnTimeouts | undefined): Timeouts {
  const { connect, firstEvent, lastFirstEvent, liveness, progress, total, clientWrite } = timeouts ?? {};
  return {
    ...(connect === undefined ? {} : { connectMs: toMs(connect) }),
    ...(firstEvent === undefined ? {} : { firstEventMs: toMs(firstEvent) }),
    ...(lastFirstEvent === undefined ? {} : { lastFirstEventMs: toMs(lastFirstEvent) }),
    ...(liveness === undefined ? {} : { livenessMs: toMs(liveness) }),
    ...(progress === undefined ? {} : { progressMs: toMs(progress) }),
    ...(total === undefined ? {} : { totalMs: toMs(total) }),
    ...(clientWrite === undefined ? {} : { clientWriteMs: toMs(clientWrite) }),
  };
}
