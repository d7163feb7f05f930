// A whole gateway out of its parts: serving when the promise resolves, gone when it is drained.

import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { hostname } from 'node:os';
import { type Clock, systemClock } from '../../core/clock.ts';
import { listenAt } from '../../core/telemetry/process-server.ts';
import type { TelemetrySettings } from '../../core/telemetry/settings.ts';
import { Admission } from '../admission/admission.ts';
import { type DoorBounds, defaultBounds } from '../admission/bounds.ts';
import { type ConnectionGuard, guardConnections } from '../admission/connections.ts';
import { type LoadMeter, openLoadMeter, readHeapShare } from '../admission/load-meter.ts';
import { openFailureLimiter } from '../auth/failure-limiter.ts';
import { Drills } from '../drill/drills.ts';
import { runDrill } from '../drill/run-drill.ts';
import { openCrossOrigin } from '../endpoints/cross-origin.ts';
import { IdleConnections } from '../endpoints/idle-connections.ts';
import { buildServer, type SenderPatience } from '../endpoints/server.ts';
import { PodState } from '../exchange/pod-state.ts';
import { buildExchangeServer } from '../exchange/server.ts';
import type { AskSpend } from '../limits/ledger-reader.ts';
import { Limiter } from '../limits/limiter.ts';
import { openStore } from '../limits/store.ts';
import type { Journal, ReadableJournal } from '../meter/journal.ts';
import { LimitMetrics } from '../meter/limit-metrics.ts';
import { Metrics } from '../meter/metrics.ts';
import { TokenCounter } from '../meter/token-counter.ts';
import { logOncePerMinute, type UnusableAnswer } from '../pipeline/log-cause.ts';
import type { PipelineDefaults, PipelineParts } from '../pipeline/parts.ts';
import { GatewayError } from '../request/errors.ts';
import { Health } from '../route/health.ts';
import { RefusedMembers } from '../route/refused-members.ts';
import { AnswerRoom } from '../stream/answer-room.ts';
import { OpenStreams } from '../stream/open-streams.ts';
import { ReadingTurns } from '../stream/reading-turns.ts';
import type { TableHolder } from '../table/holder.ts';
import { TableStatus } from '../table/status.ts';
import type { TableView } from '../table/view.ts';
import type { GatewayTelemetry, openGatewayTelemetry } from '../trace/open-telemetry.ts';
import { UpstreamPools, type UpstreamPoolsOptions } from '../upstream/pools.ts';
import { buildInternalServer } from './internal-server.ts';
import type { LimitSettings } from './settings.ts';
import { warmUp } from './warm-up.ts';

export interface GatewayOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly metricsPort: number;
  readonly holder: TableHolder;
  readonly journal: Journal;
  readonly showProvider: boolean;
  /** Of pages that may ask from the browser, such as `https://penstock.example.com`; none where left out. */
  readonly allowedOrigins?: readonly string[];
  readonly drainAcceptMs: number;
  readonly drainGraceMs: number;
  onFailure(error: unknown, requestId: string, clientRequestId?: string): void;
  /** An upstream's answer that nobody can use; once a minute for each cause at each upstream model. */
  readonly onUnusable?: (answer: UnusableAnswer) => void;
  /** Kept up to date by whoever brings tables; a new one where left out. */
  readonly tableStatus?: TableStatus;
  /** Unix milliseconds of the newest sign of life of an operator; undefined where none is known. */
  operatorSeenMs?(): number | undefined;
  /** How names of upstreams are looked up; by the system where left out. */
  readonly lookups?: Omit<UpstreamPoolsOptions, 'onLookupMiss'>;
  /** What operator and ledger may ask; nobody where left out. */
  readonly exchange?: ExchangeOptions;
  /** How limits are kept; each pod its share where left out. */
  readonly limits?: Partial<LimitSettings>;
  /** Asks the ledger that reads the journal what was spent; where left out, budgets hold for what passes here. */
  readonly askSpend?: AskSpend | undefined;
  /** Why the ledger cannot be heard, once until that changes; and, without an error, that it is heard again. */
  onLedger?(isHeard: boolean, error?: unknown): void;
  /** The store of limits is asked from now on, or no longer. */
  onLimitStore?(isInUse: boolean, why: string): void;
  /** Where metrics, traces and events are sent; nowhere, and nothing of it is loaded, where left out. */
  readonly telemetry?: TelemetrySettings | undefined;
  /** Whether every ledger record is sent as an event too; needs `telemetry`. */
  readonly hasUsageEvents?: boolean;
  /** Tokens also in the histogram that the conventions had before. */
  readonly hasLegacyTokens?: boolean;
  /** Told when exports begin to fail, and when they work again. */
  onTelemetry?(message: string): void;
  /** In place of what requests count, for measuring what that costs. */
  readonly requestMetrics?: PipelineParts['metrics'];
  /** What it takes on; what is left out is derived from its memory. */
  readonly bounds?: Partial<DoorBounds>;
  /** For tests; the system's where left out. */
  readonly clock?: Clock;
  readonly loadMeter?: LoadMeter;
  readonly random?: () => number;
  readonly timeouts?: Partial<PipelineDefaults['timeouts']>;
  readonly patience?: SenderPatience;
  /** How long the tokens of an attempt are counted where nobody else has. */
  readonly countPatienceMs?: number;
  readonly keepAliveMs?: number;
  readonly openAfterMs?: number;
}

