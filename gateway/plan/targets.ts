// What does a plan say about each target? Candidates in their order, then the route's targets that cannot serve this request.

import { rankUpstreams } from '../../core/catalog/capabilities.ts';
import type { PlanTarget } from '../../core/contract/plan.ts';
import { findImpossible, impossible } from '../dialects/compatibility.ts';
import { parseWhole } from '../endpoints/parse-body.ts';
import { droppedAt } from '../pipeline/attempt-io.ts';
import { isPaidFromBudget } from '../pipeline/budgets.ts';
import { isOwnProvider } from '../pipeline/client-headers.ts';
import type { Saturation } from '../pipeline/limits.ts';
import type { Asking } from '../pipeline/parts.ts';
import { firstOf, translateFor } from '../pipeline/route-exchange.ts';
import { GatewayError } from '../request/errors.ts';
import type { Candidate } from '../route/plan.ts';
import type { RouteView, TargetView } from '../table/view.ts';
import type { Foreseen } from './foresee-attempts.ts';
import type { Planned, PlanParts } from './parts.ts';
import {
  drained,
  keyless,
  lastResort,
  sayAfter,
  sayBeyond,
  sayBreaker,
  sayCooldown,
  sayFirst,
  sayQuota,
  suspect,
  unpricedBudget,
  unpricedDenied,
  waitedFor,
} from './words.ts';

type DescribedTarget = Omit<PlanTarget, 'order'>;

/** @param full Candidates whose quotas are used up. */
export function describeTargets(
  parts: Pick<PlanParts, 'clock' | 'health'>,
  planned: Planned,
  foreseen: Foreseen,
  full: ReadonlyMap<Candidate, Saturation>,
  isKeyNamed: boolean,
): readonly PlanTarget[] {
  const { candidates, route } = planned.plan;
  const { affinity, maxAttempts } = route.entry.failover;
  const nowMs = parts.clock.now();
  return candidates.map((candidate, position): PlanTarget => {
    const { health } = parts;
    const trouble = troublesOf(parts, candidate, full.get(candidate));
    const isUsable = health.isUsable(candidate, nowMs) && !full.has(candidate);
    const isCooling = health.coolsForMs(candidate, nowMs, false) !== undefined;
    const share = affinity === undefined ? shareOf(candidate, candidates) : undefined;
    const ways = foreseen.after.get(position);
    const isTried = position === foreseen.first || ways !== undefined;
    const { priority } = candidate.target.entry;
    const why =
      position === foreseen.first
        ? [isUsable ? sayFirst(priority, share, affinity, isKeyNamed) : isCooling ? waitedFor : lastResort]
        : ways !== undefined
          ? [sayAfter(ways)]
          : isUsable
            ? [sayBeyond(maxAttempts)]
            : [];
    return {
      order: position + 1,
      ...namesOf(planned, candidate.target),
      ...(candidate.endpoint.key && { providerKey: candidate.endpoint.key.name }),
      ...(share === undefined ? {} : { share }),
      upstreamDialect: candidate.dialect,
      ...verdictOf(planned, candidate),
      state: isTried ? 'wouldBeTried' : 'wouldBeSkipped',
      reasons: [...why, ...trouble],
    };
  });
}

function troublesOf(
  { health, clock }: Pick<PlanParts, 'clock' | 'health'>,
  candidate: Candidate,
  fullness: Saturation | undefined,
): readonly string[] {
  const nowMs = clock.now();
  const cooldown = health.cooldownReason(candidate, nowMs);
  return [
    ...(cooldown === undefined
      ? []
      : [
          sayCooldown({
            reason: cooldown,
            isForModel: health.restsForModel(candidate, nowMs),
            restMs: health.restMs(candidate, nowMs),
            isOnTrial: health.isOnTrial(candidate, nowMs),
          }),
        ]),
    ...health.breakersOf(candidate, nowMs).map(sayBreaker),
    ...(fullness === undefined ? [] : [sayQuota(fullness)]),
    ...(candidate.endpoint.isSuspect ? [suspect] : []),
  ];
}

