// How does an OpenID Connect issuer sign a user in? Authorization code with PKCE. The result is an id token, which
// Kubernetes judges: we only check that the issuer made it, for us, and for this very sign-in.

import * as client from 'openid-client';
import type { Tokens } from '../session/session.ts';
import type { OidcSettings } from '../settings.ts';
import { type Oidc, SignInFailed } from '../sign-in.ts';

/** How often the metadata of the issuer is fetched again. */
const knownMs = 10 * 60_000;
const timeoutSeconds = 10;

export function openOidc(settings: OidcSettings, now: () => number): Oidc {
  let known: { readonly configuration: Promise<client.Configuration>; readonly atMs: number } | undefined;

  function configurationOf(): Promise<client.Configuration> {
    if (known !== undefined && now() - known.atMs < knownMs) return known.configuration;
    const configuration = discover(settings);
    const mine = { configuration, atMs: now() };
    known = mine;
    configuration.catch(() => {
      if (known === mine) known = undefined;
    });
    return configuration;
  }

  return {
    name: settings.name,
    issuer: settings.issuer,
    async begin(redirectUri) {
      try {
        const configuration = await configurationOf();
        const flow = {
          verifier: client.randomPKCECodeVerifier(),
          state: client.randomState(),
          nonce: client.randomNonce(),
        };
        const url = client.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: settings.scopes,
          code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
          code_challenge_method: 'S256',
          state: flow.state,
          nonce: flow.nonce,
        });
        return { url, flow };
      } catch (error) {
        throw failed(error);
      }
    },
    async finish(returned, { verifier, state, nonce }) {
      try {
        const tokens = await client.authorizationCodeGrant(await configurationOf(), returned, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        });
        return tokensOf(tokens);
      } catch (error) {
        throw failed(error);
      }
    },
    async renew(refreshToken) {
      try {
        const tokens = await client.refreshTokenGrant(await configurationOf(), refreshToken);
        // An issuer that gives no other one takes this one again.
        return { refreshToken, ...tokensOf(tokens) };
      } catch (error) {
        throw failed(error);
      }
    },
    async revoke(refreshToken) {
      try {
        const configuration = await configurationOf();
        if (configuration.serverMetadata().revocation_endpoint === undefined) return;
        await client.tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' });
      } catch (error) {
        throw failed(error);
      }
    },
  };
}

/** @throws {SignInFailed} An issuer may leave the id token out of its answer to a refresh; without one there is no session. */
function tokensOf({ id_token: token, refresh_token: refreshToken }: client.TokenEndpointResponse): Tokens {
  if (token === undefined) throw new SignInFailed('the issuer sent no id token', false);
  return { token, ...(refreshToken === undefined ? {} : { refreshToken }) };
}

function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<client.Configuration> {
  // Settings let plain http through for this machine alone.
  const isPlain = new URL(issuer).protocol === 'http:';
  return client.discovery(
    new URL(issuer),
    clientId,
    {},
    clientSecret === undefined ? client.None() : client.ClientSecretPost(clientSecret),
    {
      timeout: timeoutSeconds,
      // The signature too, although the token comes straight from the issuer.
      execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])],
    },
  );
}

/** Only the codes of an error: messages may quote the request. */
function failed(error: unknown): SignInFailed {
  if (error instanceof SignInFailed) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  const said =
    error instanceof client.ResponseBodyError || error instanceof client.AuthorizationResponseError;
  const name = error instanceof Error ? error.name : 'unknown error';
  const isUnreached =
    !said && (error instanceof TypeError || name === 'TimeoutError' || code === 'OAUTH_TIMEOUT');
  return new SignInFailed(
    said ? `the issuer said ${error.error}` : (code ?? name),
    isUnreached || isBusy(error),
  );
}

/** The issuer answers, but cannot serve the request now. */
function isBusy(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const status =
    error instanceof client.ResponseBodyError
      ? error.status
      : cause instanceof Response
        ? cause.status
        : undefined;
  return status !== undefined && (status >= 500 || status === 429);
}
