// How does a process reach the API server that a kubeconfig names? The only file that knows client-node.

import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { type Clock, systemClock } from '../clock.ts';
import type { KubeClient } from './client.ts';
import { type Authenticator, type Credentials, openConnection } from './connection.ts';

interface ConfiguredClient {
  readonly client: KubeClient;
  /** Its address, for people and metrics. */
  readonly server: string;
  /** Of the current context, or of the pod. */
  readonly namespace?: string;
}

interface ConfiguredClientOptions {
  /** Its path. Without one: the files of the pod's service account. */
  readonly kubeconfig?: string | undefined;
  readonly clock?: Clock;
}

/** The library caches tokens and runs plugins; between two questions to it, the same answer serves all calls. */
const keptMs = 10_000;
/** After a 401 the file is read and its plugin runs again, but not once for each of a hundred refused calls. */
const reloadMs = 1_000;

export async function openConfiguredClient(options: ConfiguredClientOptions = {}): Promise<ConfiguredClient> {
  const load = () => loadConfig(options.kubeconfig);
  const config = load();
  const server = config.getCurrentCluster()?.server ?? '';
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace;
  const client = openConnection({
    server,
    authenticator: makeAuthenticator(config, load, options.clock ?? systemClock),
  });
  return { client, server, ...(namespace === undefined || namespace === '' ? {} : { namespace }) };
}

function loadConfig(path: string | undefined): KubeConfig {
  const config = new KubeConfig();
  const source = path === undefined ? 'The environment of this process' : `The kubeconfig ${path}`;
  try {
    if (path === undefined) config.loadFromCluster();
    else config.loadFromFile(path);
  } catch (error) {
    // A parser's message quotes the text, tokens included; a message of the file system does not.
    const why =
      error instanceof Error && 'syscall' in error ? error.message : 'check its form and its current-context';
    throw new Error(`${source} cannot be read: ${why}`);
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null || !URL.canParse(cluster.server)) {
    throw new Error(
      `${source} names no API server; ${path === undefined ? 'outside of a pod a kubeconfig is needed' : 'check its current-context'}`,
    );
  }
  if (cluster.proxyUrl !== undefined && cluster.proxyUrl !== '') {
    throw new Error(`${source} asks for a proxy (${cluster.name}: proxy-url), which is not supported`);
  }
  // The library refuses plain HTTP unless verification is off; plain HTTP has no certificate anyway.
  config.clusters = config.clusters.map((each) =>
    each.server.startsWith('http:') ? { ...each, skipTLSVerify: true } : each,
  );
  return config;
}

function makeAuthenticator(first: KubeConfig, load: () => KubeConfig, clock: Clock): Authenticator {
  let config = first;
  let loadedAtMs = clock.now();
  let isRefused = false;
  let kept: { readonly credentials: Promise<Credentials>; readonly readAtMs: number } | undefined;

  return {
    credentials() {
      const nowMs = clock.now();
      if (isRefused && nowMs - loadedAtMs >= reloadMs) {
        config = load();
        loadedAtMs = nowMs;
        isRefused = false;
        kept = undefined;
      }
      if (kept !== undefined && nowMs - kept.readAtMs < keptMs) return kept.credentials;
      // Kept before it is settled: of many calls at once only one starts the plugin.
      const credentials = readCredentials(config);
      kept = { credentials, readAtMs: nowMs };
      credentials.catch(() => {
        if (kept?.credentials === credentials) kept = undefined;
      });
      return credentials;
    },
    refused() {
      isRefused = true;
    },
  };
}

async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const applied: RequestOptions = { headers: {} };
  try {
    await config.applyToHTTPSOptions(applied);
  } catch {
    // The output of a plugin may be its token, so no part of it may get into a message.
    const name = config.getCurrentUser()?.name ?? '';
    throw new Error(`the credentials of user '${name}' of the kubeconfig could not be read (plugin or file)`);
  }
  const { auth, headers, ca, cert, key, servername, rejectUnauthorized } = applied;
  return {
    headers: {
      ...readHeaders(headers),
      ...(auth ? { authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {}),
    },
    tls: {
      ...pem('ca', ca),
      ...pem('cert', cert),
      ...pem('key', key),
      ...(servername === undefined ? {} : { servername }),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    },
  };
}

function readHeaders(headers: RequestOptions['headers']): Record<string, string> {
  const entries = Object.entries(headers ?? {}).flatMap(([name, value]) =>
    // A token read from a file ends with the line.
    typeof value === 'string' ? [[name.toLowerCase(), value.trim()] as const] : [],
  );
  return Object.fromEntries(entries);
}

function pem<N extends string>(name: N, value: unknown): Partial<Record<N, string | Buffer>> {
  const isPem = typeof value === 'string' || Buffer.isBuffer(value);
  const found: Partial<Record<string, string | Buffer>> = isPem ? { [name]: value } : {};
  return found;
}
