// Is the object programmed, and is it time to report it? True is reported once for a table generation and then kept when pods come and
// go (their number is counted again). Pending is reported only after it has lasted for a while.
//
//            published, some pod lags                5 s            30 s
//   (any) ──────────────────────────► not reported ─────► Pending ─────► Pending, naming the pods
//                                          │                 │               │
//                                          └───── every pod runs it ─────────┴──► Programmed, for good

import { timeOf } from '../../core/kube/time.ts';
import { faultOf, wishOf } from '../compile/ready.ts';
import type { Condition, Verdict } from '../compile/verdict.ts';
import type { Wait } from '../hold/waits.ts';
import { allRun, type PodsState, progressOf } from '../pods/pods-state.ts';
import type { ObjectStatus } from './object-status.ts';

interface ProgrammedFacts {
  readonly verdict: Pick<Verdict, 'isInTable' | 'generation' | 'held'> & { readonly kind: string };
  /** All but Programmed, Ready and Healthy. */
  readonly conditions: readonly Condition[];
  readonly since: number | undefined;
  /** Why the table carries another form, or none, though nothing is wrong with this one. */
  readonly wait?: Wait | undefined;
  readonly pods: PodsState;
  readonly present: ObjectStatus | undefined;
  readonly nowMs: number;
  readonly waitingSinceMs: number;
}

interface SettledProgrammed {
  readonly condition: Condition;
  readonly where?: NonNullable<ObjectStatus['programmed']>;
  /** Nothing at all is to be written before: all of it together is one write then. */
  readonly holdUntilMs?: number;
  /** When the result changes with time alone. */
  readonly againMs?: number;
}

const quietMs = 5_000;
const detailMs = 30_000;
const podsNamedMax = 3;

export function settleProgrammed(facts: ProgrammedFacts): SettledProgrammed {
  const { since, pods, wait } = facts;
  if (wait !== undefined) return { condition: { type: 'Programmed', ...wait } };
  const refusal = refusedBy(facts.verdict, facts.conditions);
  if (refusal !== undefined) return notProgrammed(refusal.type);
  const kept = keptTrue(facts);
  if (kept !== undefined) return kept;
  if (since !== undefined && allRun(pods, since)) return sayProgrammed(facts, since);
  return pending(facts);
}

/**
 * The condition that keeps it out. An object that is right and is kept out by its own wish (suspended, disabled, past
 * its end) is programmed once every pod runs a table without it.
 */
function refusedBy(
  verdict: Pick<Verdict, 'isInTable'>,
  conditions: readonly Condition[],
): Condition | undefined {
  if (verdict.isInTable) return undefined;
  const find = (wanted: string) => conditions.find(({ type }) => type === wanted);
  const fault = faultOf(conditions);
  if (fault !== undefined) return fault;
  const isByWish = wishOf(conditions) !== undefined || find('Expired') !== undefined;
  return isByWish ? undefined : (find('Conflicted') ?? find('Accepted'));
}

function notProgrammed(because: string): SettledProgrammed {
  const message = `no gateway serves it; see the condition ${because}`;
  return { condition: { type: 'Programmed', status: 'False', reason: 'NotProgrammed', message } };
}

/** A form that was once programmed stays so: later pods read the present table before they are ready. */
function keptTrue(facts: ProgrammedFacts): SettledProgrammed | undefined {
  const { verdict, since, present } = facts;
  const before = present?.conditions?.find(({ type }) => type === 'Programmed');
  const where = present?.programmed;
  if (before?.status !== 'True' || where === undefined) return undefined;
  // A new leader that has not published yet cannot contradict the former leader.
  const isOfThisForm =
    since === undefined
      ? before.observedGeneration === (verdict.held?.generation ?? verdict.generation)
      : where.tableGeneration === since;
  if (!isOfThisForm) return undefined;
  if (since !== undefined && isCountedAgain(facts, where)) return sayProgrammed(facts, since);
  const { message } = before;
  return { condition: { type: 'Programmed', status: 'True', reason: 'Programmed', message }, where };
}

/** Not of ApiKeys: there are so many of them that each pod that comes would cost minutes of writes. */
function isCountedAgain(
  { verdict, pods, since }: ProgrammedFacts,
  before: NonNullable<ObjectStatus['programmed']>,
): boolean {
  const isSame = before.runningPods === pods.ready && before.readyPods === pods.ready;
  if (verdict.kind === 'ApiKey' || isSame) return false;
  return pods.areKnown && (pods.ready === 0 || (since !== undefined && allRun(pods, since)));
}

function sayProgrammed({ verdict, pods, nowMs }: ProgrammedFacts, since: number): SettledProgrammed {
  const { ready } = pods;
  const what = verdict.isInTable ? 'on' : 'out of service on';
  return {
    condition: {
      type: 'Programmed',
      status: 'True',
      reason: 'Programmed',
      message: `${what} ${ready}/${ready} gateway pods at table generation ${since}`,
    },
    where: { tableGeneration: since, runningPods: ready, readyPods: ready, observedAt: timeOf(nowMs) },
  };
}

function pending(facts: ProgrammedFacts): SettledProgrammed {
  const { nowMs, waitingSinceMs } = facts;
  const detailAtMs = waitingSinceMs + detailMs;
  const said = saidPending(facts);
  if (said === undefined) {
    if (nowMs < waitingSinceMs + quietMs) {
      return { ...sayPending(facts, false), holdUntilMs: waitingSinceMs + quietMs };
    }
    return nowMs < detailAtMs
      ? { ...sayPending(facts, false), againMs: detailAtMs }
      : sayPending(facts, true);
  }
  const next = sayPending(facts, true);
  if (next.condition.message === said.condition.message) return said;
  // Pods come and go, and each changes the words: one write in 30 s at most.
  return nowMs < detailAtMs ? { ...said, againMs: detailAtMs } : next;
}

/** The wait that the status already reports for this form. */
function saidPending({ since, present }: ProgrammedFacts): SettledProgrammed | undefined {
  const before = present?.conditions?.find(({ type }) => type === 'Programmed');
  const where = present?.programmed;
  if (before?.status !== 'False' || before.reason !== 'Pending' || where?.tableGeneration !== since)
    return undefined;
  const { message } = before;
  return {
    condition: { type: 'Programmed', status: 'False', reason: 'Pending', message },
    ...(where === undefined ? {} : { where }),
  };
}

function sayPending({ since, pods, nowMs }: ProgrammedFacts, hasDetail: boolean): SettledProgrammed {
  const { running, ready, lagging } =
    since === undefined ? { running: 0, ready: pods.ready, lagging: [] } : progressOf(pods, since);
  return {
    condition: { type: 'Programmed', status: 'False', reason: 'Pending', message: text() },
    where: {
      ...(since === undefined ? {} : { tableGeneration: since }),
      runningPods: running,
      readyPods: ready,
      observedAt: timeOf(nowMs),
    },
  };

  function text(): string {
    if (since === undefined)
      return 'no table with the current form is published yet; if this lasts, check the log of the operator';
    if (!pods.areKnown)
      return 'the operator cannot watch the gateway pods, so their readiness is unknown; check its rights and its log';
    if (ready === 0) return 'no gateway pod is ready; check the pods of the gateway Deployment';
    if (!hasDetail) return `waiting for ${ready - running} of ${ready} gateway pods`;
    const more = lagging.length - podsNamedMax;
    return [
      `${running}/${ready} gateway pods`,
      ...lagging.slice(0, podsNamedMax),
      ...(more > 0 ? [`and ${more} more`] : []),
    ].join('; ');
  }
}
