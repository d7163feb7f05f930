// How does the wall speak messages? (Anthropic API documentation: Messages, and Streaming messages.)

import type { ProviderError, StreamSegment, WallUsage } from '../behaviour.ts';
import {
  countWords,
  cutArguments,
  onlyChoice,
  type Said,
  type SaidChoice,
  type Voice,
  type VoiceEvent,
} from '../voice.ts';

export const anthropicMessages: Voice = {
  name: 'anthropic-messages',
  // A count has no answer here, but all the faults.
  matches: (method, path) => method === 'POST' && /\/messages(\/count_tokens)?$/.test(path),
  isStreamAsked: (request) => request.stream === true,
  // Nobody has to ask: a message tells its usage.
  isUsageAsked: () => true,
  choiceCount: () => 1,
  inputTokens: (request) => countWords(request.system) + countWords(request.messages),
  plain: (said) => {
    const choice = onlyChoice(said);
    return {
      ...messageHead(said),
      content: blocksOf(choice).map(({ whole }) => whole),
      ...encodeEnd(choice),
      ...(said.usageChunk !== 'never' && { usage: encodeUsage(said.usage) }),
    };
  },
  events: (said) => {
    const choice = onlyChoice(said);
    return [
      event('start', { type: 'message_start', message: startOf(said) }),
      event('start', { type: 'ping' }),
      ...blocksOf(choice).flatMap(blockEvents),
      ...endEvents(said, choice),
      endMarker(),
    ];
  },
  contentEvent: (said, text) => {
    const index = blocksOf(onlyChoice(said)).findIndex(({ kind }) => kind === 'text');
    return event('content', deltaOf(Math.max(index, 0), { type: 'text_delta', text }), 1);
  },
  errorBody: (status, error) => encodeError(error, typeByStatus[status] ?? 'api_error', status),
  errorEvents(shape, error) {
    const body = encodeError(error, 'api_error');
    switch (shape) {
      case undefined:
      case 'event':
        return [event('finish', body)];
      case 'data':
        return [{ ...event('finish', body), event: undefined }];
      case 'chunk':
        // No provider is known to do this in messages; it is how some do it in chat.
        return [
          event('finish', { type: 'message_delta', delta: { stop_reason: 'error' }, error: body.error }),
        ];
    }
  },
  endMarker,
};

type EventData = Readonly<Record<string, unknown>> & { readonly type: string };

type Block = {
  kind: 'thinking' | 'text' | 'tool_use';
  index: number;
  start: object;
  deltas: readonly { delta: object; outputTokens: number }[];
  whole: object;
};

/** In the order of the dialect: thinking, text, calls. */
function blocksOf(choice: SaidChoice): Block[] {
  const blocks: Omit<Block, 'index'>[] = [];
  if (choice.reasoning.length > 0) blocks.push(thinkingBlock(choice.reasoning));
  if (choice.tokens.length > 0 || choice.toolCalls.length === 0) blocks.push(textBlock(choice.tokens));
  for (const call of choice.toolCalls) blocks.push(toolBlock(call));
  return blocks.map((block, index) => ({ ...block, index }));
}

function thinkingBlock(tokens: readonly string[]): Omit<Block, 'index'> {
  const signature = 'wall-signature==';
  return {
    kind: 'thinking',
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...tokens.map((thinking) => ({ delta: { type: 'thinking_delta', thinking }, outputTokens: 1 })),
      { delta: { type: 'signature_delta', signature }, outputTokens: 0 },
    ],
    whole: { type: 'thinking', thinking: tokens.join(''), signature },
  };
}

function textBlock(tokens: readonly string[]): Omit<Block, 'index'> {
  return {
    kind: 'text',
    start: { type: 'text', text: '' },
    deltas: tokens.map((text) => ({ delta: { type: 'text_delta', text }, outputTokens: 1 })),
    whole: { type: 'text', text: tokens.join(''), citations: null },
  };
}

function toolBlock({ id, name, arguments: input }: SaidChoice['toolCalls'][number]): Omit<Block, 'index'> {
  const head = { type: 'tool_use', id: `toolu_${id}`, name };
  return {
    kind: 'tool_use',
    start: { ...head, input: {} },
    deltas: cutArguments(input).map((partial_json) => ({
      delta: { type: 'input_json_delta', partial_json },
      outputTokens: 1,
    })),
    whole: { ...head, input: JSON.parse(input) },
  };
}

function blockEvents({ kind, index, start, deltas }: Block): VoiceEvent[] {
  const started = { type: 'content_block_start', index, content_block: start };
  return [
    // The start of a call names the tool: that is content already, and a token.
    kind === 'tool_use' ? event('content', started, 1) : event('start', started),
    ...deltas.map(({ delta, outputTokens }) => event('content', deltaOf(index, delta), outputTokens)),
    event('finish', { type: 'content_block_stop', index }),
  ];
}

function deltaOf(index: number, delta: object): EventData {
  return { type: 'content_block_delta', index, delta };
}

function endEvents(said: Said, choice: SaidChoice): VoiceEvent[] {
  const members = { type: 'message_delta', delta: encodeEnd(choice) };
  const bare = event('finish', members);
  const reported = {
    ...event('finish', { ...members, usage: deltaUsage(said.usage) }),
    reportsUsage: true,
  };
  return { never: [bare], once: [reported], twice: [reported, reported] }[said.usageChunk];
}

function messageHead(said: Said): object {
  return { id: `msg_${said.id}`, type: 'message', role: 'assistant', model: said.model };
}

function startOf(said: Said): object {
  return {
    ...messageHead(said),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    // What is generated is counted in the end; the input is known from the beginning.
    ...(said.usageChunk !== 'never' && {
      usage: encodeUsage({ ...said.usage, outputTokens: 1, reasoningTokens: 0 }),
    }),
  };
}

function encodeEnd({ finishReason }: SaidChoice): object {
  return { stop_reason: stopReasons[finishReason] ?? finishReason, stop_sequence: null, stop_details: null };
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

function encodeUsage(usage: WallUsage): object {
  return {
    ...deltaUsage(usage),
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWriteTokens, ephemeral_1h_input_tokens: 0 },
    service_tier: 'standard',
  };
}

/** In this dialect `input_tokens` leaves out what came from the cache, and what went there. */
function deltaUsage(usage: WallUsage): object {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  return {
    input_tokens: inputTokens - cachedTokens - cacheWriteTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
  };
}

/** The vendor has no codes: one is only there when a script gives it. */
function encodeError({ message, type, code }: ProviderError, fallback: string, status?: number) {
  return {
    type: 'error',
    error: {
      type: type ?? fallback,
      message: message ?? (status === undefined ? 'The wall broke off' : `The wall answers ${status}`),
      ...(code !== undefined && { code }),
    },
    request_id: 'req_wall',
  };
}

const typeByStatus: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

function endMarker(): VoiceEvent {
  return event('end', { type: 'message_stop' });
}

/** The name of an event is in its data once more. */
function event(segment: StreamSegment, data: EventData, outputTokens = 0): VoiceEvent {
  return { segment, event: data.type, data: JSON.stringify(data), outputTokens, reportsUsage: false };
}
