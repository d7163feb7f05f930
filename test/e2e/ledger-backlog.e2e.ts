// What does a ledger need that comes back to the journals of two hundred gateways, half an hour of each? The real process with the
// heap of the chart, against stand-ins; the machine is one that nothing else uses, or the rate is that of what else it does.
//
// PENSTOCK_BACKLOG_PODS (default 200) and PENSTOCK_BACKLOG_RUNS (default 3) say how much.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { useControlPlane } from '../cluster/control-plane.ts';
import { type Postgres, startPostgres } from '../ledger/postgres.ts';
import { runBacklog } from './ledger-backlog/run.ts';
import { load } from './scale/readings.ts';
import { openScorecard } from './scorecard.ts';

const pods = Number(process.env.PENSTOCK_BACKLOG_PODS ?? 200);
const runs = Number(process.env.PENSTOCK_BACKLOG_RUNS ?? 3);
const pages = 4;
const perSecondMin = { sqlite: 8_000, postgres: 5_000 };
const readyMsMax = 60_000;
const peakMibMax = 400;

const plane = useControlPlane({ hasControllers: false });
let postgres: Postgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.close());

test.each(['sqlite', 'postgres'] as const)(
  `${pods} gateways with ${pages} full pages each, into %s: in memory that does not grow with them`,
  async (kind) => {
    const card = openScorecard(`a backlog of ${pods} gateways, with ${kind}`);
    for (let run = 0; run < runs; run++) {
      const seen = await runBacklog({
        plane: plane(),
        pods,
        pages,
        ...(kind === 'postgres' ? { postgres } : {}),
      });
      const perSecond = Math.round(seen.records / (seen.takenMs / 1_000));
      const peakMib = seen.resident?.peakMib ?? Number.POSITIVE_INFINITY;
      const claim = (what: string, holds: boolean, figures: string) =>
        card.add({ what, tried: 1, failed: holds ? 0 : 1, figures });
      claim('every record taken once', seen.taken === seen.records, `${seen.taken} of ${seen.records}`);
      claim('ready in time', seen.readyMs < readyMsMax, `${Math.round(seen.readyMs)} ms`);
      claim('in little memory', peakMib <= peakMibMax, `${peakMib} MiB at most`);
      claim('no journal failed', !seen.log.includes('cannot be read or stored'), 'by its log');
      claim(
        'at its rate',
        perSecond >= perSecondMin[kind],
        `${perSecond}/s, ${seen.cpuUs} µs of a core a record, load ${load()}`,
      );
    }
    card.print();
    expect(card.misses()).toEqual([]);
  },
);
