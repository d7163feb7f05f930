// What does Entra ID want before it gives a token? An application of the tenant, and a proof: a client secret, a signature made with the
// certificate of the application, or the token of a pod that a federated credential names. Its descriptions repeat what they were sent.

import { createPublicKey, randomUUID, verify, X509Certificate } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isBag } from '../checks.ts';
import { type ClusterIssuer, isFor } from './cluster-issuer.ts';

interface EntraOptions {
  readonly issuer: ClusterIssuer;
  /** As clients know it, with a slash at its end. Default: its address. */
  readonly authority?: string;
  /** Scopes that tokens are given for. Default: those of the model services. */
  readonly scopes?: readonly string[];
}

export interface Entra extends AsyncDisposable {
  /** The authority, such as `http://127.0.0.1:40123/`. */
  readonly url: string;
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Of the application, in PEM. */
  certificate: string | undefined;
  /** Subject of the federated credential: case counts. */
  subject: string;
  /** Forms that it was sent. */
  readonly forms: URLSearchParams[];
  /** Exchanges that were asked for. */
  exchanges: number;
  lifetimeS: number;
  /** It answers 503 to all. */
  isAway: boolean;
  /** Whether a token was given here, for this scope if one is named, and has not ended. */
  takes(token: string, scope?: string): boolean;
  /** No token that was given is good any more. */
  revoke(): void;
}

interface Refusal {
  readonly status: number;
  readonly error: string;
  readonly code: number;
  readonly text: string;
}

interface Given {
  readonly scope: string;
  readonly endsAtMs: number;
}

const tokenAudience = 'api://AzureADTokenExchange';
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const modelScopes = [
  'https://cognitiveservices.azure.com/.default',
  'https://cognitiveservices.azure.us/.default',
  'https://ai.azure.com/.default',
];

