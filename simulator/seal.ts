// How does the simulator know its own opaque reasoning state again? A keyed digest over the text, as a vendor's would be.

import { createHash, createHmac } from 'node:crypto';

export type Seal = {
  /** An opaque string that goes with this text; the same text gives the same string. */
  make(text: string): string;
  /** Whether this opaque string was made here, and for this text. */
  fits(sealed: string, text: string): boolean;
  /** Whether this opaque string was made here, for any text. */
  isOwn(sealed: string): boolean;
};

/** Two simulators with different keys refuse each other's state, as two vendors do. */
export function makeSeal(key: string): Seal {
  const sign = (digest: string) => createHmac('sha256', key).update(digest).digest('base64url');
  const make = (text: string) => {
    const digest = createHash('sha256').update(text).digest('base64url');
    return `${sealPrefix}.${digest}.${sign(digest)}`;
  };
  return {
    make,
    fits: (sealed, text) => sealed === make(text),
    isOwn: (sealed) => {
      const [prefix, digest, signature, ...rest] = sealed.split('.');
      if (prefix !== sealPrefix || digest === undefined || rest.length > 0) return false;
      return signature === sign(digest);
    },
  };
}

const sealPrefix = 'simulator1';
