// Is it the key that an upstream refuses? One verdict for the gateway, which reads the answers to calls, and for the operator, which
// reads those to its checks. Pure.

import { keyQuirks } from '../catalog/key-quirks.ts';

/** What an error answer says, of which anything may be missing. */
export interface RefusalWords {
  readonly message: string;
  readonly type: string | null;
  readonly code: string | null;
}

/** Refused for every request that is signed with it, and not for this one alone. */
export function refusesKey(status: number, { message, type, code }: RefusalWords): boolean {
  const words = `${type ?? ''} ${code ?? ''}`;
  // A missing right is checked first: its error type may be that of any 401.
  if (says('out-of-scope', message, words)) return false;
  switch (status) {
    case 401:
      return true;
    case 403:
      return credential.test(words) || says('refused', message, words);
    default:
      return status >= 400 && status < 500 && says('refused', message, words);
  }
}

/**
 * A 403 means: the caller is known, and may not have this (RFC 9110, section 15.5.4). It counts against the key only if the upstream's own
 * vocabulary names the credential: one caller's refused request must not put the key of all others into cooldown.
 */
const credential = /authenticat|api_?key|account|credential|revoked|expired|organization_restricted/i;

function says(meaning: 'refused' | 'out-of-scope', message: string, words: string): boolean {
  return keyQuirks.some(
    (row) => row.meaning === meaning && (row.phrase?.test(message) || row.word?.test(words)),
  );
}
