// Two tenants of one gateway process: team-a takes what it can get, team-b asks for a small answer ten times a second and is measured.

import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { RoutingTable, TargetEntry } from '../../../core/contract/routing-table.ts';
import { podFlags, podMemoryMib } from '../../../tools/bench/targets/pod-flags.ts';
import {
  type Folder,
  type ListeningProcess,
  launchListening,
  makeFolder,
} from '../../gateway/process/gateway-process.ts';
import { keyEntry, tableOf } from '../../gateway/rig.ts';
import { probedNode } from '../scale/readings.ts';
import type { BodyOrder, FloodOrder, FloodReport } from './flood.ts';

const floodScript = fileURLToPath(new URL('flood.ts', import.meta.url));

/** Keys of team-a. */
export const greedyKeys = ['0', '1', '2', '3'].map((digit) => `psk_${`a${digit}`.repeat(24)}`);
const modestKey = `psk_${'b'.repeat(48)}`;

export interface Calls {
  readonly made: number;
  /** Answered with 200. */
  readonly good: number;
  readonly withinMs: (ms: number) => number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly statuses: Readonly<Record<string, number>>;
}

export interface FairRig extends AsyncDisposable {
  readonly port: number;
  readonly gateway: ListeningProcess;
  flood(streams: FloodOrder['streams']): void;
  sendBodies(bodies: BodyOrder): void;
  report(): Promise<FloodReport>;
  /** Takes the time of every core for itself, as far as the kernel lets it, until it is disposed. */
  busyMachine(processes: number): AsyncDisposable;
  /** Of team-b, ten a second, counted from when each is due. */
  callFor(seconds: number): Promise<Calls>;
}

const launchPod = (folder: Folder): Promise<ListeningProcess> =>
  launchListening(folder, { ...probedNode(), PENSTOCK_DRAIN_GRACE_MS: '0' }, podFlags(podMemoryMib));

export async function startFairRig(launch = launchPod): Promise<FairRig> {
  await using parts = new AsyncDisposableStack();
  const small = createServer((incoming, response) => {
    incoming.resume();
    incoming.once('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(smallAnswer);
    });
  }).listen(0, '127.0.0.1');
  await once(small, 'listening');
  parts.defer(() => void small.close().closeAllConnections());
  const flood = fork(floodScript);
  parts.defer(() => void flood.kill('SIGKILL'));
  const [{ port: floodPort, sinkPort }] = await once(flood, 'message');
  const folder = await makeFolder();
  parts.defer(() => folder.remove());
  await folder.putTable(twoTenants(floodPort, sinkPort, (small.address() as AddressInfo).port));
  const gateway = await launch(folder);
  parts.defer(async () => void (await gateway.process.stop(20_000)));
  await gateway.process.line(/routing table in use/);
  const port = Number(new URL(gateway.url).port);
  const owned = parts.move();
  return {
    port,
    gateway,
    flood: (streams) => void flood.send({ port, streams } satisfies FloodOrder),
    sendBodies: (bodies) => void flood.send({ port, streams: [], bodies } satisfies FloodOrder),
    async report() {
      flood.send('report');
      const [report] = await once(flood, 'message');
      return report;
    },
    busyMachine(processes) {
      const burners = Array.from({ length: processes }, () => spawn(process.execPath, ['-e', 'for(;;);']));
      return {
        async [Symbol.asyncDispose]() {
          for (const burner of burners) burner.kill('SIGKILL');
        },
      };
    },
    callFor: (seconds) => callFor(port, seconds),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const smallAnswer = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'small',
  choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

function twoTenants(floodPort: number, sinkPort: number, smallPort: number): RoutingTable {
  const of = (model: string, port: number, dialects: TargetEntry['dialects'] = ['openai-chat']) => {
    const namespace = model === 'small' ? 'team-b' : 'team-a';
    const provider = `${namespace}/${model}`;
    const { providers, routes } = tableOf([
      { baseUrl: `http://127.0.0.1:${port}/v1`, provider, dialects, providerEntry: { dialects } },
    ]);
    return { providers, routes: routes.map((route) => ({ ...route, id: provider, model })) };
  };
  const tables = [
    of('flood', floodPort),
    of('large', sinkPort),
    of('large-translated', sinkPort, ['anthropic-messages']),
    of('small', smallPort),
  ];
  return {
    ...tableOf([]),
    providers: tables.flatMap(({ providers }) => providers),
    routes: tables.flatMap(({ routes }) => routes),
    keys: [
      ...greedyKeys.map((key, index) => keyEntry(key, `team-a/key-${index}`)),
      keyEntry(modestKey, 'team-b/key'),
    ],
  };
}

async function callFor(port: number, seconds: number): Promise<Calls> {
  const agent = new Agent({ keepAlive: true });
  const tookMs: number[] = [];
  const statuses: Record<string, number> = {};
  const body = JSON.stringify({ model: 'small', messages: [{ role: 'user', content: 'x' }] });
  const call = async (dueAt: number): Promise<void> => {
    const asked = request({
      agent,
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${modestKey}`, 'content-type': 'application/json' },
    }).end(body);
    const [answer] = await once(asked, 'response');
    await text(answer);
    statuses[answer.statusCode] = (statuses[answer.statusCode] ?? 0) + 1;
    if (answer.statusCode === 200) tookMs.push(performance.now() - dueAt);
  };
  const calls: Promise<void>[] = [];
  const begun = performance.now();
  const made = seconds * 10;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      while (calls.length < made && performance.now() - begun >= calls.length * 100) {
        calls.push(call(begun + calls.length * 100));
      }
      if (calls.length < made) return;
      clearInterval(timer);
      resolve();
    }, 5);
  });
  await Promise.all(calls);
  agent.destroy();
  tookMs.sort((a, b) => a - b);
  const at = (share: number): number => tookMs[Math.floor(tookMs.length * share)] ?? Number.NaN;
  return {
    made,
    good: tookMs.length,
    withinMs: (ms) => tookMs.filter((took) => took <= ms).length,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    statuses,
  };
}
