// How does an issuer of OpenID Connect let somebody in? Authorization code with PKCE; what comes of it is an id token, which is
// Kubernetes' to judge: we only see that it is the issuer's, for us, and for this very sign-in.

import * as client from 'openid-client';
import type { OidcSettings } from '../settings.ts';
import { type Oidc, SignInFailed } from '../sign-in.ts';

/** What is known of the issuer is asked for anew so often. */
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
        if (tokens.id_token === undefined) throw new SignInFailed('no id token came', false);
        return tokens.id_token;
      } catch (error) {
        throw failed(error);
      }
    },
  };
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

/** Of what went wrong only codes: messages may quote what was sent. */
function failed(error: unknown): SignInFailed {
  if (error instanceof SignInFailed) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  const said =
    error instanceof client.ResponseBodyError || error instanceof client.AuthorizationResponseError;
  const name = error instanceof Error ? error.name : 'unknown error';
  const isAway = !said && (error instanceof TypeError || name === 'TimeoutError' || code === 'OAUTH_TIMEOUT');
  return new SignInFailed(said ? `the issuer said ${error.error}` : (code ?? name), isAway);
}
