// What can happen to the bytes between two ends, and when? One fault for one connection, given or drawn by a seed.

import { makeRandom } from '../wall/split.ts';

/** Which bytes a fault is about: those towards the client, or those towards the upstream. */
export type Direction = 'down' | 'up';

/** What becomes of a connection at byte `atByte` of one direction, counted from 0 over all that it carries. */
export type LinkFault =
  | { readonly type: 'none' }
  /** Each run of bytes waits; what comes at the same time waits behind it. */
  | {
      readonly type: 'delay';
      readonly direction?: Direction;
      readonly ms: number;
      /** Added by chance, from 0 up to so much. */
      readonly jitterMs?: number;
    }
  | { readonly type: 'throttle'; readonly direction?: Direction; readonly bytesPerSecond: number }
  /** A FIN in front of that byte, and both connections are over. */
  | { readonly type: 'cut'; readonly direction?: Direction; readonly atByte: number }
  /** The same with a RST, which may take bytes with it that were not read. */
  | { readonly type: 'reset'; readonly direction?: Direction; readonly atByte: number }
  /** A FIN in front of that byte; the other direction goes on. */
  | { readonly type: 'half-close'; readonly direction?: Direction; readonly atByte: number }
  /** That byte arrives as another one: its bits are turned by `mask`, default 1. */
  | {
      readonly type: 'corrupt';
      readonly direction?: Direction;
      readonly atByte: number;
      readonly mask?: number;
    }
  /** From that byte on nothing passes any more, in neither direction, and nobody is reported. */
  | { readonly type: 'black-hole'; readonly direction?: Direction; readonly atByte: number };

export type LinkFaultType = LinkFault['type'];

/** The fault of each connection, by its number from 1. */
export type Schedule = (connection: number) => LinkFault;

export interface SeededOptions {
  readonly seed: number;
  /** Which of them, all equally likely. */
  readonly types: readonly LinkFaultType[];
  /** Bytes of an ordinary connection, by direction: a fault happens somewhere among them. */
  readonly bytesMax: Readonly<Record<Direction, number>>;
  readonly delayMsMax?: number;
  /** At least; up to ten times as much. */
  readonly bytesPerSecond?: number;
}

/** The same seed gives the same faults, in whatever order connections are asked for. */
export function seededSchedule(options: SeededOptions): Schedule {
  const { seed, types, bytesMax, delayMsMax = 20, bytesPerSecond = 20_000 } = options;
  return (connection) => {
    const random = makeRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(connection, 0x85ebca6b));
    const below = (limit: number): number => Math.floor(random() * limit);
    const direction: Direction = random() < 0.25 ? 'up' : 'down';
    const type = types[below(types.length)] ?? 'none';
    switch (type) {
      case 'none':
        return { type };
      case 'delay':
        return { type, direction, ms: below(delayMsMax), jitterMs: below(delayMsMax) };
      case 'throttle':
        return { type, direction, bytesPerSecond: bytesPerSecond * (1 + below(10)) };
      case 'corrupt':
        return { type, direction, atByte: below(bytesMax[direction]), mask: 1 << below(8) };
      case 'cut':
      case 'reset':
      case 'half-close':
      case 'black-hole':
        return { type, direction, atByte: below(bytesMax[direction]) };
    }
  };
}

/** One line for each of the first connections, to be printed beside the seed. */
export function printSchedule(schedule: Schedule, connections: number): string {
  return Array.from({ length: connections }, (_, index) => {
    const { type, ...more } = schedule(index + 1);
    const facts = Object.entries(more).map(([name, value]) => ` ${name}=${value}`);
    return `${index + 1} ${type}${facts.join('')}`;
  }).join('\n');
}
