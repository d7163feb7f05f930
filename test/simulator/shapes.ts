// What does each dialect's answer look like, to the letter? Strict schemas: an unknown or missing member fails.
// (OpenAI API reference; Anthropic API documentation.)

import { z } from 'zod';

const count = z.int().nonnegative();
const text = z.string();
const noneOrObject = z.record(z.string(), z.unknown()).nullable();

const openaiError = z.strictObject({
  error: z.strictObject({
    message: text.min(1),
    type: text.min(1),
    param: text.nullable(),
    code: text.nullable(),
  }),
});

const anthropicError = z.strictObject({
  type: z.literal('error'),
  error: z.strictObject({
    type: text.min(1),
    message: text.min(1),
    details: z.record(z.string(), z.unknown()).optional(),
  }),
  request_id: text.startsWith('req_'),
});

// Chat

const chatUsage = z
  .strictObject({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    prompt_tokens_details: z.strictObject({
      cached_tokens: count,
      cache_write_tokens: count.optional(),
      audio_tokens: count,
    }),
    completion_tokens_details: z.strictObject({
      reasoning_tokens: count,
      audio_tokens: count,
      accepted_prediction_tokens: count,
      rejected_prediction_tokens: count,
    }),
  })
  .refine((usage) => usage.total_tokens === usage.prompt_tokens + usage.completion_tokens);

const logprobs = z
  .strictObject({
    content: z.array(
      z.strictObject({
        token: text,
        logprob: z.number(),
        bytes: z.array(count),
        top_logprobs: z.array(z.never()),
      }),
    ),
    refusal: z.null(),
  })
  .nullable();

const functionBody = z.strictObject({ name: text.min(1), arguments: text });
const customBody = z.strictObject({ name: text.min(1), input: text });
const callId = text.regex(/^call_[0-9a-f]{16}$/);

const chatMessage = z.strictObject({
  role: z.literal('assistant'),
  content: text.nullable(),
  reasoning_content: text.min(1).optional(),
  refusal: text.nullable(),
  annotations: z.tuple([]),
  tool_calls: z
    .array(
      z.union([
        z.strictObject({ id: callId, type: z.literal('function'), function: functionBody }),
        z.strictObject({ id: callId, type: z.literal('custom'), custom: customBody }),
      ]),
    )
    .min(1)
    .optional(),
  function_call: functionBody.optional(),
});

const chatFinish = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']);

const chatHead = {
  id: text.startsWith('chatcmpl-'),
  created: z.int(),
  model: text.min(1),
  service_tier: text,
  system_fingerprint: text,
};

const chatAnswer = z.strictObject({
  ...chatHead,
  object: z.literal('chat.completion'),
  choices: z
    .array(z.strictObject({ index: count, message: chatMessage, logprobs, finish_reason: chatFinish }))
    .min(1),
  usage: chatUsage,
});

const chatDelta = z.union([
  z.strictObject({ role: z.literal('assistant'), content: z.literal('').nullable(), refusal: z.null() }),
  z.strictObject({ content: text.min(1) }),
  z.strictObject({ refusal: text.min(1) }),
  z.strictObject({ reasoning_content: text.min(1) }),
  z.strictObject({
    tool_calls: z.tuple([
      z.union([
        z.strictObject({ index: count, id: callId, type: z.literal('function'), function: functionBody }),
        z.strictObject({ index: count, id: callId, type: z.literal('custom'), custom: customBody }),
        z.strictObject({ index: count, function: z.strictObject({ arguments: text }) }),
        z.strictObject({ index: count, custom: z.strictObject({ input: text }) }),
      ]),
    ]),
  }),
  z.strictObject({ function_call: z.union([functionBody, z.strictObject({ arguments: text })]) }),
  z.strictObject({}),
]);

const chatChunk = z.strictObject({
  ...chatHead,
  object: z.literal('chat.completion.chunk'),
  choices: z.array(
    z.strictObject({ index: count, delta: chatDelta, logprobs, finish_reason: chatFinish.nullable() }),
  ),
  usage: chatUsage.nullable().optional(),
});

// Completions

const completionsUsage = z.strictObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.strictObject({ cached_tokens: count }).optional(),
  completion_tokens_details: z.strictObject({ reasoning_tokens: count }).optional(),
});

const completionsLogprobs = z
  .strictObject({
    tokens: z.array(text),
    token_logprobs: z.array(z.number()),
    top_logprobs: z.array(z.record(text, z.number())),
    text_offset: z.array(count),
  })
  .nullable();

const completionsFinish = z.enum(['stop', 'length', 'content_filter']);

const completionsChoice = { text, index: count, logprobs: completionsLogprobs };

const completionsHead = {
  id: text.startsWith('cmpl-'),
  object: z.literal('text_completion'),
  created: z.int(),
  model: text.min(1),
};

