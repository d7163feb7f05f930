// What may stand in a text completion, plain or streamed? The service's specification, and nothing beyond it.

import { z } from 'zod';

const count = z.int().min(0);

/** The counts that completions and chat completions share; ours names details only where there are any. */
export const usageSchema = z
  .strictObject({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    prompt_tokens_details: z
      .strictObject({ cached_tokens: count, cache_write_tokens: count.optional() })
      .optional(),
    completion_tokens_details: z.strictObject({ reasoning_tokens: count }).optional(),
  })
  .refine((usage) => usage.total_tokens === usage.prompt_tokens + usage.completion_tokens, {
    error: 'total_tokens is the sum of the others',
  });

const logprobs = z
  .strictObject({
    tokens: z.array(z.string()),
    token_logprobs: z.array(z.number().nullable()),
    top_logprobs: z.array(z.record(z.string(), z.number()).nullable()).nullable(),
    text_offset: z.array(count),
  })
  .nullable();

const finishReason = z.enum(['stop', 'length', 'content_filter']);

const head = {
  id: z.string().startsWith('cmpl-'),
  object: z.literal('text_completion'),
  created: z.int().min(0),
  model: z.string(),
};

export const completionSchema = z.strictObject({
  ...head,
  choices: z
    .array(z.strictObject({ text: z.string(), index: count, logprobs, finish_reason: finishReason }))
    .min(1),
  usage: usageSchema.optional(),
});

export const completionChunkSchema = z.strictObject({
  ...head,
  choices: z
    .array(
      z.strictObject({ text: z.string(), index: count, logprobs, finish_reason: finishReason.nullable() }),
    )
    .max(1),
  usage: usageSchema.nullable().optional(),
});
