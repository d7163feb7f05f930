// How does a process speak to the Valkey or Redis in which limits are kept for all pods? One connection; each call is one script.
// The client is loaded only where an address is set.

import { hash } from 'node:crypto';
import type { Redis } from 'iovalkey';
import type { Claim, Reading, Reservation, ReservationAnswer, Settlement } from './reservation.ts';
import { lookScript, renewScript, reserveScript, settleScript } from './scripts.ts';

export interface StoreAddress {
  /** `redis://host:6379` or `rediss://` for TLS; the number of a database as its path. */
  readonly url: string;
  /** With the name of a user where the URL has one. */
  readonly password: string | undefined;
  /** Stands before every key, so that several installations can share a store. */
  readonly prefix: string;
}

/** Rejects where the store does not answer, or answers with an error; the caller decides how long it waits. */
export interface LimitStore {
  reserve(reservation: Reservation): Promise<ReservationAnswer>;
  /** What a reservation would find; the store stays as it is. */
  look(reservation: Reservation): Promise<ReservationAnswer>;
  /** Gives the time by which it was done. */
  settle(settlement: Settlement): Promise<number>;
  /** Keeps places whose reservation is still under way; gives the time. */
  renew(places: readonly { readonly key: string; readonly id: string }[]): Promise<number>;
  /** Settled when the first attempt to connect has succeeded or failed. Afterwards it connects by itself, again and again. */
  connect(): Promise<void>;
  /** Lets go of a connection that may be dead, and opens another. */
  reconnect(): void;
  close(): void;
}

type Keyed = Pick<Claim, 'key'>;

const connectTimeoutMs = 1_000;
const reconnectMaxMs = 1_000;

export async function openStore({ url, password, prefix }: StoreAddress): Promise<LimitStore> {
  const { Redis: Client } = await import('iovalkey');
  const client = new Client({
    ...readAddress(url),
    ...(password === undefined ? {} : { password }),
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    keepAlive: 10_000,
    // What is not answered is answered for by the share of the pod, and never sent twice.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A server that is still loading answers with an error, which is all that we need to know.
    enableReadyCheck: false,
    retryStrategy: (times) => Math.min(20 * 2 ** Math.min(times, 10), reconnectMaxMs),
    // After a failover of the store the connection may lead to a replica.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  });
  // Each call says by itself that it failed; the client's own report may hold what it sent.
  client.on('error', () => {});
  const keysOf = (claims: readonly Keyed[], budgets: readonly Keyed[]): string[] => [
    ...[...claims, ...budgets].flatMap(({ key }) => [levelsKey(prefix, key), placesKey(prefix, key)]),
    ...budgets.map(({ key }) => unseenKey(prefix, key)),
  ];
  return {
    async reserve(reservation) {
      const { claims, budgets = [] } = reservation;
      const keys = keysOf(claims, budgets);
      const reply = await run(client, scripts.reserve, keys, [JSON.stringify(reservation)]);
      return readAnswer(reply, reservation);
    },
    async look(reservation) {
      const { claims, budgets = [] } = reservation;
      const keys = keysOf(claims, budgets);
      const reply = await run(client, scripts.look, keys, [JSON.stringify(reservation)]);
      return readAnswer(reply, reservation);
    },
    async settle(settlement) {
      const { claims, budgets = [] } = settlement;
      const keys = keysOf(claims, budgets);
      return Number(await run(client, scripts.settle, keys, [JSON.stringify(settlement)]));
    },
    renew: async (places) =>
      Number(
        await run(
          client,
          scripts.renew,
          places.map(({ key }) => placesKey(prefix, key)),
          places.map(({ id }) => id),
        ),
      ),
    connect: () => client.connect(),
    reconnect: () => client.disconnect(true),
    close: () => client.disconnect(),
  };
}

/** In parts: the client takes the password of an address with a user from the address alone, also where it has none. */
function readAddress(url: string) {
  const { protocol, hostname, port, username, pathname } = new URL(url);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 6_379 : Number(port),
    db: Number(pathname.slice(1)),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

/** The braces keep all keys in one slot, so that one script may touch them all. */
function levelsKey(prefix: string, key: string): string {
  return `{${prefix}:limits}:${key}:levels`;
}

function placesKey(prefix: string, key: string): string {
  return `{${prefix}:limits}:${key}:places`;
}

function unseenKey(prefix: string, key: string): string {
  return `{${prefix}:limits}:${key}:unseen`;
}

interface Script {
  readonly text: string;
  readonly sha: string;
}

const script = (text: string): Script => ({ text, sha: hash('sha1', text) });

const scripts = {
  reserve: script(reserveScript),
  look: script(lookScript),
  settle: script(settleScript),
  renew: script(renewScript),
} as const;

/** By its digest; its text only where the store does not know it, after a start or a flush. */
async function run(
  client: Redis,
  { text, sha }: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  try {
    return await client.evalsha(sha, keys.length, ...keys, ...args);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return await client.eval(text, keys.length, ...keys, ...args);
  }
}

/** @throws {Error} where that is not what the script gives. */
function readAnswer(reply: unknown, { claims, budgets = [] }: Reservation): ReservationAnswer {
  if (!Array.isArray(reply)) throw new Error('the store gave no list');
  const numbers = reply.map(Number);
  let at = 0;
  const next = (): number => {
    const number = numbers[at++];
    if (number === undefined || Number.isNaN(number)) throw new Error('the store gave no number');
    return number;
  };
  const isGranted = next() === 1;
  const nowMs = next();
  const readings = claims.map(({ meters }): Reading => {
    const held = next();
    return { held, used: meters.map(next) };
  });
  if (budgets.length === 0) return { isGranted, nowMs, readings };
  return {
    isGranted,
    nowMs,
    readings,
    budgets: budgets.map(() => ({ spent: next(), held: next(), reckoned: next() })),
  };
}
