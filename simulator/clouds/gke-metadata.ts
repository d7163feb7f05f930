// What does the metadata server of GKE want? Its own header, and no header of a proxy; its answers carry the header too. A token is the same
// until five minutes before its end. In the first seconds of a pod, the server has no token.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface GkeMetadata extends AsyncDisposable {
  /** As `GCE_METADATA_HOST` has it, such as `127.0.0.1:40123`. */
  readonly host: string;
  /** Of the service account. */
  readonly email: string;
  /** Paths, as they came. */
  readonly calls: string[];
  lifetimeS: number;
  /** Unix milliseconds, by which its tokens end. */
  nowMs: () => number;
  /** So many calls more are answered with 503. */
  notReady: number;
  /** The account that the pod's is bound to does not exist, or is not bound. */
  isUnbound: boolean;
  /** Its answers lack the header: some other server answers at the address. */
  isForeign: boolean;
  /** Whether a token was given here and has not ended. */
  takes(token: string): boolean;
  revoke(): void;
}

const cloudScope = 'https://www.googleapis.com/auth/cloud-platform';
const base = '/computeMetadata/v1/instance/service-accounts/default';

export async function startGkeMetadata(): Promise<GkeMetadata> {
  const given = new Map<string, number>();
  let current: { readonly token: string; readonly endsAtMs: number } | undefined;
  const server = createServer((incoming, response) => {
    metadata.calls.push(incoming.url ?? '');
    answer(metadata, incoming, response, () => {
      const nowMs = metadata.nowMs();
      if (current === undefined || current.endsAtMs - nowMs <= 300_000) {
        current = {
          token: `ya29.c.simulated-metadata-token-${given.size + 1}`,
          endsAtMs: nowMs + metadata.lifetimeS * 1000,
        };
        given.set(current.token, current.endsAtMs);
      }
      return { ...current, leftS: Math.floor((current.endsAtMs - nowMs) / 1000) };
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const metadata: GkeMetadata = {
    host: `127.0.0.1:${port}`,
    email: 'gateway@my-project.iam.gserviceaccount.com',
    calls: [],
    lifetimeS: 3599,
    nowMs: Date.now,
    notReady: 0,
    isUnbound: false,
    isForeign: false,
    takes: (token) => (given.get(token) ?? 0) > metadata.nowMs(),
    revoke() {
      given.clear();
      current = undefined;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return metadata;
}

function answer(
  metadata: GkeMetadata,
  { method, url, headers }: IncomingMessage,
  response: ServerResponse,
  give: () => { readonly token: string; readonly leftS: number },
) {
  const say = (status: number, type: string, text: string): void => {
    const mark = metadata.isForeign ? {} : { 'metadata-flavor': 'Google' };
    response.writeHead(status, { 'content-type': type, ...mark });
    response.end(text);
  };
  if (method !== 'GET' || headers['metadata-flavor'] !== 'Google' || headers['x-forwarded-for'] !== undefined)
    return say(403, 'text/html', 'Missing Metadata-Flavor:Google header.');
  if (metadata.notReady > 0) {
    metadata.notReady -= 1;
    return say(503, 'text/plain', 'not ready');
  }
  if (url === `${base}/?recursive=true`) {
    const { email } = metadata;
    return say(
      200,
      'application/json',
      JSON.stringify({ email, aliases: ['default'], scopes: [cloudScope] }),
    );
  }
  if (url === `${base}/email`) return say(200, 'application/text', metadata.email);
  const isToken = url === `${base}/token` || url === `${base}/token?scopes=${encodeURIComponent(cloudScope)}`;
  if (!isToken) return say(404, 'text/html', 'Not Found');
  if (metadata.isUnbound)
    return say(
      404,
      'text/plain',
      'Unable to generate access token; IAM returned 404 Not Found: Not found; Gaia id not found for email',
    );
  const { token, leftS } = give();
  say(
    200,
    'application/json',
    JSON.stringify({ access_token: token, expires_in: leftS, token_type: 'Bearer' }),
  );
}
