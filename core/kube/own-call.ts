// How does one of our processes ask another? One call over HTTP, in TLS where it knows whom to trust, with the token of the exchange,
// on connections that stay open, bounded in time.

import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import type { Clock } from '../clock.ts';

/** Its words are fit to be shown to users: no address, no token, nothing of a body. */
export class CallFault extends Error {}

/** PEM of the authorities that are trusted, and the name in the certificate if it is not that of the address. */
interface Trust {
  readonly trusted: string;
  readonly serverName?: string;
}

interface OwnCall<T> {
  readonly to: URL | Pick<RequestOptions, 'host' | 'port' | 'path'>;
  /** The call is made over TLS; absent: in plain HTTP. */
  readonly trust?: Trust | undefined;
  /** The bearer. */
  readonly token: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON to be posted; absent: a GET. */
  readonly body?: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Awaited between head and body of the answer. The wait does not count, and the deadline starts again after it. */
  readonly beforeBody?: (() => Promise<void>) | undefined;
  /** @throws {CallFault} Where the answer is not what it should be; after any other error it counts as broken off. */
  read(answer: IncomingMessage): Promise<T>;
}

const agentOptions = { keepAlive: true, scheduling: 'fifo' } as const;

export class OwnCalls {
  private readonly clock: Clock;
  // A call follows on the heels of the last.
  private readonly agent = new Agent(agentOptions);
  private readonly tlsAgent = new TlsAgent(agentOptions);

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Rejects with a `CallFault` and nothing else. */
  ask<T>({ to, trust, token, headers, body, timeoutMs, signal, beforeBody, read }: OwnCall<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const options = {
      ...(to instanceof URL ? urlToHttpOptions(to) : to),
      headers: { ...headers, authorization: `Bearer ${token}`, ...(body !== undefined && headersOf(body)) },
      ...(body !== undefined && { method: 'POST' }),
    };
    const outgoing =
      trust === undefined
        ? request({ ...options, agent: this.agent })
        : requestTls({ ...options, ...tlsOptionsOf(trust), agent: this.tlsAgent });
    const fail = (message: string): void => {
      reject(new CallFault(message));
      outgoing.destroy();
    };
    const onAbort = (): void => fail('the call was ended');
    const startTimer = (): (() => void) =>
      this.clock.setTimer(timeoutMs, () => fail(`it did not answer within ${timeoutMs / 1_000} s`));
    let cancelTimer = startTimer();
    const readInTurn = async (answer: IncomingMessage): Promise<T> => {
      if (beforeBody !== undefined) {
        cancelTimer();
        await beforeBody();
        cancelTimer = startTimer();
      }
      return await read(answer);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    outgoing.on('error', (error) => fail(whyNot(error)));
    outgoing.on('response', (answer) => {
      readInTurn(answer).then(resolve, (error: unknown) =>
        fail(error instanceof CallFault ? error.message : `it broke off (${codeOf(error)})`),
      );
    });
    outgoing.end(body);
    return promise.finally(() => {
      cancelTimer();
      signal.removeEventListener('abort', onAbort);
    });
  }

  close(): void {
    this.agent.destroy();
    this.tlsAgent.destroy();
  }
}

/** @throws {CallFault} Where it is longer. */
export async function readBytes(answer: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new CallFault(`its answer is longer than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function headersOf(body: string) {
  return { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
}

function tlsOptionsOf({ trusted, serverName }: Trust) {
  return {
    // guard: internal-tls-trust
    ca: trusted,
    minVersion: 'TLSv1.3',
    ...(serverName === undefined ? {} : { servername: serverName }),
  } as const;
}

/** Codes of OpenSSL and of Node for an untrusted certificate. */
const distrust = /^(?:CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|ERR_TLS_CERT_)/;

function whyNot(error: Error): string {
  const code = codeOf(error);
  if (distrust.test(code)) return `its certificate is not trusted (${code})`;
  if (error.message.includes('alert handshake failure')) return 'it has no certificate yet';
  return `it does not answer (${code})`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'no reason given';
}
