// How does the simulator serve? One HTTP server, four dialects, and a log of every call.
//
// It has dialects and paths from the catalogue, and nothing of the gateway's: what checks must not share the mistakes of what is checked.

import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Call, Counts } from './counts.ts';
import { makeLedger } from './counts.ts';
import type { KeyScript } from './credentials.ts';
import { makeScripts } from './scripts.ts';
import { makeSeal } from './seal.ts';
import type { State } from './serve.ts';
import { failLoudly, resetAll, serve } from './serve.ts';
import { storeResponses } from './stored-responses.ts';

export type { Call, Counts, Ending, Tally, Tokens } from './counts.ts';
export type { KeyScript } from './credentials.ts';

export type SimulatorOptions = {
  /** Default 0: a free one. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** Ids that GET /v1/models lists. Any other model answers too. */
  models?: string[];
  /** Whether a model that is not listed answers 404 `model_not_found`. Default false. */
  onlyListedModels?: boolean;
  /** Scripted credentials; others are welcome. */
  keys?: Record<string, KeyScript>;
  /** Whether a call without a credential, or with one that is not in `keys`, answers 401. Default false. */
  onlyKnownKeys?: boolean;
  /** Two simulators with different keys refuse each other's opaque reasoning state, as two vendors do. */
  sealKey?: string;
  /** Largest request body; a larger one answers 413. Default 32 MiB. */
  bodyBytesMax?: number;
  /** How many calls the log keeps; the oldest go first, the tallies stay exact. Default 10,000. */
  callsMax?: number;
  now?: () => number;
};

export type Simulator = {
  /** Such as `http://127.0.0.1:40123`, without `/v1`. */
  url: string;
  port: number;
  counts(): Counts;
  /** The calls kept, oldest first, running ones included. */
  calls(): Call[];
  /** The first ended call that fits and was not handed out by nextCall before; waits for it if needed. */
  nextCall(fits?: (call: Call) => boolean): Promise<Call>;
  /** The same for calls that have arrived, whether or not they have ended. */
  nextArrival(fits?: (call: Call) => boolean): Promise<Call>;
  /** Installs directives for a model's base name, an endpoint (`/v1/models`) or `*`; see scripts.ts. */
  script(target: string, directives: string | readonly string[] | null): void;
  /** Changes how a credential is treated from the next call on; null: as any other. */
  setKey(credential: string, script: KeyScript | null): void;
  /** Forgets all calls, counts, scripts, key changes and stored responses. */
  reset(): void;
  /** Ends every connection and resolves when the port is free. */
  close(): Promise<void>;
};

/** Starts a simulator; resolves when it listens. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const state: State = {
    options,
    models: options.models ?? ['sim-small', 'sim-large', 'sim-reasoner'],
    keys: new Map(Object.entries(options.keys ?? {})),
    ledger: makeLedger(options.callsMax ?? 10_000),
    scripts: makeScripts(),
    seal: makeSeal(options.sealKey ?? 'penstock simulator'),
    stored: storeResponses(1_000),
    now: options.now ?? Date.now,
    firstKeys: options.keys ?? {},
    serial: 0,
    isClosing: false,
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    serve(state, request, response).catch((error: unknown) => failLoudly(response, error));
  });
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  return control(state, server);
}

function control(state: State, server: Server): Simulator {
  const { port, address, family } = addressOf(server);
  const any = () => true;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    port,
    counts: state.ledger.counts,
    calls: state.ledger.calls,
    nextCall: (fits = any) => state.ledger.nextCall(fits),
    nextArrival: (fits = any) => state.ledger.nextArrival(fits),
    script: state.scripts.install,
    setKey: (credential, script) => {
      if (script === null) state.keys.delete(credential);
      else state.keys.set(credential, script);
    },
    reset: () => resetAll(state),
    close: async () => {
      state.isClosing = true;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      state.ledger.close();
    },
  };
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('simulator: the server has no TCP address');
  return address;
}
