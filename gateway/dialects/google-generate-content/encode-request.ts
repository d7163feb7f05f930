// A conversation as a request to generate content.

import { asRecord } from '../../json/record.ts';
import { changeAsWritten } from '../../json/sources.ts';
import { writeJson } from '../../json/write-json.ts';
import type { Conversation } from '../conversation.ts';
import type { UpstreamTarget } from '../dialect.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { encodeContents } from './encode-contents.ts';
import { encodeContent } from './encode-parts.ts';
import { encodeThinking } from './encode-thinking.ts';
import { encodeTools, searches } from './encode-tools.ts';
import { geminiSchema } from './json-schema.ts';
import type { ModelTraits } from './model-traits.ts';
import { openApiSchema } from './open-api-schema.ts';

type Members = Readonly<Record<string, unknown>>;

/** With more, the gateway cuts at them itself. */
export const stopsMax = 5;

/** Features without a word in the dialect are left out, as the capabilities table says. The model and the stream are in the path. */
export function encodeGeminiRequest(
  conversation: Conversation,
  target: UpstreamTarget,
  names: ToolNames,
  traits: ModelTraits,
): Buffer {
  const { parameters } = target;
  const system = traits.takesSystem ? conversation.system.flatMap((part) => encodeContent(part) ?? []) : [];
  const config = {
    ...encodeDefaults(conversation),
    ...asRecord(parameters.generationConfig),
    ...encodeConfig(conversation, traits),
  };
  return Buffer.from(
    writeJson({
      ...parameters,
      contents: encodeContents(conversation, names, traits),
      ...(system.length > 0 ? { systemInstruction: { parts: system } } : {}),
      ...encodeTools(conversation, names, traits),
      ...(Object.keys(config).length > 0 ? { generationConfig: config } : {}),
    }),
  );
}

function encodeDefaults({ defaults }: Conversation): Members {
  if (!defaults) return {};
  const { maxOutputTokens, temperature, topP } = defaults;
  return { maxOutputTokens, temperature, topP };
}

function encodeConfig(conversation: Conversation, traits: ModelTraits): Members {
  const { sampling, maxOutputTokens, logprobs, choices } = conversation;
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty, stop = [] } = sampling;
  const { config: thinkingConfig } = encodeThinking(conversation, traits);
  return withoutUndefined({
    temperature,
    topP,
    topK,
    seed,
    ...(traits.takesPenalties ? { presencePenalty, frequencyPenalty } : {}),
    maxOutputTokens,
    stopSequences: stop.length > 0 && stop.length <= stopsMax ? stop : undefined,
    candidateCount: choices === 1 ? undefined : choices,
    ...(logprobs ? { responseLogprobs: true, ...(logprobs.top > 0 ? { logprobs: logprobs.top } : {}) } : {}),
    ...(isFormKept(conversation, traits) ? encodeForm(conversation, traits) : {}),
    thinkingConfig,
  });
}

/** Models of older generations take no form of the answer beside tools. */
export function isFormKept(conversation: Conversation, traits: ModelTraits): boolean {
  const hasTools = conversation.tools.length > 0 || searches(conversation, traits);
  return conversation.output.type !== 'text' && (!hasTools || traits.combinesTools);
}

function encodeForm({ output }: Conversation, { takesJsonSchema }: ModelTraits): Members {
  const responseMimeType = 'application/json';
  if (output.type !== 'json-schema') return { responseMimeType };
  return takesJsonSchema
    ? { responseMimeType, responseJsonSchema: changeAsWritten(output.schema, geminiSchema) }
    : { responseMimeType, responseSchema: openApiSchema(output.schema) };
}

function withoutUndefined(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
