// How does POST /v1/chat/completions answer, plain and as events? (OpenAI API reference, "Chat completions".)

import type { ChatSettings } from './chat-request.ts';
import { readChatRequest } from './chat-request.ts';
import type { Dialect, Frame, Stamp } from './dialect.ts';
import { frame } from './dialect.ts';
import { openaiBadRequest, openaiErrorBody, openaiHeaders } from './openai-errors.ts';
import type { Answer, Choice, Finish, Part, Piece, Usage } from './prompt.ts';
import { joinPieces } from './prompt.ts';

export const chat: Dialect = {
  name: 'openai-chat',
  read: (body, context) => {
    const { prompt, isStream, settings } = readChatRequest(body, context);
    return {
      prompts: [prompt],
      isStream,
      plain: (answer, stamp) => plain(answer, stamp, settings),
      stream: (answer, stamp) => stream(answer, stamp, settings),
    };
  },
  badRequest: openaiBadRequest,
  errorBody: openaiErrorBody,
  errorFrames: (error) => [frame(openaiErrorBody(error))],
  responseHeaders: openaiHeaders,
};

function plain(answer: Answer, stamp: Stamp, settings: ChatSettings): unknown {
  return {
    id: `chatcmpl-${stamp.id}`,
    object: 'chat.completion',
    created: stamp.createdS,
    model: stamp.model,
    choices: answer.choices.map((choice) => ({
      index: choice.index,
      message: messageOf(choice, settings),
      logprobs: settings.hasLogprobs ? logprobsOf(piecesOf(choice, 'text')) : null,
      finish_reason: finishReason(choice.finish, settings),
    })),
    ...(settings.hasUsage ? { usage: usageOf(answer.usage) } : {}),
    service_tier: tierOf(settings),
    system_fingerprint: 'fp_simulator',
  };
}

function messageOf(choice: Choice, settings: ChatSettings): Record<string, unknown> {
  const calls = choice.parts.filter((part) => part.kind === 'call');
  const refusal = joinPieces(piecesOf(choice, 'refusal'));
  const reasoning = joinPieces(piecesOf(choice, 'reasoning'));
  const hasText = calls.length === 0 && refusal === '';
  return {
    role: 'assistant',
    content: hasText ? joinPieces(piecesOf(choice, 'text')) : null,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    refusal: refusal === '' ? null : refusal,
    annotations: [],
    ...callsOf(calls, settings),
  };
}

function callsOf(calls: CallPart[], settings: ChatSettings): Record<string, unknown> {
  const [first] = calls;
  if (first === undefined) return {};
  if (settings.isLegacy)
    return { function_call: { name: first.tool.name, arguments: joinPieces(first.pieces) } };
  return {
    tool_calls: calls.map((call) => ({ id: callId(call), ...callBody(call, joinPieces(call.pieces)) })),
  };
}

type CallPart = Extract<Part, { kind: 'call' }>;

function callBody(call: CallPart, text: string): Record<string, unknown> {
  if (call.tool.kind === 'custom') return { type: 'custom', custom: { name: call.tool.name, input: text } };
  return { type: 'function', function: { name: call.tool.name, arguments: text } };
}

function callId(call: CallPart): string {
  return `call_${call.id}`;
}

function* stream(answer: Answer, stamp: Stamp, settings: ChatSettings): Generator<Frame> {
  const reportsUsage = settings.includesUsage;
  const head = {
    id: `chatcmpl-${stamp.id}`,
    object: 'chat.completion.chunk',
    created: stamp.createdS,
    model: stamp.model,
    service_tier: tierOf(settings),
    system_fingerprint: 'fp_simulator',
  };
  const chunk = (index: number, delta: unknown, finish: string | null = null, logprobs: unknown = null) => ({
    ...head,
    choices: [{ index, delta, logprobs, finish_reason: finish }],
    ...(reportsUsage ? { usage: null } : {}),
  });
  for (const choice of answer.choices) {
    const startsWithCall = choice.parts[0]?.kind === 'call';
    yield frame(
      chunk(choice.index, { role: 'assistant', content: startsWithCall ? null : '', refusal: null }),
    );
  }
  for (const { index, delta } of interleave(answer.choices.map((choice) => deltasOf(choice, settings)))) {
    const logprobs = delta.isText && settings.hasLogprobs ? logprobsOf([delta.piece]) : null;
    yield frame(chunk(answer.choices[index]?.index ?? index, delta.delta, null, logprobs), {
      outputTokens: delta.piece.tokens,
      reasoningTokens: delta.isReasoning ? delta.piece.tokens : 0,
    });
  }
  for (const choice of answer.choices) {
    yield frame(chunk(choice.index, {}, finishReason(choice.finish, settings)), { phase: 'closing' });
  }
  if (reportsUsage && settings.hasUsage) {
    yield frame({ ...head, choices: [], usage: usageOf(answer.usage) }, { phase: 'closing' });
  }
  yield frame('[DONE]', { phase: 'last' });
}

