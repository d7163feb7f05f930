// What must a response and the events of a streamed one look like? Strict: a member that is missing or
// that nobody knows is an error. After OpenAI's OpenAPI document, "Responses", for what a gateway
// without hosted tools and storage can answer.

import { z } from 'zod';

const alternative = z.strictObject({
  token: z.string(),
  bytes: z.array(z.int()),
  logprob: z.number(),
});

const logprobs = z.array(z.strictObject({ ...alternative.shape, top_logprobs: z.array(alternative) }));

const outputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.unknown()),
  logprobs,
});

const refusal = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });

const summaryText = z.strictObject({ type: z.literal('summary_text'), text: z.string() });

const itemStatus = z.enum(['in_progress', 'completed', 'incomplete']);

const contentPart = z.discriminatedUnion('type', [outputText, refusal]);

export const outputItem = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('message'),
    id: z.string().regex(/^msg_./),
    status: itemStatus,
    role: z.literal('assistant'),
    content: z.array(contentPart),
  }),
  z.strictObject({
    type: z.literal('function_call'),
    id: z.string().regex(/^fc_./),
    status: itemStatus,
    call_id: z.string().min(1),
    name: z.string().min(1),
    namespace: z.string().optional(),
    arguments: z.string(),
  }),
  z.strictObject({
    type: z.literal('custom_tool_call'),
    id: z.string().regex(/^ctc_./),
    status: itemStatus,
    call_id: z.string().min(1),
    name: z.string().min(1),
    namespace: z.string().optional(),
    input: z.string(),
  }),
  z.strictObject({
    type: z.literal('reasoning'),
    id: z.string().regex(/^rs_./),
    status: itemStatus,
    summary: z.array(summaryText),
    encrypted_content: z.string().optional(),
  }),
]);

const count = z.int().min(0);

export const responseUsage = z.strictObject({
  input_tokens: count,
  input_tokens_details: z.strictObject({ cached_tokens: count, cache_write_tokens: count }),
  output_tokens: count,
  output_tokens_details: z.strictObject({ reasoning_tokens: count }),
  total_tokens: count,
});

const tool = z.union([
  z.strictObject({
    type: z.literal('function'),
    name: z.string(),
    description: z.string().nullable(),
    parameters: z.record(z.string(), z.unknown()).nullable(),
    strict: z.boolean().nullable(),
    defer_loading: z.boolean().optional(),
    output_schema: z.unknown().optional(),
    allowed_callers: z.unknown().optional(),
  }),
  z.looseObject({ type: z.string().refine((type) => type !== 'function') }),
]);

const textFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().nullable(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean(),
  }),
]);

export const response = z.strictObject({
  id: z.string().regex(/^resp_./),
  object: z.literal('response'),
  created_at: count,
  completed_at: count.nullable(),
  status: z.enum(['completed', 'failed', 'in_progress', 'cancelled', 'queued', 'incomplete']),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.strictObject({ reason: z.enum(['max_output_tokens', 'content_filter']) }).nullable(),
  model: z.string(),
  output: z.array(outputItem),
  usage: responseUsage.nullable(),
  background: z.boolean(),
  conversation: z.null(),
  frequency_penalty: z.number(),
  instructions: z.string().nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  metadata: z.record(z.string(), z.string()),
  parallel_tool_calls: z.boolean(),
  presence_penalty: z.number(),
  previous_response_id: z.string().nullable(),
  prompt: z.null(),
  prompt_cache_key: z.string().nullable(),
  prompt_cache_retention: z.string().nullable(),
  reasoning: z.strictObject({ effort: z.string().nullable(), summary: z.string().nullable() }),
  safety_identifier: z.string().nullable(),
  service_tier: z.string(),
  store: z.boolean(),
  temperature: z.number(),
  text: z.strictObject({ format: textFormat, verbosity: z.string() }),
  tool_choice: z.union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: z.string() })]),
  tools: z.array(tool),
  top_logprobs: z.int(),
  top_p: z.number(),
  truncation: z.enum(['auto', 'disabled']),
  user: z.string().nullable(),
});

const ofStream = { sequence_number: count };
const ofItem = { ...ofStream, item_id: z.string().min(1), output_index: count };
const ofContent = { ...ofItem, content_index: count };
const ofSummary = { ...ofItem, summary_index: count };

function withStatus(status: string) {
  return response.refine((value) => value.status === status, `the status is not ${status}`);
}

const error = z.strictObject({
  type: z.string(),
  code: z.string().nullable(),
  message: z.string(),
  param: z.string().nullable(),
});

export const responseEvent = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('response.created'), ...ofStream, response: withStatus('in_progress') }),
  z.strictObject({
    type: z.literal('response.in_progress'),
    ...ofStream,
    response: withStatus('in_progress'),
  }),
  z.strictObject({ type: z.literal('response.completed'), ...ofStream, response: withStatus('completed') }),
  z.strictObject({ type: z.literal('response.incomplete'), ...ofStream, response: withStatus('incomplete') }),
  z.strictObject({ type: z.literal('response.failed'), ...ofStream, response: withStatus('failed') }),
  z.strictObject({
    type: z.literal('response.output_item.added'),
    ...ofStream,
    output_index: count,
    item: outputItem,
  }),
  z.strictObject({
    type: z.literal('response.output_item.done'),
    ...ofStream,
    output_index: count,
    item: outputItem,
  }),
  z.strictObject({ type: z.literal('response.content_part.added'), ...ofContent, part: contentPart }),
  z.strictObject({ type: z.literal('response.content_part.done'), ...ofContent, part: contentPart }),
  z.strictObject({
    type: z.literal('response.output_text.delta'),
    ...ofContent,
    delta: z.string().min(1),
    logprobs,
  }),
  z.strictObject({ type: z.literal('response.output_text.done'), ...ofContent, text: z.string(), logprobs }),
  z.strictObject({ type: z.literal('response.refusal.delta'), ...ofContent, delta: z.string().min(1) }),
  z.strictObject({ type: z.literal('response.refusal.done'), ...ofContent, refusal: z.string() }),
  z.strictObject({
    type: z.literal('response.function_call_arguments.delta'),
    ...ofItem,
    delta: z.string().min(1),
  }),
  z.strictObject({
    type: z.literal('response.function_call_arguments.done'),
    ...ofItem,
    arguments: z.string(),
    name: z.string(),
  }),
  z.strictObject({
    type: z.literal('response.custom_tool_call_input.delta'),
    ...ofItem,
    delta: z.string().min(1),
  }),
  z.strictObject({ type: z.literal('response.custom_tool_call_input.done'), ...ofItem, input: z.string() }),
  z.strictObject({
    type: z.literal('response.reasoning_summary_part.added'),
    ...ofSummary,
    part: summaryText,
  }),
  z.strictObject({
    type: z.literal('response.reasoning_summary_text.delta'),
    ...ofSummary,
    delta: z.string().min(1),
  }),
  z.strictObject({
    type: z.literal('response.reasoning_summary_text.done'),
    ...ofSummary,
    text: z.string(),
  }),
  z.strictObject({
    type: z.literal('response.reasoning_summary_part.done'),
    ...ofSummary,
    part: summaryText,
  }),
  z.strictObject({
    type: z.literal('error'),
    ...ofStream,
    code: z.string().nullable(),
    message: z.string(),
    param: z.string().nullable(),
    error,
  }),
]);

export type ResponseEvent = z.infer<typeof responseEvent>;
