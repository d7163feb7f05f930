// Does the next target take over? Sends one request of our own through the whole pipeline, exactly as a caller's would go. Only the ends
// differ: the upstreams are simulated, the answer is dropped, and records, metrics and breakers do not count the request. The request
// follows the route as written, whatever is known about the health of its upstreams.

import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import {
  type DrillFault,
  type DrillOrder,
  type DrillOutcome,
  drillFaultSchema,
} from '../../core/contract/exchange.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import { findDialect } from '../dialects/registry.ts';
import { noLimits } from '../limits/limiter.ts';
import { openMemoryJournal } from '../meter/journal.ts';
import { RequestMetrics } from '../meter/request-metrics.ts';
import { type Exchange, type PipelineDefaults, type PipelineParts, timeoutFor } from '../pipeline/parts.ts';
import { routeExchange } from '../pipeline/route-exchange.ts';
import { serve } from '../pipeline.ts';
import { GatewayError } from '../request/errors.ts';
import { Health } from '../route/health.ts';
import { RefusedMembers } from '../route/refused-members.ts';
import { AnswerRoom } from '../stream/answer-room.ts';
import { OpenStreams } from '../stream/open-streams.ts';
import { TimerQueue } from '../stream/timer-queue.ts';
import type { RouteView, TableView } from '../table/view.ts';
import { staticKey } from '../upstream/credential.ts';
import { asWritten } from './as-written.ts';
import { type DrillFacts, judgeDrill } from './judge-drill.ts';
import { simulateUpstreams } from './simulated-upstream.ts';
import { syntheticRequest } from './synthetic-request.ts';

interface DrillParts {
  readonly clock: Clock;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly defaults: PipelineDefaults;
  /** A failure of ours, for the log. */
  onFailure(error: unknown, requestId: string): void;
  /** The table of the moment; a drill takes it once, as a request does. */
  view(): TableView | undefined;
}

/** Never rejects. */
export async function runDrill(parts: DrillParts, order: DrillOrder): Promise<DrillOutcome> {
  const { id } = order;
  const fault = drillFaultSchema.safeParse(order.fault).data;
  if (fault === undefined) {
    const message = `the gateway pod does not know the fault ${order.fault}: it is older than the operator`;
    return { id, isPassed: false, message };
  }
  const view = parts.view();
  const route = view?.routes.find(({ entry }) => entry.id === order.route);
  if (view === undefined || route === undefined) {
    return { id, isPassed: false, message: 'the gateway pod does not have the model' };
  }
  try {
    return { id, ...judgeDrill(await playDrill(parts, asWritten(view, route), route, fault, order)) };
  } catch (error) {
    const why =
      error instanceof GatewayError
        ? error.message
        : 'the gateway failed during the drill; its log has the cause';
    return { id, isPassed: false, message: `the drill did not finish: ${why}`.slice(0, 1_000) };
  }
}

async function playDrill(
  { clock, random, defaults, onFailure }: DrillParts,
  view: TableView,
  route: RouteView,
  fault: DrillFault,
  { takeoverWithinMs }: DrillOrder,
): Promise<DrillFacts> {
  const upstreams = simulateUpstreams(fault, clock);
  const records: LedgerRecord[] = [];
  let contentAtMs: number | undefined;
  const timers = new TimerQueue(clock);
  const parts: PipelineParts = {
    clock,
    timers,
    random,
    defaults,
    // Health starts empty, and results stay in here.
    health: new Health(random),
    refused: new RefusedMembers(),
    pools: noPools,
    credentials: { of: staticKey },
    play: upstreams.play,
    journal: openMemoryJournal((record) => {
      records.push(record);
      const { durationMs, firstContentMs = durationMs } = record;
      if (record.outcome === 'answered') contentAtMs = clock.now() - (durationMs - firstContentMs);
    }),
    // Their registry is never scraped.
    metrics: new RequestMetrics(),
    streams: new OpenStreams(),
    answers: new AnswerRoom(Number.POSITIVE_INFINITY),
    limits: noLimits,
    onFailure,
    holder: { current: () => view },
  };
  const exchange = openExchange(clock, view, route);
  const routed = routeExchange(parts, exchange);
  const error = await new Promise<unknown>((resolve) =>
    serve(parts, exchange, { onServed: () => resolve(undefined), onFailed: resolve }),
  );
  // The caller is gone: close its timers.
  exchange.response.emit('close');
  timers.close();
  if (error !== undefined && !(error instanceof GatewayError)) throw error;

  const { candidates } = routed.plan;
  const faulty = upstreams.faulty() ?? '';
  const first = candidates.find(({ target }) => target.entry.name === faulty);
  const faultAtMs = upstreams.faultAtMs();
  return {
    fault,
    takeoverWithinMs,
    failover: route.entry.failover,
    faulty,
    keysOfFaulty: candidates.filter(({ target }) => target.entry.name === faulty).length,
    others: new Set(candidates.map(({ target }) => target.entry.name).filter((name) => name !== faulty)),
    leftOut: route.targets
      .map(({ entry }) => entry.name)
      .filter((name) => candidates.every(({ target }) => target.entry.name !== name)),
    firstEventMs: first && timeoutFor(routed, first, 'firstEventMs', defaults),
    attempts: records.map(({ target, outcome }) => ({ target, outcome })),
    takeoverMs:
      contentAtMs === undefined || faultAtMs === undefined
        ? undefined
        : Math.max(0, Math.round(contentAtMs - faultAtMs)),
    refusal: error?.message,
  };
}

function openExchange(clock: Clock, view: TableView, { entry, namespace }: RouteView): Exchange {
  const [name = 'openai-chat'] = entry.endpoints;
  const dialect = findDialect(name);
  return {
    dialect,
    view,
    caller: { key: { sha256: '0'.repeat(64), id: `${namespace}/drill` }, namespace },
    body: syntheticRequest(name, entry.model),
    requestId: 'req_drill',
    request: { url: `/v1${dialect.path}`, rawHeaders: [] },
    // A socket that was never connected: what is written is kept by the response, and goes with it.
    response: new ServerResponse(new IncomingMessage(new Socket())),
    isClosing: false,
    arrivedAt: clock.now(),
  };
}

/** Reached by nothing, as long as everything is played. */
const noPools: PipelineParts['pools'] = {
  poolFor() {
    throw new Error('a drill opens no connection');
  },
};
