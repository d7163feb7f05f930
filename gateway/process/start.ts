// A whole gateway out of its parts: serving when the promise resolves, gone when it is drained.

import { Server as TlsServer } from 'node:https';
import { hostname } from 'node:os';
import { systemClock } from '../../core/clock.ts';
import { listenAt } from '../../core/telemetry/process-server.ts';
import { Admission } from '../admission/admission.ts';
import { defaultBounds } from '../admission/bounds.ts';
import { type ConnectionGuard, guardConnections } from '../admission/connections.ts';
import { openLoadMeter, readHeapShare } from '../admission/load-meter.ts';
import { openFailureLimiter } from '../auth/failure-limiter.ts';
import { Drills } from '../drill/drills.ts';
import { runDrill } from '../drill/run-drill.ts';
import { ClientConnections } from '../endpoints/client-connection.ts';
import { openCrossOrigin } from '../endpoints/cross-origin.ts';
import { buildServer } from '../endpoints/server.ts';
import { PodState } from '../exchange/pod-state.ts';
import { buildExchangeServer, type ExchangeServer } from '../exchange/server.ts';
import { Metrics } from '../meter/metrics.ts';
import { RefusalCounter } from '../meter/refusal-counter.ts';
import { TokenCounter } from '../meter/token-counter.ts';
import { logOncePerMinute } from '../pipeline/log-cause.ts';
import { Health } from '../route/health.ts';
import { RefusedMembers } from '../route/refused-members.ts';
import { AnswerRoom } from '../stream/answer-room.ts';
import { OpenStreams } from '../stream/open-streams.ts';
import { ReadingTurns } from '../stream/reading-turns.ts';
import { TimerQueue } from '../stream/timer-queue.ts';
import { TableStatus } from '../table/status.ts';
import type { GatewayTelemetry, openGatewayTelemetry } from '../trace/open-telemetry.ts';
import { Credentials } from '../upstream/credentials.ts';
import { UpstreamPools } from '../upstream/pools.ts';
import { seatRows } from '../upstream/seats.ts';
import { adoptTables } from './adopt-tables.ts';
import { createDrain, type Drain, type DrainState } from './drain.ts';
import { buildInternalServer } from './internal-server.ts';
import { openLimiter } from './open-limiter.ts';
import { type GatewayOptions, pipelineDefaults } from './options.ts';
import { readCertificate, watchCertificate } from './serving-certificate.ts';
import { warmUp } from './warm-up.ts';

export interface RunningGateway extends Drain {
  /** Origin of the client-facing server, e.g. `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly metricsUrl: string;
  /** URL of the exchange, if there is one. */
  readonly internalUrl: string | undefined;
  /** The same over TLS. */
  readonly internalTlsUrl: string | undefined;
  readonly metrics: Metrics;
  /** What operator and ledger are shown from now on. */
  showCertificate: ExchangeServer['tls']['show'];
}

/** When a pod ends, all its clients reconnect at once; a client that finds the queue full retries only after 1 s, 3 s or 7 s. */
const listenBacklog = 4_096;

