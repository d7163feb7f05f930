// What does a key look like? The configured prefix, 43 base62 characters (256 random bits), and a
// checksum of six, so that secret scanners recognise a key without asking anybody.

import { hash } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomChars = 43;
const checksumChars = 6;

/** @param randomBytes 32 bytes from a cryptographic source. */
export function encodeKey(prefix: string, randomBytes: Uint8Array): string {
  if (randomBytes.length !== 32)
    throw new RangeError(`a key takes 32 random bytes, not ${randomBytes.length}`);
  const body = base62(BigInt(`0x${Buffer.from(randomBytes).toString('hex')}`), randomChars);
  return `${prefix}${body}${checksum(prefix + body)}`;
}

/** Whether it has the form of an issued key; says nothing about whether it works. */
export function isWellFormedKey(prefix: string, key: string): boolean {
  if (!key.startsWith(prefix) || key.length !== prefix.length + randomChars + checksumChars) return false;
  const body = key.slice(0, -checksumChars);
  return checksum(body) === key.slice(-checksumChars);
}

/** What may be shown of a key: its prefix and its last four characters. */
export function keyHint(prefix: string, key: string): string {
  return `${prefix}…${key.slice(-4)}`;
}

function checksum(text: string): string {
  // 32 bits of the digest: the most that six characters hold whole.
  return base62(BigInt(`0x${hash('sha256', text, 'hex').slice(0, 8)}`), checksumChars);
}

function base62(value: bigint, chars: number): string {
  let left = value;
  let text = '';
  for (let at = 0; at < chars; at++) {
    text = (alphabet[Number(left % 62n)] ?? '') + text;
    left /= 62n;
  }
  return text;
}
