// How does the wall speak responses? (OpenAI API reference: Responses, and Responses streaming.)

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
import { endMarker, errorBody } from './openai-shared.ts';

export const openaiResponses: Voice = {
  name: 'openai-responses',
  matches: (method, path) => method === 'POST' && path.endsWith('/responses'),
  isStreamAsked: (request) => request.stream === true,
  // Nobody has to ask: the last event tells it.
  isUsageAsked: () => true,
  choiceCount: () => 1,
  inputTokens: (request) => countWords(request.instructions) + countWords(request.input),
  plain: (said) => endedResponse(said, onlyChoice(said)).response,
  events: (said) => {
    const choice = onlyChoice(said);
    const begun = responseOf(said, { status: 'in_progress' });
    const members: Member[] = [
      member('start', { type: 'response.created', response: begun }),
      member('start', { type: 'response.in_progress', response: begun }),
      ...itemsOf(said, choice).flatMap(itemEvents),
      ...terminalEvents(said, choice),
    ];
    return members.map(number);
  },
  contentEvent: (said, text, place) => {
    const items = itemsOf(said, onlyChoice(said));
    const at = Math.max(
      items.findIndex(({ kind }) => kind === 'message'),
      0,
    );
    return number(member('content', textDelta(placeOf(at, items[at]?.id ?? 'msg_wall'), text), 1), place);
  },
  errorBody,
  errorEvents(shape, error, { said, place }) {
    const body = errorOf(error);
    const failed = member('finish', { type: 'response.failed', response: failedResponse(said, body) });
    const reported = member('finish', { type: 'error', error: body });
    switch (shape) {
      case undefined:
        // In this order, as recorded at OpenAI.
        return [number(reported, place), number(failed, place + 1)];
      case 'event':
        return [number(reported, place)];
      case 'data':
        return [{ ...number(member('finish', { error: body }), place), event: undefined }];
      case 'chunk':
        return [number(failed, place)];
    }
  },
  // The dialect has none of its own; servers in front of it add the one of chat, and clients bear it.
  endMarker,
};

type EventData = Readonly<Record<string, unknown>> & { readonly type?: string };

/** An event without its number. */
interface Member {
  segment: StreamSegment;
  data: EventData;
  outputTokens: number;
  reportsUsage: boolean;
}

interface Item {
  kind: 'reasoning' | 'message' | 'function_call';
  id: string;
  at: number;
  empty: object;
  /** The events between the first and the last of the item. */
  inside: readonly Member[];
  whole: object;
}

/** In the order of the dialect: reasoning, message, calls. */
function itemsOf(said: Said, choice: SaidChoice): Item[] {
  const makers: ((at: number) => Item)[] = [];
  if (choice.reasoning.length > 0) makers.push((at) => reasoningItem(said, choice.reasoning, at));
  if (choice.tokens.length > 0 || choice.toolCalls.length === 0) {
    makers.push((at) => messageItem(said, choice.tokens, at));
  }
  for (const call of choice.toolCalls) makers.push((at) => callItem(said, call, at));
  return makers.map((make, at) => make(at));
}

function itemEvents({ kind, at, empty, inside, whole }: Item): Member[] {
  const added = { type: 'response.output_item.added', output_index: at, item: empty };
  return [
    // The start of a call names the tool: that is content already, and a token.
    kind === 'function_call' ? member('content', added, 1) : member('start', added),
    ...inside,
    member('finish', { type: 'response.output_item.done', output_index: at, item: whole }),
  ];
}

function messageItem(said: Said, tokens: readonly string[], at: number): Item {
  const id = `msg_${said.id}_${at}`;
  const place = { ...placeOf(at, id), content_index: 0 };
  const text = tokens.join('');
  const part = (content: string) => ({ type: 'output_text', annotations: [], logprobs: [], text: content });
  const head = { id, type: 'message', role: 'assistant' };
  return {
    kind: 'message',
    id,
    at,
    empty: { ...head, status: 'in_progress', content: [] },
    inside: [
      member('start', { type: 'response.content_part.added', ...place, part: part('') }),
      ...tokens.map((token) => member('content', textDelta(placeOf(at, id), token), 1)),
      member('finish', { type: 'response.output_text.done', ...place, text, logprobs: [] }),
      member('finish', { type: 'response.content_part.done', ...place, part: part(text) }),
    ],
    whole: { ...head, status: 'completed', content: [part(text)] },
  };
}

