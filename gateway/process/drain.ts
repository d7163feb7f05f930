// How does a gateway stop? As Kubernetes expects:
//
//   not ready ──► accepts for a while ──► streams end within the grace ──► the rest is broken off ──► records are handed over
//                                                                                                      ──► everything is closed

import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import type { ClientConnections } from '../endpoints/client-connection.ts';
import type { ExchangeServer } from '../exchange/server.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { RefusalCounter } from '../meter/refusal-counter.ts';
import type { TokenCounter } from '../meter/token-counter.ts';
import { GatewayError } from '../request/errors.ts';
import type { OpenStreams } from '../stream/open-streams.ts';
import type { GatewayTelemetry } from '../trace/open-telemetry.ts';
import type { Credentials } from '../upstream/credentials.ts';
import type { UpstreamPools } from '../upstream/pools.ts';
import type { GatewayOptions } from './options.ts';

/** Read by every request. */
export interface DrainState {
  /** Not ready any more; connections close with their next answer. */
  isDraining: boolean;
  /** Streams are broken off. */
  isOver: boolean;
}

interface DrainParts {
  readonly options: Pick<
    GatewayOptions,
    'drainAcceptMs' | 'drainGraceMs' | 'journal' | 'exchange' | 'askSpend'
  >;
  readonly state: DrainState;
  readonly clock: Clock;
  readonly app: { readonly server: Server; close(): PromiseLike<unknown> };
  readonly internal: Server;
  readonly exchange: ExchangeServer | undefined;
  readonly connections: ClientConnections;
  readonly streams: OpenStreams;
  readonly tokens: TokenCounter;
  readonly refusals: RefusalCounter | undefined;
  readonly limiter: Limiter;
  readonly telemetry: GatewayTelemetry | undefined;
  readonly pools: UpstreamPools;
  readonly credentials: Credentials;
  /** Tables that come from now on are not adopted. */
  stopListening(): void;
}

export interface Drain {
  /**
   * Stops as Kubernetes expects: not ready at once, accepting for a while, running streams to their
   * end within the grace, an error frame for the rest, then the journal is flushed.
   */
  drain(): Promise<void>;
  /** Cuts the wait of a drain short: running streams get their error frame now. */
  hurry(): void;
}

/** How long a connection may stay without a request while the process is going; each brings one more at most. */
const idleGraceMs = 5_000;

/** How long a collector may take for what is left when the process goes. */
const telemetryFlushMs = 2_000;

/** How long the last words may take to be read; a stream that is broken off closes its connection after 5 s. */
const lastWordMs = 6_000;

/** How long the keeper of the ledger may take to take over the last records. */
const handOverMs = 10_000;

export function createDrain(parts: DrainParts): Drain {
  const { clock } = parts;
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
    hurry: () => hurried.resolve(),
    async drain() {
      await endRequests(parts, wait);
      hurried.resolve();
      parts.stopListening();
      await handOverRecords(parts);
      await closeParts(parts);
    },
  };
}

async function endRequests(
  { options, state, clock, app, exchange, connections, streams }: DrainParts,
  wait: (ms: number) => Promise<void>,
): Promise<void> {
  state.isDraining = true;
  exchange?.drain();
  // A connection with an open stream has not said yet that it closes: its client may send one more request.
  app.server.keepAliveTimeout = idleGraceMs;
  await wait(options.drainAcceptMs); // guard: drain-accept
  const noneLeft = stopAccepting(app.server);
  const over = wait(options.drainGraceMs); // guard: drain-grace
  // After the poll of sockets: a request that has arrived already is read before its connection is taken for idle.
  await new Promise((resolve) => setImmediate(resolve));
  connections.closeIdle(Math.min(idleGraceMs, options.drainAcceptMs));
  await Promise.race([noneLeft, over]);
  state.isOver = true;
  streams.breakOff(
    new GatewayError('server_shutting_down', 'The gateway is shutting down. Send the request again.'),
  );
  // A client that does not close its connection by now, or never finishes its request or takes its answer, must not hold the process.
  const cancelCut = clock.setTimer(lastWordMs, () => app.server.closeAllConnections());
  await Promise.all([streams.empty(), noneLeft]);
  cancelCut();
  await app.close();
}

async function handOverRecords({ options, tokens, refusals }: DrainParts): Promise<void> {
  // Records of attempts that are being counted are not in the journal yet.
  await tokens.settled();
  tokens.end();
  refusals?.close(); // guard: drain-refusals
  // The ledger that reports spending also reads the journal.
  const hasReader = options.askSpend ? true : undefined;
  await options.exchange?.journal.handOver?.(handOverMs, hasReader);
  await options.journal.close(); // guard: drain-journal
}

async function closeParts({
  limiter,
  telemetry,
  pools,
  credentials,
  internal,
  exchange,
}: DrainParts): Promise<void> {
  await limiter.close();
  // Usage is safe by now; an unreachable collector must not hold the process.
  await telemetry?.close(telemetryFlushMs);
  credentials.close();
  await pools.close();
  for (const server of [internal, ...(exchange ? [exchange.server, exchange.tls.server] : [])]) {
    server.closeAllConnections();
    server.close();
  }
}

/** Stops accepting connections; unlike `server.close()` it keeps idle ones. Resolves when no connection is left. */
function stopAccepting(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.once('close', resolve);
    NetServer.prototype.close.call(server);
  });
}