export async function startEntra({ issuer, authority, scopes = modelScopes }: EntraOptions): Promise<Entra> {
  const given = new Map<string, Given>();
  const server = createServer((incoming, response) => {
    void receive(incoming).then((form) => {
      entra.exchanges += 1;
      entra.forms.push(form);
      if (entra.isAway) return refuse(response, away);
      const refusal = judge({ ...entra, url: authority ?? entra.url }, issuer, scopes, incoming, form);
      if (refusal) return refuse(response, refusal);
      const token = `eyJ0eXAi.simulated-entra-token-${entra.exchanges}.${randomUUID()}`;
      const scope = form.get('scope') ?? '';
      given.set(token, { scope, endsAtMs: Date.now() + entra.lifetimeS * 1000 });
      const answer = { token_type: 'Bearer', expires_in: entra.lifetimeS, ext_expires_in: entra.lifetimeS };
      send(response, 200, { ...answer, access_token: token });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const entra: Entra = {
    url: `http://127.0.0.1:${port}/`,
    tenantId: '11111111-2222-3333-4444-555555555555',
    clientId: '66666666-7777-8888-9999-aaaaaaaaaaaa',
    clientSecret: 'Q~8simulated-client-secret-0123456789',
    certificate: undefined,
    subject: issuer.subject,
    forms: [],
    exchanges: 0,
    lifetimeS: 3599,
    isAway: false,
    takes(token, scope) {
      const found = given.get(token);
      return found !== undefined && found.endsAtMs > Date.now() && (scope ?? found.scope) === found.scope;
    },
    revoke: () => given.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return entra;
}

async function receive(incoming: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

const members = new Set([
  ...['grant_type', 'client_id', 'scope', 'client_secret', 'client_assertion', 'client_assertion_type'],
  // Sent by Microsoft's own libraries.
  'client_info',
]);

function judge(
  entra: Entra,
  issuer: ClusterIssuer,
  scopes: readonly string[],
  { method, url, headers }: IncomingMessage,
  form: URLSearchParams,
): Refusal | undefined {
  if (method !== 'POST' || headers['content-type'] !== 'application/x-www-form-urlencoded')
    return badRequest(900144, 'The request body must contain the parameters in a form.');
  const [, tenant = ''] = /^\/([^/]+)\/oauth2\/v2\.0\/token$/.exec(url ?? '') ?? [];
  if (tenant !== entra.tenantId) return badRequest(90002, `Tenant '${tenant}' not found.`);
  const stray = [...form.keys()].find((name) => !members.has(name) || form.getAll(name).length > 1);
  if (stray !== undefined) return badRequest(9002313, `Malformed parameter '${stray}'.`);
  if (form.get('grant_type') !== 'client_credentials')
    return { ...badRequest(70003, 'The grant type is not supported.'), error: 'unsupported_grant_type' };
  if (form.get('client_id') !== entra.clientId) {
    const text = `Application with identifier '${form.get('client_id')}' was not found in the directory.`;
    return { status: 400, error: 'unauthorized_client', code: 700016, text };
  }
  const scope = form.get('scope') ?? '';
  if (!scopes.includes(scope)) {
    const text = `The resource principal named ${scope} was not found in the tenant.`;
    return { status: 400, error: 'invalid_resource', code: 500011, text };
  }
  const secret = form.get('client_secret');
  if (secret !== null) return secret === entra.clientSecret ? undefined : wrongSecret;
  if (form.get('client_assertion_type') !== assertionType)
    return badClient(7000216, "'client_assertion', 'client_secret' or 'request' is required.");
  const assertion = form.get('client_assertion') ?? '';
  const header = partOf(assertion, 0);
  return header?.['x5t#S256'] === undefined
    ? judgePod(entra, issuer, assertion)
    : judgeSigned(entra, header, assertion);
}

function judgePod({ subject }: Entra, issuer: ClusterIssuer, token: string): Refusal | undefined {
  const claims = issuer.read(token);
  if (!claims)
    return badRequest(700211, `No matching federated identity record found for issuer of ${token}.`);
  if (!isFor(claims.aud, tokenAudience))
    return badRequest(700212, `No matching federated identity record found for audience '${claims.aud}'.`);
  if (claims.sub !== subject)
    return badRequest(700213, `No matching federated identity record found for subject '${claims.sub}'.`);
  const nowS = Date.now() / 1000;
  const isTimely = Number(claims.nbf) <= nowS && Number(claims.exp) > nowS;
  return isTimely ? undefined : outOfTime;
}

function judgeSigned(
  entra: Entra,
  header: Readonly<Record<string, unknown>>,
  assertion: string,
): Refusal | undefined {
  if (entra.certificate === undefined) return badClient(700027, 'No certificate is registered.');
  const certificate = new X509Certificate(entra.certificate);
  const thumbprint = Buffer.from(certificate.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url');
  // One library of Microsoft pads it.
  if (
    String(header['x5t#S256']).replaceAll('=', '') !== thumbprint ||
    header.alg !== 'PS256' ||
    header.typ !== 'JWT'
  )
    return badClient(700027, `The certificate with identifier ${header['x5t#S256']} is not registered.`);
  const [head = '', said = '', signature = ''] = assertion.split('.');
  const key = { key: createPublicKey(certificate.publicKey.export({ type: 'spki', format: 'pem' })), ...pss };
  if (!verify('sha256', Buffer.from(`${head}.${said}`), key, Buffer.from(signature, 'base64url')))
    return badClient(700027, 'The signature of the assertion is not valid.');
  const claims = partOf(assertion, 1) ?? {};
  const { clientId, tenantId, url } = entra;
  if (claims.iss !== clientId || claims.sub !== clientId || typeof claims.jti !== 'string')
    return badClient(700021, 'Client assertion application identifier does not match.');
  if (claims.aud !== `${url}${tenantId}/oauth2/v2.0/token`)
    return badClient(700023, `Client assertion audience '${claims.aud}' does not match the realm.`);
  const nowS = Date.now() / 1000;
  const [from, to] = [Number(claims.nbf ?? claims.iat), Number(claims.exp)];
  return from <= nowS && to > nowS && to - from <= 600 ? undefined : outOfTime;
}

const pss = { padding: 6, saltLength: 32 } as const;

function partOf(token: string, index: number): Readonly<Record<string, unknown>> | undefined {
  try {
    const part: unknown = JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString());
    return isBag(part) ? part : undefined;
  } catch {
    return undefined;
  }
}

function badClient(code: number, text: string): Refusal {
  return { status: 401, error: 'invalid_client', code, text };
}

function badRequest(code: number, text: string): Refusal {
  return { status: 400, error: 'invalid_request', code, text };
}

const wrongSecret = badClient(7000215, 'Invalid client secret provided.');
const outOfTime = badClient(700024, 'Client assertion is not within its valid time range.');
const away: Refusal = {
  status: 503,
  error: 'temporarily_unavailable',
  code: 90033,
  text: 'A transient error has occurred.',
};

function refuse(response: ServerResponse, { status, error, code, text }: Refusal): void {
  const trace = { trace_id: randomUUID(), correlation_id: randomUUID() };
  const description = `AADSTS${code}: ${text} Trace ID: ${trace.trace_id}`;
  send(response, status, { error, error_description: description, error_codes: [code], ...trace });
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}
