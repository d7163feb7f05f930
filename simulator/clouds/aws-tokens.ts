// What do AWS's token service and the agent of EKS Pod Identity want? Roles that trust the caller, tokens that have not ended, valid
// signatures, and no unknown member. The credentials that they give end.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { accessKeyOf, faultOfSignature, faultOfTime, type SigningKey } from './signature.ts';

export interface AwsTokens extends AsyncDisposable {
  /** Of the token service, such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** Of the agent. */
  readonly agentUrl: string;
  /** The calls so far: `AssumeRole`, `AssumeRoleWithWebIdentity`, `credentials`. */
  readonly asked: string[];
  /** Names of sessions that were asked for. */
  readonly sessions: string[];
  /** Projected tokens that came. */
  readonly shown: string[];
  lifetimeS: number;
  /** Called for each question, before it is judged. */
  onAsk: () => void;
  /** It answers 503 to all. */
  isAway: boolean;
  /** It refuses with this code of an error. */
  refusal: string | undefined;
  /** Ahead of the clock of this machine, in milliseconds. */
  aheadMs: number;
  /** A projected token, as the kubelet writes it into a file. */
  project(lifetimeMs: number, audience?: string): string;
  /** Of credentials that were given here. */
  sessionOf(accessKeyId: string): SigningKey | 'ended' | undefined;
  /** Session tags of such credentials. */
  tagsOf(accessKeyId: string): Readonly<Record<string, string>>;
  /** Whatever was given here has ended. */
  end(): void;
  /** Nothing that was given is known any more. */
  revoke(): void;
}

interface AwsTokensOptions {
  readonly region: string;
  /** Signing name of the service that the credentials are for. */
  readonly service: string;
  /** By their ARN: what a caller has to name, and whether it may tag the session. */
  readonly roles: Readonly<Record<string, { readonly externalId?: string; readonly takesTags?: boolean }>>;
  /** Access keys that roles trust, beside whatever was given here. */
  readonly keys: readonly Pick<SigningKey, 'accessKeyId' | 'secretAccessKey' | 'sessionToken'>[];
}

type GivenKey = Pick<SigningKey, 'accessKeyId' | 'secretAccessKey' | 'sessionToken'> & {
  readonly endsAtMs: number;
  readonly tags: Readonly<Record<string, string>>;
};

