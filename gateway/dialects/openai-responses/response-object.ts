// Which members does a response have besides its output? It repeats every parameter of the request, and
// unset ones with their default: clients check for the whole shape.

import type { Usage } from '../../../core/contract/ledger-record.ts';
import { asRecord, isRecord } from '../../json/record.ts';
import type { AnswerHead } from '../dialect.ts';
import { encodeResponsesUsage } from './convert-usage.ts';
import type { ReadMember } from './decode-settings.ts';
import type { ResponseEnd } from './map-finish-reason.ts';

/** The members that repeat the request. */
export type ResponseSettings = Readonly<Record<string, unknown>>;

export type ResponseState =
  | { readonly status: 'in_progress' }
  | { readonly status: 'failed'; readonly error: { readonly code: string; readonly message: string } }
  | ResponseEnd;

interface ResponseContent {
  readonly model: string;
  readonly output: readonly unknown[];
  readonly usage: Usage | undefined;
}

export function buildResponse(
  head: Pick<AnswerHead, 'id' | 'createdAt'>,
  settings: ResponseSettings,
  state: ResponseState,
  { model, output, usage }: ResponseContent,
): Record<string, unknown> {
  return {
    id: `resp_${head.id}`,
    object: 'response',
    created_at: head.createdAt,
    completed_at: state.status === 'completed' ? head.createdAt : null,
    status: state.status,
    error: state.status === 'failed' ? state.error : null,
    incomplete_details: state.status === 'incomplete' ? { reason: state.reason } : null,
    model,
    output,
    usage: usage ? encodeResponsesUsage(usage) : null,
    ...settings,
  };
}

/** @param read Gives nothing for a request that is not known. */
export function settingsOf(read: ReadMember): ResponseSettings {
  const reasoning = asRecord(read('reasoning'));
  const tier = read('service_tier') ?? 'default';
  const tools = read('tools');
  return {
    background: false,
    conversation: null,
    frequency_penalty: 0,
    instructions: read('instructions') ?? null,
    max_output_tokens: read('max_output_tokens') ?? null,
    max_tool_calls: read('max_tool_calls') ?? null,
    metadata: read('metadata') ?? {},
    parallel_tool_calls: read('parallel_tool_calls') ?? true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt: null,
    prompt_cache_key: read('prompt_cache_key') ?? null,
    prompt_cache_retention: read('prompt_cache_retention') ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    safety_identifier: read('safety_identifier') ?? null,
    service_tier: tier === 'auto' ? 'default' : tier,
    // The gateway stores nothing: its own ids cannot be referred to.
    store: false,
    temperature: read('temperature') ?? 1,
    text: textOf(read('text')),
    tool_choice: read('tool_choice') ?? 'auto',
    tools: Array.isArray(tools) ? tools.map(toolOf) : [],
    top_logprobs: read('top_logprobs') ?? 0,
    top_p: read('top_p') ?? 1,
    truncation: read('truncation') ?? 'disabled',
    user: read('user') ?? null,
  };
}

function textOf(value: unknown): unknown {
  const { format, verbosity } = asRecord(value) ?? {};
  const isSchema = isRecord(format) && format.type === 'json_schema';
  return {
    format: isSchema
      ? { ...format, description: format.description ?? null, strict: format.strict ?? false }
      : (format ?? { type: 'text' }),
    verbosity: verbosity ?? 'medium',
  };
}

function toolOf(tool: unknown): unknown {
  if (!isRecord(tool) || tool.type !== 'function') return tool;
  return { description: null, parameters: null, strict: null, ...tool };
}
