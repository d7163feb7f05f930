// A text completion request as conversations: one upstream call per prompt, the prompt verbatim; one
// per answer where an upstream may be asked that gives only one answer a call.

import type { RequestBody } from '../../json/request-body.ts';
import type { Ask, Conversation } from '../conversation.ts';
import type { Translation, TranslationContext } from '../dialect.ts';
import { decodeOpenAiSampling } from '../openai/sampling.ts';
import { invalidParameter } from '../request/parameter-rules.ts';
import { type NoteAsk, readMember } from '../request/read-values.ts';
import { type CompletionShape, encodeCompletionAnswer } from './encode-answer.ts';
import { encodeCompletionStream } from './encode-stream.ts';
import { type CompletionRequest, isCompletionParameter, readCompletion } from './read-request.ts';

/** Prompts × n: most upstream calls of one request, if each of its prompts needs a separate call. */
const completionsMax = 128;

/** @throws {GatewayError} `invalid_parameter`, naming the parameter, also for too many prompts. */
export function translateCompletion(
  body: RequestBody,
  { upstreams }: Pick<TranslationContext, 'upstreams'>,
): Translation {
  const request = readCompletion(body);
  const { facts, prompts, n, values } = request;
  if (facts.choices > completionsMax) {
    invalidParameter(
      'prompt',
      `times 'n' must not exceed ${completionsMax} completions for this model, not ${facts.choices}: its upstream takes one prompt a call`,
    );
  }
  const isOneAnswerACall = upstreams.has('openai-responses') || upstreams.has('anthropic-messages');
  const choicesPerCall = isOneAnswerACall ? 1 : n;
  const echoed = values.get('echo') === true ? prompts : undefined;
  const shape: CompletionShape = { n, choicesPerCall, echoed, wantsUsage: facts.wantsUsage };
  const decode = conversationDecoder(body, request, choicesPerCall);
  return {
    conversations: prompts.flatMap((prompt) => decode(prompt, n / choicesPerCall)),
    inputTimes: n / choicesPerCall,
    encodeAnswer: (answers, head) => encodeCompletionAnswer(answers, head, shape),
    streamEncoder: (head) => encodeCompletionStream(head, shape),
  };
}

function conversationDecoder(
  body: RequestBody,
  request: CompletionRequest,
  choicesPerCall: number,
): (prompt: string, samples: number) => readonly Conversation[] {
  const { values } = request;
  const asks: Ask[] = [];
  const note: NoteAsk = (feature, param) => asks.push({ feature, param });
  const sampling = decodeOpenAiSampling(values, values.get('logit_bias'), note);
  const maxTokens = values.get('max_tokens');
  const endUser = values.get('user');
  const logprobs = values.get('logprobs');
  if (maxTokens !== undefined) note('max-tokens', 'max_tokens');
  noteOthers(body, request, note);
  const conversation = {
    asks,
    system: [],
    tools: [],
    ...(maxTokens === undefined ? {} : { maxOutputTokens: Number(maxTokens) }),
    defaults: { maxOutputTokens: 16, temperature: 1, topP: 1 },
    choices: choicesPerCall,
    output: { type: 'text' },
    ...(typeof logprobs === 'number' ? { logprobs: { top: logprobs } } : {}),
    ...(typeof endUser === 'string' ? { endUser } : {}),
  } as const;
  return (prompt, samples) => {
    const first: Conversation = {
      ...conversation,
      turns: [{ role: 'user', parts: [{ type: 'text', text: prompt }] }],
      sampling,
    };
    const { seed } = sampling;
    // The same one, if nothing is different: what is sent for it is made once.
    if (seed === undefined) return Array.from({ length: samples }, () => first);
    // One seed for all would give the same answer every time.
    return Array.from({ length: samples }, (_, sample) => ({
      ...first,
      sampling: { ...sampling, seed: seed + sample },
    }));
  };
}

function noteOthers(body: RequestBody, { prompts, n, values }: CompletionRequest, note: NoteAsk): void {
  if (prompts.length > 1) note('several-prompts', 'prompt');
  if (n > 1) note('choices', 'n');
  if (values.get('echo') === true) note('echo', 'echo');
  if ((values.get('suffix') ?? '') !== '') note('suffix', 'suffix');
  if ((values.get('best_of') ?? n) !== n) note('best-of', 'best_of');
  if (values.has('logprobs')) note('logprobs', 'logprobs');
  if (values.has('user')) note('end-user', 'user');
  for (const { name } of body.scan.members) {
    if (!isCompletionParameter(name) && readMember(body, name) !== undefined) note('unknown-member', name);
  }
}
