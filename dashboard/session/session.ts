// What is a session? A person's own token and its end, in their cookie and nowhere else.

import { randomBytes } from 'node:crypto';
import { z } from 'zod';

const sessionSchema = z.strictObject({
  /** New at every sign-in. */
  id: z.string().min(1),
  token: z.string(),
  csrf: z.string().min(1),
  issuedAtMs: z.number(),
  expiresAtMs: z.number(),
});
export type Session = Readonly<z.infer<typeof sessionSchema>>;

/** Undefined where it is none. */
export function parseSession(value: unknown): Session | undefined {
  return sessionSchema.safeParse(value).data;
}

export function newSession(token: string, nowMs: number, lastsMs: number): Session {
  const endMs = tokenEndMs(token);
  return {
    id: randomBytes(16).toString('base64url'),
    token,
    csrf: randomBytes(16).toString('base64url'),
    issuedAtMs: nowMs,
    expiresAtMs: Math.min(nowMs + lastsMs, endMs ?? Number.POSITIVE_INFINITY),
  };
}

const claimsSchema = z.object({ exp: z.number().positive() });

/** What a JWT says of its own end; undefined where it is none, or says nothing. Whether it is genuine is not asked here. */
export function tokenEndMs(token: string): number | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'));
    const exp = claimsSchema.safeParse(claims).data?.exp;
    return exp === undefined ? undefined : exp * 1000;
  } catch {
    // Nothing of it may be in an error.
    return undefined;
  }
}

/** Of a ServiceAccount; null: somebody else. */
export function namespaceOf(userName: string): string | null {
  return /^system:serviceaccount:([^:]+):[^:]+$/.exec(userName)?.[1] ?? null;
}

/** An HTTP header can carry it, and cookies have room for it. */
export const TOKEN_CHARS_MAX = 7_000;

export function isTokenText(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}
