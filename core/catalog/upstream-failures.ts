// What did an upstream do where an attempt failed? By the ledger's `failure`: in words that follow the upstream's name, as a status of the
// operator says it, and what to do.

interface UpstreamFailure {
  /** As in "openai refused the connection". */
  readonly did: string;
  /** Undefined: a status says no more than that no answer came. */
  readonly fact?: string;
  readonly action?: string;
}

export const CHECK_SERVICE = 'check whether its service is up';
const ADDRESS = 'check host and port of spec.baseURL';
const REACH = `${ADDRESS}, and whether gateway pods can reach it`;

export const UPSTREAM_FAILURES: Readonly<Record<string, UpstreamFailure>> = {
  egress_denied: {
    did: 'has an address that the egress rules deny',
    fact: 'gateways may not connect to its address',
    action: 'ask the platform team to add it to spec.egress.allow of a TenantPolicy',
  },
  dns_failed: {
    did: 'has a host name that could not be resolved',
    fact: 'its name cannot be resolved',
    action: 'check the host of spec.baseURL',
  },
  connect_timeout: { did: 'accepted no connection in time', fact: 'no connection in time', action: REACH },
  connect_refused: {
    did: 'refused the connection',
    fact: 'the upstream refuses connections',
    action: `${ADDRESS}, and whether the server runs`,
  },
  connect_failed: { did: 'could not be reached', fact: 'no connection', action: REACH },
  tls_failed: {
    did: 'failed the TLS handshake',
    fact: 'TLSFailed, no TLS connection comes about',
    action: 'check its certificate, and caRef and serverName of spec.tls',
  },
  proxy_failed: {
    did: 'could not be reached through the proxy',
    fact: 'the proxy does not open a tunnel',
    action: 'check spec.proxy',
  },
  session_failed: {
    did: 'gave the caller no session',
    fact: 'sessions of callers are refused',
    action: 'check that its role accepts the tags of every caller',
  },
  reset: { did: 'closed the connection without an answer', fact: 'it closes connections without an answer' },
  bad_head: {
    did: 'sent response headers that are not HTTP',
    fact: 'its answers are not HTTP, or their headers are longer than 16 KiB',
    action: 'check what serves the address in spec.baseURL',
  },
  timeout_first_event: {
    did: 'sent no content in time',
    fact: 'it does not start to answer in time',
    action: `check spec.timeouts, and ${CHECK_SERVICE}`,
  },
  timeout_liveness: { did: 'went silent', fact: 'its streams stall' },
  timeout_progress: { did: 'made no progress', fact: 'its streams stop bringing content' },
  timeout_total: { did: 'did not finish within the total timeout' },
  error_event: { did: 'reported an error inside its answer' },
  truncated: { did: 'ended its answer too early', fact: 'its streams end early' },
  unusable: { did: 'sent an answer that is not usable' },
  malformed: { did: 'sent an invalid answer' },
  too_large: { did: 'sent an answer that is too large for the gateway' },
  no_room: { did: 'answered, but the gateway had no memory left' },
  internal_error: { did: 'was asked, but the gateway failed' },
};

/** Remedies by HTTP status of an upstream; for all others, check its service first. */
export const STATUS_ACTIONS: Readonly<Record<string, string>> = {
  401: 'put a valid key into the Secret, or grant the identity the right to call this model',
  403: 'check the rights of the key or identity at the upstream',
  404: 'check the path of spec.baseURL',
  405: 'check the path of spec.baseURL',
  429: 'raise the rate limit at the upstream, or add a key',
};
