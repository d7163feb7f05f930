// What does Google's token service want? A signed claim of a service account that it knows, not too old and not too long; its tokens end.

import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isBag } from '../checks.ts';

export interface GoogleTokens extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40123/token`. */
  readonly url: string;
  /** The JSON key of the service account that it knows. */
  readonly key: Readonly<Record<string, string>>;
  /** Exchanges that were asked for. */
  exchanges: number;
  lifetimeS: number;
  /** It answers 503 to all. */
  isAway: boolean;
  /** Whether a token was given here and has not ended. */
  takes(token: string): boolean;
  /** No token that was given is good any more. */
  revoke(): void;
}

const email = 'penstock@my-project.iam.gserviceaccount.com';
const keyId = 'key-of-the-account';

export async function startGoogleTokens(): Promise<GoogleTokens> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const given = new Map<string, number>();
  const server = createServer((incoming, response) => {
    void receive(incoming).then((form) => answer(tokens, given, publicKey, incoming, form, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const tokens: GoogleTokens = {
    url: `http://127.0.0.1:${port}/token`,
    key: {
      type: 'service_account',
      project_id: 'my-project',
      private_key_id: keyId,
      private_key: privateKey,
      client_email: email,
      token_uri: 'https://oauth2.googleapis.com/token',
    },
    exchanges: 0,
    lifetimeS: 3599,
    isAway: false,
    takes: (token) => (given.get(token) ?? 0) > Date.now(),
    revoke: () => given.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return tokens;
}

async function receive(incoming: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

function answer(
  tokens: GoogleTokens,
  given: Map<string, number>,
  publicKey: string,
  { method, url, headers }: IncomingMessage,
  form: URLSearchParams,
  response: ServerResponse,
) {
  tokens.exchanges += 1;
  if (tokens.isAway) return send(response, 503, { error: 'temporarily_unavailable' });
  const isForm = headers['content-type'] === 'application/x-www-form-urlencoded';
  if (method !== 'POST' || url !== '/token' || !isForm) return send(response, 404, { error: 'not_found' });
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
    return send(response, 400, { error: 'unsupported_grant_type' });
  const assertion = form.get('assertion') ?? '';
  const problem = judge(assertion, publicKey);
  // Google repeats what it was sent in its description.
  if (problem)
    return send(response, 400, { error: 'invalid_grant', error_description: `${problem}: ${assertion}` });
  const token = `ya29.simulated-token-number-${tokens.exchanges}`;
  given.set(token, Date.now() + tokens.lifetimeS * 1000);
  send(response, 200, { access_token: token, expires_in: tokens.lifetimeS, token_type: 'Bearer' });
}

function judge(assertion: string, publicKey: string): string | undefined {
  const [head = '', claims = '', signature = ''] = assertion.split('.');
  const signed = Buffer.from(`${head}.${claims}`);
  if (!verify('RSA-SHA256', signed, createPublicKey(publicKey), Buffer.from(signature, 'base64url')))
    return 'Invalid JWT Signature.';
  const [header, said] = [head, claims].map((part): unknown =>
    JSON.parse(Buffer.from(part, 'base64url').toString()),
  );
  if (!isBag(header) || !isBag(said)) return 'Invalid JWT.';
  if (header.alg !== 'RS256' || header.kid !== keyId) return 'Invalid JWT: wrong key.';
  if (said.iss !== email || said.aud !== 'https://oauth2.googleapis.com/token')
    return 'Invalid JWT: wrong audience.';
  if (said.scope !== 'https://www.googleapis.com/auth/cloud-platform') return 'Invalid OAuth scope.';
  const [from, to] = [Number(said.iat), Number(said.exp)];
  const nowS = Date.now() / 1000;
  const isTimely = from <= nowS + 60 && to > nowS && to - from <= 3600;
  return isTimely
    ? undefined
    : 'Invalid JWT: Token must be a short-lived token and in a reasonable timeframe. Check your iat and exp values.';
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}
