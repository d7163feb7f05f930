// How does a pod reach its API server? With the files of its service account, which the kubelet renews.

import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { KubeClient } from './client.ts';
import { type Clock, systemClock } from './clock.ts';
import { type Authenticator, type Credentials, openConnection } from './connection.ts';

export interface ServiceAccountOptions {
  /** Holds `ca.crt` and `token`. */
  readonly folder: string;
  readonly host: string;
  readonly port: number;
  readonly clock?: Clock;
}

/** A token lives for an hour and is replaced long before its end; more often than this it need not be looked at. */
const keptMs = 60_000;

/** Nothing is read before the first call; files that are missing are an error of that call, not of this one. */
export function openServiceAccountClient(options: ServiceAccountOptions): KubeClient {
  const host = isIPv6(options.host) ? `[${options.host}]` : options.host;
  return openConnection({
    server: `https://${host}:${options.port}`,
    authenticator: makeFileAuthenticator(options.folder, options.clock ?? systemClock),
  });
}

function makeFileAuthenticator(folder: string, clock: Clock): Authenticator {
  let kept: { readonly credentials: Credentials; readonly readAtMs: number } | undefined;
  let isStale = false;

  return {
    async credentials() {
      if (kept !== undefined && !isStale && clock.now() - kept.readAtMs < keptMs) return kept.credentials;
      const credentials = await readFiles(folder).catch((error: unknown) => {
        // The files are swapped under us now and then; what was read last is good until the server says otherwise.
        if (kept === undefined || isStale) throw error;
        return kept.credentials;
      });
      kept = { credentials, readAtMs: clock.now() };
      isStale = false;
      return credentials;
    },
    refused() {
      isStale = true;
    },
  };
}

async function readFiles(folder: string): Promise<Credentials> {
  const [ca, token] = await Promise.all([
    readFile(join(folder, 'ca.crt')),
    readFile(join(folder, 'token'), 'utf8'),
  ]);
  return { headers: { authorization: `Bearer ${token.trim()}` }, tls: { ca } };
}
