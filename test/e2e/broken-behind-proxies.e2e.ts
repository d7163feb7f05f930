// Behind a real nginx and a real HAProxy, as people put them before a gateway, does every official SDK still raise when a stream
// breaks, and in the gateway's words? Also after the 25 seconds for which a stream is open without any content. Both have to be
// installed (`apt-get install nginx-light haproxy`).

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startChild, untilReady } from '../cluster/child.ts';
import { freePort } from '../cluster/free-port.ts';
import {
  type BrokenStage,
  cases,
  expectRaised,
  signals,
  startBrokenStage,
} from '../conformance/broken-stage.ts';
import { type Errand, olderPythonSdks, pythonSdks, readInPython } from '../conformance/python-readers.ts';
import { type Address, nodeReaders, olderNodeReaders, type Reading } from '../conformance/stream-readers.ts';
import { neededProgram } from '../support/needed-program.ts';
import { openScorecard, type Scorecard } from './scorecard.ts';

const proxies = { nginx: nginxFor, HAProxy: haproxyFor } as const;

test.each(['nginx', 'HAProxy'] as const)('behind %s every SDK raises, in our words', async (name) => {
  await using parts = new AsyncDisposableStack();
  // The gateway's own default, and a provider that ends a second later.
  const stage = await startBrokenStage({ openAfterMs: 25_000, silenceMs: 26_000 });
  parts.defer(() => stage.close());
  const proxy = await startProxy(name, stage);
  parts.defer(() => proxy.stop());
  const scorecard = openScorecard(`Broken streams behind ${name}`);
  const wrong = [
    ...(await inNode(proxy.address, scorecard)),
    ...(
      await Promise.all(
        [...pythonSdks, ...olderPythonSdks].map((sdk) => inPython(sdk, proxy.address, scorecard)),
      )
    ).flat(),
  ];
  scorecard.print();
  expect(wrong).toEqual([]);
  expect(scorecard.misses()).toEqual([]);
  expect(stage.wall.calls.length).toBeGreaterThan(0);
});

async function inNode(address: Address, scorecard: Scorecard): Promise<string[]> {
  const readers = [...nodeReaders, ...olderNodeReaders];
  const read = await Promise.all(
    readers.flatMap((reader) =>
      cases
        .filter(({ client }) => client === reader.dialect)
        .map(async (one) => {
          const reading = await reader.read(address, one.model, 'three plain words');
          return {
            sdk: `${reader.sdk} for Node`,
            wrong: wrongIn(reading, one, `${reader.sdk}, ${reader.way}`),
          };
        }),
    ),
  );
  return count(read, scorecard);
}

async function inPython(
  python: (typeof pythonSdks)[number],
  address: Address,
  scorecard: Scorecard,
): Promise<string[]> {
  const jobs = cases.flatMap((one) =>
    python.reads
      .filter(([dialect]) => dialect === one.client)
      .map(([dialect, way]) => ({ one, dialect, way })),
  );
  const errands = jobs.map(
    ({ one, dialect, way }, first): Errand => ({ dialect, way, model: one.model, first, count: 1 }),
  );
  const readings = await readInPython(python, address, errands, { atOnce: 32, timeoutMs: 600_000 });
  const read = jobs.map(({ one, way }, at) => ({
    sdk: python.sdk,
    wrong: wrongIn(readings.get(at), one, `${python.sdk}, ${way}`),
  }));
  return count(read, scorecard);
}

function wrongIn(
  reading: Reading | undefined,
  { signal, model }: (typeof cases)[number],
  who: string,
): string | undefined {
  try {
    expectRaised(reading, signals[signal], `${who}, ${model}`);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function count(
  read: readonly { readonly sdk: string; readonly wrong: string | undefined }[],
  scorecard: Scorecard,
): string[] {
  for (const sdk of new Set(read.map((one) => one.sdk))) {
    const own = read.filter((one) => one.sdk === sdk);
    const failed = own.filter(({ wrong }) => wrong !== undefined).length;
    scorecard.add({ what: sdk, tried: own.length, failed, fired: own.length });
  }
  return read.flatMap(({ wrong }) => wrong ?? []);
}

async function startProxy(
  name: keyof typeof proxies,
  { rig }: BrokenStage,
): Promise<{ address: Address; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-proxy-'));
  const port = await freePort();
  const { command, config, args } = proxies[name](folder, port, new URL(rig.url).port);
  const file = join(folder, 'proxy.conf');
  const log = join(folder, 'proxy.log');
  await writeFile(file, config);
  const child = await startChild(await neededProgram(command), [...args, file], log);
  const url = `http://127.0.0.1:${port}`;
  await untilReady(name, child, log, () =>
    fetch(`${url}/v1/nothing`).then(
      ({ status }) => status === 404,
      () => false,
    ),
  );
  return {
    address: { url, baseUrl: `${url}/v1` },
    async stop() {
      await child.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Program {
  readonly command: string;
  readonly config: string;
  readonly args: readonly string[];
}

/** As its own guide begins, and no word about buffering: the gateway's answers say that themselves. */
function nginxFor(folder: string, port: number, upstreamPort: string): Program {
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return {
    command: 'nginx',
    args: ['-p', folder, '-e', 'stderr', '-c'],
    config: `daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  ${places.map((place) => `${place}_temp_path ${folder}/${place};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${upstreamPort};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`,
  };
}

function haproxyFor(_folder: string, port: number, upstreamPort: string): Program {
  return {
    command: 'haproxy',
    args: ['-db', '-f'],
    config: `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend in
  bind 127.0.0.1:${port}
  default_backend gateways
backend gateways
  server one 127.0.0.1:${upstreamPort}
`,
  };
}
