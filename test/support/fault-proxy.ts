// What if the way between two ends is bad? A TCP proxy in front of any upstream that delays, slows, cuts, resets, half-closes,
// corrupts or swallows what passes, one fault for each connection, and writes down whether it fired.

import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Direction, LinkFault, Schedule } from './fault-proxy/link-fault.ts';
import { listenKept } from './listen-kept.ts';
import { makeRandom } from './wall/split.ts';

export {
  type Direction,
  type LinkFault,
  type LinkFaultType,
  printSchedule,
  type Schedule,
  seededSchedule,
} from './fault-proxy/link-fault.ts';

/** One connection through the proxy. */
export interface Passage {
  /** From 1. */
  readonly number: number;
  readonly fault: LinkFault;
  /** The fault has happened; one at a byte that never came has not. */
  isFired: boolean;
  /** Bytes passed on. */
  readonly passed: Record<Direction, number>;
  readonly closed: Promise<void>;
}

export interface FaultProxy {
  readonly port: number;
  /** `http://127.0.0.1:<port>`; whatever is spoken behind it goes through. */
  readonly url: string;
  readonly passages: readonly Passage[];
  /** From the next connection on. */
  schedule(next: LinkFault | Schedule): void;
  /** Ends every connection. */
  close(): Promise<void>;
}

export interface FaultProxyOptions {
  /** Of 127.0.0.1, unless `host` says otherwise. */
  readonly port: number;
  readonly host?: string;
  readonly schedule?: LinkFault | Schedule;
}

/** Slices of a second in which a slow connection gets its share. */
const slicesPerSecond = 20;

export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const passages: Passage[] = [];
  let schedule = asSchedule(options.schedule ?? { type: 'none' });

  // A FIN of one side is passed on and does not end the other direction.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const number = passages.length + 1;
    const closed = Promise.withResolvers<void>();
    const passage: Passage = {
      number,
      fault: schedule(number),
      isFired: false,
      passed: { down: 0, up: 0 },
      closed: closed.promise,
    };
    passages.push(passage);
    const upstream = connect({
      host: options.host ?? '127.0.0.1',
      port: options.port,
      allowHalfOpen: true,
      noDelay: true,
    });
    kept.keep(upstream);
    const over = new AbortController();
    const link: Link = { client, upstream, passage, signal: over.signal };
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      // What ended with a reset, or never came about, is over for both.
      socket.once('error', () => other.resetAndDestroy());
      socket.once('close', () => {
        over.abort();
        if (client.destroyed && upstream.destroyed) closed.resolve();
      });
    }
    // A socket that is closed ends its pumps by itself; nothing is left to say then.
    for (const direction of ['up', 'down'] as const) pump(link, direction).catch(() => {});
  });

  const kept = await listenKept(server);
  return {
    port: kept.port,
    url: `http://127.0.0.1:${kept.port}`,
    passages,
    schedule(next) {
      schedule = asSchedule(next);
    },
    close: kept.close,
  };
}

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  readonly passage: Passage;
  /** Aborted when one side is closed. */
  readonly signal: AbortSignal;
}

/** Passes on what comes from one side, as long as the fault lets it. Rejects when a side closes at the same time. */
async function pump(link: Link, direction: Direction): Promise<void> {
  const { passage, signal } = link;
  const [source, sink] = direction === 'up' ? [link.client, link.upstream] : [link.upstream, link.client];
  const { fault } = passage;
  const isOurs = fault.type !== 'none' && (fault.direction ?? 'down') === direction;
  const random = makeRandom(passage.number);
  // Without this a pump that stops reading would close its source.
  for await (const chunk of source.iterator({ destroyOnReturn: false })) {
    const bytes: Buffer = chunk;
    if (fault.type === 'black-hole' && passage.isFired) return;
    if (!isOurs) {
      await write(sink, bytes, passage, direction);
      continue;
    }
    switch (fault.type) {
      case 'delay':
        passage.isFired = true;
        await sleep(fault.ms + random() * (fault.jitterMs ?? 0), undefined, { signal });
        await write(sink, bytes, passage, direction);
        break;
      case 'throttle':
        passage.isFired = true;
        await writeSlowly(sink, bytes, link, direction, fault.bytesPerSecond);
        break;
      case 'corrupt': {
        const at = fault.atByte - passage.passed[direction];
        const byte = bytes[at];
        if (byte !== undefined) {
          bytes[at] = byte ^ (fault.mask ?? 1);
          passage.isFired = true;
        }
        await write(sink, bytes, passage, direction);
        break;
      }
      default: {
        const left = fault.atByte - passage.passed[direction];
        if (bytes.length <= left) {
          await write(sink, bytes, passage, direction);
          break;
        }
        if (left > 0) await write(sink, bytes.subarray(0, left), passage, direction);
        passage.isFired = true;
        strike(fault.type, link, source, sink);
        return;
      }
    }
  }
  sink.end();
}

function strike(
  type: 'cut' | 'reset' | 'half-close' | 'black-hole',
  link: Link,
  source: Socket,
  sink: Socket,
): void {
  switch (type) {
    case 'cut':
      sink.end(() => {
        link.client.destroy();
        link.upstream.destroy();
      });
      return;
    case 'reset':
      sink.resetAndDestroy();
      source.resetAndDestroy();
      return;
    case 'half-close':
      sink.end();
      // Read on, so that the end of this side is seen; its bytes lead nowhere.
      source.resume();
      return;
    case 'black-hole':
      link.client.pause();
      link.upstream.pause();
  }
}

async function writeSlowly(
  sink: Socket,
  bytes: Buffer,
  { passage, signal }: Link,
  direction: Direction,
  bytesPerSecond: number,
): Promise<void> {
  const share = Math.max(1, Math.floor(bytesPerSecond / slicesPerSecond));
  for (let at = 0; at < bytes.length; at += share) {
    await write(sink, bytes.subarray(at, at + share), passage, direction);
    await sleep(1000 / slicesPerSecond, undefined, { signal });
  }
}

/** Settled when the kernel has taken the bytes: a slow reader holds the writer back. */
function write(sink: Socket, bytes: Buffer, { passed }: Passage, direction: Direction): Promise<void> {
  return new Promise((resolve, reject) => {
    sink.write(bytes, (error) => {
      if (error) {
        reject(error);
        return;
      }
      passed[direction] += bytes.length;
      resolve();
    });
  });
}

function asSchedule(faults: LinkFault | Schedule): Schedule {
  return typeof faults === 'function' ? faults : () => faults;
}