export async function startAwsTokens(options: AwsTokensOptions): Promise<AwsTokens> {
  const projected = new Map<string, { readonly endsAtMs: number; readonly audience: string }>();
  const given = new Map<string, GivenKey>();
  const server = createServer((incoming, response) => {
    void receive(incoming).then((body) =>
      answer({ options, tokens, projected, given }, incoming, body, response),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const tokens: AwsTokens = {
    url: `http://127.0.0.1:${port}`,
    agentUrl: `http://127.0.0.1:${port}/v1/credentials`,
    asked: [],
    sessions: [],
    shown: [],
    lifetimeS: 3600,
    onAsk: () => {},
    isAway: false,
    refusal: undefined,
    aheadMs: 0,
    project(lifetimeMs, audience = 'sts.amazonaws.com') {
      const token = `eyJhbGciOiJSUzI1NiJ9.projected-number-${projected.size + 1}.signature`;
      projected.set(token, { endsAtMs: Date.now() + lifetimeMs, audience });
      return token;
    },
    sessionOf(accessKeyId) {
      const key = given.get(accessKeyId);
      if (!key) return undefined;
      return key.endsAtMs <= Date.now()
        ? 'ended'
        : { ...key, region: options.region, service: options.service };
    },
    tagsOf: (accessKeyId) => given.get(accessKeyId)?.tags ?? {},
    end() {
      for (const [id, key] of given) given.set(id, { ...key, endsAtMs: 0 });
    },
    revoke: () => given.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return tokens;
}

interface Service {
  readonly options: AwsTokensOptions;
  readonly tokens: AwsTokens;
  readonly projected: ReadonlyMap<string, { readonly endsAtMs: number; readonly audience: string }>;
  readonly given: Map<string, GivenKey>;
}

async function receive(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function answer(service: Service, incoming: IncomingMessage, body: Buffer, response: ServerResponse) {
  const { tokens } = service;
  tokens.onAsk();
  response.setHeader('date', new Date(Date.now() + tokens.aheadMs).toUTCString());
  if (incoming.url === '/v1/credentials') return answerAgent(service, incoming, response);
  const form = new URLSearchParams(body.toString());
  const action = form.get('Action') ?? '';
  tokens.asked.push(action);
  tokens.sessions.push(form.get('RoleSessionName') ?? '');
  if (tokens.isAway) return refuse(response, 503, 'ServiceUnavailable', 'Try again.');
  if (tokens.refusal !== undefined) {
    // AWS repeats names that it was sent.
    const status = tokens.refusal === 'AccessDenied' ? 403 : 400;
    return refuse(
      response,
      status,
      tokens.refusal,
      `Refused: ${form.get('WebIdentityToken') ?? form.get('RoleArn')}`,
    );
  }
  const isForm = incoming.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
  if (incoming.method !== 'POST' || incoming.url !== '/' || !isForm || form.get('Version') !== '2011-06-15')
    return refuse(response, 400, 'InvalidAction', 'Could not find operation');
  if (!/^[\w+=,.@-]{2,64}$/.test(form.get('RoleSessionName') ?? ''))
    return refuse(response, 400, 'ValidationError', 'roleSessionName failed to satisfy constraint');
  if (action === 'AssumeRoleWithWebIdentity') return answerToken(service, incoming, form, response);
  if (action === 'AssumeRole') return answerRole(service, incoming, form, body, response);
  refuse(response, 400, 'InvalidAction', 'Could not find operation');
}

function answerToken(
  { options, tokens, projected, given }: Service,
  { headers }: IncomingMessage,
  form: URLSearchParams,
  response: ServerResponse,
) {
  const isKnown = hasOnly(form, ['RoleArn', 'RoleSessionName', 'WebIdentityToken']);
  if (!isKnown || headers.authorization !== undefined)
    return refuse(response, 400, 'ValidationError', 'an unknown parameter, or a signature');
  const shown = form.get('WebIdentityToken') ?? '';
  tokens.shown.push(shown);
  const token = projected.get(shown);
  if (token?.audience !== 'sts.amazonaws.com')
    return refuse(response, 400, 'InvalidIdentityToken', 'Incorrect token audience');
  if (token.endsAtMs <= Date.now()) return refuse(response, 400, 'ExpiredTokenException', 'Token expired');
  if (!options.roles[form.get('RoleArn') ?? ''])
    return refuse(response, 403, 'AccessDenied', 'Not authorized to perform sts:AssumeRoleWithWebIdentity');
  give(tokens, given, form, 'AssumeRoleWithWebIdentity', response);
}

function answerRole(
  { options, tokens, given }: Service,
  { headers, url = '' }: IncomingMessage,
  form: URLSearchParams,
  body: Buffer,
  response: ServerResponse,
) {
  const tags = tagsIn(form);
  const members = Object.keys(tags).flatMap((_, at) => [
    `Tags.member.${at + 1}.Key`,
    `Tags.member.${at + 1}.Value`,
  ]);
  if (!hasOnly(form, ['RoleArn', 'RoleSessionName', 'ExternalId', ...members]))
    return refuse(response, 400, 'ValidationError', 'an unknown parameter');
  if (!Object.entries(tags).flat().every(isTagWord))
    return refuse(response, 400, 'ValidationError', 'a tag failed to satisfy constraint');
  const id = accessKeyOf(headers) ?? '';
  const held = given.get(id);
  if (held && held.endsAtMs <= Date.now())
    return refuse(response, 403, 'ExpiredToken', 'The security token included in the request is expired');
  const key = held ?? options.keys.find(({ accessKeyId }) => accessKeyId === id);
  if (!key) return refuse(response, 403, 'InvalidClientTokenId', 'The security token is invalid');
  const signing = { ...key, region: options.region, service: 'sts' };
  const fault =
    faultOfTime(headers, Date.now() + tokens.aheadMs) ?? faultOfSignature(url, headers, body, signing);
  if (fault !== undefined) return refuse(response, 403, 'SignatureDoesNotMatch', fault);
  const role = options.roles[form.get('RoleArn') ?? ''];
  if (!role || role.externalId !== (form.get('ExternalId') ?? undefined))
    return refuse(response, 403, 'AccessDenied', 'User is not authorized to perform: sts:AssumeRole');
  if (members.length > 0 && role.takesTags !== true)
    return refuse(response, 403, 'AccessDenied', 'User is not authorized to perform: sts:TagSession');
  give(tokens, given, form, 'AssumeRole', response, tags);
}

function tagsIn(form: URLSearchParams): Readonly<Record<string, string>> {
  const keys = [...form].filter(([name]) => /^Tags\.member\.\d+\.Key$/.test(name));
  return Object.fromEntries(keys.map(([name, key]) => [key, form.get(name.replace('.Key', '.Value')) ?? '']));
}

/** https://docs.aws.amazon.com/STS/latest/APIReference/API_Tag.html */
function isTagWord(text: string): boolean {
  return /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,128}$/u.test(text);
}

function hasOnly(form: URLSearchParams, names: readonly string[]): boolean {
  return [...form.keys()].every((name) => ['Action', 'Version', ...names].includes(name));
}

function give(
  tokens: AwsTokens,
  given: Map<string, GivenKey>,
  form: URLSearchParams,
  action: string,
  response: ServerResponse,
  tags: GivenKey['tags'] = {},
) {
  const { key, expiration } = makeKey(tokens, given, tags);
  const arn = `${(form.get('RoleArn') ?? '').replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/${form.get('RoleSessionName')}`;
  const xml = `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result>
  <AssumedRoleUser><AssumedRoleId>AROAEXAMPLE:session</AssumedRoleId><Arn>${escaped(arn)}</Arn></AssumedRoleUser>
  <Credentials>
    <AccessKeyId>${key.accessKeyId}</AccessKeyId>
    <SecretAccessKey>${escaped(key.secretAccessKey)}</SecretAccessKey>
    <SessionToken>${escaped(key.sessionToken ?? '')}</SessionToken>
    <Expiration>${expiration}</Expiration>
  </Credentials>
</${action}Result></${action}Response>`;
  response.writeHead(200, { 'content-type': 'text/xml' }).end(xml);
}

function answerAgent(
  { tokens, projected, given }: Service,
  { method, headers }: IncomingMessage,
  response: ServerResponse,
) {
  tokens.asked.push('credentials');
  const say = (status: number, body: object) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  if (tokens.isAway) return say(503, { code: 'ServiceUnavailable', message: 'Try again.' });
  tokens.shown.push(headers.authorization ?? '');
  const token = projected.get(headers.authorization ?? '');
  const isTimely = token?.audience === 'pods.eks.amazonaws.com' && token.endsAtMs > Date.now();
  if (method !== 'GET' || !isTimely)
    return say(400, { code: 'AccessDeniedException', message: 'Bad token.' });
  const { key, expiration } = makeKey(tokens, given);
  say(200, {
    AccessKeyId: key.accessKeyId,
    SecretAccessKey: key.secretAccessKey,
    Token: key.sessionToken,
    AccountId: '123456789012',
    Expiration: expiration,
  });
}

function makeKey(
  { lifetimeS, aheadMs }: AwsTokens,
  given: Map<string, GivenKey>,
  tags: GivenKey['tags'] = {},
) {
  const number = String(given.size + 1).padStart(8, '0');
  const endsAtMs = Date.now() + lifetimeS * 1000;
  const key: GivenKey = {
    accessKeyId: `ASIASIMULATED${number}`,
    secretAccessKey: `secret/access+key=${number}&<of>-a-session`,
    sessionToken: `session/token+of=${number}&"quoted"`,
    endsAtMs,
    tags,
  };
  given.set(key.accessKeyId, key);
  return { key, expiration: new Date(endsAtMs + aheadMs).toISOString() };
}

function refuse(response: ServerResponse, status: number, code: string, message: string) {
  const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${escaped(message)}</Message></Error>`;
  const xml = `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">${error}</ErrorResponse>`;
  response.writeHead(status, { 'content-type': 'text/xml' }).end(xml);
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&#34;');
}
