// A conversation to and from a completions upstream. Only a single user text can be carried; it
// is the prompt.

import { GatewayError } from '../../errors.ts';
import type { JsonRecord } from '../../json/record.ts';
import type { Conversation } from '../conversation.ts';
import type { UpstreamTarget, UpstreamTranslation } from '../dialect.ts';
import { type ChoiceText, decodeOpenAiAnswer, decodeOpenAiStream } from '../openai-answers.ts';

export const completionsUpstream: UpstreamTranslation = {
  encodeRequest: encodeCompletionRequest,
  decodeAnswer: (body) => decodeOpenAiAnswer(body, readText),
  streamDecoder: (choices) => decodeOpenAiStream(choices, readText),
};

function encodeCompletionRequest(conversation: Conversation, target: UpstreamTarget): Buffer {
  const { sampling, defaults, maxOutputTokens } = conversation;
  const given = {
    max_tokens: maxOutputTokens,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    presence_penalty: sampling.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty,
    logit_bias: sampling.logitBias,
    seed: sampling.seed,
    stop: sampling.stop,
    user: conversation.endUser,
  };
  return Buffer.from(
    JSON.stringify({
      presence_penalty: 0,
      frequency_penalty: 0,
      ...(defaults && {
        max_tokens: defaults.maxOutputTokens,
        temperature: defaults.temperature,
        top_p: defaults.topP,
      }),
      ...target.parameters,
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
      model: target.upstreamModel,
      prompt: promptOf(conversation),
      n: conversation.choices,
      ...(target.isStream && {
        stream: true,
        stream_options: { include_usage: true },
      }),
    }),
  );
}

function promptOf({ system, turns }: Conversation): string {
  const [turn] = turns;
  const [part] = turn?.parts ?? [];
  if (system.length === 0 && turns.length === 1 && turn?.parts.length === 1 && part?.type === 'text')
    return part.text;
  throw new GatewayError(
    'unsupported_parameter',
    'A completions upstream takes one text prompt; a conversation of several turns cannot be carried to it.',
    { param: 'messages' },
  );
}

function readText({ text }: JsonRecord): ChoiceText {
  return [['text', typeof text === 'string' ? text : '']];
}
