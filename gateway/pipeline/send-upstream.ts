// How does one request set out for an upstream? Addressed, signed in and sent by the seats of its provider type.

import type { OperationName } from '../../core/catalog/operations.ts';
import type { Receiver, Transmission } from '../attempt/attempt-io.ts';
import type { UpstreamDialect } from '../dialects/dialect.ts';
import type { Framing } from '../dialects/events/framing.ts';
import type { Candidate } from '../route/plan.ts';
import type { Address, UpstreamAsk } from '../upstream/address.ts';
import type { Credential, Lease } from '../upstream/credential.ts';
import { baseHeaders } from '../upstream/request-headers.ts';
import { seatsOf } from '../upstream/seats.ts';
import { send, type UpstreamCall, type UpstreamReceiver } from '../upstream/send.ts';
import { sendOnceRenewed } from '../upstream/send-once-renewed.ts';
import { sendRenewable } from '../upstream/send-renewable.ts';
import { dialectHeaders, forwardedQuery } from './client-headers.ts';
import { type Exchange, type PipelineParts, type RoutedExchange, timeoutFor } from './parts.ts';

/** One request to a candidate, its body final. */
export interface Outgoing {
  readonly upstream: UpstreamDialect;
  readonly ask: UpstreamAsk;
  /** Media type of the requested stream. */
  readonly framing: Framing;
  readonly body: readonly Buffer[];
  /** The client speaks the dialect of the upstream: its own headers may go on. */
  readonly isNative: boolean;
}

/** @param isNative The client's own body goes through, and with it its query. */
export function askOf(
  exchange: Exchange,
  { target }: Candidate,
  upstream: UpstreamDialect,
  operation: OperationName,
  path: string,
  isNative: boolean,
  isStream: boolean,
): UpstreamAsk {
  const query = forwardedQuery(exchange, isNative);
  return { model: target.entry.upstreamModel, dialect: upstream.name, operation, isStream, path, query };
}

/** What the caller's requests to the candidate are signed in with. */
export function credentialOf(
  { credentials }: Pick<PipelineParts, 'credentials'>,
  { caller }: Pick<RoutedExchange, 'caller'>,
  { target: { provider }, endpoint }: Candidate,
): Credential {
  const credential = credentials.of(provider, endpoint);
  return 'forCaller' in credential ? credential.forCaller(caller) : credential;
}

type SendingParts = Pick<PipelineParts, 'clock' | 'pools' | 'credentials' | 'defaults' | 'play' | 'seats'>;

export function sendUpstream(
  parts: SendingParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  written: Outgoing,
  receiver: Receiver,
): Transmission {
  const { provider } = candidate.target;
  const seats = seatsOf(parts.seats, provider);
  const address = seats.addressFor(provider, written.ask);
  if (address.host !== provider.host)
    throw new Error(`${provider.entry.id} is at ${provider.host}: nothing of it is sent to ${address.host}`);
  if (parts.play) {
    return parts.play(candidate, { path: address.path + address.query, body: written.body }, receiver);
  }
  const outgoing = seats.bodyFor ? { ...written, body: seats.bodyFor(written.ask, written.body) } : written;
  const credential = credentialOf(parts, exchange, candidate);
  const { lease } = credential;
  const sendBy = (renewed: Lease, to: UpstreamReceiver): UpstreamCall =>
    sendWith(parts, exchange, candidate, outgoing, address, renewed, to);
  if (credential.refuse) return sendRenewable(credential, parts.clock.wallMs, sendBy, receiver);
  if (lease && parts.clock.wallMs() < lease.endsAtMs) return sendBy(lease, receiver);
  return sendOnceRenewed(credential.renew(), (renewed) => sendBy(renewed, receiver), receiver);
}

function sendWith(
  parts: SendingParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  { ask, framing, body, isNative, upstream }: Outgoing,
  { host, path, query }: Address,
  lease: Lease,
  receiver: UpstreamReceiver,
): UpstreamCall {
  const { provider } = candidate.target;
  const base = baseHeaders(provider, lease, ask.isStream ? framing.mediaType : 'application/json');
  const ofDialect = dialectHeaders(base.ofProvider, exchange, candidate, upstream, isNative);
  const { headersFor } = seatsOf(parts.seats, provider);
  let headers = base.headers.concat(headersFor ? headersFor(ask, ofDialect) : ofDialect);
  if (lease.sign) {
    const unsigned = { method: 'POST', host, path, query, headers } as const;
    headers = headers.concat(lease.sign(unsigned, body, parts.clock.wallMs()));
  }
  const connectMs = timeoutFor(exchange, candidate, 'connectMs', parts.defaults);
  return send(
    {
      pool: parts.pools.poolFor(provider, connectMs, candidate.isFresh),
      isFresh: candidate.isFresh === true,
      path: path + query,
      headers,
      body,
    },
    receiver,
  );
}
