// What do Google's token services want? OAuth: a signed claim of a service account that it knows. Security Token Service: the token of a
// cluster that its pool trusts. IAM credentials: a token of a caller that may act as the service account. Tokens end.

import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isBag } from '../checks.ts';
import { type ClusterIssuer, isFor } from './cluster-issuer.ts';

interface GoogleOptions {
  /** Whose tokens the pool trusts; absent: no issuer's. */
  readonly issuer?: ClusterIssuer;
  /** Whether the token is of another service of Google, such as the metadata server. */
  readonly takesToo?: (token: string) => boolean;
}

export interface GoogleTokens extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40123/token`. */
  readonly url: string;
  /** Of the token services, in the form that the seats take. */
  readonly services: { readonly oauth2: string; readonly sts: string; readonly iamCredentials: string };
  /** The JSON key of the service account that it knows. */
  readonly key: Readonly<Record<string, string>>;
  /** Of the workload identity pool. */
  readonly audience: string;
  /** Service accounts that callers may act as. */
  readonly impersonable: Set<string>;
  /** Exchanges that were asked for. */
  exchanges: number;
  /** Paths of the exchanges. */
  readonly calls: string[];
  lifetimeS: number;
  /** It answers 503 to all. */
  isAway: boolean;
  /** Whether a token was given here and has not ended. */
  takes(token: string): boolean;
  /** As whom: the e-mail address of the account, or `federated`. */
  ownerOf(token: string): string | undefined;
  /** No token that was given is good any more. */
  revoke(): void;
}

interface Given {
  readonly owner: string;
  readonly endsAtMs: number;
}

interface Refusal {
  readonly status: number;
  readonly body: object;
}

const email = 'penstock@my-project.iam.gserviceaccount.com';
const keyId = 'key-of-the-account';
const scope = 'https://www.googleapis.com/auth/cloud-platform';

export async function startGoogleTokens(options: GoogleOptions = {}): Promise<GoogleTokens> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const given = new Map<string, Given>();
  const give = (owner: string): string => {
    const token = `ya29.simulated-token-number-${tokens.exchanges}`;
    given.set(token, { owner, endsAtMs: Date.now() + tokens.lifetimeS * 1000 });
    return token;
  };
  const server = createServer((incoming, response) => {
    void receive(incoming).then((text) => {
      tokens.exchanges += 1;
      tokens.calls.push(incoming.url ?? '');
      if (tokens.isAway) return send(response, 503, { error: 'temporarily_unavailable' });
      const asked = { incoming, text, response };
      if (incoming.url === '/token') return answerClaim(asked, publicKey, tokens, give);
      if (incoming.url === '/v1/token') return answerExchange(asked, options.issuer, tokens, give);
      answerImpersonation(asked, options, tokens, give);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const tokens: GoogleTokens = {
    url: `${origin}/token`,
    services: { oauth2: `${origin}/token`, sts: `${origin}/v1/token`, iamCredentials: origin },
    key: {
      type: 'service_account',
      project_id: 'my-project',
      private_key_id: keyId,
      private_key: privateKey,
      client_email: email,
      token_uri: 'https://oauth2.googleapis.com/token',
    },
    audience:
      '//iam.googleapis.com/projects/123456/locations/global/workloadIdentityPools/clusters/providers/mine',
    impersonable: new Set(),
    exchanges: 0,
    calls: [],
    lifetimeS: 3599,
    isAway: false,
    takes: (token) => (given.get(token)?.endsAtMs ?? 0) > Date.now(),
    ownerOf: (token) => given.get(token)?.owner,
    revoke: () => given.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return tokens;
}

async function receive(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

interface Asked {
  readonly incoming: IncomingMessage;
  readonly text: string;
  readonly response: ServerResponse;
}

type Give = (owner: string) => string;

function isForm({ method, headers }: IncomingMessage): boolean {
  return method === 'POST' && headers['content-type'] === 'application/x-www-form-urlencoded';
}

function answerClaim(
  { incoming, text, response }: Asked,
  publicKey: string,
  tokens: GoogleTokens,
  give: Give,
) {
  if (!isForm(incoming)) return send(response, 404, { error: 'not_found' });
  const form = new URLSearchParams(text);
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
    return send(response, 400, { error: 'unsupported_grant_type' });
  const assertion = form.get('assertion') ?? '';
  const problem = judgeClaim(assertion, publicKey);
  // Google repeats what it was sent in its description.
  if (problem)
    return send(response, 400, { error: 'invalid_grant', error_description: `${problem}: ${assertion}` });
  send(response, 200, { access_token: give(email), expires_in: tokens.lifetimeS, token_type: 'Bearer' });
}

function judgeClaim(assertion: string, publicKey: string): string | undefined {
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
  if (said.scope !== scope) return 'Invalid OAuth scope.';
  const [from, to] = [Number(said.iat), Number(said.exp)];
  const nowS = Date.now() / 1000;
  const isTimely = from <= nowS + 60 && to > nowS && to - from <= 3600;
  return isTimely
    ? undefined
    : 'Invalid JWT: Token must be a short-lived token and in a reasonable timeframe. Check your iat and exp values.';
}

/** RFC 8693, as Google narrows it. */
function answerExchange(
  { incoming, text, response }: Asked,
  issuer: ClusterIssuer | undefined,
  tokens: GoogleTokens,
  give: Give,
) {
  if (!isForm(incoming)) return send(response, 404, { error: 'not_found' });
  const refusal = judgeExchange(new URLSearchParams(text), issuer, tokens.audience);
  if (refusal) return send(response, refusal.status, refusal.body);
  send(response, 200, {
    access_token: give('federated'),
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    expires_in: tokens.lifetimeS,
    token_type: 'Bearer',
  });
}

const fixedMembers = {
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
};

/** The second one is enough to act as a service account then. */
const exchangeScopes = [scope, 'https://www.googleapis.com/auth/iam'];

function judgeExchange(
  form: URLSearchParams,
  issuer: ClusterIssuer | undefined,
  audience: string,
): Refusal | undefined {
  const wrong = Object.entries(fixedMembers).find(([name, value]) => form.get(name) !== value);
  if (wrong) return oauth('invalid_request', `Invalid value for "${wrong[0]}".`);
  if (!exchangeScopes.includes(form.get('scope') ?? ''))
    return oauth('invalid_scope', 'Invalid OAuth scope.');
  const known = new Set([...Object.keys(fixedMembers), 'audience', 'scope', 'subject_token']);
  const stray = [...form.keys()].find((name) => !known.has(name));
  if (stray !== undefined) return oauth('invalid_request', `Unknown name "${stray}".`);
  if (form.get('audience') !== audience)
    return oauth(
      'invalid_target',
      'The target service indicated by the "audience" parameters is invalid. This might either be because the pool or provider is disabled or deleted or because it doesn\'t exist.',
    );
  const token = form.get('subject_token') ?? '';
  const claims = issuer?.read(token);
  if (!claims)
    return oauth('invalid_grant', `Error connecting to the given credential's issuer for ${token}.`);
  if (!isFor(claims.aud, `https:${audience}`))
    return oauth(
      'invalid_grant',
      `The audience in ID Token [${claims.aud}] does not match the expected audience.`,
    );
  if (Number(claims.exp) <= Date.now() / 1000)
    return oauth('invalid_grant', `ID Token issued at ${claims.iat} is stale to sign-in.`);
  return claims.sub === issuer?.subject
    ? undefined
    : oauth('unauthorized_client', 'The given credential is rejected by the attribute condition.');
}

