// How does a user sign in with an issuer? Redirect to the issuer with a challenge, return with a code, exchange it for a token of Kubernetes.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ErrorCode } from '../api-types.ts';
import { ClusterAway } from '../cluster.ts';
import { type Door, placeOfRequest, readSession } from '../door.ts';
import { badParameter, DashboardError, notFound } from '../errors.ts';
import { cookieName } from '../session/cookies.ts';
import { lifeOf, sessionLifeSchema } from '../session/session.ts';
import type { Oidc } from '../sign-in.ts';
import { SignInFailed } from '../sign-in.ts';
import { admit, takeAttempt } from './session.ts';

/** Time to find a second factor. */
const flowMs = 10 * 60_000;
const flowSchema = z.strictObject({
  verifier: z.string(),
  state: z.string(),
  nonce: z.string(),
  to: z.string(),
  /** The session before the sign-in: the return comes from another site, so the browser does not send its strict cookies. */
  before: sessionLifeSchema.optional(),
  expiresAtMs: z.number(),
});

export function addOidcRoutes(api: FastifyInstance, door: Door): void {
  const { signIn, clock, log } = door.parts;

  api.get('/oidc/start', async (request, reply) => {
    const oidc = expectOidc(signIn.oidc);
    const { to = '/' } = z.object({ to: z.string().optional() }).catch({}).parse(request.query);
    if (!isOwnPath(to)) throw badParameter('to: must be a path of the dashboard, such as /keys');
    try {
      const { url, flow } = await oidc.begin(redirectUriOf(door, request));
      const session = await readSession(door, request);
      const value = await door.sealer.seal('sign-in', {
        ...{ ...flow, to, expiresAtMs: clock.wallMs() + flowMs },
        ...(session && { before: lifeOf(session) }),
      });
      setFlowCookie(door, request, reply, value);
      return reply.redirect(url.href, 302);
    } catch (error) {
      return goBack(reply, to, error);
    }
  });

  api.get('/oidc/callback', async (request, reply) => {
    const oidc = expectOidc(signIn.oidc);
    const flow = await readFlow(door, request);
    setFlowCookie(door, request, reply, undefined);
    try {
      if (flow === undefined)
        throw new SignInFailed('it was started in another browser, or too long ago', false);
      const attempt = takeAttempt(door, request, undefined);
      const { to, before, expiresAtMs: _, ...checks } = flow;
      const tokens = await oidc.finish(new URL(request.url, placeOfRequest(door, request).origin), checks);
      await admit(door, request, reply, tokens, before);
      attempt.succeeded();
      return reply.redirect(to, 302);
    } catch (error) {
      return goBack(reply, flow?.to ?? '/', error);
    }
  });

  /** People are sent to these addresses: the page that they wanted tells it, and not an answer for programs. */
  function goBack(reply: FastifyReply, to: string, error: unknown): FastifyReply {
    const [page = '/'] = to.split('#');
    return reply.redirect(`${page}${page.includes('?') ? '&' : '?'}signInError=${codeOf(error)}`, 302);
  }

  function codeOf(error: unknown): ErrorCode {
    if (error instanceof DashboardError) return error.code;
    if (!(error instanceof SignInFailed || error instanceof ClusterAway)) throw error;
    log('warn', 'a sign-in by the issuer failed', { reason: error.message });
    if (error instanceof ClusterAway) return 'cluster_unreachable';
    return error.isIssuerAway ? 'issuer_unreachable' : 'sign_in_failed';
  }
}

function expectOidc(oidc: Oidc | undefined): Oidc {
  if (oidc === undefined) throw notFound();
  return oidc;
}

/** A path of this very host: `//elsewhere` and `/\elsewhere` are not. */
export function isOwnPath(to: string): boolean {
  return to.length <= 2_000 && /^\/(?![/\\])[\x21-\x7e]*$/.test(to) && !/^\/api(?:\/|$)/.test(to);
}

function redirectUriOf(door: Door, request: FastifyRequest): string {
  return `${placeOfRequest(door, request).origin}/api/oidc/callback`;
}

async function readFlow(door: Door, request: FastifyRequest) {
  const sealed = request.cookies[cookieName('sign-in', placeOfRequest(door, request))];
  const flow = flowSchema.safeParse(
    sealed === undefined ? undefined : await door.sealer.open('sign-in', sealed),
  ).data;
  return flow !== undefined && flow.expiresAtMs > door.parts.clock.wallMs() ? flow : undefined;
}

function setFlowCookie(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  value: string | undefined,
): void {
  const place = placeOfRequest(door, request);
  // Lax, because the return from the issuer comes from another site. The cookie holds no token.
  const options = { path: '/', httpOnly: true, secure: place.isSecure, sameSite: 'lax' } as const;
  const name = cookieName('sign-in', place);
  if (value === undefined) reply.clearCookie(name, options);
  else reply.setCookie(name, value, { ...options, maxAge: flowMs / 1000 });
}