const completionsAnswer = z.strictObject({
  ...completionsHead,
  choices: z.array(z.strictObject({ ...completionsChoice, finish_reason: completionsFinish })).min(1),
  usage: completionsUsage,
});

const completionsChunk = z.strictObject({
  ...completionsHead,
  choices: z.array(z.strictObject({ ...completionsChoice, finish_reason: completionsFinish.nullable() })),
  usage: completionsUsage.nullable().optional(),
});

// Messages

const messagesDeltaUsage = {
  input_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
  output_tokens: count,
  output_tokens_details: z.strictObject({ thinking_tokens: count }),
  server_tool_use: z.null(),
};

const messagesUsage = z.strictObject({
  ...messagesDeltaUsage,
  cache_creation: z.strictObject({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count }),
  service_tier: z.literal('standard'),
  inference_geo: z.null(),
  speed: z.null(),
});

const contentBlock = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text, citations: z.null() }),
  z.strictObject({ type: z.literal('thinking'), thinking: text, signature: text }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: text.min(1) }),
  z.strictObject({
    type: z.literal('tool_use'),
    id: text.regex(/^toolu_[0-9a-f]{16}$/),
    name: text.min(1),
    input: z.record(text, z.unknown()),
  }),
]);

const stopReason = z.enum(['end_turn', 'tool_use', 'max_tokens', 'stop_sequence', 'refusal']);
const stopDetails = z
  .strictObject({ type: z.literal('refusal'), category: z.null(), explanation: text.min(1) })
  .nullable();

const messagesHead = {
  id: text.startsWith('msg_'),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: text.min(1),
  container: z.null(),
  diagnostics: z.null(),
};

const messagesAnswer = z.strictObject({
  ...messagesHead,
  content: z.array(contentBlock),
  stop_reason: stopReason,
  stop_sequence: text.nullable(),
  stop_details: stopDetails,
  usage: messagesUsage,
});

const messagesEvent = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('message_start'),
    message: z.strictObject({
      ...messagesHead,
      content: z.tuple([]),
      stop_reason: z.null(),
      stop_sequence: z.null(),
      stop_details: z.null(),
      usage: messagesUsage,
    }),
  }),
  z.strictObject({ type: z.literal('ping') }),
  z.strictObject({ type: z.literal('content_block_start'), index: count, content_block: contentBlock }),
  z.strictObject({
    type: z.literal('content_block_delta'),
    index: count,
    delta: z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text_delta'), text: text.min(1) }),
      z.strictObject({ type: z.literal('thinking_delta'), thinking: text.min(1) }),
      z.strictObject({ type: z.literal('signature_delta'), signature: text.min(1) }),
      z.strictObject({ type: z.literal('input_json_delta'), partial_json: text }),
    ]),
  }),
  z.strictObject({ type: z.literal('content_block_stop'), index: count }),
  z.strictObject({
    type: z.literal('message_delta'),
    delta: z.strictObject({
      stop_reason: stopReason,
      stop_sequence: text.nullable(),
      stop_details: stopDetails,
      container: z.null(),
    }),
    usage: z.strictObject(messagesDeltaUsage),
  }),
  z.strictObject({ type: z.literal('message_stop') }),
]);

// Responses

const itemStatus = z.enum(['in_progress', 'completed', 'incomplete']);
const responsesLogprobs = z.array(
  z.strictObject({
    token: text,
    logprob: z.number(),
    bytes: z.array(count),
    top_logprobs: z.array(z.never()),
  }),
);

const contentPart = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('output_text'),
    text,
    annotations: z.tuple([]),
    logprobs: responsesLogprobs,
  }),
  z.strictObject({ type: z.literal('refusal'), refusal: text }),
]);

const summaryPart = z.strictObject({ type: z.literal('summary_text'), text });

const outputItem = z.discriminatedUnion('type', [
  z.strictObject({
    id: text.startsWith('msg_'),
    type: z.literal('message'),
    role: z.literal('assistant'),
    status: itemStatus,
    content: z.array(contentPart),
  }),
  z.strictObject({
    id: text.startsWith('fc_'),
    type: z.literal('function_call'),
    call_id: callId,
    name: text.min(1),
    namespace: text.optional(),
    arguments: text,
    status: itemStatus,
  }),
  z.strictObject({
    id: text.startsWith('ctc_'),
    type: z.literal('custom_tool_call'),
    call_id: callId,
    name: text.min(1),
    namespace: text.optional(),
    input: text,
    status: itemStatus,
  }),
  z.strictObject({
    id: text.startsWith('rs_'),
    type: z.literal('reasoning'),
    summary: z.array(summaryPart),
    encrypted_content: text.optional(),
  }),
  z.strictObject({
    id: text.startsWith('cmp_'),
    type: z.literal('compaction'),
    encrypted_content: text.min(1),
  }),
]);

