// Which of the checked addresses takes a TCP connection? Tries them in order, one at a time, each with a fair share of the
// time that is left, so one silent address does not use up the others' chance.

import { connect, type Socket } from 'node:net';
import type { AllowedAddress } from './address-rules.ts';
import type { Deadline } from './deadline.ts';
import { EgressError, systemCode } from './egress-error.ts';

interface DialOptions {
  readonly host: string;
  readonly family: 4 | 6;
  readonly port: number;
  readonly localAddress: string | undefined;
}

/** Opens a TCP connection to exactly this address; the answer is still connecting. */
export type Dial = (options: DialOptions) => Socket;

// RFC 8305 §5: less than this and a healthy but distant server is given up.
const shareMinMs = 250;
const keepAliveInitialDelayMs = 60_000;

export function dialByTcp({ host, family, port, localAddress }: DialOptions): Socket {
  return connect({
    host,
    family,
    port,
    ...(localAddress === undefined ? {} : { localAddress }),
    autoSelectFamily: false,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveInitialDelayMs,
  });
}

/** @throws EgressError `connect_timeout`, `connect_refused` or `connect_failed`, once every address has failed. */
export async function dialFirst(
  endpoint: string,
  addresses: readonly AllowedAddress[],
  to: { readonly port: number; readonly localAddress: string | undefined },
  dial: Dial,
  deadline: Deadline,
): Promise<{ socket: Socket; address: AllowedAddress }> {
  const failures: Error[] = [];
  for (const [index, address] of addresses.entries()) {
    const shareMs = Math.max(shareMinMs, deadline.remainingMs() / (addresses.length - index));
    try {
      const attempt = dial({ host: address.address, family: address.family, ...to });
      return { socket: await waitForConnect(attempt, address.address, shareMs, deadline.signal), address };
    } catch (error) {
      failures.push(error instanceof Error ? error : new Error(String(error)));
      if (deadline.signal.aborted) break;
    }
  }
  throw describeFailures(endpoint, addresses, failures);
}

function waitForConnect(
  socket: Socket,
  address: string,
  shareMs: number,
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const silent = () => fail(Object.assign(new Error(`${address} did not answer`), { code: 'ETIMEDOUT' }));
    const timer = setTimeout(silent, shareMs);
    const settle = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', silent);
      socket.off('connect', succeed);
      socket.off('close', closed);
    };
    const succeed = () => {
      settle();
      resolve(socket);
    };
    const fail = (error: Error) => {
      settle();
      socket.destroy();
      reject(error);
    };
    const closed = () => fail(new Error(`${address} closed before it was connected`));
    socket.once('connect', succeed);
    // Stays on: between this connection and the next listener an error has no other taker, and would end the process.
    socket.on('error', fail);
    socket.once('close', closed);
    if (signal.aborted) silent();
    else signal.addEventListener('abort', silent, { once: true });
  });
}

function describeFailures(
  endpoint: string,
  addresses: readonly AllowedAddress[],
  failures: readonly Error[],
): EgressError {
  const tried = addresses
    .slice(0, failures.length)
    .map(({ address }) => address)
    .join(', ');
  const codes = failures.map(systemCode);
  const cause = failures.length === 1 ? failures[0] : new AggregateError(failures);
  if (codes.every((code) => code === 'ECONNREFUSED')) {
    return new EgressError('connect_refused', endpoint, `connection refused by ${tried}.`, { cause });
  }
  if (codes.includes('ETIMEDOUT')) {
    return new EgressError('connect_timeout', endpoint, `no TCP connection in time, tried ${tried}.`, {
      cause,
    });
  }
  const words = [...new Set(codes.map((code) => code ?? 'closed'))].join(', ');
  return new EgressError('connect_failed', endpoint, `no TCP connection (${words}), tried ${tried}.`, {
    cause,
  });
}
