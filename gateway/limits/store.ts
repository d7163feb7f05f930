// How does a process speak to the Valkey or Redis in which limits are kept for all pods? One connection, and one command for all calls
// that are made in one turn of the event loop. The client is loaded only where an address is set.

import { hash } from 'node:crypto';
import type { Redis } from 'iovalkey';
import { limitMemberOf, RATES, rateNames } from '../../core/catalog/limits.ts';
import type { Claim, Place, Reading, Reservation, ReservationAnswer, Settlement } from './reservation.ts';
import { callsScript } from './scripts.ts';
import type { Amounts } from './subject.ts';

export interface StoreAddress {
  /** `redis://host:6379` or `rediss://` for TLS; the number of a database as its path. */
  readonly url: string;
  /** With the name of a user where the URL has one. */
  readonly password: string | undefined;
  /** Prefix of every key, so that several installations can share a store. */
  readonly prefix: string;
}

/** Rejects if the store does not answer, or answers with an error; the caller decides how long it waits. */
export interface LimitStore {
  reserve(reservation: Reservation): Promise<ReservationAnswer>;
  /** The result that a reservation would have; changes nothing. */
  look(reservation: Reservation): Promise<ReservationAnswer>;
  /** Gives the time by which it was done. */
  settle(settlement: Settlement): Promise<number>;
  /** Renews the seats of open reservations; returns the store's time. */
  renew(places: readonly Place[]): Promise<number>;
  /** Settled when the first attempt to connect has succeeded or failed. Afterwards the client keeps reconnecting. */
  connect(): Promise<void>;
  /** Lets go of a connection that may be dead, and opens another. */
  reconnect(): void;
  close(): void;
}

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
    // For a call without an answer the pod decides by its own share, and the call is never sent twice.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A server that is still loading answers with an error, which is all that we need to know.
    enableReadyCheck: false,
    retryStrategy: (times) => Math.min(20 * 2 ** Math.min(times, 10), reconnectMaxMs),
    // After a failover of the store the connection may lead to a replica.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  });
  // Each call reports its own failure; the client's error event may hold the data that it sent.
  client.on('error', () => {});
  const calls = new Calls(client, prefix);
  return {
    reserve: async (reservation) => readAnswer(await calls.reserve('reserve', reservation), reservation),
    look: async (reservation) => readAnswer(await calls.reserve('look', reservation), reservation),
    settle: async (settlement) => Number(await calls.settle(settlement)),
    renew: async (places) => Number(await calls.renew(places)),
    connect: () => client.connect(),
    reconnect: () => client.disconnect(true),
    close: () => client.disconnect(),
  };
}

/** In parts: if an address names a user, the client reads the password from the address only, even if it has none. */
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

const script = { text: callsScript, sha: hash('sha1', callsScript) } as const;

/** The store does nothing else for as long as a script takes. */
const callsAtOnce = 64;

/** Members that every claim writes. */
interface Written {
  readonly levels: string;
  readonly places: string;
  readonly limits: readonly string[];
}

interface Waiting {
  resolve(answer: string): void;
  reject(error: unknown): void;
}

/** Calls that go to the store together, as scripts.ts reads them. */
class Calls {
  private readonly client: Redis;
  private readonly start: string;
  private readonly written = new WeakMap<Claim, Written>();
  private keys: string[] = [];
  private texts: string[] = [];
  private waiting: Waiting[] = [];

  constructor(client: Redis, prefix: string) {
    this.client = client;
    // The braces keep all keys in one slot, so that one script may touch them all.
    this.start = `{${prefix}:limits}:`;
  }

  reserve(name: 'reserve' | 'look', reservation: Reservation): Promise<string> {
    const { id = '', claims, amounts, budgets = [], by = '' } = reservation;
    this.texts.push(name, id);
    this.addAmounts(amounts);
    this.addClaims(claims);
    this.texts.push(by, String(budgets.length));
    for (const { key, limit, known, own, amount, hold = amount, endMs } of budgets) {
      this.addBudget(key);
      this.addNumbers(limit, known, own.spent, own.held, amount, hold, endMs);
    }
    return this.add();
  }

