// A conversation as a messages request.

import { hash } from 'node:crypto';
import { asRecord } from '../../json/record.ts';
import { changeAsWritten } from '../../json/sources.ts';
import { writeJson } from '../../json/write-json.ts';
import { answerInstruction, isAnswerForced, isStructured } from '../anthropic/answer-tool.ts';
import { encodeThinking } from '../anthropic/encode-thinking.ts';
import { type ModelTraits, traitsOf } from '../anthropic/model-traits.ts';
import { encodeOutputSchema } from '../anthropic/output-schema.ts';
import type { Conversation, PartOf, Sampling } from '../conversation.ts';
import type { UpstreamTarget } from '../dialect.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { encodeTools } from './encode-tools.ts';
import { encodeMessages, encodeText } from './encode-turns.ts';

type Members = Readonly<Record<string, unknown>>;

/** Features without a word in the dialect are left out: the capabilities table has decided so. */
export function encodeMessagesRequest(
  conversation: Conversation,
  target: UpstreamTarget,
  names: ToolNames,
  answerTool: string | undefined,
): Buffer {
  const { parameters } = target;
  const traits = traitsOf(target.upstreamModel, target.messagesSchemas);
  const { maxTokens, thinking, effort, isThinking } = encodeThinking(
    conversation,
    target,
    traits,
    isAnswerForced(conversation, traits),
  );
  const system = encodeSystem(conversation, traits, answerTool);
  const outputConfig = encodeOutputConfig(conversation, traits, effort, parameters);
  const tier = conversation.serviceTier;
  // The dialect refuses the beginning of an answer beside thinking and beside a schema, and a forced call begins the answer itself.
  const mayPrefill =
    traits.takesPrefill && !isThinking && answerTool === undefined && outputConfig?.format === undefined;
  return Buffer.from(
    writeJson({
      ...parameters,
      model: target.upstreamModel,
      max_tokens: maxTokens,
      ...(system.length > 0 ? { system } : {}),
      messages: encodeMessages(conversation, names, traits, mayPrefill),
      ...encodeTools(conversation, names, answerTool, traits),
      ...(thinking ? { thinking } : {}),
      ...(outputConfig ? { output_config: outputConfig } : {}),
      ...encodeSampling(conversation.sampling, traits, isThinking),
      ...(conversation.endUser === undefined
        ? {}
        : { metadata: { ...asRecord(parameters.metadata), user_id: encodeUser(conversation.endUser) } }),
      ...(tier === 'auto' ? { service_tier: 'auto' } : {}),
      ...(tier === 'default' ? { service_tier: 'standard_only' } : {}),
      ...(target.isStream ? { stream: true } : {}),
    }),
  );
}

/** Each part stays its own block, so that a cached prefix may end after any of them. */
function encodeSystem(
  { system }: Conversation,
  { takesForcedCalls }: ModelTraits,
  answerTool: string | undefined,
): readonly Members[] {
  const texts = system.filter(
    (part): part is PartOf<'text' | 'refusal'> => 'text' in part && part.type !== 'thinking',
  );
  const shown = texts.filter(({ text }) => text.trim() !== '').map(encodeText);
  if (answerTool === undefined || takesForcedCalls) return shown;
  return [...shown, { type: 'text', text: answerInstruction(answerTool) }];
}

function encodeOutputConfig(
  { output }: Conversation,
  traits: ModelTraits,
  effort: string | undefined,
  parameters: Members,
): Members | undefined {
  const format = isStructured(output, traits)
    ? { type: 'json_schema', schema: changeAsWritten(output.schema, encodeOutputSchema) }
    : undefined;
  if (!format && effort === undefined) return undefined;
  return {
    ...asRecord(parameters.output_config),
    ...(effort === undefined ? {} : { effort }),
    ...(format ? { format } : {}),
  };
}

function encodeSampling(sampling: Sampling, { takesSampling }: ModelTraits, isThinking: boolean): Members {
  const stops = sampling.stop?.filter((stop) => stop.trim() !== '') ?? [];
  const { temperature, topP, topK } = sampling;
  const mayChoose = takesSampling && !isThinking;
  return {
    ...(stops.length > 0 ? { stop_sequences: stops } : {}),
    ...(mayChoose && temperature !== undefined ? { temperature: Math.min(1, temperature) } : {}),
    // Models take one of the two only.
    ...(mayChoose && topP !== undefined && temperature === undefined ? { top_p: topP } : {}),
    ...(mayChoose && topK !== undefined ? { top_k: topK } : {}),
  };
}

const userLengthMax = 256;

/** A cut name would be the same for many users. */
function encodeUser(user: string): string {
  return user.length <= userLengthMax ? user : hash('sha256', user, 'hex');
}
