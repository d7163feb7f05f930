// A text completion request as conversations: one upstream call per prompt, the prompt verbatim.

import { GatewayError } from '../../errors.ts';
import { isRecord } from '../../json/record.ts';
import type { RequestBody } from '../../json/request-body.ts';
import type { Conversation, Sampling } from '../conversation.ts';
import type { Translation } from '../dialect.ts';
import { invalidParameter } from '../parameter-rules.ts';
import { encodeCompletionAnswer, encodeCompletionStream } from './encode-answer.ts';
import { readCompletion } from './read-request.ts';

/** Prompts × n: what one request may set off where each of its prompts is a call of its own. */
const completionsMax = 128;

/** Members that cannot be carried to another dialect because they change the answer checkably. */
const impossible = ['suffix', 'logprobs', 'best_of'] as const;

/**
 * @throws {GatewayError} `unsupported_parameter` for what a conversation cannot carry, `invalid_parameter` for too
 * many prompts.
 */
export function translateCompletion(body: RequestBody): Translation {
  const { facts, prompts, n, values } = readCompletion(body);
  if (facts.choices > completionsMax) {
    invalidParameter(
      'prompt',
      `times 'n' must not exceed ${completionsMax} completions for this model, not ${facts.choices}: its upstream takes one prompt a call`,
    );
  }
  for (const name of impossible) {
    const value = values.get(name);
    if (value === undefined || value === '' || (name === 'best_of' && value === n)) continue;
    throw new GatewayError(
      'unsupported_parameter',
      `'${name}' cannot be carried to this model: its upstream speaks chat completions only.`,
      { param: name },
    );
  }
  const shape = { n, echoed: values.get('echo') === true ? prompts : undefined };
  const sampling = decodeSampling(values);
  const endUser = values.get('user');
  const maxTokens = values.get('max_tokens');
  const conversations = prompts.map(
    (prompt): Conversation => ({
      system: [],
      turns: [{ role: 'user', parts: [{ type: 'text', text: prompt }] }],
      tools: [],
      sampling,
      ...(maxTokens === undefined ? {} : { maxOutputTokens: Number(maxTokens) }),
      defaults: { maxOutputTokens: 16, temperature: 1, topP: 1 },
      choices: n,
      output: { type: 'text' },
      ...(typeof endUser === 'string' ? { endUser } : {}),
      extras: { dialect: 'openai-completions', members: {} },
    }),
  );
  return {
    conversations,
    encodeAnswer: (answers, head) => encodeCompletionAnswer(answers, head, shape),
    streamEncoder: (head) => encodeCompletionStream(facts, head, shape),
  };
}

function decodeSampling(values: ReadonlyMap<string, unknown>): Sampling {
  const stop = values.get('stop');
  const stops = Array.isArray(stop) ? stop.map(String) : stop === undefined ? [] : [String(stop)];
  const seed = values.get('seed');
  const temperature = values.get('temperature');
  const topP = values.get('top_p');
  const logitBias = decodeLogitBias(values.get('logit_bias'));
  const presence = Number(values.get('presence_penalty') ?? 0);
  const frequency = Number(values.get('frequency_penalty') ?? 0);
  return {
    ...(temperature === undefined ? {} : { temperature: Number(temperature) }),
    ...(topP === undefined ? {} : { topP: Number(topP) }),
    // Zero is what every upstream does unasked, and some models refuse the member.
    ...(presence === 0 ? {} : { presencePenalty: presence }),
    ...(frequency === 0 ? {} : { frequencyPenalty: frequency }),
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(logitBias === undefined ? {} : { logitBias }),
    ...(stops.length === 0 ? {} : { stop: stops }),
  };
}

function decodeLogitBias(value: unknown): Readonly<Record<string, number>> | undefined {
  if (!isRecord(value)) return undefined;
  for (const [token, bias] of Object.entries(value)) {
    if (typeof bias !== 'number') invalidParameter('logit_bias', `needs a number for the token '${token}'`);
  }
  return Object.fromEntries(Object.entries(value).map(([token, bias]) => [token, Number(bias)]));
}
