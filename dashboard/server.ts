// The HTTP server, built out of given parts. Nothing listens until the caller says so.

import cookie from '@fastify/cookie';
import helmet from '@fastify/helmet';
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify';
import { serverPatience } from '../core/kube/server-patience.ts';
import { answerClientErrors, HEADER_BYTES_MAX } from './client-errors.ts';
import { ClusterAway } from './cluster.ts';
import { type Door, expectOwnPage, expectSession, placeOfRequest, type ServerParts } from './door.ts';
import { clusterAway, DashboardError, errorAnswer, notFound } from './errors.ts';
import { addKubeRoutes } from './routes/kube.ts';
import { addLedgerRoutes, addOpenLedgerRoutes } from './routes/ledger.ts';
import { addNamespacesRoute } from './routes/namespaces.ts';
import { addOidcRoutes } from './routes/oidc.ts';
import { addOwnersRoute } from './routes/owners.ts';
import { addPages } from './routes/pages.ts';
import { addRightsRoute } from './routes/rights.ts';
import { addRowsRoute } from './routes/rows.ts';
import { addSessionRoutes } from './routes/session.ts';
import { addWatchRoute } from './routes/watch.ts';
import { openKeyLists } from './rows/key-lists.ts';
import { openEndedSessions } from './session/ended.ts';
import { openLiveStreams } from './session/live.ts';
import { openRenewals } from './session/renewals.ts';
import { openSealer } from './session/seal.ts';
import { openSignInLimiter } from './session/sign-in-limiter.ts';

/** Forms and manifests are small; the ledger's questions are too. */
const bodyBytesMax = 256 * 1024;
/** In which a request is to have come, its body too. */
const requestPatienceMs = 30_000;
/** A browser asks six at once. */
const questionsPerSessionMax = 24;

export async function buildServer(parts: ServerParts): Promise<FastifyInstance> {
  const { settings, clock } = parts;
  const door: Door = {
    parts,
    sealer: openSealer(settings.sessionKeys),
    ended: openEndedSessions(() => clock.wallMs()),
    limiter:
      parts.signIn.mode === 'local'
        ? undefined
        : openSignInLimiter({
            now: () => clock.now(),
            wallMs: () => clock.wallMs(),
            issuer: parts.signIn.oidc?.issuer,
          }),
    live: openLiveStreams(),
    renewals: openRenewals({
      oidc: parts.signIn.oidc,
      wallMs: () => clock.wallMs(),
      onFailed: (reason) => parts.log('warn', 'the issuer did not renew the token of a session', { reason }),
    }),
    sessions: new WeakMap(),
  };
  const patience = serverPatience(requestPatienceMs);
  const app = Fastify({
    logger: false,
    bodyLimit: bodyBytesMax,
    trustProxy: settings.proxies.length > 0 ? [...settings.proxies] : false,
    http: { ...patience, maxHeaderSize: HEADER_BYTES_MAX },
    clientErrorHandler: answerClientErrors(),
    // Fastify sets what is missing to nothing.
    requestTimeout: patience.requestTimeout,
    keepAliveTimeout: patience.keepAliveTimeout,
    routerOptions: { maxParamLength: 300 },
    return503OnClosing: false,
  });
  parseJsonAlone(app);
  app.setErrorHandler((error: unknown, _request, reply) => {
    const answer = asDashboardError(error, parts);
    reply.status(answer.status).headers(answer.headers).send(errorAnswer(answer));
  });
  app.setNotFoundHandler(() => {
    throw notFound();
  });
  observe(app, parts);
  parts.metrics?.readStreams(() => door.live.count());
  await app.register(cookie);
  await app.register(helmet, headersOf(settings.gatewayUrl));

  addHealth(app, parts);
  const api: FastifyPluginAsync = (scope) => addApi(scope, door);
  const asked: FastifyPluginAsync = async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      // Files say otherwise of themselves; an address can be written in many ways.
      reply.header('cache-control', 'no-store');
      placeOfRequest(door, request);
    });
    await scope.register(api, { prefix: '/api' });
    if (parts.opensLedger === true) addOpenLedgerRoutes(scope, door);
    await addPages(scope, parts.pagesFolder);
  };
  await app.register(asked);
  app.addHook('preClose', async () => door.live.endAll());
  return app;
}

