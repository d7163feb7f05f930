// A conversation as a text completion request.

import { writeJson } from '../../json/write-json.ts';
import type { Conversation } from '../conversation.ts';
import type { UpstreamCall, UpstreamTarget } from '../dialect.ts';
import { askForUsage } from '../openai/ask-for-usage.ts';
import { fitEndUser } from '../openai/end-user.ts';
import { encodeOpenAiSampling, stopsMax } from '../openai/sampling.ts';
import { nameTools } from '../tools/tool-names.ts';
import { decodeCompletionAnswer } from './decode-answer.ts';
import { decodeCompletionStream } from './decode-stream.ts';
import { encodePrompt, userStop } from './encode-prompt.ts';

export function openCompletionCall(conversation: Conversation, target: UpstreamTarget): UpstreamCall {
  const { prompt, isLabelled } = encodePrompt(conversation);
  const stops = stopsOf(conversation, isLabelled);
  const names = nameTools(conversation, { lengthMax: 64, hasNamespaces: false, hasCustom: false });
  const reading = { choices: conversation.choices, names, stops: conversation.sampling.stop ?? [] };
  return {
    body: Buffer.from(writeJson(encodeBody(conversation, target, prompt, stops))),
    ...(stops.length > stopsMax ? { stopsLeft: stops } : {}),
    decodeAnswer: (body) => decodeCompletionAnswer(body, reading),
    streamDecoder: () => decodeCompletionStream(reading),
  };
}

/** The caller's stop sequences, after our own if turns are labelled. */
function stopsOf({ sampling, choices }: Conversation, isLabelled: boolean): readonly string[] {
  const { stop = [] } = sampling;
  if (!isLabelled) return stop;
  // Only one answer can be cut by the gateway; for several, the caller's own stops are what matters.
  return choices > 1 && stop.length >= stopsMax ? stop : [userStop, ...stop];
}

/** Without a limit this dialect stops after 16 tokens, too few for a chat. */
const chatTokensMax = 2048;

function encodeBody(
  conversation: Conversation,
  target: UpstreamTarget,
  prompt: string,
  stops: readonly string[],
): Record<string, unknown> {
  const { sampling, defaults, maxOutputTokens, endUser, choices } = conversation;
  const given = {
    ...encodeOpenAiSampling(sampling),
    max_tokens: maxOutputTokens,
    stop: stops.length === 0 ? undefined : stops.slice(0, stopsMax),
    logprobs: conversation.logprobs?.top,
    user: endUser === undefined ? undefined : fitEndUser(endUser),
  };
  const penalties = ['presence_penalty', 'frequency_penalty'].filter((name) => !target.refuses?.has(name));
  return {
    ...Object.fromEntries(penalties.map((name) => [name, 0])),
    ...(defaults
      ? { max_tokens: defaults.maxOutputTokens, temperature: defaults.temperature, top_p: defaults.topP }
      : { max_tokens: target.maxOutputTokens ?? chatTokensMax }),
    ...target.parameters,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    model: target.upstreamModel,
    prompt,
    ...(choices === 1 && target.refuses?.has('n') ? {} : { n: choices }),
    ...(target.isStream && { stream: true, ...askForUsage(target) }),
  };
}
