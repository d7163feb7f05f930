// How does a sealed session stand in cookies? In pieces: browsers take 4,096 bytes for each, and the token of a person in many groups
// is longer.

import type { Place } from '../guard/places.ts';

/** With the name and its attributes well below what browsers take. */
const pieceChars = 3_600;
/** For both tokens of `TOKENS_CHARS_MAX`; with 16 KiB of headers, as proxies read them, there is room for little else. */
const piecesMax = 5;

export const SEALED_CHARS_MAX = pieceChars * piecesMax;

/**
 * `__Host-`: only over https, only from this very host, whatever its neighbours set. On one's own machine every port is the same host to
 * cookies, and each may have another dashboard.
 */
export function cookieName(purpose: 'session' | 'sign-in', { isSecure, host }: Place): string {
  if (isSecure) return `__Host-penstock-${purpose}`;
  const [port] = /\d+$/.exec(host.replace(/^\[.*\]|^[^:]*/, '')) ?? ['80'];
  return `penstock-${purpose}-${port}`;
}

/**
 * Name and value of each; those that are not needed have the value undefined: they must go. Of a session that is set these are all others,
 * as a return from an issuer brings none; else those of `present`.
 */
export function piecesOf(
  name: string,
  sealed: string | undefined,
  present: Readonly<Record<string, string | undefined>>,
): readonly (readonly [name: string, value: string | undefined])[] {
  return Array.from({ length: piecesMax }, (_, index): readonly [string, string | undefined] => {
    const piece = sealed?.slice(index * pieceChars, (index + 1) * pieceChars);
    return [pieceName(name, index), piece === '' ? undefined : piece];
  }).filter(([piece, value]) => value !== undefined || sealed !== undefined || Object.hasOwn(present, piece));
}

export function joinPieces(
  name: string,
  cookies: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const pieces: string[] = [];
  for (let index = 0; index < piecesMax; index += 1) {
    const piece = pieceName(name, index);
    const value = Object.hasOwn(cookies, piece) ? cookies[piece] : undefined;
    if (value === undefined || value === '') break;
    pieces.push(value);
  }
  return pieces.length === 0 ? undefined : pieces.join('');
}

function pieceName(name: string, index: number): string {
  return index === 0 ? name : `${name}-${index}`;
}
