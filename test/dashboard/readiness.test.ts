// When are people sent to a pod of the dashboard? Over a real issuer that is not there yet, comes, and goes again.

import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { listenAt, stopServer } from '../../core/telemetry/process-server.ts';
import { openOidc } from '../../dashboard/kubernetes/oidc.ts';
import { openReadiness } from '../../dashboard/readiness.ts';
import { freePort } from '../cluster/free-port.ts';
import { until } from '../support/until.ts';

test('without an issuer there is nothing to wait for', () => {
  expect(openReadiness(undefined, () => {})()).toBeUndefined();
});

test('an issuer that was never reached is waited for; a later outage does not matter', async () => {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const settings = { issuer, clientId: 'penstock', clientSecret: undefined, scopes: 'openid', name: 'One' };
  const logged: string[] = [];
  const missing = openReadiness(openOidc(settings, systemClock.now), (level, message) =>
    logged.push(`${level}: ${message}`),
  );
  const gone = 'the OpenID Connect issuer has not been found yet';
  expect(missing()).toBe(gone);
  // Then with the reason, which is no address and no secret.
  await until(async () => missing()?.startsWith(`${gone} (`));
  expect(missing()).toMatch(/ \([\w ]+\)$/);

  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
      }),
    );
  });
  await listenAt(server, '127.0.0.1', port);
  try {
    await until(async () => missing() === undefined);
  } finally {
    await stopServer(server);
  }
  expect(missing()).toBeUndefined();
  // However often it was asked.
  expect(logged).toEqual(['warn: the issuer cannot be found; retrying']);
});