/** By weight, of the targets of its priority; undefined if it is the only one. */
function shareOf({ target }: Candidate, candidates: readonly Candidate[]): number | undefined {
  const peers = new Set(
    candidates.map((one) => one.target).filter(({ entry }) => entry.priority === target.entry.priority),
  );
  if (peers.size < 2) return undefined;
  const weights = [...peers].reduce((sum, { entry }) => sum + entry.weight, 0);
  return Math.round((target.entry.weight / weights) * 1e6) / 1e6;
}

function verdictOf(planned: Planned, candidate: Candidate): Pick<DescribedTarget, 'verdict' | 'lostFields'> {
  const lostFields = [...droppedAt(planned, candidate)];
  if (lostFields.length > 0) return { verdict: 'lossy', lostFields };
  const isNative = candidate.dialect === planned.dialect.name || planned.translation === undefined;
  return { verdict: isNative ? 'native' : 'translated', lostFields };
}

function namesOf(
  asking: Asking,
  target: TargetView,
): Pick<DescribedTarget, 'name' | 'provider' | 'upstreamModel' | 'endpoint' | 'priority' | 'isOwn'> {
  const { name, provider, upstreamModel, priority } = target.entry;
  return {
    name,
    provider,
    upstreamModel,
    endpoint: new URL(target.provider.entry.baseUrl).host,
    priority,
    isOwn: isOwnProvider(asking, { target }),
  };
}

/** Targets of the route that the plan has left out, and why. */
export function describeLeftOut(
  asking: Asking,
  route: RouteView,
  inPlan: readonly Candidate[],
): readonly DescribedTarget[] {
  const used = new Set(inPlan.map(({ target }) => target));
  return route.targets
    .filter((target) => !used.has(target))
    .map((target): DescribedTarget => {
      const { reason, isImpossible } = whyLeftOut(asking, route, target);
      return {
        ...namesOf(asking, target),
        verdict: isImpossible ? 'impossible' : (baseVerdict(asking, target) ?? 'impossible'),
        lostFields: [],
        state: 'wouldBeSkipped',
        reasons: [reason],
      };
    });
}

function baseVerdict({ dialect }: Asking, { entry }: TargetView): 'native' | 'translated' | undefined {
  const [upstream] = rankUpstreams(dialect.name, entry.dialects);
  return upstream === undefined ? undefined : upstream === dialect.name ? 'native' : 'translated';
}

interface LeftOut {
  readonly reason: string;
  readonly isImpossible: boolean;
}

function whyLeftOut(asking: Asking, route: RouteView, target: TargetView): LeftOut {
  const { entry, endpoints } = target;
  const possible = (reason: string): LeftOut => ({ reason, isImpossible: false });
  if (entry.weight === 0) return possible(drained);
  if (endpoints.every(({ weight }) => weight === 0)) return possible(keyless);
  if (entry.price === null && !isOwnProvider(asking, { target })) {
    if (route.entry.unpriced === 'Deny') return possible(unpricedDenied);
    if (isPaidFromBudget(asking)) return possible(unpricedBudget);
  }
  return { reason: whyNotCarried(asking, route, target), isImpossible: true };
}

function whyNotCarried(asking: Asking, route: RouteView, target: TargetView): string {
  const { dialect, body } = asking;
  const [upstream] = rankUpstreams(dialect.name, target.entry.dialects);
  if (upstream === undefined)
    return 'The dialect of the request cannot be translated to any dialect of this target.';
  const refused = 'The request itself is not valid.';
  try {
    parseWhole(body);
    const [endpoint] = target.endpoints;
    const candidates = endpoint === undefined ? [] : [{ target, endpoint, dialect: upstream }];
    const conversation = firstOf(translateFor(asking, { route, candidates }));
    const ask = findImpossible(dialect.name, upstream, conversation, target.provider.entry);
    return ask === undefined ? refused : impossible(ask, upstream).message;
  } catch (error) {
    return error instanceof GatewayError ? error.message : refused;
  }
}