function reasoningItem(said: Said, tokens: readonly string[], at: number): Item {
  const id = `rs_${said.id}_${at}`;
  const place = { ...placeOf(at, id), summary_index: 0 };
  const text = tokens.join('');
  const part = (content: string) => ({ type: 'summary_text', text: content });
  const name = 'response.reasoning_summary_text';
  return {
    kind: 'reasoning',
    id,
    at,
    empty: { id, type: 'reasoning', summary: [] },
    inside: [
      member('start', { type: 'response.reasoning_summary_part.added', ...place, part: part('') }),
      ...tokens.map((delta) => member('content', { type: `${name}.delta`, ...place, delta }, 1)),
      member('finish', { type: `${name}.done`, ...place, text }),
      member('finish', { type: 'response.reasoning_summary_part.done', ...place, part: part(text) }),
    ],
    whole: { id, type: 'reasoning', summary: [part(text)] },
  };
}

function callItem(said: Said, call: SaidChoice['toolCalls'][number], at: number): Item {
  const id = `fc_${said.id}_${at}`;
  const head = { id, type: 'function_call', call_id: call.id, name: call.name };
  const name = 'response.function_call_arguments';
  const place = placeOf(at, id);
  return {
    kind: 'function_call',
    id,
    at,
    empty: { ...head, arguments: '', status: 'in_progress' },
    inside: [
      ...cutArguments(call.arguments).map((delta) =>
        member('content', { type: `${name}.delta`, ...place, delta }, 1),
      ),
      member('finish', { type: `${name}.done`, ...place, arguments: call.arguments, name: call.name }),
    ],
    whole: { ...head, arguments: call.arguments, status: 'completed' },
  };
}

function placeOf(at: number, id: string): { item_id: string; output_index: number } {
  return { item_id: id, output_index: at };
}

function textDelta(place: ReturnType<typeof placeOf>, delta: string): EventData {
  return { type: 'response.output_text.delta', ...place, content_index: 0, delta, logprobs: [] };
}

function terminalEvents(said: Said, choice: SaidChoice): Member[] {
  const { type, response } = endedResponse(said, choice);
  const event = { ...member('end', { type, response }), reportsUsage: said.usageChunk !== 'never' };
  return said.usageChunk === 'twice' ? [event, event] : [event];
}

function endedResponse(said: Said, choice: SaidChoice): { type: string; response: object } {
  const output = itemsOf(said, choice).map(({ whole }) => whole);
  const usage = said.usageChunk === 'never' ? null : encodeUsage(said.usage);
  const reason = incompleteReasons[choice.finishReason];
  if (reason === undefined) {
    const response = responseOf(said, { status: 'completed', completed_at: said.created, output, usage });
    return { type: 'response.completed', response };
  }
  const response = responseOf(said, { status: 'incomplete', incomplete_details: { reason }, output, usage });
  return { type: 'response.incomplete', response };
}

const incompleteReasons: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

function failedResponse(said: Said, { code, message }: { code: string | number; message: string }): object {
  return responseOf(said, { status: 'failed', error: { code, message } });
}

/** Every member that the vendor's schema asks for, in the vendor's defaults. */
function responseOf(said: Said, more: object): object {
  return {
    id: `resp_${said.id}`,
    object: 'response',
    created_at: said.created,
    completed_at: null,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: said.model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage: null,
    user: null,
    metadata: {},
    ...more,
  };
}

function encodeUsage(usage: WallUsage): object {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}

function errorOf({ message, type, code }: ProviderError) {
  return {
    type: type ?? 'server_error',
    // Clients go by the code; where a script names a type alone, the type is the code too, as at OpenAI.
    code: code ?? type ?? 'server_error',
    message: message ?? 'The wall broke off',
    param: null,
  };
}

function member(segment: StreamSegment, data: EventData, outputTokens = 0): Member {
  return { segment, data, outputTokens, reportsUsage: false };
}

/** The name of an event is in its data once more, and its place in the stream beside it. */
function number({ data: { type, ...more }, ...event }: Member, place: number): VoiceEvent {
  const data = type === undefined ? more : { type, sequence_number: place, ...more };
  return { ...event, ...(type !== undefined && { event: type }), data: JSON.stringify(data) };
}
