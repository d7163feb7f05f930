// How is a new key made? Here in the browser, in the form of the operator's keys; only its hash and hint are sent anywhere.

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export interface MintedKey {
  /** The prefix, 43 characters that hold 256 random bits, and six that let scanners recognise a key. */
  readonly key: string;
  /** Of the whole key, in lower-case hex digits: what `spec.imports` takes. */
  readonly sha256: string;
  /** Its prefix and its last four characters: all that may be shown of it. */
  readonly hint: string;
}

/**
 * @param randomBytes 32 bytes from a cryptographic source.
 * @throws RangeError for another number of bytes, TypeError where the browser keeps WebCrypto from pages that came over plain http.
 */
export async function mintKey(prefix: string, randomBytes: Uint8Array): Promise<MintedKey> {
  if (randomBytes.length !== 32)
    throw new RangeError(`a key takes 32 random bytes, not ${randomBytes.length}`);
  const body = prefix + base62(BigInt(`0x${hexOf(randomBytes)}`), 43);
  // 32 bits of the digest: the most that six characters hold whole.
  const key = body + base62(BigInt(`0x${(await sha256Of(body)).slice(0, 8)}`), 6);
  return { key, sha256: await sha256Of(key), hint: `${prefix}…${key.slice(-4)}` };
}

/** @throws TypeError as `mintKey`. */
export function mintRandomKey(prefix: string): Promise<MintedKey> {
  return mintKey(prefix, crypto.getRandomValues(new Uint8Array(32)));
}

async function sha256Of(text: string): Promise<string> {
  return hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))));
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
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
