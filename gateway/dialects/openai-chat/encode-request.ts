// A conversation as a chat completion request.

import { asWritten, changeAsWritten } from '../../json/sources.ts';
import { writeJson } from '../../json/write-json.ts';
import type { Conversation, OutputFormat } from '../conversation.ts';
import type { UpstreamCall, UpstreamTarget } from '../dialect.ts';
import { askForUsage } from '../openai/ask-for-usage.ts';
import { fitEndUser } from '../openai/end-user.ts';
import { encodeOpenAiSampling, stopsMax } from '../openai/sampling.ts';
import { boundNewer, boundOlder, nameKnown } from '../request/chat-names.ts';
import { effortOf } from '../request/reasoning-effort.ts';
import { nameTools, type ToolNames } from '../tools/tool-names.ts';
import { cleanSchema } from '../tools/tool-schema.ts';
import { decodeChatAnswer } from './decode-answer.ts';
import { decodeChatStream } from './decode-stream.ts';
import { encodeMessages } from './encode-messages.ts';
import { encodeTools } from './encode-tools.ts';
import { inStrictOrder } from './message-order.ts';

export function openChatCall(conversation: Conversation, target: UpstreamTarget): UpstreamCall {
  const names = nameTools(conversation, { lengthMax: 64, hasNamespaces: false, hasCustom: false });
  const { stop = [] } = conversation.sampling;
  const reading = { choices: conversation.choices, names, stops: stop, origin: target.origin };
  return {
    body: Buffer.from(writeJson(encodeBody(conversation, target, names))),
    ...(stop.length > stopsMax ? { stopsLeft: stop } : {}),
    decodeAnswer: (body) => decodeChatAnswer(body, reading),
    streamDecoder: () => decodeChatStream(reading),
  };
}

function encodeBody(
  conversation: Conversation,
  target: UpstreamTarget,
  names: ToolNames,
): Record<string, unknown> {
  const { sampling, defaults, maxOutputTokens, logprobs, reasoning, store, metadata } = conversation;
  // Upstreams refuse a request with both names of the limit.
  const limitName = nameKnown(target, boundNewer, boundOlder);
  const messages = encodeMessages(conversation, names);
  const userName = nameKnown(target, 'safety_identifier', 'user');
  return {
    ...(defaults && {
      [limitName]: defaults.maxOutputTokens,
      temperature: defaults.temperature,
      top_p: defaults.topP,
    }),
    ...target.parameters,
    model: target.upstreamModel,
    messages: target.chatOrder === 'strict' ? inStrictOrder(messages) : messages,
    ...encodeTools(conversation, names),
    ...withoutUndefined({
      ...encodeOpenAiSampling(sampling),
      [limitName]: maxOutputTokens,
      stop: sampling.stop?.slice(0, stopsMax),
      n: conversation.choices === 1 ? undefined : conversation.choices,
      logprobs: logprobs && true,
      top_logprobs: logprobs && logprobs.top > 0 ? logprobs.top : undefined,
      response_format: encodeFormat(conversation.output),
      reasoning_effort: reasoning && effortOf(reasoning, maxOutputTokens),
      verbosity: conversation.verbosity,
      service_tier: conversation.serviceTier,
      prompt_cache_key: conversation.promptCacheKey,
      [userName]: conversation.endUser === undefined ? undefined : fitEndUser(conversation.endUser),
      store: store ? true : undefined,
      // Refused if nothing is stored.
      metadata: store && metadata ? asWritten(metadata) : undefined,
    }),
    ...(target.isStream ? { stream: true, ...askForUsage(target) } : {}),
  };
}

function encodeFormat(output: OutputFormat): unknown {
  switch (output.type) {
    case 'text':
      return undefined;
    case 'json-object':
      return { type: 'json_object' };
    case 'json-schema':
      return {
        type: 'json_schema',
        json_schema: {
          name: output.name ?? 'response',
          ...(output.description === undefined ? {} : { description: output.description }),
          schema: changeAsWritten(output.schema, cleanSchema),
          ...(output.isStrict === undefined ? {} : { strict: output.isStrict }),
        },
      };
  }
}

function withoutUndefined(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
