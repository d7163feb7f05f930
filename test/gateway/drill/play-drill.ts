// Plays one drill against a table of the test's, with a clock that stops but where somebody waits.

import { expect } from 'vitest';
import { type DrillOutcome, drillOutcomeSchema } from '../../../core/contract/exchange.ts';
import type { HealthHint, RouteEntry, RoutingTable } from '../../../core/contract/routing-table.ts';
import { runDrill } from '../../../gateway/drill/run-drill.ts';
import type { PipelineDefaults } from '../../../gateway/pipeline/parts.ts';
import { defaultTimeouts } from '../../../gateway/process/options.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { type RigTarget, tableOf } from '../rig.ts';

const defaults: PipelineDefaults = {
  timeouts: defaultTimeouts,
  openAfterMs: 25_000,
  keepAliveMs: 15_000,
  callsAtOnce: 8,
  showProvider: true,
};

export const main = { baseUrl: 'http://127.0.0.1:1/v1', name: 'main' };
export const spare = { baseUrl: 'http://127.0.0.1:2/v1', name: 'spare' };
export const keys = { a: 'secret-a', b: 'secret-b', c: 'secret-c' };

export interface Drill {
  readonly fault?: string;
  readonly targets?: readonly RigTarget[];
  readonly route?: Partial<RouteEntry>;
  readonly failover?: Partial<RouteEntry['failover']>;
  readonly takeoverWithinMs?: number;
  readonly id?: string;
  /** What the operator's checks found wrong. */
  readonly hints?: readonly HealthHint[];
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random?: () => number;
}

function tableFor({ targets = [main, spare], route = {}, failover = {}, hints = [] }: Drill): RoutingTable {
  const table = tableOf(targets, route);
  return {
    ...table,
    hints: [...hints],
    routes: table.routes.map((entry) => ({ ...entry, failover: { ...entry.failover, ...failover } })),
  };
}

/** Settled when the drill is over; whatever it waits for comes at once. */
export async function drill(asked: Drill): Promise<DrillOutcome> {
  const view = buildTableView(tableFor(asked));
  const fake = makeFakeClock(50_000);
  const clock = { ...fake, wallMs: () => 1_800_000_000_000 + fake.now() };
  let outcome: DrillOutcome | undefined;
  void runDrill(
    { clock, random: asked.random ?? (() => 0), defaults, onFailure() {}, view: () => view },
    {
      id: 'one',
      route: asked.id ?? 'team/m',
      fault: asked.fault ?? 'ServerError',
      takeoverWithinMs: asked.takeoverWithinMs ?? 2_000,
    },
  ).then((reported) => {
    outcome = reported;
  });
  for (let turn = 0; outcome === undefined; turn++) {
    if (turn > 10_000) throw new Error('the drill comes to no end');
    await new Promise((resolve) => setImmediate(resolve));
    const [next] = fake.pending();
    if (outcome === undefined && next !== undefined) fake.advance(next - fake.now());
  }
  expect(fake.pending(), 'timers that nobody waits for').toEqual([]);
  return drillOutcomeSchema.parse(outcome);
}