  settle({ id, claims, amounts, used, budgets = [], by = '' }: Settlement): Promise<string> {
    this.texts.push('settle', id);
    this.addAmounts(amounts);
    this.addAmounts(used);
    this.addClaims(claims);
    this.texts.push(by, String(budgets.length));
    for (const { key, endMs, cost, reported } of budgets) {
      this.addBudget(key);
      this.addNumbers(endMs, cost, reported?.known, reported?.ownSpent);
    }
    return this.add();
  }

  renew(places: readonly Place[]): Promise<string> {
    this.texts.push('renew', String(places.length));
    for (const { key, id } of places) {
      this.keys.push(`${this.start}${key}:places`);
      this.texts.push(id);
    }
    return this.add();
  }

  private addAmounts(amounts: Amounts): void {
    for (const name of rateNames) this.texts.push(String(amounts[RATES[name].counts]));
  }

  private addClaims(claims: readonly Claim[]): void {
    this.texts.push(String(claims.length));
    for (const claim of claims) {
      const { levels, places, limits } = this.writtenOf(claim);
      this.keys.push(levels, places);
      for (const limit of limits) this.texts.push(limit);
    }
  }

  private addBudget(key: string): void {
    const whole = this.start + key;
    this.keys.push(`${whole}:levels`, `${whole}:places`, `${whole}:unseen`);
  }

  private addNumbers(...numbers: readonly (number | undefined)[]): void {
    for (const number of numbers) this.texts.push(textOf(number));
  }

  private writtenOf(claim: Claim): Written {
    const known = this.written.get(claim);
    if (known !== undefined) return known;
    const { key, limits } = claim;
    const whole = this.start + key;
    const written = {
      levels: `${whole}:levels`,
      places: `${whole}:places`,
      limits: [
        ...rateNames.map((name) => textOf(limits[limitMemberOf[name]])),
        textOf(limits.maxConcurrentRequests),
      ],
    };
    this.written.set(claim, written);
    return written;
  }

  /** Ends one call: all texts written since the last one. */
  private add(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      if (this.waiting.length === callsAtOnce) this.send();
      else if (this.waiting.length === 1) setImmediate(() => this.send());
    });
  }

  private send(): void {
    const { keys, texts, waiting } = this;
    if (waiting.length === 0) return;
    this.keys = [];
    this.texts = [];
    this.waiting = [];
    run(this.client, [String(keys.length), ...keys, ...texts]).then(
      (answers) => {
        for (const [at, { resolve, reject }] of waiting.entries()) {
          const answer: unknown = Array.isArray(answers) ? answers[at] : undefined;
          if (typeof answer === 'string') resolve(answer);
          else reject(new Error('the store gave no answer'));
        }
      },
      (error: unknown) => {
        for (const { reject } of waiting) reject(error);
      },
    );
  }
}

/** A missing text is empty. */
function textOf(number: number | undefined): string {
  return number === undefined ? '' : String(number);
}

/** By its digest; its text only where the store does not know it, after a start or a flush. */
async function run(client: Redis, args: readonly string[]): Promise<unknown> {
  try {
    return await client.call('evalsha', script.sha, ...args);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return await client.call('eval', script.text, ...args);
  }
}

/** @throws {Error} if that is not what the script gives. */
function readAnswer(answer: string, { claims, amounts, budgets = [] }: Reservation): ReservationAnswer {
  const numbers = answer.split(' ');
  let at = 0;
  const next = (): number => {
    const number = Number(numbers[at++]);
    if (Number.isNaN(number)) throw new Error('the store gave no number');
    return number;
  };
  const isGranted = next() === 1;
  const nowMs = next();
  const readings = claims.map(({ limits }): Reading => {
    const held = next();
    const used: number[] = [];
    for (const name of rateNames)
      if (limits[limitMemberOf[name]] !== undefined && amounts[RATES[name].counts] !== 0) used.push(next());
    return { held, used };
  });
  if (budgets.length === 0) return { isGranted, nowMs, readings };
  return {
    isGranted,
    nowMs,
    readings,
    budgets: budgets.map(() => ({ spent: next(), held: next(), reckoned: next() })),
  };
}
