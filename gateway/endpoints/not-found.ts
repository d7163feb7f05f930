// Why is there nothing at this address? Distinguishes mistyped base URLs from other mistakes.

import { operationEndpoints } from '../operations/registry.ts';
import { GatewayError, shorten } from '../request/errors.ts';

/** Paths that exist, with their method. */
const routes: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    operationEndpoints()
      .map(({ path }) => `/v1${path}`)
      .sort()
      .map((path) => [path, 'POST']),
  ),
  '/v1/models': 'GET',
};

export function explainNotFound(method: string, url: string): GatewayError {
  const path = url.split('?')[0] ?? '';
  const allowed = /^\/v1\/models\/./.test(path) ? 'GET' : routes[path];
  if (allowed !== undefined) {
    return new GatewayError(
      'method_not_allowed',
      `${method} is not allowed on ${shorten(path)}; use ${allowed}.`,
      {
        headers: { allow: allowed === 'GET' ? 'GET, HEAD' : allowed },
      },
    );
  }
  return new GatewayError('not_found', explain(path));
}

function explain(path: string): string {
  const shown = shorten(path);
  if (path.includes('//')) {
    return `Not found: ${shown} has two slashes in a row. Write the base URL without a slash at its end.`;
  }
  if (path.startsWith('/v1/v1/')) {
    return `Not found: ${shown} has /v1 twice. This client adds /v1 itself; write the base URL without it.`;
  }
  if (`/v1${path}` in routes || path.startsWith('/models/')) {
    return `Not found: ${shown} lacks /v1. Write the base URL with /v1 at its end.`;
  }
  if (path.length > 1 && path.endsWith('/') && path.slice(0, -1) in routes) {
    return `Not found: ${shown}. Leave out the slash at its end.`;
  }
  return `Not found: ${shown}. The routes are ${Object.keys(routes).join(', ')}.`;
}
