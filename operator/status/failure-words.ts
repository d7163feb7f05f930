// What does a failure of an upstream mean, by one word of the ledger's `failure`? The fact, and what to do.

interface FailureWords {
  readonly fact: string;
  readonly action: string;
}

const SERVICE = 'check whether its service is up';
const ADDRESS = 'check host and port of spec.baseURL';

const WORDS: Readonly<Record<string, FailureWords>> = {
  tls_failed: {
    fact: 'TLSFailed, no TLS connection comes about',
    action: 'check its certificate, and caRef and serverName of spec.tls',
  },
  dns_failed: { fact: 'its name cannot be resolved', action: 'check the host of spec.baseURL' },
  connect_refused: {
    fact: 'it refuses connections',
    action: `${ADDRESS}, and whether the server runs`,
  },
  connect_timeout: {
    fact: 'no connection in time',
    action: `${ADDRESS}, and whether gateway pods can reach it`,
  },
  connect_failed: { fact: 'no connection', action: `${ADDRESS}, and whether gateway pods can reach it` },
  proxy_failed: { fact: 'the proxy opens no tunnel', action: 'check spec.proxy' },
  egress_denied: {
    fact: 'its address is one that gateways may not connect to',
    action: 'ask the platform team to add it to spec.egress.allow of a TenantPolicy',
  },
  bad_head: {
    fact: 'what it answers with is no HTTP, or its headers are longer than 16 KiB',
    action: 'check what serves the address in spec.baseURL',
  },
  reset: { fact: 'it breaks connections off', action: SERVICE },
  timeout_first_event: { fact: 'it begins no answer in time', action: `check spec.timeouts, and ${SERVICE}` },
  truncated: { fact: 'its streams break off', action: SERVICE },
  timeout_liveness: { fact: 'its streams fall silent', action: SERVICE },
  timeout_progress: { fact: 'its streams bring no content any more', action: SERVICE },
  status_401: { fact: 'HTTP 401', action: 'put a valid key into the Secret' },
  status_403: { fact: 'HTTP 403', action: 'check the rights of the key at the upstream' },
  status_404: { fact: 'HTTP 404', action: 'check the path of spec.baseURL' },
  status_405: { fact: 'HTTP 405', action: 'check the path of spec.baseURL' },
  status_429: { fact: 'HTTP 429', action: 'raise the rate limit at the upstream, or add a key' },
};

/** @param cause of a newer gateway pod, it may be a word that is not known here. */
export function failureWords(cause: string | undefined): FailureWords {
  const status = /^status_([1-5](?:\d\d|xx))$/.exec(cause ?? '')?.[1];
  const known = cause !== undefined && Object.hasOwn(WORDS, cause) ? WORDS[cause] : undefined;
  return known ?? { fact: status === undefined ? 'no answer' : `HTTP ${status}`, action: SERVICE };
}
