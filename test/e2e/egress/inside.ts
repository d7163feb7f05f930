// Does a gateway connect to anything but its provider, whatever a request names? Runs in a network of its own, in which every packet
// has somewhere to go and the kernel counts those that go elsewhere: a wall, a gateway as a process, requests full of addresses, and
// then the facts.

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { RoutingTable } from '../../../core/contract/routing-table.ts';
import { type Endpoint, requestOf } from '../../flow/ask.ts';
import { launchListening, makeFolder } from '../../gateway/process/gateway-process.ts';
import { loopback, tableOf } from '../../gateway/rig.ts';
import { rawCall } from '../../support/raw-client.ts';
import { startWall } from '../../support/wall.ts';

export interface Facts {
  /** How many requests were answered with each status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Calls of the provider, and those whose body names an address. */
  readonly calls: number;
  readonly callsWithAddress: number;
  /** Connects and datagrams to anybody else, by the kernel. */
  readonly elsewhere: number;
  /** The same, when a route leads elsewhere: by an address, by one of IPv6, by a name. */
  readonly control: readonly number[];
}

const times = 5;
const dialects = ['openai-chat', 'openai-completions', 'anthropic-messages', 'openai-responses'] as const;
const endpoints: readonly Endpoint[] = ['chat', 'completions', 'messages', 'responses'];
/** Of documentation, of the cloud, of loopback, of IPv6, and by name. */
const addresses = [
  'http://198.51.100.7/picture.png',
  'http://169.254.169.254/latest/meta-data/',
  'http://127.0.0.1:9/picture.png',
  'https://[2001:db8::7]/picture.png',
  'https://pictures.example/picture.png',
];

const { dist } = z
  .object({ dist: z.string() })
  .parse(JSON.parse(await readFile(String(process.argv[2]), 'utf8')));
const run = promisify(execFile);
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
const families = ['iptables', 'ip6tables'] as const;

async function inNetwork(command: string, ...args: readonly string[]): Promise<string> {
  try {
    return (await run(command, args, { env })).stdout;
  } catch (error) {
    throw new Error(`${command} has to work in a network of its own (apt-get install iptables iproute2)`, {
      cause: error,
    });
  }
}

/** Whatever is no connection to these ports of loopback is refused, and counted. */
async function closeAllBut(ports: readonly number[]): Promise<void> {
  // Else a connect has no route, and fails before anybody counts it.
  await inNetwork('ip', 'route', 'add', 'default', 'dev', 'lo');
  await inNetwork('ip', '-6', 'route', 'add', 'default', 'dev', 'lo');
  for (const family of families) {
    const append = (...rule: string[]) => inNetwork(family, '--wait', '--append', 'OUTPUT', ...rule);
    for (const port of family === 'iptables' ? ports : []) {
      const known = ['--protocol', 'tcp', '--destination', '127.0.0.1', '--dport', String(port)];
      await append(...known, '--jump', 'ACCEPT');
    }
    await append('--protocol', 'tcp', '--syn', '--jump', 'REJECT');
    await append('--protocol', 'udp', '--jump', 'REJECT');
  }
}

async function countElsewhere(): Promise<number> {
  let sum = 0;
  for (const family of families) {
    const rules = await inNetwork(family, '--wait', '--list', 'OUTPUT', '--verbose', '--exact', '--numeric');
    for (const rule of rules.split('\n').filter((line) => line.includes(' REJECT ')))
      sum += Number(rule.trim().split(/\s+/)[0]);
  }
  return sum;
}

/** The request with the address wherever its dialect has a place for one. */
function requestWith(endpoint: Endpoint, isStream: boolean, url: string) {
  const text = `Look at ${url} and say what it shows.`;
  const content = {
    chat: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    },
    completions: { prompt: text },
    messages: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'image', source: { type: 'url', url } },
          ],
        },
      ],
    },
    responses: {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text },
            { type: 'input_image', image_url: url },
          ],
        },
      ],
    },
  }[endpoint];
  const more = { ...content, metadata: { user_id: 'x', ...(endpoint !== 'messages' && { api_base: url }) } };
  const headers = { 'x-forwarded-host': new URL(url).host, 'x-base-url': url };
  return requestOf({ endpoint, isStream, more, headers });
}

await using parts = new AsyncDisposableStack();
const wall = await startWall();
parts.defer(() => wall.close());
const folder = await makeFolder();
parts.defer(() => folder.remove());
let generation = 0;
/** A model for each dialect of the provider, and one at each of these base URLs. */
function tableWith(elsewhere: readonly string[] = []): RoutingTable {
  const tables = [
    ...dialects.map((dialect) => ({ model: dialect, dialects: [dialect], baseUrl: wall.baseUrl })),
    ...elsewhere.map((baseUrl, index) => ({ model: `elsewhere-${index}`, dialects: [...dialects], baseUrl })),
  ].map(({ model, ...target }) =>
    tableOf([{ ...target, provider: `platform/${model}`, providerEntry: { dialects: target.dialects } }], {
      id: `team/${model}`,
      model,
    }),
  );
  const everywhere = ['0.0.0.0/0', '::/0'].map((cidr) => ({ cidr, namespaces: ['*'] }));
  return {
    ...tableOf([]),
    generation: ++generation,
    settings: { ...loopback, egressAllow: everywhere },
    providers: tables.flatMap(({ providers }) => providers),
    routes: tables.flatMap(({ routes }) => routes),
  };
}
await folder.putTable(tableWith());
const gateway = await launchListening(folder, { PENSTOCK_DRAIN_GRACE_MS: '1000' }, [], dist);
parts.defer(async () => void (await gateway.process.stop()));
await gateway.process.line(/routing table in use/);
const port = Number(new URL(gateway.url).port);
await closeAllBut([port, wall.port]);

const statuses: Record<string, number> = {};
for (let n = 0; n < times; n++) {
  for (const url of addresses)
    for (const endpoint of endpoints)
      for (const model of dialects)
        for (const isStream of [true, false]) {
          const request = requestWith(endpoint, isStream, url);
          const { status } = await rawCall({ port }, { ...request, body: { ...request.body, model } });
          statuses[status] = (statuses[status] ?? 0) + 1;
        }
}
const elsewhere = await countElsewhere();
const callsWithAddress = wall.calls.filter(({ bodyText }) => bodyText.includes('/picture.png')).length;
const calls = wall.calls.length;

const taken = gateway.process.nextLine(/routing table in use/);
await folder.putTable(
  tableWith(['http://198.51.100.9/v1', 'http://[2001:db8::9]/v1', 'http://provider.example/v1']),
);
await taken;
const control: number[] = [];
for (const index of [0, 1, 2]) {
  const before = await countElsewhere();
  const request = requestOf();
  await rawCall({ port }, { ...request, body: { ...request.body, model: `elsewhere-${index}` } });
  control.push((await countElsewhere()) - before);
}
const facts: Facts = { statuses, calls, callsWithAddress, elsewhere, control };
await writeFile(String(process.argv[3]), JSON.stringify(facts));
await parts.disposeAsync();
process.exit(0);
