// What is to be written into the status of one object now? Nothing, nothing yet, or this. Pure: the verdict, the
// present status and the state of the gateway pods come in.
//
// It keeps writes few: a state that resolves within 5 s is never written, and a new count of pods or a new time is no reason to write.

import { type ConditionType, REASONS, type Reason } from '../../core/catalog/conditions.ts';
import { timeOf } from '../../core/kube/time.ts';
import { countTargets } from '../compile/count-targets.ts';
import { readyCondition } from '../compile/ready.ts';
import type { Condition, Verdict } from '../compile/verdict.ts';
import { cutText } from '../cut-text.ts';
import type { DrillReport } from '../drills/drills.ts';
import type { Wait } from '../hold/waits.ts';
import type { PodsState } from '../pods/pods-state.ts';
import type { State } from '../resources/fields.ts';
import type { Exhausted } from '../usage/exhausted.ts';
import type { RawObject } from '../watch/snapshot.ts';
import { credentialsCondition } from './credentials-condition.ts';
import type { ProviderCredentials } from './credentials-of.ts';
import { earliest } from './earliest.ts';
import type { ProviderHealth } from './health-of.ts';
import { type ObjectStatus, presentStatus, type StoredCondition } from './object-status.ts';
import { isSameStatus } from './same-status.ts';
import { settleBudget } from './settle-budget.ts';
import { settleDrill } from './settle-drill.ts';
import { type SettledHealth, settleHealth } from './settle-health.ts';
import { settleProgrammed } from './settle-programmed.ts';
import { settleProgress } from './settle-progress.ts';
import { type SettledTargets, settleTargets, type TargetTrouble } from './settle-targets.ts';
import { stateOf } from './state-of.ts';

export interface StatusFacts {
  readonly verdict: Verdict;
  /** The object as it was read, with its present status. */
  readonly object: RawObject;
  /** Table generation in which its present form first appeared; undefined before that one is published. */
  readonly since: number | undefined;
  /** Why the table carries another form, or none, though nothing is wrong with this one. */
  readonly wait?: Wait | undefined;
  readonly pods: PodsState;
  /** Of a Provider; undefined while not every pod was heard. */
  readonly health?: ProviderHealth | undefined;
  /** Of a Provider; undefined while no pod has reported any. */
  readonly credentials?: ProviderCredentials | undefined;
  /** Of a ModelRoute: names of targets at which no pod gets an answer; undefined while not every pod was heard. */
  readonly failingTargets?: ReadonlyMap<string, TargetTrouble> | undefined;
  /** Of a ModelRoute: what this operator has seen of its drill. */
  readonly drill?: DrillReport | undefined;
  /** Of an ApiKey: its budgets, and those of its namespace, that refuse calls now; undefined while the ledger was not heard. */
  readonly exhausted?: readonly Exhausted[] | undefined;
  /** Why the Secret with the key could not be written, where the last try failed. */
  readonly issueFailure?: string | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /**
   * When the first `wait` (or write with `untilMs`) on this value of `since` was given, of those that came one after
   * the other; undefined where the last decision was none of them.
   */
  readonly waitingSinceMs: number | undefined;
}

export interface Transition {
  readonly type: ConditionType;
  /** Undefined where the condition was not there. */
  readonly from: Condition['status'] | undefined;
  readonly to: Condition['status'];
  readonly reason: Reason;
  readonly message: string;
  /** Whether that is good news, where type and status do not say so. */
  readonly isGood?: boolean;
}

export type StatusDecision =
  | {
      readonly type: 'same';
      /** Decide again then, though nothing else happens; no wait is in progress for it. */
      readonly lookAgainMs?: number;
    }
  /** Decide again then, or as soon as a fact changes. */
  | { readonly type: 'wait'; readonly untilMs: number }
  | {
      readonly type: 'write';
      readonly status: ObjectStatus;
      /** Conditions whose status or reason has changed. */
      readonly transitions: readonly Transition[];
      /** Decide again then, though nothing else happens. */
      readonly untilMs?: number;
      readonly lookAgainMs?: number;
    };

