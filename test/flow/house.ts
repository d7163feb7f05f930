// What does one test start of its own? Walls, gateways and closed ports of tests that run side by side, and their end.

import type { RouteEntry } from '../../core/contract/routing-table.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../gateway/rig.ts';
import { closedPort, type Script, startWall, type Wall } from '../support/wall.ts';
import { noSums, type TokenSums } from './same-tokens.ts';

export class House {
  /** What the ledgers of its gateways and its walls have agreed on. */
  tokens: TokenSums = noSums;
  private readonly closers: (() => Promise<void>)[] = [];

  onClose(close: () => Promise<void>): void {
    this.closers.push(close);
  }

  /** Gateways before their upstreams, so that nothing is cut that still runs. */
  async close(): Promise<void> {
    for (const close of this.closers.splice(0).reverse()) await close();
  }

  async wallThat(script: Script): Promise<Wall> {
    const wall = await startWall(script);
    this.onClose(() => wall.close());
    return wall;
  }

  async rigOf(targets: readonly RigTarget[], route: Partial<RouteEntry> = {}): Promise<Rig> {
    // Zero is the shortest of all random waits.
    const rig = await startRig(tableOf(targets, route), { random: () => 0 });
    this.onClose(() => rig.close());
    return rig;
  }

  /** A base URL at which every connection is refused. */
  async nowhere(): Promise<string> {
    const port = await closedPort();
    this.onClose(() => port.close());
    return `${port.url}/v1`;
  }
}

/** A test with a house of its own. */
export function inHouse<Args extends readonly unknown[]>(
  work: (house: House, ...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    const house = new House();
    try {
      await work(house, ...args);
    } finally {
      await house.close();
    }
  };
}