export interface ExchangeOptions {
  /** 0: any free one. */
  readonly port: number;
  readonly journal: ReadableJournal;
  /** The bearer; undefined while it is not known. */
  token(): string | undefined;
}

export interface RunningGateway {
  /** Origin of the client-facing server, e.g. `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly metricsUrl: string;
  /** Of the exchange, where there is one. */
  readonly internalUrl: string | undefined;
  readonly metrics: Metrics;
  /**
   * Stops as Kubernetes expects: not ready at once, accepting for a while, running streams to their
   * end within the grace, an error frame for the rest, then the journal is flushed.
   */
  drain(): Promise<void>;
  /** Cuts the wait of a drain short: running streams get their error frame now. */
  hurry(): void;
}

/** Where neither a route nor a Provider says otherwise. */
export const defaultTimeouts: PipelineDefaults['timeouts'] = {
  connectMs: 3_000,
  firstEventMs: 12_000,
  lastFirstEventMs: 60_000,
  livenessMs: 30_000,
  progressMs: 120_000,
  totalMs: 600_000,
  clientWriteMs: 60_000,
};

/** Callers of a pod that has gone come all at once; whoever finds the queue full asks again only after a second, or three, or seven. */
const listenBacklog = 4_096;

/** How long a connection may stay without a request while the process is going; each brings one more at most. */
const idleGraceMs = 5_000;

/** How long a collector may take for what is left when the process goes. */
const telemetryFlushMs = 2_000;

/** How long the last words may take to be read; a stream that is broken off lets go of its connection after 5 s. */
const lastWordMs = 6_000;

/** How long whoever keeps the ledger may take to take over the last records. */
const handOverMs = 10_000;