const transientMs = 5_000;
/** Where thousands of keys are made, each waits a while for its turn; that would be a write more for each. */
const issueMs = 60_000;
const messageCharsMax = 32_768;
const detailCharsMax = 1_024;

export function decideStatus(facts: StatusFacts): StatusDecision {
  const { verdict, nowMs } = facts;
  const present = presentStatus(verdict.kind, facts.object);
  const waitingSinceMs = facts.waitingSinceMs ?? nowMs;
  const own = keepAccepted(ownConditions(facts), verdict, present);
  const programmed = settleProgrammed({ ...facts, conditions: own, present, waitingSinceMs });
  const health =
    verdict.kind === 'Provider' ? settleHealth(verdict, facts.health, present, nowMs) : undefined;
  const targets =
    verdict.kind === 'ModelRoute' ? settleTargets(verdict, facts.failingTargets, present, nowMs) : undefined;

  const budget = verdict.kind === 'ApiKey' ? settleBudget(facts.exhausted, present) : undefined;

  const judged = [
    ...own,
    ...(health === undefined ? [] : [health.condition]),
    ...credentialsCondition(verdict, facts.credentials, present),
    ...(budget === undefined ? [] : [budget]),
    programmed.condition,
  ];
  const ready = readyCondition(judged, verdict);
  const progress = settleProgress(ready, verdict.generation, present, nowMs);
  const isStalled = ({ type }: Condition) => type === 'Stalled';
  // Stalled comes last, so that a reader of the list ends with the fault.
  const conditions = [
    ...judged.filter((condition) => !isStalled(condition)),
    ready,
    ...judged.filter(isStalled),
    ...(progress.condition === undefined ? [] : [progress.condition]),
  ].map((condition) => heldBack(condition, verdict));
  const state = stateOf({ conditions, isHeld: verdict.held !== undefined, targets: targets?.targets });
  const status = {
    ...(verdict.generation === undefined ? {} : { observedGeneration: verdict.generation }),
    state,
    ...untilOf(state, facts, present),
    ...details(facts, health, targets, present),
    ...(programmed.where === undefined ? {} : { programmed: programmed.where }),
    conditions: conditions.map((condition) => stored(condition, verdict, present, nowMs)),
  };

  const againMs = earliest(programmed.againMs, health?.againMs, targets?.againMs);
  const lookAgain = progress.againMs === undefined ? {} : { lookAgainMs: progress.againMs };
  if (isSameStatus(status, present)) {
    return againMs === undefined
      ? { type: 'same', ...lookAgain }
      : { type: 'wait', untilMs: earliest(againMs, progress.againMs) ?? againMs };
  }
  const holdMs = programmed.holdUntilMs ?? holdTransient(facts, status, present, waitingSinceMs);
  if (holdMs !== undefined && nowMs < holdMs)
    return { type: 'wait', untilMs: earliest(holdMs, againMs) ?? holdMs };
  return {
    type: 'write',
    status,
    transitions: [...endOfHold(conditions, present, verdict), ...transitionsOf(conditions, present)],
    ...(againMs === undefined ? {} : { untilMs: againMs }),
    ...lookAgain,
  };
}

/** When the state ends without any action; only for the two states that do. */
function untilOf(
  state: State,
  { verdict, exhausted }: StatusFacts,
  present: ObjectStatus | undefined,
): { readonly until?: string } {
  if (state === 'Held' && verdict.held !== undefined) return { until: timeOf(verdict.held.untilMs) };
  if (state !== 'OverBudget') return {};
  // While the ledger was not heard, what was said before stays.
  const times = exhausted?.map(({ untilMs }) => untilMs) ?? [];
  const last = Math.max(...times.map((time) => time ?? Number.POSITIVE_INFINITY));
  const until = exhausted === undefined ? present?.until : Number.isFinite(last) ? timeOf(last) : undefined;
  return until === undefined ? {} : { until };
}

