// A whole ledger out of its parts: it pulls, keeps, answers and tells others, until it is closed.

import type { Clock } from '../core/clock.ts';
import type { KubeClient } from '../core/kube/client.ts';
import type { Log } from '../core/kube/log.ts';
import { buildTlsServer } from '../core/kube/own-server.ts';
import { wait } from '../core/kube/wait.ts';
import { listenAt, stopServer } from '../core/telemetry/process-server.ts';
import { openGatewayAsker } from './ask-gateway.ts';
import { type JournalPod, openJournalClient } from './ask-journal.ts';
import { watchBudgets } from './budgets.ts';
import { sourceOf } from './export/cloud-events.ts';
import { EVENTS_SINK, type EventSender, sendEvents } from './export/send-events.ts';
import { buildHealthServer } from './health.ts';
import { keepYoung } from './keep.ts';
import { createMetrics, type LedgerMetrics } from './metrics.ts';
import { type PodWatch, watchPods } from './pods.ts';
import { startPulls } from './pull.ts';
import { openAccess } from './read-api/access.ts';
import { answerReadApi, readApiPatienceMs, serveReadApi } from './read-api/read-api.ts';
import type { LedgerSettings } from './settings.ts';
import type { LedgerStore } from './store/store.ts';

interface LedgerParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  readonly settings: LedgerSettings;
  readonly store: LedgerStore;
  readonly log: Log;
}

export interface RunningLedger {
  readonly metrics: Pick<LedgerMetrics, 'registry'>;
  /** Of the read API. */
  readonly url: string;
  /** The same over TLS. */
  readonly tlsUrl: string | undefined;
  readonly metricsUrl: string;
  /**
   * Reads on while gateways end too, as on a node that is drained: else each would wait for a ledger that has gone, and its last records
   * would be in its log alone. 25 s at most; half a second where none ends.
   */
  outlastGateways(): Promise<void>;
  /** Finishes the write in progress; the store is closed last. */
  close(): Promise<void>;
}

/** Pods that are evicted together are seen to go one after the other. */
const noticeMs = 500;
/** A gateway accepts requests for ten seconds, then its streams end. Records of longer streams are in its log. */
const outlastMs = 25_000;
const lookMs = 100;

