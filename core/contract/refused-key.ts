// Is it the key that an upstream refuses? One verdict for the gateway, which reads the answers to calls, and for the operator, which
// reads those to its checks. Pure.

/** What an error answer says, of which anything may be missing. */
export interface RefusalWords {
  readonly message: string;
  readonly type: string | null;
  readonly code: string | null;
}

/** Refused for every request that is signed with it, and not for this one alone. */
export function refusesKey(status: number, { message, type, code }: RefusalWords): boolean {
  const words = `${type ?? ''} ${code ?? ''}`;
  const namesCredential = credential.test(words);
  switch (status) {
    case 401:
      return namesCredential || !outOfScope.test(message);
    case 403:
      return namesCredential;
    default:
      return status >= 400 && status < 500 && (badKey.test(message) || closed.test(words));
  }
}

/**
 * Who asks is known, and may not have this (RFC 9110, section 15.5.4). Only where the upstream's own vocabulary names the credential is
 * it more than this one request's matter: whoever has one refused must not take the key from all others.
 */
const credential = /authenticat|api_?key|account|credential|revoked|expired|organization_restricted/i;

/** Groq says so, with 400, of an account that it has closed. */
const closed = /organization_restricted/;

/** OpenAI refuses so, with 401, what the key may not do; it may do other things. */
const outOfScope = /^You have insufficient permissions for this operation/;

/** Google and xAI refuse a key so, with 400. Read from the very beginning: further on a message may quote the caller. */
const badKey =
  /^(API key (not valid|not found|expired)\. Please (pass a valid|renew the) API key\.|Incorrect API key provided\b)/i;