export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  const clock = options.clock ?? systemClock;
  const { holder, journal } = options;
  const pools = new UpstreamPools({
    ...options.lookups,
    onLookupMiss: (how) => metrics.onLookupMiss(how),
  });
  const streams = new OpenStreams();
  const idle = new IdleConnections(clock);
  let isDraining = false;
  let isOver = false;
  const tableStatus = options.tableStatus ?? new TableStatus(clock.wallMs);
  const random = options.random ?? Math.random;
  const health = new Health(random);
  const tokens = new TokenCounter(clock, options.countPatienceMs);
  const metrics = new Metrics(
    {
      tableGeneration: () => holder.current()?.generation ?? 0,
      requestsInFlight: () => streams.size,
      tableSource: () => tableStatus.source(),
      tableAgeSeconds() {
        const seenMs = options.operatorSeenMs?.();
        return seenMs === undefined ? undefined : Math.max(0, clock.wallMs() - seenMs) / 1000;
      },
      journal: () => journal.figures,
      breakers: () => health.breakers(clock.now()),
      restingKeys: () => health.restingKeys(clock.now()),
      load: {
        loopDelaySeconds: () => admission.loopDelayMs / 1000,
        bodyBytes: () => admission.bodyBytesInFlight,
        answerBytes: () => answers.bytesHeld,
        heapShare: () => readHeapShare(),
        inFlightMax: () => admission.inFlightMax,
      },
    },
    { hasLegacyTokens: options.hasLegacyTokens ?? false },
  );
  let readyPods = 0;
  const {
    store: storeAddress,
    callBudgetMs,
    onStoreError = 'LocalShare',
    gateways = 1,
  } = options.limits ?? {};
  const limitMetrics = new LimitMetrics(metrics.registry, {
    mode: () => limiter.mode,
    held: () => limiter.heldCount,
    sumsAgeMs: () => limiter.sumsAgeMs,
  });
  const { askSpend } = options;
  const ledger = askSpend &&
    journal.progress && {
      ask: askSpend,
      progress: journal.progress,
      onTurn: (isHeard: boolean, error?: unknown) => options.onLedger?.(isHeard, error),
    };
  const limiter = new Limiter({
    clock,
    name: randomUUID(),
    pods: () => readyPods || gateways,
    store: storeAddress && (await openStore(storeAddress)),
    callBudgetMs,
    onStoreError,
    ledger,
    events: {
      onLimited: (subject, limit) => limitMetrics.onLimited(subject, limit),
      onCall: (durationMs) => limitMetrics.onCall(durationMs),
      onFailure: (reason) => limitMetrics.onFailure(reason),
      onTurn: (isInUse, why) => options.onLimitStore?.(isInUse, why),
    },
  });
  const telemetry =
    options.telemetry && (await openTelemetry(options.telemetry, { ...options, clock, metrics }));
  const bounds = { ...defaultBounds(), ...options.bounds };
  const answers = new AnswerRoom(bounds.answerBytesMax);
  let connections: ConnectionGuard | undefined;
  const turns = new ReadingTurns({ now: clock.now, nextTurn: setImmediate });
  const admission = new Admission({
    clock,
    bounds,
    bodyBytesMax: bounds.bodyBytesMax,
    meter: options.loadMeter ?? openLoadMeter(clock),
    onShed: (reason) => metrics.onShed(reason),
    onAccepting: (accepts) => connections?.accept(accepts),
    onLook: (isBusy) => turns.look(isBusy),
  });
  const failures = openFailureLimiter(bounds.failedKeysPerMinute, clock.now);
  const held = holder.current();
  if (held) pools.adopt(held);
  if (held && hasBudgets(held)) limiter.expectBudgets();
  const stopListening = holder.onSwap((view) => {
    pools.adopt(view);
    if (hasBudgets(view)) limiter.expectBudgets();
    health.adopt(view);
    metrics.adopt(view);
  });

  const defaults: PipelineDefaults = {
    timeouts: { ...defaultTimeouts, ...options.timeouts },
    openAfterMs: options.openAfterMs ?? 25_000,
    keepAliveMs: options.keepAliveMs ?? 15_000,
    callsAtOnce: 8,
    showProvider: options.showProvider,
  };
  const app = buildServer({
    clock,
    random,
    health,
    refused: new RefusedMembers(),
    pools,
    journal,
    tokens,
    metrics: options.requestMetrics ?? metrics,
    streams,
    idle,
    answers,
    turns,
    limits: limiter,
    holder,
    defaults,
    patience: options.patience,
    admission,
    tracer: telemetry?.tracer,
    onUsage: telemetry?.onUsage,
    failures: {
      judge(address) {
        const told = failures.judge(address);
        if (told) metrics.onAuthenticationFailureLimited();
        return told;
      },
    },
    proxies: bounds.proxies,
    crossOrigin: openCrossOrigin(options.allowedOrigins ?? []),
    isDraining: () => isDraining,
    isOver: () => isOver,
    onFailure: options.onFailure,
    onUnusable: options.onUnusable && logOncePerMinute(clock, options.onUnusable),
  });
  connections = guardConnections(app.server, bounds, (reason) => metrics.onConnectionRefused(reason));
  let wasReady = false;
  const internal = buildInternalServer({
    registry: metrics.registry,
    isReady() {
      if (isDraining || holder.current() === undefined) return false;
      // Those who know what was spent serve meanwhile. Who is ready once stays so: whatever else there is needs no ledger.
      wasReady ||= !limiter.awaitsSums;
      return wasReady;
    },
  });
  const { onFailure } = options;
  const drillParts = { clock, random, defaults, onFailure, view: () => holder.current() };
  const drills = new Drills((order) => runDrill(drillParts, order));
  const exchange =
    options.exchange &&
    buildExchangeServer({
      clock,
      state: new PodState({ clock, table: tableStatus, health, drills }),
      journal: options.exchange.journal,
      token: () => options.exchange?.token(),
      plan: { clock, random, health, holder, limits: limiter, pod: hostname() },
      onReadyPods(count) {
        readyPods = count;
        metrics.onReadyGateways(count);
      },
    });
  // Where one of the ports is taken, nothing stays behind.
  await using started = new AsyncDisposableStack();
  started.defer(stopListening);
  started.defer(() => app.close());
  started.defer(() => limiter.close());
  await limiter.start();
  warmUp();
  const url = await app.listen({ host: options.host, port: options.port, backlog: listenBacklog });
  const metricsUrl = await listenAt(internal, options.host, options.metricsPort);
  started.defer(() => void internal.close());
  const internalUrl =
    exchange && options.exchange
      ? await listenAt(exchange.server, options.host, options.exchange.port)
      : undefined;
  started.move();

  const hurried = Promise.withResolvers<void>();
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel = clock.setTimer(ms, resolve);
      void hurried.promise.then(() => {
        cancel();
        resolve();
      });
    });

  return {
    url,
    metricsUrl,
    internalUrl,
    metrics,
    hurry: () => hurried.resolve(),
    async drain() {
      isDraining = true;
      exchange?.drain();
      // Who keeps a connection behind an old stream was not told that it closes: it may bring one more request.
      app.server.keepAliveTimeout = idleGraceMs;
      await wait(options.drainAcceptMs); // guard: drain-accept
      const noneLeft = stopAccepting(app.server);
      const over = wait(options.drainGraceMs); // guard: drain-grace
      // Behind the poll of sockets: a request that has arrived already is read before its connection is taken for idle.
      await new Promise((resolve) => setImmediate(resolve));
      idle.closeAfter(Math.min(idleGraceMs, options.drainAcceptMs));
      await Promise.race([noneLeft, over]);
      isOver = true;
      streams.breakOff(
        new GatewayError('server_shutting_down', 'The gateway is shutting down; send the request again.'),
      );
      // Whoever does not close its connection by now, or never finishes its request or takes its answer, must not hold the process.
      const cancelCut = clock.setTimer(lastWordMs, () => app.server.closeAllConnections());
      await Promise.all([streams.empty(), noneLeft]);
      cancelCut();
      await app.close();
      hurried.resolve();
      stopListening();
      // Records of attempts that are being counted are not in the journal yet.
      await tokens.settled();
      tokens.end();
      // The ledger that is asked what was spent is the one that reads the journal.
      const hasReader = options.askSpend ? true : undefined;
      await options.exchange?.journal.handOver?.(handOverMs, hasReader);
      await journal.close(); // guard: drain-journal
      await limiter.close();
      // What was used is safe by now; a collector that is gone must not hold the process.
      await telemetry?.close(telemetryFlushMs);
      await pools.close();
      for (const server of [internal, ...(exchange ? [exchange.server] : [])]) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

function hasBudgets({ keys, tenantBudgets }: Pick<TableView, 'keys' | 'tenantBudgets'>): boolean {
  return tenantBudgets.size > 0 || keys.values().some(({ budgets }) => budgets !== undefined);
}

/** Loaded only here: without it nothing of OpenTelemetry is in memory. */
async function openTelemetry(...parts: Parameters<typeof openGatewayTelemetry>): Promise<GatewayTelemetry> {
  const loaded = await import('../trace/open-telemetry.ts');
  return loaded.openGatewayTelemetry(...parts);
}

/** Nobody connects any more; unlike `server.close()` it leaves idle connections alone. Resolves when there is no connection left. */
function stopAccepting(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.once('close', resolve);
    NetServer.prototype.close.call(server);
  });
}