/** @throws where a port is taken; then nothing runs. */
export async function startLedger(parts: LedgerParts): Promise<RunningLedger> {
  const { client, clock, random, settings, store, log } = parts;
  await using started = new AsyncDisposableStack();
  started.defer(() => store.close());

  let duties: AsyncDisposableStack | undefined;
  const metrics = createMetrics({
    lags: () => pulls.lags(),
    isLeading: () => duties !== undefined,
    eventsUntakenMs: () => sender?.untakenMs() ?? 0,
  });
  const journals = openJournalClient(clock, () => watch?.trusted());
  started.defer(() => journals.close());
  let watch: PodWatch | undefined;
  let sender: EventSender | undefined;
  const pulls = startPulls({
    store,
    clock,
    random,
    ask: journals.ask,
    tokenOf: () => watch?.token(),
    report: {
      taken: (_, taken) => metrics.onTaken(taken),
      quarantined: ({ name }, lines, reason) =>
        log('error', 'journal lines that are not valid records were quarantined', {
          pod: name,
          lines,
          reason,
        }),
      restarted: ({ name }) =>
        log('warn', 'a pod has a new journal; reading it from its oldest record', {
          pod: name,
        }),
      failed({ name }, reason) {
        metrics.onPullFailed();
        log('warn', 'a journal cannot be read or stored; retrying', { pod: name, reason });
      },
      recovered: ({ name }) => log('info', 'a journal can be read again', { pod: name }),
    },
  });

  const budgets = watchBudgets({
    ...settings,
    client,
    clock,
    random,
    tenantBudgets: () => watch?.tenantBudgets(),
    onTrouble: (trouble) => log('warn', 'a watch has trouble', { watch: 'apikeys', ...trouble }),
  });
  started.defer(() => budgets.close());
  const gateways = openGatewayAsker({
    clock,
    random,
    readyPods: () => watch?.readyPods() ?? [],
    token: () => watch?.token(),
    trusted: () => watch?.trusted(),
  });
  started.defer(() => gateways.close());
  const listener = answerReadApi({
    store,
    access: openAccess(client, clock),
    clock,
    budgets: budgets.budgets,
    gateways,
    fleet: () => watch && { gateways: watch.readyPods().length, hasStore: settings.hasLimitStore },
    token: () => watch?.token(),
    onFailure: (error) => log('error', 'a request to the read API failed', { reason: messageOf(error) }),
  });
  const health = buildHealthServer({
    registry: metrics.registry,
    isSynced: () => watch?.hasSynced() ?? false,
    lacksCertificate: () => !settings.hasPlain && !tls.hasCertificate(),
    askStore: () => store.cursorOf(''),
  });
  const server = serveReadApi(listener);
  const tls = buildTlsServer(listener, readApiPatienceMs);
  const url = await listenAt(server, settings.hasPlain ? settings.host : '127.0.0.1', settings.port);
  started.defer(() => stopServer(server));
  const { tlsPort } = settings;
  const tlsUrl =
    tlsPort === undefined
      ? undefined
      : (await listenAt(tls.server, settings.host, tlsPort)).replace(/^http:/, 'https:');
  if (tlsPort !== undefined) started.defer(() => stopServer(tls.server));
  const metricsUrl = await listenAt(health, settings.host, settings.metricsPort);
  started.defer(() => stopServer(health));

  let pods: readonly JournalPod[] = [];
  const watched = watchPods({
    ...settings,
    client,
    clock,
    random,
    onPods(seen) {
      pods = seen;
      if (duties !== undefined) pulls.setPods(pods);
    },
    onCertificate:
      tlsPort === undefined
        ? undefined
        : (pair) => {
            const shown = tls.show(pair);
            if (shown === 'same') return;
            log('info', 'a certificate for the read API is in use', { isRenewed: shown === 'renewed' });
          },
    onTrouble: (name, trouble) => log('warn', 'a watch has trouble', { watch: name, ...trouble }),
  });
  watch = watched;
  started.defer(() => watched.close());

  const stopDuties = async (): Promise<void> => {
    const over = duties;
    duties = undefined;
    pulls.setPods([]);
    await over?.disposeAsync();
  };
  const leadership = store.lead({
    onElected() {
      duties = startDuties();
      pulls.setPods(pods);
      log('info', 'this ledger leads and collects the records of the gateways');
    },
    onLost(reason) {
      log('warn', 'this ledger is no longer the leader; it is a standby', { reason });
      void stopDuties();
    },
  });
  started.defer(async () => {
    await stopDuties();
    await pulls.close();
    await leadership.close();
  });

  const running = started.move();
  return { metrics, url, tlsUrl, metricsUrl, outlastGateways, close: () => running.disposeAsync() };

  async function outlastGateways(): Promise<void> {
    const { signal } = new AbortController();
    const startedMs = clock.now();
    const since = () => clock.now() - startedMs;
    const isNeeded = () => duties !== undefined && (since() < noticeMs || watched.endingPods().length > 0);
    // guard: ledger-outlasts-gateways
    while (since() < outlastMs && isNeeded()) await wait(clock, lookMs, signal);
  }

  /** What one ledger does alone. */
  function startDuties(): AsyncDisposableStack {
    const own = new AsyncDisposableStack();
    const { events } = settings;
    const keeper = keepYoung({
      store,
      clock,
      retentionDays: settings.retentionDays,
      sink: events === undefined ? undefined : EVENTS_SINK,
      onPurged(records) {
        metrics.onPurged(records);
        log('info', 'records past their retention were deleted; their daily sums stay', { records });
      },
      onOddClock: (reason) => log('warn', 'the clock does not fit the records', { reason }),
      onFailed: (reason) => log('warn', 'old records could not be removed', { reason }),
    });
    own.defer(() => keeper.close());
    // Last, and so the first to end: one that leads no more and still removes records would send events beside the next leader.
    if (events !== undefined) {
      const started = sendEvents({
        ...events,
        store,
        clock,
        random,
        source: sourceOf(settings),
        onSent: (records) => metrics.onEventsSent(records),
        onFailed(reason) {
          metrics.onEventsFailed();
          log('warn', 'the receiver did not accept events; retrying', { reason });
        },
        onLeftOut(record) {
          metrics.onEventLeftOut();
          log(
            'error',
            'an event is too large for its receiver and was skipped; its record stays in the ledger',
            {
              ...record,
            },
          );
        },
      });
      sender = started;
      own.defer(async () => {
        if (sender === started) sender = undefined;
        await started.close();
      });
    }
    return own;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
