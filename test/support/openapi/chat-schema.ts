// What may stand in a chat completion, plain or streamed? OpenAI's published shapes, the two members for reasoning
// that the dialect has no standard for, and nothing beyond.

import { z } from 'zod';
import { usageSchema } from './completions-schema.ts';

const index = z.int().min(0);
const filled = z.string().min(1);

const tokenLogprob = {
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.int().min(0).max(255)).nullable(),
};
const logprobs = z
  .strictObject({
    content: z
      .array(z.strictObject({ ...tokenLogprob, top_logprobs: z.array(z.strictObject(tokenLogprob)) }))
      .nullable(),
    refusal: z.null(),
  })
  .nullable();

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']);

const reasoningDetails = z
  .array(
    z.strictObject({
      type: z.literal('reasoning.encrypted'),
      data: z.string().startsWith('penstock.1.'),
      format: z.literal('penstock'),
      index,
      text_length: index,
    }),
  )
  .min(1);

const toolCall = z.discriminatedUnion('type', [
  z.strictObject({
    id: filled,
    type: z.literal('function'),
    function: z.strictObject({ name: z.string(), arguments: z.string() }),
  }),
  z.strictObject({
    id: filled,
    type: z.literal('custom'),
    custom: z.strictObject({ name: z.string(), input: z.string() }),
  }),
]);

const message = z.strictObject({
  role: z.literal('assistant'),
  content: z.string().nullable(),
  refusal: z.string().nullable(),
  reasoning_content: filled.optional(),
  reasoning_details: reasoningDetails.optional(),
  tool_calls: z.array(toolCall).min(1).optional(),
  function_call: z.strictObject({ name: z.string(), arguments: z.string() }).optional(),
});

export const chatCompletionSchema = z.strictObject({
  id: z.string().startsWith('chatcmpl-'),
  object: z.literal('chat.completion'),
  created: index,
  model: z.string(),
  choices: z.array(z.strictObject({ index, message, logprobs, finish_reason: finishReason })).min(1),
  usage: usageSchema.optional(),
  service_tier: z.string().optional(),
});

const delta = z.union([
  z.strictObject({ role: z.literal('assistant'), content: z.literal('').nullable(), refusal: z.null() }),
  z.strictObject({ content: filled }),
  z.strictObject({ refusal: filled }),
  z.strictObject({ reasoning_content: filled }),
  z.strictObject({ reasoning_details: reasoningDetails }),
  z.strictObject({
    tool_calls: z
      .array(
        z.union([
          z.strictObject({
            index,
            id: filled,
            type: z.literal('function'),
            function: z.strictObject({ name: z.string(), arguments: z.literal('') }),
          }),
          z.strictObject({ index, function: z.strictObject({ arguments: filled }) }),
          z.strictObject({
            index,
            id: filled,
            type: z.literal('custom'),
            custom: z.strictObject({ name: z.string(), input: z.literal('') }),
          }),
          z.strictObject({ index, custom: z.strictObject({ input: filled }) }),
        ]),
      )
      .length(1),
  }),
  z.strictObject({ function_call: z.strictObject({ name: z.string(), arguments: z.literal('') }) }),
  z.strictObject({ function_call: z.strictObject({ arguments: filled }) }),
]);

export const chatChunkSchema = z.strictObject({
  id: z.string().startsWith('chatcmpl-'),
  object: z.literal('chat.completion.chunk'),
  created: index,
  model: z.string(),
  choices: z
    .array(
      z.union([
        z.strictObject({ index, delta, logprobs, finish_reason: z.null() }),
        z.strictObject({ index, delta: z.strictObject({}), logprobs: z.null(), finish_reason: finishReason }),
      ]),
    )
    .max(1),
  usage: usageSchema.nullable().optional(),
});

/**
 * What is wrong with the order of a stream's chunks, in words: the role first and once for each choice, one finish
 * reason behind everything else, every piece of a call behind its head, and at most one chunk of usage, at the end.
 */
export function chunkOrderFaults(chunks: readonly z.infer<typeof chatChunkSchema>[]): readonly string[] {
  const faults: string[] = [];
  const started = new Set<number>();
  const finished = new Set<number>();
  const calls = new Map<number, number>();
  for (const [at, { choices }] of chunks.entries()) {
    const [choice] = choices;
    if (!choice && at !== chunks.length - 1) faults.push(`chunk ${at} has no choice and is not the last`);
    if (!choice) continue;
    const isRole = 'role' in choice.delta;
    if (isRole === started.has(choice.index)) faults.push(`chunk ${at}: the role is not first, or twice`);
    started.add(choice.index);
    if (finished.has(choice.index)) faults.push(`chunk ${at} comes behind the finish reason`);
    if (choice.finish_reason !== null) finished.add(choice.index);
    if (!('tool_calls' in choice.delta)) continue;
    for (const call of choice.delta.tool_calls) {
      const known = calls.get(choice.index) ?? 0;
      const wanted = 'id' in call ? known : known - 1;
      if (call.index !== wanted) faults.push(`chunk ${at}: index ${call.index} instead of ${wanted}`);
      if ('id' in call) calls.set(choice.index, known + 1);
    }
  }
  for (const index of started) if (!finished.has(index)) faults.push(`choice ${index} has no finish reason`);
  return faults;
}
