// How does POST /v1/responses answer, plain and as events? (OpenAI API reference, "Responses" and "Streaming events".)

import type { Dialect, Frame, Stamp, WireError } from './dialect.ts';
import { frame } from './dialect.ts';
import { openaiBadRequest, openaiErrorBody, openaiErrorKind, openaiHeaders } from './openai-errors.ts';
import type { Answer, Choice, Usage } from './prompt.ts';
import type { Item, ItemVoice } from './responses-output.ts';
import { itemsOf, partEvents } from './responses-output.ts';
import type { ResponsesSettings } from './responses-request.ts';
import { readResponsesRequest } from './responses-request.ts';

export const responses: Dialect = {
  name: 'openai-responses',
  read: (body, context) => {
    const { prompt, isStream, settings } = readResponsesRequest(body, context);
    const voice: ItemVoice = { ...settings, seal: context.seal };
    return {
      prompts: [prompt],
      isStream,
      plain: (answer, stamp) => plain(answer, stamp, settings, voice),
      stream: (answer, stamp) => stream(answer, stamp, settings, voice),
    };
  },
  badRequest: openaiBadRequest,
  errorBody: openaiErrorBody,
  errorFrames,
  responseHeaders: openaiHeaders,
  countBody: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
};

function plain(answer: Answer, stamp: Stamp, settings: ResponsesSettings, voice: ItemVoice): unknown {
  const choice = onlyChoice(answer);
  return finished(answer, stamp, settings, itemsOf(choice, stamp, voice));
}

function onlyChoice(answer: Answer): Choice {
  const [choice] = answer.choices;
  if (choice === undefined) throw new Error('simulator: an answer without a choice');
  return choice;
}

function finished(
  answer: Answer,
  stamp: Stamp,
  settings: ResponsesSettings,
  items: Item[],
): Record<string, unknown> {
  const { finish } = onlyChoice(answer);
  const reason = finish === 'length' ? 'max_output_tokens' : finish === 'filter' ? 'content_filter' : null;
  const response = {
    ...envelope(stamp, settings),
    completed_at: reason === null ? stamp.createdS : null,
    status: reason === null ? 'completed' : 'incomplete',
    incomplete_details: reason === null ? null : { reason },
    output: items.map((item) => item.whole),
    usage: settings.hasUsage ? usageOf(answer.usage) : null,
  };
  settings.keep?.(response);
  return response;
}

// The answer repeats the settings of the request, with the defaults where it had none.
function envelope(stamp: Stamp, settings: Pick<ResponsesSettings, 'echo'>): Record<string, unknown> {
  const { echo } = settings;
  return {
    id: `resp_${stamp.id}`,
    object: 'response',
    created_at: stamp.createdS,
    completed_at: null,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: echo.instructions ?? null,
    max_output_tokens: echo.max_output_tokens ?? null,
    max_tool_calls: echo.max_tool_calls ?? null,
    model: stamp.model,
    output: [],
    parallel_tool_calls: echo.parallel_tool_calls ?? true,
    previous_response_id: echo.previous_response_id ?? null,
    prompt_cache_key: echo.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...bagOf(echo.reasoning) },
    safety_identifier: echo.safety_identifier ?? null,
    service_tier:
      echo.service_tier === undefined || echo.service_tier === 'auto' ? 'default' : echo.service_tier,
    store: echo.store ?? true,
    temperature: echo.temperature ?? 1,
    text: { format: { type: 'text' }, verbosity: 'medium', ...bagOf(echo.text) },
    tool_choice: echo.tool_choice ?? 'auto',
    tools: Array.isArray(echo.tools) ? echo.tools.map(echoedTool) : [],
    top_logprobs: echo.top_logprobs ?? 0,
    top_p: echo.top_p ?? 1,
    truncation: echo.truncation ?? 'disabled',
    usage: null,
    user: echo.user ?? null,
    metadata: echo.metadata ?? {},
    access_programs: null,
    presence_penalty: 0,
    frequency_penalty: 0,
  };
}

// A function is strict where the request does not say.
function echoedTool(tool: unknown): unknown {
  const members = bagOf(tool);
  if (members.type === 'function') return { ...members, strict: members.strict ?? true };
  return Array.isArray(members.tools) ? { ...members, tools: members.tools.map(echoedTool) } : tool;
}

function bagOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function* stream(
  answer: Answer,
  stamp: Stamp,
  settings: ResponsesSettings,
  voice: ItemVoice,
): Generator<Frame> {
  let sequence = 0;
  const event = (
    data: { type: string } & Record<string, unknown>,
    options: Parameters<typeof frame>[1] = {},
  ) => {
    const numbered = { ...data, sequence_number: sequence };
    sequence += 1;
    return frame(numbered, { event: data.type, ...options });
  };
  const started = envelope(stamp, settings);
  yield event({ type: 'response.created', response: started });
  yield event({ type: 'response.in_progress', response: started });
  const choice = onlyChoice(answer);
  const items = itemsOf(choice, stamp, voice);
  for (const [index, item] of items.entries()) {
    yield event({ type: 'response.output_item.added', output_index: index, item: item.empty }, item.added);
    for (const { data, tokens } of partEvents(item, voice)) {
      yield event({ ...data, item_id: item.id, output_index: index }, tokens);
    }
    yield event({ type: 'response.output_item.done', output_index: index, item: item.whole });
  }
  const response = finished(answer, stamp, settings, items);
  const type = response.status === 'completed' ? 'response.completed' : 'response.incomplete';
  yield event({ type, response }, { phase: 'last' });
}

// OpenAI sends the error event first and the failed response after it.
function errorFrames(error: WireError, stamp: Stamp, framesBefore: number): Frame[] {
  const kind = openaiErrorKind(error.status);
  const [code, { message }] = [error.code ?? kind.code, error];
  const failed = { ...envelope(stamp, { echo: {} }), status: 'failed', error: { code, message } };
  const flat = { code, message, param: null, error: openaiErrorBody(error).error };
  return [
    frame({ type: 'error', ...flat, sequence_number: framesBefore }, { event: 'error' }),
    frame(
      { type: 'response.failed', response: failed, sequence_number: framesBefore + 1 },
      { event: 'response.failed' },
    ),
  ];
}

function usageOf(usage: Usage): Record<string, unknown> {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  };
}
