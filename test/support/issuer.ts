// A small issuer of OpenID Connect over https: discovery, authorization code with PKCE, id tokens signed with a key that it publishes.
// Every caller is signed in as the configured person. Refresh tokens, where offline_access is asked for, are good once: one that
// comes again ends all that came of its sign-in, as strict issuers do.

import { hash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { z } from 'zod';
import type { CertificateFiles } from '../cluster/authority.ts';
import { listenKept } from './listen-kept.ts';

export interface Issuer {
  readonly url: string;
  readonly client: { readonly id: string; readonly secret: string };
  /** The person that is signed in next. */
  person: { readonly email: string; readonly groups: readonly string[] };
  /** What the next id tokens say instead; `key`: another one signs them. */
  wrong: { readonly claims?: Readonly<Record<string, unknown>>; readonly hasOtherKey?: boolean };
  /** How long the next id tokens are good for. */
  lastsSeconds: number;
  /** It answers 503 to requests for a token. */
  isBusy: boolean;
  /** Token questions that were refused, with the reason. */
  readonly refused: readonly string[];
  /** Refresh tokens that were taken. */
  readonly renewals: number;
  /** Of each refresh token. */
  refreshBytes: number;
  /** Refresh tokens that were given back. */
  readonly revocations: number;
  /** No refresh token that was given is good any more. */
  endSessions(): void;
  close(): Promise<void>;
}

interface Grant {
  readonly challenge: string;
  readonly redirectUri: string;
  readonly nonce: string;
  readonly isOffline: boolean;
}

/** What came of one sign-in. */
interface Line {
  present: string | undefined;
}

const askedSchema = z.object({
  response_type: z.literal('code'),
  client_id: z.string(),
  redirect_uri: z.string(),
  scope: z.string().regex(/\bopenid\b/),
  state: z.string().min(20),
  nonce: z.string().min(20),
  code_challenge: z.string().length(43),
  code_challenge_method: z.literal('S256'),
});

/** @param redirects addresses that a client may name. */
export async function openIssuer(files: CertificateFiles, redirects: readonly string[]): Promise<Issuer> {
  const [own, other] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
  const jwk = { ...(await exportJWK(own.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
  const grants = new Map<string, Grant>();
  const refused: string[] = [];
  const lines = new Map<string, Line>();
  let renewals = 0;
  let revocations = 0;
  const client = { id: 'penstock', secret: randomBytes(16).toString('hex') };

  const server = createServer({
    cert: await readFile(files.certFile),
    key: await readFile(files.keyFile),
  });
  server.on('request', (request, response) => {
    answer(request, response).catch((error: unknown) => send(response, 400, { error: String(error) }));
  });
  const { port, close } = await listenKept(server);
  const url = `https://127.0.0.1:${port}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', url);
    switch (pathname) {
      case '/.well-known/openid-configuration':
        return send(response, 200, {
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/keys`,
          revocation_endpoint: `${url}/revoke`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['ES256'],
          code_challenge_methods_supported: ['S256'],
        });
      case '/keys':
        return send(response, 200, { keys: [jwk] });
      case '/authorize':
        return authorize(searchParams, response);
      case '/token':
        return await token(new URLSearchParams(await textOf(request)), response);
      case '/revoke':
        return revoke(new URLSearchParams(await textOf(request)), response);
      default:
        return send(response, 404, {});
    }
  }

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const asked = askedSchema.parse(Object.fromEntries(query));
    if (asked.client_id !== client.id || !redirects.includes(asked.redirect_uri))
      throw new Error('not a client or an address of one');
    const code = randomBytes(16).toString('hex');
    const { code_challenge: challenge, redirect_uri: redirectUri, nonce, state, scope } = asked;
    grants.set(code, { challenge, redirectUri, nonce, isOffline: /\boffline_access\b/.test(scope) });
    response.writeHead(302, { location: `${redirectUri}?${new URLSearchParams({ code, state })}` }).end();
  }

  async function token(form: URLSearchParams, response: ServerResponse): Promise<void> {
    if (issuer.isBusy) return send(response, 503, {});
    if (form.get('grant_type') === 'refresh_token') return await renew(form, response);
    const code = form.get('code') ?? '';
    const grant = grants.get(code);
    // A code is good once.
    grants.delete(code);
    const flaw =
      form.get('client_id') !== client.id || form.get('client_secret') !== client.secret
        ? 'invalid_client'
        : grant === undefined ||
            form.get('redirect_uri') !== grant.redirectUri ||
            hash('sha256', form.get('code_verifier') ?? '', 'base64url') !== grant.challenge
          ? 'invalid_grant'
          : undefined;
    if (flaw !== undefined || grant === undefined) {
      refused.push(String(flaw));
      return send(response, 400, { error: flaw });
    }
    await give(response, { nonce: grant.nonce }, grant.isOffline ? { present: undefined } : undefined);
  }

  async function renew(form: URLSearchParams, response: ServerResponse): Promise<void> {
    const old = form.get('refresh_token') ?? '';
    const line = lines.get(old);
    const isClient = form.get('client_id') === client.id && form.get('client_secret') === client.secret;
    if (!isClient || line?.present !== old) {
      if (line !== undefined) line.present = undefined;
      const flaw = isClient ? 'invalid_grant' : 'invalid_client';
      refused.push(flaw);
      return send(response, 400, { error: flaw });
    }
    renewals += 1;
    await give(response, {}, line);
  }

  function revoke(form: URLSearchParams, response: ServerResponse): void {
    const isClient = form.get('client_id') === client.id && form.get('client_secret') === client.secret;
    if (issuer.isBusy || !isClient) {
      send(response, issuer.isBusy ? 503 : 400, { error: 'invalid_client' });
      return;
    }
    revocations += 1;
    // What was never good is no error (RFC 7009, section 2.2).
    const line = lines.get(form.get('token') ?? '');
    if (line !== undefined) line.present = undefined;
    send(response, 200, {});
  }

  async function give(response: ServerResponse, more: object, line: Line | undefined): Promise<void> {
    const { person, wrong, lastsSeconds } = issuer;
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const claims = {
      ...person,
      ...{ iss: url, sub: person.email, aud: client.id, iat: nowSeconds, exp: nowSeconds + lastsSeconds },
      ...{ ...more, ...wrong.claims },
    };
    const idToken = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(wrong.hasOtherKey ? other.privateKey : own.privateKey);
    const tokens = { access_token: 'x', token_type: 'Bearer', id_token: idToken, expires_in: lastsSeconds };
    if (line === undefined) return send(response, 200, tokens);
    line.present = randomBytes(issuer.refreshBytes).toString('base64url');
    lines.set(line.present, line);
    send(response, 200, { ...tokens, refresh_token: line.present });
  }

  const issuer: Issuer = {
    url,
    client,
    person: { email: 'ada@example.com', groups: ['team-a'] },
    refreshBytes: 24,
    wrong: {},
    lastsSeconds: 600,
    isBusy: false,
    refused,
    get renewals() {
      return renewals;
    },
    get revocations() {
      return revocations;
    },
    endSessions() {
      for (const line of lines.values()) line.present = undefined;
    },
    close,
  };
  return issuer;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
