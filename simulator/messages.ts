// How does POST /v1/messages answer, plain and as events? (Anthropic API documentation, "Messages" and "Streaming".)

import { anthropicBadRequest, anthropicErrorBody, anthropicHeaders } from './anthropic-errors.ts';
import { isBag } from './checks.ts';
import type { Dialect, Frame, ReadContext, Stamp } from './dialect.ts';
import { frame } from './dialect.ts';
import type { MessagesSettings } from './messages-request.ts';
import { readMessagesRequest } from './messages-request.ts';
import type { Answer, Choice, Finish, Part, Piece, Usage } from './prompt.ts';
import { joinPieces } from './prompt.ts';
import type { Seal } from './seal.ts';

export const messages: Dialect = {
  name: 'anthropic-messages',
  read: (body, context) => {
    const { prompt, isStream, settings } = readMessagesRequest(body, context);
    const voice: Voice = { ...settings, seal: context.seal, filter: filterOf(context) };
    return {
      prompts: [prompt],
      isStream,
      plain: (answer, stamp) => plain(answer, stamp, voice),
      stream: (answer, stamp) => stream(answer, stamp, voice),
    };
  },
  badRequest: anthropicBadRequest,
  errorBody: anthropicErrorBody,
  errorFrames: (error, stamp) => [frame(anthropicErrorBody(error, stamp.requestId), { event: 'error' })],
  responseHeaders: anthropicHeaders,
  countBody: (tokens) => ({ input_tokens: tokens }),
};

type Voice = MessagesSettings & { seal: Seal; filter: string };

function filterOf({ directives }: ReadContext): string {
  return directives.isFiltered
    ? 'The content filter stopped this answer.'
    : 'The directives of the simulator say to refuse.';
}

function plain(answer: Answer, stamp: Stamp, voice: Voice): unknown {
  const choice = onlyChoice(answer);
  return {
    ...envelope(stamp),
    content: choice.parts.map((part) => blockOf(part, voice)),
    ...endOf(choice, voice),
    ...(voice.hasUsage ? { usage: usageOf(answer.usage) } : {}),
  };
}

function envelope(stamp: Stamp): Record<string, unknown> {
  return {
    id: `msg_${stamp.id}`,
    type: 'message',
    role: 'assistant',
    model: stamp.model,
    container: null,
    diagnostics: null,
  };
}

function onlyChoice(answer: Answer): Choice {
  const [choice] = answer.choices;
  if (choice === undefined) throw new Error('simulator: an answer without a choice');
  return choice;
}

function blockOf(part: Part, voice: Voice): Record<string, unknown> {
  const text = joinPieces(part.pieces);
  if (part.kind === 'call') {
    return { type: 'tool_use', id: `toolu_${part.id}`, name: part.tool.name, input: parseInput(text) };
  }
  if (part.kind !== 'reasoning') return { type: 'text', text, citations: null };
  if (part.isRedacted) return { type: 'redacted_thinking', data: voice.seal.make(text) };
  const thinking = voice.omitsThinking ? '' : text;
  return { type: 'thinking', thinking, signature: voice.seal.make(thinking) };
}

// Scripted arguments may be anything; a plain answer of this dialect can only hold an object.
function parseInput(text: string): unknown {
  try {
    const input: unknown = JSON.parse(text);
    return isBag(input) ? input : {};
  } catch {
    return {};
  }
}

function endOf(choice: Choice, voice: Voice): Record<string, unknown> {
  const isRefusal = choice.finish === 'refusal' || choice.finish === 'filter';
  return {
    stop_reason: stopReason(choice.finish),
    stop_sequence: choice.stopSequence,
    stop_details: isRefusal ? { type: 'refusal', category: null, explanation: voice.filter } : null,
  };
}

function stopReason(finish: Finish): string {
  switch (finish) {
    case 'stop':
      return 'end_turn';
    case 'stop-sequence':
      return 'stop_sequence';
    case 'length':
      return 'max_tokens';
    case 'tool-calls':
      return 'tool_use';
    case 'refusal':
    case 'filter':
      return 'refusal';
  }
}

