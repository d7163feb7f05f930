// What did an upstream do where an attempt failed? In words that follow its name: "openai answered HTTP 500".

const words: Readonly<Record<string, string>> = {
  egress_denied: 'has an address that the egress rules deny',
  dns_failed: 'has a host name that could not be resolved',
  connect_timeout: 'accepted no connection in time',
  connect_refused: 'refused the connection',
  connect_failed: 'could not be reached',
  tls_failed: 'failed the TLS handshake',
  proxy_failed: 'could not be reached through the proxy',
  reset: 'closed the connection without an answer',
  bad_head: 'sent response headers that are not HTTP',
  timeout_first_event: 'sent no content in time',
  timeout_liveness: 'went silent',
  timeout_progress: 'made no progress',
  timeout_total: 'did not finish within the total timeout',
  error_event: 'reported an error inside its answer',
  truncated: 'ended its answer too early',
  unusable: 'sent an answer that is not usable',
  malformed: 'sent an invalid answer',
  too_large: 'sent an answer that is too large for the gateway',
  no_room: 'answered, but the gateway had no memory left',
  internal_error: 'was asked, but the gateway failed',
};

/** @param cause The gateway's own words about this answer. */
export function failureWords(failure: string, cause: string | undefined): string {
  const [, status] = /^status_(.+)$/.exec(failure) ?? [];
  const fact = status === undefined ? (words[failure] ?? `failed (${failure})`) : `answered HTTP ${status}`;
  return cause === undefined ? fact : `${fact}: ${cause}`;
}