export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  const clock = options.clock ?? systemClock;
  const { holder, journal } = options;
  const pools = new UpstreamPools({
    ...options.lookups,
    onLookupMiss: (how) => metrics.onLookupMiss(how),
  });
  const seats = options.seats ?? seatRows;
  const credentials = new Credentials({ clock, pools, seats, environment: options.identity ?? {} });
  const streams = new OpenStreams();
  const timers = new TimerQueue(clock);
  const state: DrainState = { isDraining: false, isOver: false };
  const pods = { ready: 0 };
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
      coolingKeys: () => health.coolingKeys(clock.now()),
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
  const limiter = await openLimiter(options, { clock, metrics, readyPods: () => pods.ready });
  const telemetry =
    options.telemetry && (await openTelemetry(options.telemetry, { ...options, clock, metrics }));
  const bounds = { ...defaultBounds(), ...options.bounds };
  const answers = new AnswerRoom(bounds.answerBytesMax);
  let guard: ConnectionGuard | undefined;
  const turns = new ReadingTurns({ now: clock.now, nextTurn: setImmediate });
  const admission = new Admission({
    clock,
    bounds,
    bodyBytesMax: bounds.bodyBytesMax,
    meter: options.loadMeter ?? openLoadMeter(clock),
    onShed: (reason) => metrics.onShed(reason),
    onAccepting: (accepts) => guard?.accept(accepts),
    onLook: (isBusy) => turns.look(isBusy),
  });
  const failures = openFailureLimiter(bounds.failedKeysPerMinute, clock.now);
  const stopListening = adoptTables(holder, { pools, credentials, limiter, health, metrics });
  const defaults = pipelineDefaults(options);
  const connections = new ClientConnections(clock, defaults.timeouts.clientWriteMs);
  const { tlsFolder } = options;
  const tls = tlsFolder === undefined ? undefined : readCertificate(tlsFolder);
  const refusals =
    journal.note &&
    new RefusalCounter(clock, { note: (json) => journal.note?.(json), progress: journal.progress });
  const app = buildServer({
    tls,
    refusals,
    clock,
    random,
    health,
    refused: new RefusedMembers(),
    pools,
    credentials,
    seats,
    endpoints: options.endpoints,
    journal,
    tokens,
    metrics: options.requestMetrics ?? metrics,
    streams,
    connections,
    timers,
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
        const limited = failures.judge(address);
        if (limited) metrics.onAuthenticationFailureLimited();
        return limited;
      },
    },
    proxies: bounds.proxies,
    crossOrigin: openCrossOrigin(options.allowedOrigins ?? []),
    isDraining: () => state.isDraining,
    isOver: () => state.isOver,
    onFailure: options.onFailure,
    onUnusable: options.onUnusable && logOncePerMinute(clock, options.onUnusable),
  });
  guard = guardConnections(app.server, bounds, (reason) => metrics.onConnectionRefused(reason));
  let wasReady = false;
  const internal = buildInternalServer({
    registry: metrics.registry,
    isReady() {
      if (state.isDraining || holder.current() === undefined) return false;
      // Other pods, which know the sums, serve until then. Ready once is ready for good: other requests need no ledger.
      wasReady ||= !limiter.awaitsSums;
      return wasReady;
    },
    // Token and certificate come together: without either the API server is away, and the copy of the table serves callers.
    lacksCertificate: () =>
      options.exchange?.hasPlain === false &&
      exchange?.tls.hasCertificate() === false &&
      options.exchange.token() !== undefined,
  });
  const { onFailure } = options;
  const drillParts = { clock, random, defaults, onFailure, view: () => holder.current() };
  const drills = new Drills((order) => runDrill(drillParts, order));
  const exchange =
    options.exchange &&
    buildExchangeServer({
      clock,
      state: new PodState({ clock, table: tableStatus, health, drills, credentials }),
      journal: options.exchange.journal,
      token: () => options.exchange?.token(),
      plan: { clock, random, health, holder, limits: limiter, pod: hostname() },
      onReadyPods(count) {
        pods.ready = count;
        metrics.onReadyGateways(count);
      },
    });
  // If one of the ports is taken, all that has started is stopped.
  await using started = new AsyncDisposableStack();
  started.defer(stopListening);
  started.defer(() => app.close());
  started.defer(() => limiter.close());
  await limiter.start();
  warmUp();
  const plainUrl = await app.listen({ host: options.host, port: options.port, backlog: listenBacklog });
  const url = tls ? plainUrl.replace(/^http:/, 'https:') : plainUrl;
  const { server } = app;
  if (tlsFolder !== undefined && tls !== undefined && server instanceof TlsServer) {
    const stopWatching = watchCertificate({
      folder: tlsFolder,
      clock,
      first: tls,
      onRenewed(pair) {
        server.setSecureContext(pair);
        options.onCertificate?.();
      },
      onUnusable: (reason) => options.onCertificate?.(reason),
    });
    server.once('close', stopWatching);
  }
  const metricsUrl = await listenAt(internal, options.host, options.metricsPort);
  started.defer(() => void internal.close());
  const internalUrl =
    exchange && options.exchange
      ? await listenAt(exchange.server, plainHost(options), options.exchange.port)
      : undefined;
  const tlsPort = options.exchange?.tlsPort;
  const internalTlsUrl =
    exchange && tlsPort !== undefined
      ? (await listenAt(exchange.tls.server, options.host, tlsPort)).replace(/^http:/, 'https:')
      : undefined;
  started.move();

  const drain = createDrain({
    ...{
      options,
      state,
      clock,
      app,
      internal,
      exchange,
      connections,
      streams,
      tokens,
      refusals,
      limiter,
      telemetry,
      pools,
      credentials,
    },
    stopListening,
  });
  return {
    ...{ url, metricsUrl, internalUrl, internalTlsUrl, metrics, ...drain },
    showCertificate: (pair) => exchange?.tls.show(pair) ?? 'same',
  };
}

function plainHost({ host, exchange }: GatewayOptions): string {
  return exchange?.hasPlain === false ? '127.0.0.1' : host;
}

/** Loaded only here: without it nothing of OpenTelemetry is in memory. */
async function openTelemetry(...parts: Parameters<typeof openGatewayTelemetry>): Promise<GatewayTelemetry> {
  const loaded = await import('../trace/open-telemetry.ts');
  return loaded.openGatewayTelemetry(...parts);
}
