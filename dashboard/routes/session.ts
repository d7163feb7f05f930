// How does a user sign in and out? With a pasted token, or with an issuer; either way Kubernetes says whose token it is.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { errorInLog } from '../../core/kube/error-in-log.ts';
import type { SessionAnswer, SignedOutAnswer } from '../api-types.ts';
import type { Person } from '../cluster.ts';
import {
  type Door,
  endSession,
  expectOwnPage,
  expectPresentSession,
  readSession,
  renewSession,
  setSessionCookies,
  tokenTooLong,
} from '../door.ts';
import { badBody, DashboardError, errorAnswer, notSignedIn } from '../errors.ts';
import {
  isTokenText,
  namespaceOf,
  newSession,
  type Session,
  type SessionLife,
  TOKENS_CHARS_MAX,
  type Tokens,
} from '../session/session.ts';
import { SignInFailed } from '../sign-in.ts';

const bodySchema = z.strictObject({
  token: z
    .string()
    .max(65_536)
    .transform((text) => text.trim()),
});

export function addSessionRoutes(api: FastifyInstance, door: Door): void {
  const { signIn } = door.parts;

  api.get('/session', async (request, reply): Promise<SessionAnswer | SignedOutAnswer> => {
    expectOwnPage(door, request);
    let refusal = notSignedIn();
    const read = await readSession(door, request);
    try {
      const session = read && (await renewSession(door, request, reply, read));
      // Asked each time: a page that is loaded must not show a person whose token is no good any more.
      const person = session && (await signIn.personOf(session.token));
      if (session !== undefined && person !== undefined) return sessionAnswer(door, session, person);
    } catch (error) {
      if (!(error instanceof DashboardError) || error.status !== 401) throw error;
      refusal = error;
    }
    // In the place of one that is over there may be a later one by the time that this is heard.
    if (read !== undefined && !door.ended.isOver(read))
      await setSessionCookies(door, request, reply, undefined);
    reply.status(401);
    return {
      ...errorAnswer(refusal),
      signIn: {
        mode: signIn.mode,
        tokenCommand: signIn.tokenCommand,
        oidc: signIn.oidc === undefined ? null : { name: signIn.oidc.name },
      },
    };
  });

  api.post('/session', async (request, reply): Promise<SessionAnswer> => {
    expectOwnPage(door, request);
    const body = bodySchema.safeParse(request.body);
    if (!body.success) throw badBody('Send {"token": "…"}.');
    const attempt = takeAttempt(door, request, body.data.token);
    const { session, person } = await admit(door, request, reply, { token: body.data.token });
    attempt.succeeded();
    return sessionAnswer(door, session, person);
  });

  api.delete('/session', async (request, reply): Promise<void> => {
    expectOwnPage(door, request);
    const session = await expectPresentSession(door, request);
    endSession(door, session);
    void revokeAtIssuer(door, session);
    await setSessionCookies(door, request, reply, undefined);
    reply.status(204);
  });
}

/** So that a copied cookie cannot be renewed at other replicas. Not awaited: the session is already over here. */
async function revokeAtIssuer({ parts }: Door, { refreshToken }: Session): Promise<void> {
  if (refreshToken === undefined) return;
  try {
    await parts.signIn.oidc?.revoke(refreshToken);
  } catch (error) {
    const reason = error instanceof SignInFailed ? error.message : errorInLog(error);
    parts.log('warn', 'the issuer did not revoke the refresh token after a sign-out', {
      reason,
    });
  }
}

/** @param token Undefined: a person comes back from an issuer. @throws 429 */
export function takeAttempt(
  { limiter }: Door,
  { ip: address }: FastifyRequest,
  token: string | undefined,
): { succeeded(): void } {
  const waitSeconds = limiter?.attempt({ address, token });
  if (waitSeconds !== undefined)
    throw new DashboardError(
      429,
      'too_many_attempts',
      `Too many failed sign-ins. Try again in ${waitSeconds} s.`,
      { 'retry-after': String(waitSeconds) },
    );
  return { succeeded: () => limiter?.succeeded({ address, token }) };
}

/**
 * Begins a session under a new id; the one that was there before is over.
 *
 * @param known one that was there when the sign-in began, and may not come along with this request.
 * @throws {DashboardError} if the token is unknown.
 */
export async function admit(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  { token, refreshToken }: Tokens,
  known?: SessionLife,
): Promise<{ readonly session: Session; readonly person: Person }> {
  const { signIn, clock, settings } = door.parts;
  if (token.length > TOKENS_CHARS_MAX) throw tokenTooLong();
  const admitted = isTokenText(token) ? await signIn.admit(token) : undefined;
  const session =
    admitted && newSession({ token: admitted.token, refreshToken }, clock.wallMs(), settings.sessionMs);
  if (admitted === undefined || session === undefined || door.ended.isOver(session))
    throw new DashboardError(
      401,
      'unknown_token',
      signIn.mode === 'local'
        ? 'This link was used already, or belongs to an earlier start. Open the latest link in the terminal.'
        : 'Kubernetes does not know this token, or it has expired. Create a new one.',
    );
  for (const before of [known, await readSession(door, request)])
    if (before !== undefined) endSession(door, before);
  await setSessionCookies(door, request, reply, session);
  return { session, person: admitted.person };
}

function sessionAnswer({ parts }: Door, session: Session, person: Person): SessionAnswer {
  const heldBack = parts.heldBack?.() ?? [];
  return {
    mode: parts.signIn.mode,
    user: { name: person.name, groups: person.groups },
    expiresAt: new Date(session.expiresAtMs).toISOString(),
    csrf: session.csrf,
    namespace: namespaceOf(person.name),
    gatewayUrl: parts.settings.gatewayUrl ?? null,
    keyPrefix: parts.settings.keyPrefix ?? 'psk_',
    hasLedger: parts.ledger !== undefined,
    version: parts.version,
    ...(heldBack.length === 0 ? {} : { heldBack }),
  };
}