/** The verdict's conditions, with what the operator alone knows: that it could not write the Secret. */
function ownConditions({ verdict, issueFailure }: StatusFacts): readonly Condition[] {
  if (issueFailure === undefined) return verdict.conditions;
  return verdict.conditions.map((condition) =>
    condition.type === 'Issued' && ['SecretPending', 'SecretCreated'].includes(condition.reason)
      ? { ...condition, message: `the Secret with the key could not be written: ${issueFailure}` }
      : condition,
  );
}

/** A condition as it comes to stand in the status: of another generation than the present one, where it says so. */
type Said = Condition & { readonly observedGeneration?: number };

const JUDGE_THE_FORM: readonly ConditionType[] = ['Accepted', 'ResolvedRefs', 'Translatable', 'Priced'];

/**
 * An object that serves in its last known good form keeps Accepted, with the generation of that form. Degraded reports the fault of the
 * present form.
 */
function keepAccepted(
  own: readonly Condition[],
  { held }: Verdict,
  present: ObjectStatus | undefined,
): readonly Said[] {
  const before = (type: ConditionType) => present?.conditions?.find((one) => one.type === type);
  const isRefused = own.some(({ type, status }) => type === 'Accepted' && status === 'False');
  if (held === undefined || !isRefused || before('Accepted')?.status !== 'True') return own;
  return own.map((condition) => {
    const said = JUDGE_THE_FORM.includes(condition.type) ? before(condition.type) : undefined;
    if (said === undefined || !isReason(said.reason)) return condition;
    const { status, reason, message, observedGeneration } = said;
    return {
      type: condition.type,
      status,
      reason,
      message,
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
    };
  });
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(REASONS, text);
}

/** Conditions about the serving form carry that form's generation. */
function heldBack(condition: Said, { held }: Verdict): Said {
  const isOfServed = condition.type === 'Programmed' || condition.type === 'Ready';
  if (held?.generation === undefined || !isOfServed) return condition;
  return { ...condition, observedGeneration: held.generation };
}

function stored(
  condition: Said,
  { generation, held }: Verdict,
  present: ObjectStatus | undefined,
  nowMs: number,
): StoredCondition {
  const { type, status, reason, message } = condition;
  const before = present?.conditions?.find((one) => one.type === type);
  const observedGeneration = condition.observedGeneration ?? generation;
  return {
    type,
    status,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    lastTransitionTime: transitionTime(),
    reason,
    message: cutText(message, messageCharsMax),
  };

  function transitionTime(): string {
    // The one time that is read again: a new leader learns from it since when the form is held, also where the object was
    // degraded for another reason before.
    if (reason === 'LastKnownGood' && type === 'Degraded' && held !== undefined) return timeOf(held.sinceMs);
    return before?.status === status ? before.lastTransitionTime : timeOf(nowMs);
  }
}

/** The members of a status that belong to its kind alone. */
function details(
  { verdict, drill }: StatusFacts,
  health: SettledHealth | undefined,
  targets: SettledTargets | undefined,
  present: ObjectStatus | undefined,
) {
  switch (verdict.kind) {
    case 'Provider':
      return {
        ...(verdict.endpoint === undefined ? {} : { endpoint: verdict.endpoint }),
        attachedRoutes: verdict.attachedRoutes,
        keys: (health?.keys ?? []).map(({ message, ...key }) => ({ ...key, ...withMessage(message) })),
        ...(health?.health === undefined ? {} : { health: health.health }),
      };
    case 'ModelRoute': {
      const drilled = settleDrill(verdict.drill, drill, present);
      return {
        ...countTargets(targets?.targets ?? []),
        targets: (targets?.targets ?? []).map(({ message, ...target }) => ({
          ...target,
          ...withMessage(message),
        })),
        ...(verdict.conflictsWith === undefined ? {} : { conflictsWith: { ...verdict.conflictsWith } }),
        ...(drilled === undefined ? {} : { drill: drilled }),
      };
    }
    case 'ApiKey': {
      const { secretName, keyHint, expiresAt, observedTrigger, nextRotationAt } = verdict;
      return {
        ...(secretName === undefined ? {} : { secretName }),
        ...(keyHint === undefined ? {} : { keyHint }),
        versions: verdict.needsSecret ? lost(present) : numbered(verdict.versions, present),
        ...(observedTrigger === undefined ? {} : { observedTrigger }),
        ...(expiresAt === undefined ? {} : { expiresAt }),
        ...(nextRotationAt === undefined ? {} : { nextRotationAt }),
      };
    }
  }
}

