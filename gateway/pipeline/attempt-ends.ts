// encode* → send → decode*: how does a request reach one candidate, and its answer the caller?
// The caller's own bytes where the candidate speaks the same dialect, else through our own form.

import type { AttemptEnds, Receiver, Transmission } from '../attempt/attempt.ts';
import type { ClientSink } from '../attempt/commit-point.ts';
import type { Dialect, StreamEncoder, UpstreamCall, UpstreamTarget } from '../dialects/dialect.ts';
import { findDialect } from '../dialects/registry.ts';
import { originOf } from '../dialects/state/opaque.ts';
import { openCall, translateAnswer, translateStream } from '../dialects/translate.ts';
import type { Candidate } from '../route/plan.ts';
import { hasSeveralNative } from '../route/several-native.ts';
import { buildRequestHeaders, redactCredentials } from '../upstream/request-headers.ts';
import { send } from '../upstream/send.ts';
import { dialectHeaders, forwardedQuery } from './client-headers.ts';
import { type Answer, type PipelineParts, type RoutedExchange, timeoutFor } from './parts.ts';

/** The ends of an attempt at a plain answer. `call` counts the upstream calls of the request from 0. */
export function plainEnds(
  parts: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  call: number,
): AttemptEnds<Answer> {
  const encoded = encodeFor(exchange, candidate, call);
  return {
    ...commonEnds(parts, exchange, candidate, encoded),
    reader: {
      type: 'plain',
      read(bytes) {
        if (encoded.translated) return translateAnswer(encoded.translated, bytes);
        const document = encoded.upstream.same.relayAnswer(bytes, exchange.facts, encoded.marksAs);
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
  const encoded = encodeFor(exchange, candidate, call);
  const stream =
    encoded.translated && encoder
      ? translateStream(encoded.translated, encoder.open(call))
      : encoded.upstream.same.relayStream(exchange.facts, encoded.marksAs);
  return {
    ...commonEnds(parts, exchange, candidate, encoded),
    reader: { type: 'stream', stream, sink },
  };
}

interface EncodedRequest {
  readonly upstream: Dialect;
  readonly body: readonly Buffer[];
  /** Absent where the caller's own bytes go through. */
  readonly translated: UpstreamCall | undefined;
  /** With what opaque state is marked that goes through to the caller; undefined: it is not. */
  readonly marksAs: string | undefined;
}

function encodeFor(exchange: RoutedExchange, candidate: Candidate, call: number): EncodedRequest {
  const { dialect, facts, translation } = exchange;
  const upstream = findDialect(candidate.dialect);
  const target = targetOf(exchange, candidate);
  if (passesThrough(exchange, candidate)) {
    const body = dialect.same.editRequest(exchange.body, facts, target);
    const marksAs = hasSeveralNative(exchange.plan.route, dialect.name) ? target.origin : undefined;
    return { upstream, body, translated: undefined, marksAs };
  }
  const conversation = translation?.conversations[call];
  if (!conversation) throw new Error(`${dialect.name} was not translated for ${upstream.name}`);
  const translated = openCall(upstream, conversation, target);
  return { upstream, body: [translated.body], translated, marksAs: undefined };
}

/**
 * Whether the caller's own bytes go to this candidate, and its bytes to the caller. A request that
 * stands for several calls is split for every candidate, also for one of its own dialect.
 */
export function passesThrough(
  { dialect, translation }: Pick<RoutedExchange, 'dialect' | 'translation'>,
  candidate: Candidate,
): boolean {
  const isWhole = translation === undefined || translation.conversations.length === 1;
  return candidate.dialect === dialect.name && isWhole;
}

export function targetOf(
  { facts, plan }: Pick<RoutedExchange, 'facts' | 'plan'>,
  { target }: Candidate,
): UpstreamTarget {
  const { upstreamModel, parameters } = target.entry;
  return {
    upstreamModel,
    parameters,
    isStream: facts.isStream,
    origin: originOf(target.provider.entry.id, upstreamModel),
    chatNames: target.provider.entry.chatNames,
    maxOutputTokens: plan.route.entry.maxOutputTokens,
  };
}

function commonEnds(
  parts: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  { upstream, body, translated }: EncodedRequest,
): Omit<AttemptEnds<Answer>, 'reader'> {
  return {
    send: (receiver) =>
      sendTo(parts, exchange, candidate, upstream, body, translated === undefined, receiver),
    readError: upstream.readError,
    speaksForeign: upstream.errorShape !== exchange.dialect.errorShape,
    redact: (text) => redactCredentials(text, candidate.target),
  };
}

function sendTo(
  { pools, defaults, play }: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  upstream: Dialect,
  body: readonly Buffer[],
  isNative: boolean,
  receiver: Receiver,
): Transmission {
  const { provider } = candidate.target;
  const path = provider.basePath + upstream.path + forwardedQuery(exchange, upstream, isNative);
  if (play) return play(candidate, { path, body }, receiver);
  return send(
    {
      pool: pools.poolFor(
        provider,
        timeoutFor(exchange, candidate, 'connectMs', defaults),
        candidate.isFresh,
      ),
      isFresh: candidate.isFresh === true,
      path,
      headers: [
        ...buildRequestHeaders(provider, candidate.endpoint, exchange.facts.isStream),
        ...dialectHeaders(exchange, candidate, upstream, isNative),
      ],
      body,
    },
    receiver,
  );
}
