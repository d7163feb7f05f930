// encode* → send → decode*: how does a request reach one candidate, and its answer the caller?
// The caller's own bytes where the candidate speaks the same dialect, else through our own form.

import type { AttemptEnds, Receiver, Transmission } from '../attempt/attempt.ts';
import type { ClientSink } from '../attempt/commit-point.ts';
import type { Dialect, StreamEncoder } from '../dialects/dialect.ts';
import { findDialect } from '../dialects/registry.ts';
import { translateAnswer, translateStream } from '../dialects/translate.ts';
import type { Candidate } from '../route/plan.ts';
import { buildRequestHeaders, redactCredentials } from '../upstream/request-headers.ts';
import { send } from '../upstream/send.ts';
import { type Answer, type PipelineParts, type RoutedExchange, timeoutFor } from './parts.ts';

/** The ends of an attempt at a plain answer. `call` counts the upstream calls of the request from 0. */
export function plainEnds(
  parts: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  call: number,
): AttemptEnds<Answer> {
  const { upstream, body, isNative } = encodeFor(exchange, candidate, call);
  return {
    send: (receiver) => sendTo(parts, exchange, candidate, upstream, body, receiver),
    readError: upstream.readError,
    redact: (text) => redactCredentials(text, candidate.target.provider, candidate.endpoint),
    reader: {
      type: 'plain',
      read(bytes) {
        if (!isNative) return translateAnswer(upstream, bytes);
        const document = upstream.same.relayAnswer(bytes, exchange.facts);
        return document.ok ? { ...document, value: { type: 'bytes', bytes: document.body } } : document;
      },
    },
  };
}

/** The ends of an attempt at a streamed answer; `encoder` is shared by all calls of the request. */
export function streamEnds(
  parts: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  call: number,
  sink: ClientSink,
  encoder: StreamEncoder | undefined,
): AttemptEnds<Answer> {
  const { upstream, body, isNative } = encodeFor(exchange, candidate, call);
  const conversation = exchange.translation?.conversations[call];
  const stream =
    isNative || !encoder || !conversation
      ? upstream.same.relayStream(exchange.facts)
      : translateStream(upstream, conversation.choices, encoder.open(call));
  return {
    send: (receiver) => sendTo(parts, exchange, candidate, upstream, body, receiver),
    readError: upstream.readError,
    redact: (text) => redactCredentials(text, candidate.target.provider, candidate.endpoint),
    reader: { type: 'stream', stream, sink },
  };
}

interface EncodedRequest {
  readonly upstream: Dialect;
  readonly body: readonly Buffer[];
  readonly isNative: boolean;
}

function encodeFor(exchange: RoutedExchange, candidate: Candidate, call: number): EncodedRequest {
  const { dialect, facts, translation } = exchange;
  const upstream = findDialect(candidate.dialect);
  if (!upstream)
    throw new Error(`the table names the dialect ${candidate.dialect}, which is not spoken here`);
  const { upstreamModel, parameters } = candidate.target.entry;
  const target = { upstreamModel, parameters, isStream: facts.isStream };
  // A request that stands for several calls is split for every candidate, also for one of its own dialect.
  const isWhole = translation === undefined || translation.conversations.length === 1;
  if (upstream.name === dialect.name && isWhole) {
    return { upstream, body: dialect.same.editRequest(exchange.body, facts, target), isNative: true };
  }
  const conversation = translation?.conversations[call];
  if (!conversation || !upstream.asUpstream) {
    throw new Error(`${dialect.name} cannot be served from ${upstream.name}`);
  }
  return { upstream, body: [upstream.asUpstream.encodeRequest(conversation, target)], isNative: false };
}

function sendTo(
  { pools, defaults }: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  upstream: Dialect,
  body: readonly Buffer[],
  receiver: Receiver,
): Transmission {
  const { provider } = candidate.target;
  return send(
    {
      pool: pools.poolFor(provider, timeoutFor(exchange, candidate, 'connectMs', defaults)),
      path: provider.basePath + upstream.path,
      headers: buildRequestHeaders(provider, candidate.endpoint, exchange.facts.isStream),
      body,
    },
    receiver,
  );
}
