// How many tokens would this request be? POST /v1/messages/count_tokens: asked of the upstream where
// it can count, else estimated, rather too high than too low: a client that counts too few makes
// its conversation shorter too late. It is no generation: nothing is metered, nothing limited.

import type { Receiver } from '../attempt/attempt.ts';
import { readCountTokensRequest } from '../dialects/anthropic-messages/read-request.ts';
import type { Conversation, Part } from '../dialects/conversation.ts';
import { findDialect } from '../dialects/registry.ts';
import { openCall } from '../dialects/translate.ts';
import { parseWhole } from '../endpoints/parse-body.ts';
import { asRecord, tryParseJson } from '../json/record.ts';
import type { Candidate } from '../route/plan.ts';
import { buildRequestHeaders } from '../upstream/request-headers.ts';
import { send } from '../upstream/send.ts';
import { targetOf } from './attempt-ends.ts';
import { dialectHeaders, forwardedQuery, readHeader } from './client-headers.ts';
import { type Exchange, type PipelineParts, type RoutedExchange, timeoutFor } from './parts.ts';
import { planFor } from './route-exchange.ts';

/** Clients ask this in bursts, and can do without: nobody waits long for an exact number. */
const countWithinMs = 5_000;

/** @throws {GatewayError} where the request is not valid, or leads nowhere. */
export async function serveTokenCount(
  parts: PipelineParts,
  exchange: Omit<Exchange, 'dialect'>,
): Promise<void> {
  const dialect = findDialect('anthropic-messages');
  const facts = readCountTokensRequest(exchange.body);
  const plan = planFor(parts, { ...exchange, dialect }, facts);
  const routed = { ...exchange, dialect, facts, plan, translation: undefined };
  const counted = await askUpstreams(parts, routed);
  const inputTokens = counted ?? estimateInput(decode(routed));
  const body = JSON.stringify({ input_tokens: inputTokens });
  exchange.response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-request-id': exchange.requestId,
    'request-id': exchange.requestId,
    'x-penstock-generation': String(exchange.view.generation),
    // Where nobody has counted.
    ...(counted === undefined ? { 'x-penstock-estimated': 'true' } : {}),
  });
  exchange.response.end(body);
}

/** The first of the upstreams that can count and is in service; one try each. */
async function askUpstreams(parts: PipelineParts, exchange: RoutedExchange): Promise<number | undefined> {
  for (const candidate of exchange.plan.candidates) {
    if (!parts.health.isUsable(candidate, parts.clock.now())) continue;
    const request = countRequest(exchange, candidate);
    if (!request) continue;
    const answer = await ask(parts, exchange, candidate, request);
    const tokens = asRecord(answer)?.input_tokens;
    if (Number.isSafeInteger(tokens) && Number(tokens) >= 0) return Number(tokens);
  }
  return undefined;
}

interface CountRequest {
  readonly path: string;
  readonly body: readonly Buffer[];
}

function countRequest(exchange: RoutedExchange, candidate: Candidate): CountRequest | undefined {
  const { dialect, facts, body } = exchange;
  // A default for the answer is nothing to count.
  const target = { ...targetOf(exchange, candidate), parameters: {} };
  switch (candidate.dialect) {
    case 'anthropic-messages':
      return {
        path: `${dialect.path}/count_tokens${forwardedQuery(exchange, dialect, true)}`,
        body: dialect.same.editRequest(body, facts, target),
      };
    case 'openai-responses': {
      const call = openCall(findDialect(candidate.dialect), decode(exchange), target);
      return { path: '/responses/input_tokens', body: [Buffer.from(onlyCounted(call.body))] };
    }
    case 'openai-chat':
    case 'openai-completions':
      return undefined;
  }
}

/** The counting route takes what is input, and refuses how it should be answered. */
function onlyCounted(request: Buffer): string {
  const members = Object.entries(asRecord(tryParseJson(request.toString('utf8'))) ?? {});
  return JSON.stringify(Object.fromEntries(members.filter(([name]) => countedMembers.has(name))));
}

const countedMembers = new Set([
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'text',
  'reasoning',
]);

/** The answer's JSON; undefined where it is late, broken, or not 200. */
function ask(
  { clock, pools, defaults }: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  { path, body }: CountRequest,
): Promise<unknown> {
  const { provider } = candidate.target;
  const upstream = findDialect(candidate.dialect);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let isOk = false;
    const finish = (value: unknown): void => {
      cancel();
      stopListening();
      resolve(value);
    };
    const receiver: Receiver = {
      onHead: (status) => {
        isOk = status === 200;
      },
      onBody: (chunk) => {
        if (chunks.length < chunksMax) chunks.push(chunk);
      },
      onEnd: () => finish(isOk ? tryParseJson(Buffer.concat(chunks).toString('utf8')) : undefined),
      onBreak: () => finish(undefined),
    };
    const giveUp = (): void => {
      call.abort();
      finish(undefined);
    };
    const cancel = clock.setTimer(countWithinMs, giveUp);
    const stopListening = onClose(exchange, giveUp);
    const call = send(
      {
        pool: pools.poolFor(provider, timeoutFor(exchange, candidate, 'connectMs', defaults)),
        path: provider.basePath + path,
        headers: [
          ...buildRequestHeaders(provider, candidate.endpoint, false),
          ...dialectHeaders(exchange, candidate, upstream, upstream.name === exchange.dialect.name),
        ],
        body,
      },
      receiver,
    );
  });
}

/** A number is short. */
const chunksMax = 64;

function onClose({ response }: Pick<Exchange, 'response'>, listener: () => void): () => void {
  response.once('close', listener);
  return () => void response.removeListener('close', listener);
}

function decode({ dialect, body, request, plan }: RoutedExchange): Conversation {
  parseWhole(body);
  const { conversations } = dialect.translate(body, {
    upstreams: new Set(plan.candidates.map((candidate) => candidate.dialect)),
    header: (name) => readHeader(request.rawHeaders, name),
  });
  const [conversation] = conversations;
  if (!conversation) throw new Error('a translation holds no conversation');
  return conversation;
}

/** English has about four bytes a token, code and other scripts about three. */
const bytesPerToken = 3;
/** The most that a provider counts for one picture. */
const imageTokens = 5_000;
/** Roles and separators. */
const turnTokens = 8;
/** What a provider puts around tools by itself. */
const toolsTokens = 600;

function estimateInput({ system, turns, tools, output }: Conversation): number {
  const parts = [...system, ...turns.flatMap((turn) => turn.parts)];
  const fixed = turnTokens * (turns.length + 1) + (tools.length > 0 ? toolsTokens : 0);
  const definitions = JSON.stringify([tools, output]);
  return parts.reduce((sum, part) => sum + tokensOf(part), fixed) + tokensOfText(definitions);
}

function tokensOf(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'thinking':
      return tokensOfText(part.text);
    case 'image':
      return imageTokens;
    case 'file':
      return part.source.kind === 'base64' ? tokensOfText(part.source.data) : imageTokens;
    case 'audio':
      return tokensOfText(part.data);
    case 'tool-call':
      return tokensOfText(part.name + part.input) + turnTokens;
    case 'tool-result':
      return part.parts.reduce((sum, inner) => sum + tokensOf(inner), turnTokens);
  }
}

/** Short words and signs are a token each, however short. */
function tokensOfText(text: string): number {
  const pieces = text.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu)?.length ?? 0;
  return Math.max(pieces, Math.ceil(Buffer.byteLength(text) / bytesPerToken));
}
