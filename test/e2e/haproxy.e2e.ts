// Does anybody who calls notice when gateways behind HAProxy are restarted? Three of them, one after the other, three times over,
// under requests and open streams. HAProxy has to be installed (`apt-get install haproxy`).
//
// PENSTOCK_ROUNDS (default 3) says how often each is restarted; PENSTOCK_RATE and PENSTOCK_STREAMS (200 each) how many requests a
// second and how many streams there are. A machine that cannot answer so many fails for that alone.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startChild, untilReady } from '../cluster/child.ts';
import { freePort } from '../cluster/free-port.ts';
import { type Fleet, startFleet } from '../flow/rolling-restart/fleet.ts';
import { startLoad } from '../support/load/start.ts';
import { neededProgram } from '../support/needed-program.ts';
import { until } from '../support/until.ts';
import { openScorecard } from './scorecard.ts';

const rounds = Number(process.env.PENSTOCK_ROUNDS ?? 3);
const requestsPerSecond = Number(process.env.PENSTOCK_RATE ?? 200);
const streams = Number(process.env.PENSTOCK_STREAMS ?? 200);
/** Enough of them for what is claimed; a shorter run is a look at the script. */
const isWhole = rounds >= 3 && requestsPerSecond >= 200 && streams >= 200;

test(`${rounds} rolling restarts behind HAProxy, under ${requestsPerSecond} requests a second and ${streams} open streams`, async () => {
  await using parts = new AsyncDisposableStack();
  const fleet = await startFleet({ gateways: 3, drainAcceptMs: 3_000, stream: 'pace=300+tokens=40' });
  parts.defer(() => fleet.stop());
  const proxy = await startHaproxy(fleet);
  parts.defer(() => proxy.stop());
  const load = await startLoad({ ...fleet.plan, urls: [proxy.url], requestsPerSecond, streams });
  parts.defer(() => load.kill());
  await load.full();
  let restarts = 0;
  for (let round = 0; round < rounds; round++) {
    for (const index of fleet.members.keys()) {
      await fleet.restart(index);
      // The next one leaves when this one has callers again.
      await until(() => proxy.isUp(index), 100);
      restarts++;
    }
  }
  const figures = await load.stop();
  const card = openScorecard('rolling restarts behind HAProxy');
  const inWords = `p50 ${figures.p50Ms} ms, p99 ${figures.p99Ms} ms, ${figures.maxMs} ms at most; ${figures.reasons.join('; ')}`;
  card.add({
    what: 'requests',
    tried: figures.requests,
    failed: figures.failed,
    fired: restarts,
    figures: inWords,
  });
  card.add({
    what: 'streams',
    tried: figures.streams,
    failed: figures.cut,
    fired: restarts,
    figures: `longest silence ${figures.worstGapMs} ms`,
  });
  card.print();
  expect(card.misses()).toEqual([]);
  expect(restarts).toBe(rounds * fleet.members.length);
  if (isWhole) {
    expect(figures.requests).toBeGreaterThanOrEqual(20_000);
    expect(figures.streams).toBeGreaterThanOrEqual(500);
  }
});

interface Haproxy {
  readonly url: string;
  /** Whether it sends requests to this member. */
  isUp(index: number): Promise<boolean>;
  stop(): Promise<void>;
}

async function startHaproxy({ members }: Fleet): Promise<Haproxy> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-haproxy-'));
  const [port, statsPort] = [await freePort(), await freePort()];
  const config = join(folder, 'haproxy.cfg');
  const log = join(folder, 'haproxy.log');
  await writeFile(config, configFor(members, port, statsPort));
  const child = await startChild(await neededProgram('haproxy'), ['-db', '-f', config], log);
  const rows = async () => {
    const response = await fetch(`http://127.0.0.1:${statsPort}/;csv`);
    return (await response.text()).split('\n').map((line) => line.split(','));
  };
  /** Name of the server, and the 18th column: its status. */
  const isUp = async (index: number) =>
    (await rows()).some((columns) => columns[1] === `gateway-${index}` && columns[17]?.startsWith('UP'));
  await untilReady('HAProxy', child, log, async () => {
    const up = await Promise.all(members.map((_, index) => isUp(index))).catch(() => [false]);
    return up.every(Boolean);
  });
  return {
    url: `http://127.0.0.1:${port}`,
    isUp,
    async stop() {
      await child.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** As a platform team would write it: health by `/readyz`, connections kept on both sides, another server where one refuses. */
function configFor(members: Fleet['members'], port: number, statsPort: number): string {
  const servers = members.map(
    (member, index) =>
      `  server gateway-${index} 127.0.0.1:${member.port} check port ${member.readyPort} inter 500ms fall 2 rise 1`,
  );
  return `
global
  maxconn 8000
defaults
  mode http
  option http-keep-alive
  option redispatch
  retries 3
  timeout connect 3s
  timeout check 5s
  timeout client 1h
  timeout server 1h
frontend models
  bind 127.0.0.1:${port}
  default_backend gateways
backend gateways
  balance roundrobin
  option httpchk GET /readyz
${servers.join('\n')}
frontend stats
  bind 127.0.0.1:${statsPort}
  stats enable
  stats uri /
`;
}