function oauth(error: string, error_description: string): Refusal {
  return { status: 400, body: { error, error_description } };
}

function answerImpersonation(
  { incoming, text, response }: Asked,
  { takesToo }: GoogleOptions,
  tokens: GoogleTokens,
  give: Give,
) {
  const [, account = ''] =
    /^\/v1\/projects\/-\/serviceAccounts\/([^/:]+):generateAccessToken$/.exec(incoming.url ?? '') ?? [];
  const [scheme, token = ''] = (incoming.headers.authorization ?? '').split(' ');
  const isKnown = tokens.takes(token) || takesToo?.(token) === true;
  const refusal = judgeImpersonation(decodeURIComponent(account), tokens, text, incoming);
  if (scheme !== 'Bearer' || !isKnown)
    return send(response, 401, google(401, 'UNAUTHENTICATED', `Request had invalid credentials: ${token}`));
  if (refusal) return send(response, refusal.status, refusal.body);
  // In whole seconds: Google's own library reads no others.
  const expireTime = new Date(Date.now() + tokens.lifetimeS * 1000).toISOString().replace(/\.\d+Z/, 'Z');
  send(response, 200, { accessToken: give(decodeURIComponent(account)), expireTime });
}

function judgeImpersonation(
  account: string,
  { impersonable }: GoogleTokens,
  text: string,
  { method, headers }: IncomingMessage,
): Refusal | undefined {
  if (account === '' || method !== 'POST')
    return { status: 404, body: google(404, 'NOT_FOUND', 'Not found.') };
  const body: unknown =
    headers['content-type']?.startsWith('application/json') === true ? JSON.parse(text) : undefined;
  const isWhole =
    isBag(body) &&
    JSON.stringify(body.scope) === JSON.stringify([scope]) &&
    /^[1-9]\d{0,3}s$/.test(String(body.lifetime)) &&
    Object.keys(body).every((name) => ['scope', 'lifetime', 'delegates'].includes(name));
  if (!isWhole)
    return { status: 400, body: google(400, 'INVALID_ARGUMENT', 'Invalid JSON payload received.') };
  if (Number(String(body.lifetime).slice(0, -1)) > 3600)
    return { status: 400, body: google(400, 'INVALID_ARGUMENT', 'Lifetime is too long.') };
  if (impersonable.has(account)) return undefined;
  const message = `Permission 'iam.serviceAccounts.getAccessToken' denied on resource ${account} (or it may not exist).`;
  return { status: 403, body: google(403, 'PERMISSION_DENIED', message) };
}

function google(code: number, status: string, message: string): object {
  return { error: { code, message, status } };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}