async function addApi(api: FastifyInstance, door: Door): Promise<void> {
  addSessionRoutes(api, door);
  addOidcRoutes(api, door);
  const ownPages: FastifyPluginAsync = async (own) => {
    own.addHook('onRequest', async (request, reply) => {
      expectOwnPage(door, request);
      await expectSession(door, request, reply);
    });
    boundQuestions(own, door);
    const keyLists = openKeyLists(door.parts);
    addNamespacesRoute(own, door);
    addRightsRoute(own, door);
    addKubeRoutes(own, door, keyLists);
    addRowsRoute(own, door, keyLists);
    addOwnersRoute(own, door, keyLists);
    addWatchRoute(own, door, keyLists);
    addLedgerRoutes(own, door);
  };
  await api.register(ownPages);
}

/** Limits one session, so that it cannot take what others need. */
function boundQuestions(own: FastifyInstance, door: Door): void {
  const inFlight = new Map<string, number>();
  own.addHook('onRequest', async (request, reply) => {
    const id = door.sessions.get(request)?.id ?? '';
    const count = inFlight.get(id) ?? 0;
    if (count >= questionsPerSessionMax)
      throw new DashboardError(
        429,
        'too_many_questions',
        'This session has too many requests in flight. Wait for their answers.',
        { 'retry-after': '1' },
      );
    inFlight.set(id, count + 1);
    reply.raw.once('close', () => {
      const left = (inFlight.get(id) ?? 1) - 1;
      if (left === 0) inFlight.delete(id);
      else inFlight.set(id, left);
    });
  });
}

/** A form of another page can send text, and nothing that is no JSON is ever asked for here. */
function parseJsonAlone(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    // A DELETE says what it would send, and sends nothing.
    if (text === '') {
      done(null, undefined);
      return;
    }
    try {
      done(null, JSON.parse(String(text)));
    } catch {
      done(new DashboardError(400, 'invalid_body', 'The body is not JSON.'), undefined);
    }
  });
}

function headersOf(gatewayUrl: string | undefined) {
  const gateway = gatewayUrl === undefined ? [] : [new URL(gatewayUrl).origin];
  return {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'script-src': ["'self'"],
        'style-src': ["'self'"],
        'img-src': ["'self'", 'data:'],
        'font-src': ["'self'"],
        // The Test button asks the gateway itself, with a key that no server of ours has seen.
        'connect-src': ["'self'", ...gateway],
        'form-action': ["'self'"],
        'base-uri': ["'none'"],
        'frame-ancestors': ["'none'"],
      },
    },
    frameguard: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
  } as const;
}

/** For proxies in front. What exactly is missing is said on the port for Kubernetes, and not to everybody. */
function addHealth(app: FastifyInstance, { missing }: ServerParts): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const isReady = missing?.() === undefined;
    return reply.status(isReady ? 200 : 503).send({ status: isReady ? 'ok' : 'not ready' });
  });
}

function observe(app: FastifyInstance, { metrics, clock }: ServerParts): void {
  if (metrics === undefined) return;
  app.addHook('onRequest', async (request, reply) => {
    const startMs = clock.now();
    const { raw } = reply;
    // Streams are nothing that Fastify sees the end of.
    raw.once('close', () =>
      metrics.onAnswered({
        method: request.method,
        route: request.routeOptions.url,
        status: raw.headersSent ? raw.statusCode : undefined,
        location: raw.getHeader('location')?.toString(),
        durationMs: clock.now() - startMs,
      }),
    );
  });
}

function asDashboardError(error: unknown, { log }: ServerParts): DashboardError {
  if (error instanceof DashboardError) return error;
  if (error instanceof ClusterAway) {
    log('warn', 'Kubernetes does not answer', { reason: error.message });
    return clusterAway();
  }
  const status = statusOf(error);
  if (status === 413)
    return new DashboardError(413, 'invalid_body', `The body is longer than ${bodyBytesMax} bytes.`);
  if (status === 415)
    return new DashboardError(415, 'invalid_body', 'Send JSON, with content-type: application/json.');
  if (status !== undefined && status < 500)
    return new DashboardError(status, 'invalid_body', 'The request cannot be read.');
  log('error', 'a request could not be answered', {
    error: error instanceof Error ? error.stack : String(error),
  });
  return new DashboardError(500, 'internal', 'The dashboard failed. Its log has the cause.');
}

function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : undefined;
}