function* stream(answer: Answer, stamp: Stamp, voice: Voice): Generator<Frame> {
  const choice = onlyChoice(answer);
  // The first count of output tokens is a beginning; the last one, in message_delta, holds.
  const started = usageOf({ ...answer.usage, output: 1, reasoning: 0 });
  yield named({
    type: 'message_start',
    message: {
      ...envelope(stamp),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      // The SDKs cannot start a message without usage, so a provider without it sends zeros.
      usage: voice.hasUsage ? started : usageOf(noUsage),
    },
  });
  yield named({ type: 'ping' });
  for (const [index, part] of choice.parts.entries()) yield* blockEvents(part, index, voice);
  yield named(
    {
      type: 'message_delta',
      delta: { ...endOf(choice, voice), container: null },
      usage: deltaUsageOf(voice.hasUsage ? answer.usage : noUsage),
    },
    { phase: 'closing' },
  );
  yield named({ type: 'message_stop' }, { phase: 'last' });
}

const noUsage: Usage = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };

function* blockEvents(part: Part, index: number, voice: Voice): Generator<Frame> {
  const start = startOf(part, voice);
  yield named({ type: 'content_block_start', index, content_block: start.block }, start.tokens);
  for (const piece of part.pieces) {
    const delta = deltaOf(part, piece, voice);
    if (delta === undefined) continue;
    const reasoningTokens = part.kind === 'reasoning' ? piece.tokens : 0;
    yield named(
      { type: 'content_block_delta', index, delta },
      { outputTokens: piece.tokens, reasoningTokens },
    );
  }
  if (part.kind === 'reasoning' && !part.isRedacted) {
    const thinking = voice.omitsThinking ? '' : joinPieces(part.pieces);
    const delta = { type: 'signature_delta', signature: voice.seal.make(thinking) };
    // Thinking that is not shown is paid for all the same; its tokens come with the signature.
    yield named({ type: 'content_block_delta', index, delta }, voice.omitsThinking ? allTokens(part) : {});
  }
  yield named({ type: 'content_block_stop', index });
}

function startOf(part: Part, voice: Voice): { block: unknown; tokens: FrameTokens } {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return { block: { type: 'text', text: '', citations: null }, tokens: {} };
    case 'call':
      return {
        block: { type: 'tool_use', id: `toolu_${part.id}`, name: part.tool.name, input: {} },
        tokens: { outputTokens: part.nameTokens },
      };
    case 'reasoning':
      if (part.isRedacted) return { block: blockOf(part, voice), tokens: allTokens(part) };
      return { block: { type: 'thinking', thinking: '', signature: '' }, tokens: {} };
  }
}

function deltaOf(part: Part, piece: Piece, voice: Voice): unknown {
  if (part.kind === 'call') return { type: 'input_json_delta', partial_json: piece.text };
  if (part.kind !== 'reasoning') return { type: 'text_delta', text: piece.text };
  return part.isRedacted || voice.omitsThinking
    ? undefined
    : { type: 'thinking_delta', thinking: piece.text };
}

type FrameTokens = { outputTokens?: number; reasoningTokens?: number };

function allTokens(part: Part): FrameTokens {
  const tokens = part.pieces.reduce((sum, piece) => sum + piece.tokens, 0);
  return { outputTokens: tokens, reasoningTokens: tokens };
}

function named(
  data: { type: string } & Record<string, unknown>,
  options: FrameTokens & { phase?: Frame['phase'] } = {},
): Frame {
  return frame(data, { event: data.type, ...options });
}

// Here the input counters exclude each other: input_tokens is what neither came from a cache nor went into one.
function usageOf(usage: Usage): Record<string, unknown> {
  return {
    ...deltaUsageOf(usage),
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite, ephemeral_1h_input_tokens: 0 },
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
  };
}

function deltaUsageOf(usage: Usage): Record<string, unknown> {
  return {
    input_tokens: usage.input - usage.cached - usage.cacheWrite,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cached,
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: usage.reasoning },
    server_tool_use: null,
  };
}
