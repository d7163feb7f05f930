// Which session does a request belong to, and does it come from our own page? Checked before every answer below `/api`.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/kube/log.ts';
import type { Cluster, Ledger } from './cluster.ts';
import { DashboardError, issuerAway, notSignedIn, renewalRefused } from './errors.ts';
import { findPlace, type Place } from './guard/places.ts';
import { isForeignPage, isOwnPage, isSameText, type Sender } from './guard/same-origin.ts';
import type { DashboardMetrics } from './metrics.ts';
import { cookieName, joinPieces, piecesOf, SEALED_CHARS_MAX } from './session/cookies.ts';
import type { EndedSessions } from './session/ended.ts';
import type { LiveStreams } from './session/live.ts';
import type { Renewals } from './session/renewals.ts';
import type { Sealer } from './session/seal.ts';
import { parseSession, type Session, type SessionLife } from './session/session.ts';
import type { SignInLimiter } from './session/sign-in-limiter.ts';
import type { DashboardSettings } from './settings.ts';
import type { SignIn } from './sign-in.ts';

export interface ServerParts {
  readonly settings: DashboardSettings;
  readonly signIn: SignIn;
  /** With the token of that session, and no other. */
  clusterOf(session: Pick<Session, 'id' | 'token'>): Cluster;
  /** Undefined without a ledger. */
  readonly ledger: Ledger | undefined;
  /** Whether programs may ask it here too, with a token in the header; left out: only pages may. */
  readonly opensLedger?: boolean;
  /** The built pages. */
  readonly pagesFolder: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** Left out: not counted. */
  readonly metrics?: Omit<DashboardMetrics, 'registry'>;
  /** Why changes are not taken now, in words; empty, or left out: they are. */
  heldBack?(): readonly string[];
  /** The missing precondition of service, in words; undefined, or left out: nothing. */
  missing?(): string | undefined;
}

export interface Door {
  readonly parts: ServerParts;
  readonly sealer: Sealer;
  readonly ended: EndedSessions;
  /** Undefined without a limit, because the one-time token cannot be guessed and costs no question to Kubernetes. */
  readonly limiter: SignInLimiter | undefined;
  readonly live: LiveStreams;
  readonly renewals: Renewals;
  readonly sessions: WeakMap<FastifyRequest, Session>;
}

/** From here on a replay of its cookie is refused. */
export function endSession(door: Door, session: SessionLife): void {
  door.ended.end(session);
  door.live.end(session);
}

/** The address by which the server was asked. @throws 421 if it is not one of its addresses. */
export function placeOfRequest({ parts }: Door, request: FastifyRequest): Place {
  const place = findPlace(parts.settings.places, request.headers.host);
  if (place === undefined)
    throw new DashboardError(
      421,
      'unknown_host',
      'The dashboard does not serve this address. Add it to PENSTOCK_DASHBOARD_URL.',
    );
  return place;
}

/** Undefined without a valid session. */
export async function readSession(door: Door, request: FastifyRequest): Promise<Session | undefined> {
  const place = placeOfRequest(door, request);
  const sealed = joinPieces(cookieName('session', place), request.cookies);
  const session = sealed === undefined ? undefined : parseSession(await door.sealer.open('session', sealed));
  return session === undefined || door.ended.isOver(session) ? undefined : session;
}

/**
 * As it was read, or with its next token where that one ends, which goes into the cookies with this answer.
 *
 * @throws 401 where the issuer has ended it, 503 where the issuer does not answer.
 */
export async function renewSession(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  session: Session,
): Promise<Session> {
  const renewal = await door.renewals.of(session);
  // The person may have signed out during the await.
  if (door.ended.isOver(session)) throw notSignedIn();
  switch (renewal.is) {
    case 'good':
      if (renewal.session !== session) await setSessionCookies(door, request, reply, renewal.session);
      return renewal.session;
    case 'refused':
      throw renewalRefused();
    case 'away':
      throw issuerAway();
  }
}

/** Hook of everything that needs a session. */
export async function expectSession(door: Door, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const session = await expectPresentSession(door, request);
  door.sessions.set(request, await renewSession(door, request, reply, session));
}

/** Whether or not its token is over. */
export async function expectPresentSession(door: Door, request: FastifyRequest): Promise<Session> {
  const session = await readSession(door, request);
  if (session === undefined) throw notSignedIn();
  const csrf = headerOf(request, 'x-penstock-csrf');
  // A read need not send the CSRF token, because streams cannot. A read with one shows nothing to a page of another session.
  const isChecked = !isReading(request) || csrf !== undefined;
  // guard: csrf-token
  if (isChecked && !isSameText(csrf, session.csrf))
    throw new DashboardError(
      403,
      'csrf_missing',
      'The header x-penstock-csrf is missing or belongs to another session. Reload the page.',
    );
  return session;
}

/** Hook of everything below `/api`, but for the return from an issuer. */
export function expectOwnPage(door: Door, request: FastifyRequest): void {
  const place = placeOfRequest(door, request);
  const sender: Sender = { site: headerOf(request, 'sec-fetch-site'), origin: headerOf(request, 'origin') };
  const isFine = isReading(request) ? !isForeignPage(sender, place) : isOwnPage(sender, place);
  if (!isFine)
    throw new DashboardError(
      403,
      'foreign_origin',
      'The request came from a page of another address. Only pages of the dashboard may send it.',
    );
}

export function sessionOf(door: Door, request: FastifyRequest): Session {
  const session = door.sessions.get(request);
  if (session === undefined) throw notSignedIn();
  return session;
}

/** @param session Undefined: removes the cookies. */
export async function setSessionCookies(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  session: Session | undefined,
): Promise<void> {
  const place = placeOfRequest(door, request);
  const sealed = session === undefined ? undefined : await door.sealer.seal('session', session);
  if (sealed !== undefined && sealed.length > SEALED_CHARS_MAX) throw tokenTooLong();
  const options = { path: '/', httpOnly: true, secure: place.isSecure, sameSite: 'strict' } as const;
  for (const [name, value = ''] of piecesOf(cookieName('session', place), sealed, request.cookies)) {
    const expires = new Date(value === '' ? 0 : (session?.expiresAtMs ?? 0));
    // Not by setCookie, which writes them where an answer is sent: the head of a stream is written by ourselves.
    reply.header('set-cookie', reply.server.serializeCookie(name, value, { ...options, expires }));
  }
}

export const tokenTooLong = (): DashboardError =>
  new DashboardError(
    400,
    'token_too_long',
    'The token is too long for a cookie. Remove groups and claims from it at the issuer.',
  );

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : value?.join(', ');
}

export function isReading({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}