type Delta = { delta: unknown; piece: Piece; isText: boolean; isReasoning: boolean };

function* deltasOf(choice: Choice, settings: ChatSettings): Generator<Delta> {
  let call = 0;
  for (const part of choice.parts) {
    if (part.kind === 'call') {
      yield* callDeltas(part, call, settings);
      call += 1;
      continue;
    }
    const member =
      part.kind === 'reasoning' ? 'reasoning_content' : part.kind === 'text' ? 'content' : 'refusal';
    for (const piece of part.pieces) {
      const [isText, isReasoning] = [part.kind === 'text', part.kind === 'reasoning'];
      yield { delta: { [member]: piece.text }, piece, isText, isReasoning };
    }
  }
}

// The id, the type and the name come once, in the call's first chunk; then only more of the arguments.
function* callDeltas(call: CallPart, index: number, settings: ChatSettings): Generator<Delta> {
  const kind = call.tool.kind;
  const member = kind === 'custom' ? 'input' : 'arguments';
  const plainDelta = { isText: false, isReasoning: false };
  const wrap = (inner: unknown) => (settings.isLegacy ? { function_call: inner } : undefined);
  const first = { text: '', tokens: call.nameTokens };
  const start = { index, id: callId(call), ...callBody(call, '') };
  yield {
    delta: wrap({ name: call.tool.name, arguments: '' }) ?? { tool_calls: [start] },
    piece: first,
    ...plainDelta,
  };
  for (const piece of call.pieces) {
    const inner = { [member]: piece.text };
    yield { delta: wrap(inner) ?? { tool_calls: [{ index, [kind]: inner }] }, piece, ...plainDelta };
  }
}

// The choices take turns, as they do at a provider that samples them side by side.
function* interleave<Item>(sources: Generator<Item>[]): Generator<{ index: number; delta: Item }> {
  let open = sources.map((source, index) => ({ source, index }));
  while (open.length > 0) {
    const still: typeof open = [];
    for (const one of open) {
      const next = one.source.next();
      if (next.done) continue;
      yield { index: one.index, delta: next.value };
      still.push(one);
    }
    open = still;
  }
}

function piecesOf(choice: Choice, kind: Part['kind']): Piece[] {
  return choice.parts.flatMap((part) => (part.kind === kind ? part.pieces : []));
}

function logprobsOf(pieces: Piece[]): unknown {
  const content = pieces.map((piece) => ({
    token: piece.text,
    logprob: -0.5,
    bytes: [...Buffer.from(piece.text)],
    top_logprobs: [],
  }));
  return { content, refusal: null };
}

function finishReason(finish: Finish, settings: ChatSettings): string {
  switch (finish) {
    case 'length':
      return 'length';
    case 'tool-calls':
      return settings.isLegacy ? 'function_call' : 'tool_calls';
    case 'filter':
      return 'content_filter';
    case 'stop':
    case 'stop-sequence':
    case 'refusal':
      return 'stop';
  }
}

function usageOf(usage: Usage): unknown {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: {
      cached_tokens: usage.cached,
      ...(usage.cacheWrite > 0 ? { cache_write_tokens: usage.cacheWrite } : {}),
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

function tierOf(settings: ChatSettings): string {
  return settings.serviceTier === undefined || settings.serviceTier === 'auto'
    ? 'default'
    : settings.serviceTier;
}
