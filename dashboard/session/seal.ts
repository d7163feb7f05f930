// How does a session travel in a cookie that a browser can neither read nor forge? Compressed, because tokens are base64 and so a quarter
// longer than needed, and encrypted as a JWE (dir, A256GCM) with a key of the server.

import { hash, randomBytes } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { CompactEncrypt, compactDecrypt } from 'jose';

/** Purpose of a seal: a value sealed for one never opens as the other. */
type Purpose = 'session' | 'sign-in';

export interface Sealer {
  seal(purpose: Purpose, value: object): Promise<string>;
  /** Undefined where it was not sealed by one of the keys for this purpose. */
  open(purpose: Purpose, sealed: string): Promise<unknown>;
}

const sealedCharsMax = 32_768;
const textBytesMax = 65_536;
/** In the header of the JWE. One without it is of a version before, and plain. */
const compressed = 'deflate';

/** @param keys 32 bytes each; the first seals, all of them open. None: one is made, and ends with the process. */
export function openSealer(keys: readonly Uint8Array[]): Sealer {
  const [first = randomBytes(32), ...others] = keys;
  const all = new Map([first, ...others].map((key) => [idOf(key), key]));
  const header = { alg: 'dir', enc: 'A256GCM', kid: idOf(first) } as const;

  return {
    seal(purpose, value) {
      return new CompactEncrypt(deflateRawSync(JSON.stringify(value)))
        .setProtectedHeader({ ...header, typ: purpose, cty: compressed })
        .encrypt(first);
    },
    async open(purpose, sealed) {
      if (sealed.length > sealedCharsMax) return undefined;
      try {
        const { plaintext, protectedHeader } = await compactDecrypt(
          sealed,
          ({ kid }) => {
            const key = all.get(kid ?? '');
            if (key === undefined) throw new Error('no such key');
            return key;
          },
          { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] },
        );
        if (protectedHeader.typ !== purpose) return undefined;
        const bytes =
          protectedHeader.cty === compressed
            ? inflateRawSync(plaintext, { maxOutputLength: textBytesMax })
            : Buffer.from(plaintext);
        return JSON.parse(bytes.toString('utf8'));
      } catch {
        // Forged, cut, of another installation, or encrypted with an old key: the session is not valid.
        return undefined;
      }
    },
  };
}

/** Tells keys apart, and nothing of them. */
function idOf(key: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from('penstock dashboard key id '), key]), 'hex').slice(0, 16);
}
