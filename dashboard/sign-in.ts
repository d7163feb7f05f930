// What does the dashboard need to sign a user in? Implemented by Kubernetes with an issuer, and by a one-time link on a laptop.

import type { Person } from './cluster.ts';
import type { Tokens } from './session/session.ts';

export interface SignIn {
  readonly mode: 'kubernetes' | 'local';
  /** Shown beside the field for a token. */
  readonly tokenCommand: string;
  /**
   * A user shows a token. Gives the user, and the token that their session keeps; undefined: the token is unknown.
   *
   * @throws {ClusterAway}
   */
  admit(token: string): Promise<{ readonly person: Person; readonly token: string } | undefined>;
  /** Of a current session; undefined: the token is no longer valid. @throws {ClusterAway} */
  personOf(token: string): Promise<Person | undefined>;
  readonly oidc: Oidc | undefined;
}

/** Authorization code with PKCE. */
export interface Oidc {
  readonly name: string;
  /** As its tokens write it. */
  readonly issuer: string;
  /** Where to send the person, and what must be known when they come back. @throws {SignInFailed} */
  begin(redirectUri: string): Promise<{ readonly url: URL; readonly flow: OidcFlow }>;
  /** @param returned the whole address that they came back to. Gives the id token. @throws {SignInFailed} */
  finish(returned: URL, flow: OidcFlow): Promise<Tokens>;
  /** The next id token, and what the one after it is had with. @throws {SignInFailed} */
  renew(refreshToken: string): Promise<Tokens>;
  /** Revokes the token (RFC 7009), if the issuer can do that. @throws {SignInFailed} */
  revoke(refreshToken: string): Promise<void>;
}

interface OidcFlow {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
}

/** For the log; holds no token and no code. */
export class SignInFailed extends Error {
  readonly isIssuerAway: boolean;

  constructor(message: string, isIssuerAway: boolean) {
    super(message);
    this.isIssuerAway = isIssuerAway;
  }
}
