// What became of a request, in few words? Pure: they are labels of metrics, and nothing that a browser sends may become one.

export interface Answered {
  readonly method: string;
  /** The registered route, such as `/api/kube/*`; undefined for an unknown path. */
  readonly route: string | undefined;
  /** Undefined: the browser left before there was one. */
  readonly status: number | undefined;
  /** Where the browser was sent instead. */
  readonly location: string | undefined;
  readonly durationMs: number;
}

export const WAYS = ['token', 'oidc'] as const;
export const OUTCOMES = ['admitted', 'refused', 'limited', 'failed'] as const;

interface SignInWords {
  readonly way: (typeof WAYS)[number];
  readonly outcome: (typeof OUTCOMES)[number];
}

/** Each file has its own route, whose name changes with its content, so all files are one label. */
export function routeWord({ route }: Pick<Answered, 'route'>): string {
  if (route === undefined) return 'none';
  return route.startsWith('/api/') || route === '/healthz' || route === '/readyz' ? route : 'pages';
}

export function statusWord({ status }: Pick<Answered, 'status'>): string {
  return status === undefined ? 'gone' : `${Math.floor(status / 100)}xx`;
}

/** A watch, which lasts as long as its page is open. */
export function isStream({ route, status }: Answered): boolean {
  return route === '/api/watch' && status === 200;
}

/** Undefined: the request did not end a sign-in. */
export function signInOf({ method, route, status, location }: Answered): SignInWords | undefined {
  if (status === undefined) return undefined;
  if (method === 'POST' && route === '/api/session') return { way: 'token', outcome: outcomeOf(status) };
  if (route !== '/api/oidc/start' && route !== '/api/oidc/callback') return undefined;
  // Without an issuer there is nothing there.
  if (status === 404) return undefined;
  const fault = faultIn(location);
  if (fault !== undefined) return { way: 'oidc', outcome: oidcOutcomes[fault] ?? 'refused' };
  if (status >= 400) return { way: 'oidc', outcome: outcomeOf(status) };
  return route === '/api/oidc/callback' ? { way: 'oidc', outcome: 'admitted' } : undefined;
}

function outcomeOf(status: number): SignInWords['outcome'] {
  if (status < 400) return 'admitted';
  if (status === 429) return 'limited';
  return status < 500 ? 'refused' : 'failed';
}

/** The page reports a failed return from an issuer, at an address that says what went wrong. */
function faultIn(location: string | undefined): string | undefined {
  return /^\/.*[?&]signInError=(\w+)$/.exec(location ?? '')?.[1];
}

const oidcOutcomes: Readonly<Record<string, SignInWords['outcome']>> = {
  too_many_attempts: 'limited',
  issuer_unreachable: 'failed',
  cluster_unreachable: 'failed',
};
