// What is a session? A person's own token and its end, only in the person's cookie; and the refresh token, if an issuer gave one.

import { randomBytes } from 'node:crypto';
import { z } from 'zod';

const sessionSchema = z.strictObject({
  /** New at every sign-in. */
  id: z.string().min(1),
  token: z.string(),
  /** The issuer gives the next token for it. Left out: the session ends with this one. */
  refreshToken: z.string().min(1).optional(),
  csrf: z.string().min(1),
  issuedAtMs: z.number(),
  expiresAtMs: z.number(),
});
export type Session = Readonly<z.infer<typeof sessionSchema>>;

/** What must be known of one to end it. */
export const sessionLifeSchema = sessionSchema.pick({ id: true, issuedAtMs: true, expiresAtMs: true });
export type SessionLife = Readonly<z.infer<typeof sessionLifeSchema>>;

export function lifeOf({ id, issuedAtMs, expiresAtMs }: Session): SessionLife {
  return { id, issuedAtMs, expiresAtMs };
}

/** Undefined for another form. */
export function parseSession(value: unknown): Session | undefined {
  return sessionSchema.safeParse(value).data;
}

/** Tokens of a sign-in. */
export interface Tokens {
  readonly token: string;
  /** Undefined: the issuer gave none, or there is no issuer. */
  readonly refreshToken?: string | undefined;
}

export function newSession(tokens: Tokens, nowMs: number, lastsMs: number): Session {
  return withTokens(
    {
      id: randomBytes(16).toString('base64url'),
      csrf: randomBytes(16).toString('base64url'),
      issuedAtMs: nowMs,
      expiresAtMs: nowMs + lastsMs,
    },
    tokens,
  );
}

/** The same session with other tokens. Where there is no next one, or cookies have no room for what asks for it, it ends with this one. */
export function withTokens(
  { id, csrf, issuedAtMs, expiresAtMs }: Omit<Session, 'token' | 'refreshToken'>,
  { token, refreshToken }: Tokens,
): Session {
  const endMs = tokenEndMs(token);
  const isKept =
    refreshToken !== undefined &&
    endMs !== undefined &&
    token.length + refreshToken.length <= TOKENS_CHARS_MAX;
  return {
    ...{ id, csrf, issuedAtMs, token },
    ...(isKept ? { refreshToken } : {}),
    expiresAtMs: isKept ? expiresAtMs : Math.min(expiresAtMs, endMs ?? Number.POSITIVE_INFINITY),
  };
}

const claimsSchema = z.object({
  exp: z.number().positive().optional().catch(undefined),
  iss: z.string().optional().catch(undefined),
  sub: z.string().optional().catch(undefined),
});

/** The end that a JWT states; undefined for another token, or without one. The signature is not checked here. */
export function tokenEndMs(token: string): number | undefined {
  const exp = claimsOf(token)?.exp;
  return exp === undefined ? undefined : exp * 1000;
}

/** The issuer that a JWT states; the signature is not checked here. */
export function issuerOf(token: string): string | undefined {
  return claimsOf(token)?.iss;
}

/** Whether the issuer means one and the same person by them. */
export function isSamePerson(token: string, other: string): boolean {
  const [one, two] = [claimsOf(token), claimsOf(other)];
  return one?.sub !== undefined && one.sub === two?.sub && one.iss === two.iss;
}

function claimsOf(token: string): z.infer<typeof claimsSchema> | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'));
    return claimsSchema.safeParse(claims).data;
  } catch {
    // Nothing of it may be in an error.
    return undefined;
  }
}

/** Of a ServiceAccount; null for any other user. */
export function namespaceOf(userName: string): string | null {
  return /^system:serviceaccount:([^:]+):[^:]+$/.exec(userName)?.[1] ?? null;
}

/** Limit for both tokens together: sealed cookies hold no more, and servers read 16 KiB of headers. */
export const TOKENS_CHARS_MAX = 14_500;

export function isTokenText(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}
