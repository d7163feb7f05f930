// How does a pod reach its API server? With the files of its service account, which the kubelet renews.

import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { type Clock, systemClock } from '../clock.ts';
import type { KubeClient } from './client.ts';
import { type Authenticator, type Credentials, openConnection } from './connection.ts';
import { isRecord } from './object.ts';

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

/** The account that the token itself names. @throws if it is not a token of a ServiceAccount. */
export async function readAccount(folder: string): Promise<{ readonly name: string; readonly uid: string }> {
  const file = join(folder, 'token');
  const claims = parseClaims(await readFile(file, 'utf8'));
  const kubernetes = isRecord(claims) ? claims['kubernetes.io'] : undefined;
  const account = isRecord(kubernetes) ? kubernetes.serviceaccount : undefined;
  if (!isRecord(account) || typeof account.name !== 'string' || typeof account.uid !== 'string')
    throw new Error(`${file} is not the token of a ServiceAccount`);
  return { name: account.name, uid: account.uid };
}

/** Nothing of a token may be in an error, as that of JSON would be. */
function parseClaims(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  } catch {
    return undefined;
  }
}

async function readFiles(folder: string): Promise<Credentials> {
  const [ca, token] = await Promise.all([
    readFile(join(folder, 'ca.crt')),
    readFile(join(folder, 'token'), 'utf8'),
  ]);
  return { headers: { authorization: `Bearer ${token.trim()}` }, tls: { ca } };
}