function withMessage(message: string | undefined): { message?: string } {
  return message === undefined ? {} : { message: cutText(message, detailCharsMax) };
}

type Version = Extract<Verdict, { kind: 'ApiKey' }>['versions'][number];

/** A version keeps the number it once got; a new one counts on. */
function numbered(versions: readonly Version[], present: ObjectStatus | undefined) {
  const known = knownVersions(present);
  let last = Math.max(0, ...known.map(({ id }) => id));
  return versions.map((version) => {
    const before = known.find(({ fingerprint }) => fingerprint === version.fingerprint);
    if (version.id === undefined && before === undefined) last += 1;
    return { ...version, id: version.id ?? before?.id ?? last };
  });
}

/** The keys of a Secret that is gone: their numbers are not given again. */
function lost(present: ObjectStatus | undefined) {
  return knownVersions(present).map((version) => ({ ...version, state: 'Expired' as const }));
}

function knownVersions(present: ObjectStatus | undefined) {
  return present !== undefined && 'versions' in present ? (present.versions ?? []) : [];
}

/** A state that ends within moments is not worth a separate write. */
function holdTransient(
  { verdict, issueFailure }: StatusFacts,
  status: ObjectStatus,
  present: ObjectStatus | undefined,
  waitingSinceMs: number,
): number | undefined {
  if (verdict.kind === 'ApiKey' && verdict.needsSecret && issueFailure === undefined) {
    return waitingSinceMs + issueMs;
  }
  // While many routes come or go, their number would be written with each of them.
  if (verdict.kind === 'Provider' && present !== undefined && 'attachedRoutes' in present) {
    const { attachedRoutes } = present;
    // The first and the last of them decide whether it may be deleted.
    const isTurn = (attachedRoutes === 0) !== (verdict.attachedRoutes === 0);
    if (attachedRoutes !== undefined && !isTurn && isSameStatus({ ...status, attachedRoutes }, present)) {
      return waitingSinceMs + transientMs;
    }
  }
  return undefined;
}

function transitionsOf(
  conditions: readonly Condition[],
  present: ObjectStatus | undefined,
): readonly Transition[] {
  return conditions.flatMap(({ type, status, reason, message }) => {
    const before = present?.conditions?.find((one) => one.type === type);
    if (before?.status === status && before.reason === reason) return [];
    return [{ type, from: before?.status, to: status, reason, message }];
  });
}

/** No condition reports the end of a hold, but its event is still sent. */
function endOfHold(
  conditions: readonly Condition[],
  present: ObjectStatus | undefined,
  { isInTable }: Verdict,
): readonly Transition[] {
  const isHold = ({ type, reason }: { readonly type: string; readonly reason: string }) =>
    type === 'Degraded' && reason === 'LastKnownGood';
  if (present?.conditions?.some(isHold) !== true || conditions.some(isHold)) return [];
  const message = isInTable
    ? 'the current form serves; the last good form is no longer needed'
    : 'the last good form left service: its time is over, or it may no longer be used';
  return [
    { type: 'Degraded', from: 'True', to: 'False', reason: 'LastKnownGood', message, isGood: isInTable },
  ];
}