const responsesUsage = z
  .strictObject({
    input_tokens: count,
    input_tokens_details: z.strictObject({ cached_tokens: count, cache_write_tokens: count }),
    output_tokens: count,
    output_tokens_details: z.strictObject({ reasoning_tokens: count }),
    total_tokens: count,
  })
  .refine((usage) => usage.total_tokens === usage.input_tokens + usage.output_tokens);

const responsesAnswer = z.strictObject({
  id: text.startsWith('resp_'),
  object: z.literal('response'),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.enum(['completed', 'incomplete', 'in_progress', 'failed']),
  background: z.literal(false),
  error: z.strictObject({ code: text, message: text }).nullable(),
  incomplete_details: z.strictObject({ reason: z.enum(['max_output_tokens', 'content_filter']) }).nullable(),
  instructions: z.unknown(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  model: text.min(1),
  output: z.array(outputItem),
  parallel_tool_calls: z.boolean(),
  previous_response_id: text.startsWith('resp_').nullable(),
  prompt_cache_key: text.nullable(),
  reasoning: noneOrObject,
  safety_identifier: text.nullable(),
  service_tier: text,
  store: z.boolean(),
  temperature: z.number(),
  text: z.looseObject({ format: z.looseObject({ type: text }) }),
  tool_choice: z.unknown(),
  tools: z.array(
    z
      .looseObject({ type: text })
      .refine(({ type, strict }) => type !== 'function' || typeof strict === 'boolean'),
  ),
  top_logprobs: count,
  top_p: z.number(),
  truncation: z.enum(['auto', 'disabled']),
  usage: responsesUsage.nullable(),
  user: text.nullable(),
  metadata: noneOrObject,
  access_programs: z.null(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
});

const whole = <Name extends string>(type: Name) =>
  z.strictObject({ type: z.literal(type), sequence_number: count, response: responsesAnswer });

const inItem = { sequence_number: count, item_id: text.min(1), output_index: count };
const inContent = { ...inItem, content_index: count };
const inSummary = { ...inItem, summary_index: count };

const responsesEvent = z.discriminatedUnion('type', [
  whole('response.created'),
  whole('response.in_progress'),
  whole('response.completed'),
  whole('response.incomplete'),
  whole('response.failed'),
  z.strictObject({
    type: z.enum(['response.output_item.added', 'response.output_item.done']),
    sequence_number: count,
    output_index: count,
    item: outputItem,
  }),
  z.strictObject({
    type: z.enum(['response.content_part.added', 'response.content_part.done']),
    ...inContent,
    part: contentPart,
  }),
  z.strictObject({
    type: z.literal('response.output_text.delta'),
    ...inContent,
    delta: text.min(1),
    logprobs: responsesLogprobs,
  }),
  z.strictObject({
    type: z.literal('response.output_text.done'),
    ...inContent,
    text,
    logprobs: responsesLogprobs,
  }),
  z.strictObject({ type: z.literal('response.refusal.delta'), ...inContent, delta: text.min(1) }),
  z.strictObject({ type: z.literal('response.refusal.done'), ...inContent, refusal: text }),
  z.strictObject({
    type: z.literal('response.function_call_arguments.delta'),
    ...inItem,
    delta: text.min(1),
  }),
  z.strictObject({
    type: z.literal('response.function_call_arguments.done'),
    ...inItem,
    arguments: text,
    name: text,
  }),
  z.strictObject({ type: z.literal('response.custom_tool_call_input.delta'), ...inItem, delta: text.min(1) }),
  z.strictObject({ type: z.literal('response.custom_tool_call_input.done'), ...inItem, input: text }),
  z.strictObject({
    type: z.enum(['response.reasoning_summary_part.added', 'response.reasoning_summary_part.done']),
    ...inSummary,
    part: summaryPart,
  }),
  z.strictObject({
    type: z.literal('response.reasoning_summary_text.delta'),
    ...inSummary,
    delta: text.min(1),
  }),
  z.strictObject({ type: z.literal('response.reasoning_summary_text.done'), ...inSummary, text }),
]);

/** Per dialect: the plain answer, one event of a stream, and the body of an error. */
export const shapes = {
  chat: { answer: chatAnswer, event: chatChunk, error: openaiError },
  completions: { answer: completionsAnswer, event: completionsChunk, error: openaiError },
  messages: { answer: messagesAnswer, event: messagesEvent, error: anthropicError },
  responses: { answer: responsesAnswer, event: responsesEvent, error: openaiError },
};

const modelEntry = z.strictObject({
  id: text.min(1),
  object: z.literal('model'),
  created: z.int(),
  owned_by: text.min(1),
  type: z.literal('model'),
  display_name: text.min(1),
  created_at: z.iso.datetime(),
});

export const modelShapes = {
  entry: modelEntry,
  list: z.strictObject({
    object: z.literal('list'),
    data: z.array(modelEntry),
    has_more: z.literal(false),
    first_id: text.nullable(),
    last_id: text.nullable(),
  }),
};
