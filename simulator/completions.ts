// How is POST /v1/completions spoken? Reads the request strictly and encodes the answer, plain and as events.
// (OpenAI API reference, "Completions".)

import type { Bag } from './checks.ts';
import {
  BadRequest,
  boolean,
  filledString,
  integer,
  isAbsent,
  missing,
  number,
  onlyKnown,
  stopList,
} from './checks.ts';
import type { Dialect, Exchange, Frame, ReadContext, Stamp } from './dialect.ts';
import { frame } from './dialect.ts';
import { readIncludeUsage } from './include-usage.ts';
import { openaiBadRequest, openaiErrorBody, openaiHeaders } from './openai-errors.ts';
import type { Answer, Choice, Finish, Piece, Prompt, Usage } from './prompt.ts';
import { joinPieces } from './prompt.ts';
import { countTokens } from './tokens.ts';

export const completions: Dialect = {
  name: 'openai-completions',
  read,
  badRequest: openaiBadRequest,
  errorBody: openaiErrorBody,
  errorFrames: (error) => [frame(openaiErrorBody(error))],
  responseHeaders: openaiHeaders,
};

type Settings = {
  prompts: string[];
  hasEcho: boolean;
  logprobs: number | undefined;
  includesUsage: boolean;
  hasUsage: boolean;
};

function read(body: Bag, context: ReadContext): Exchange {
  if (context.directives.isStrict) onlyKnown(body, knownMembers);
  filledString(body.model, ['model']);
  const prompts = readPrompts(body.prompt);
  const isStream = boolean(body.stream, ['stream']) ?? false;
  const samples = integer(body.n, ['n'], { min: 1, max: 128 }) ?? 1;
  const tokensMax = integer(body.max_tokens, ['max_tokens'], { min: 0 }) ?? 16;
  const stops = stopList(body.stop, ['stop']);
  number(body.temperature, ['temperature'], { min: 0, max: 2 });
  number(body.top_p, ['top_p'], { min: 0, max: 1 });
  number(body.presence_penalty, ['presence_penalty'], { min: -2, max: 2 });
  number(body.frequency_penalty, ['frequency_penalty'], { min: -2, max: 2 });
  const bestOf = integer(body.best_of, ['best_of'], { min: 0, max: 20 });
  if (bestOf !== undefined && (isStream || bestOf < samples)) {
    throw new BadRequest(['best_of'], 'Must not be streamed and must be at least n');
  }
  const settings: Settings = {
    prompts,
    hasEcho: boolean(body.echo, ['echo']) ?? false,
    logprobs: integer(body.logprobs, ['logprobs'], { min: 0, max: 5 }),
    includesUsage: readIncludeUsage(body.stream_options, isStream),
    hasUsage: !context.directives.hasNoUsage,
  };
  return {
    prompts: prompts.map((text) => toPrompt(text, context, { samples, tokensMax, stops })),
    isStream,
    plain: (answer, stamp) => plain(answer, stamp, settings),
    stream: (answer, stamp) => stream(answer, stamp, settings),
  };
}

function readPrompts(prompt: unknown): string[] {
  if (isAbsent(prompt)) throw missing(['prompt']);
  if (typeof prompt === 'string') return [prompt];
  if (Array.isArray(prompt) && prompt.length > 0) {
    if (prompt.every((item) => typeof item === 'string')) return prompt;
    // Token ids, one prompt or several: they have no text here, so they are named.
    if (prompt.every((item) => Number.isInteger(item))) return [prompt.map((id) => `<${id}>`).join('')];
    if (prompt.every((item) => Array.isArray(item) && item.every(Number.isInteger))) {
      return prompt.map((ids) => (Array.isArray(ids) ? ids.map((id) => `<${id}>`).join('') : ''));
    }
  }
  throw new BadRequest(
    ['prompt'],
    'Input should be a string or a non-empty array of strings',
    'invalid_type',
  );
}

function toPrompt(
  text: string,
  context: ReadContext,
  limits: Pick<Prompt, 'samples' | 'stops'> & { tokensMax: number },
): Prompt {
  return {
    model: context.model,
    seed: `${context.model} ${text}`,
    lastUserText: text,
    tools: [],
    toolChoice: { kind: 'none' },
    calledTools: new Set(),
    isParallel: false,
    output: { kind: 'text' },
    // Reasoning has no place in this dialect, but it may eat the budget: only when a directive asks for it.
    reasoningTokens: 0,
    sendsHalfCalls: true,
    inputTokens: countTokens(text),
    ...limits,
  };
}

function plain(answer: Answer, stamp: Stamp, settings: Settings): unknown {
  return {
    id: `cmpl-${stamp.id}`,
    object: 'text_completion',
    created: stamp.createdS,
    model: stamp.model,
    choices: answer.choices.map((choice) => ({
      text: echoOf(choice, answer, settings) + joinPieces(textPieces(choice)),
      index: choice.index,
      logprobs: settings.logprobs === undefined ? null : logprobsOf(textPieces(choice), 0),
      finish_reason: finishReason(choice.finish),
    })),
    ...(settings.hasUsage ? { usage: usageOf(answer.usage) } : {}),
  };
}

function* stream(answer: Answer, stamp: Stamp, settings: Settings): Generator<Frame> {
  const usage = settings.includesUsage ? { usage: null } : {};
  const chunk = (choices: unknown[]) => ({
    id: `cmpl-${stamp.id}`,
    object: 'text_completion',
    created: stamp.createdS,
    choices,
    model: stamp.model,
    ...usage,
  });
  const choiceOf = (index: number, text: string, finish: string | null, logprobs: unknown = null) => ({
    text,
    index,
    logprobs,
    finish_reason: finish,
  });
  for (const choice of answer.choices) {
    const echo = echoOf(choice, answer, settings);
    if (echo !== '') yield frame(chunk([choiceOf(choice.index, echo, null)]));
    for (const part of choice.parts) {
      // Hidden reasoning is generated and paid for, and never seen.
      if (part.kind !== 'reasoning') continue;
      for (const piece of part.pieces) {
        yield frame(chunk([choiceOf(choice.index, '', null)]), {
          outputTokens: piece.tokens,
          reasoningTokens: piece.tokens,
        });
      }
    }
  }
  for (const { index, piece, offset } of interleave(answer.choices)) {
    const logprobs = settings.logprobs === undefined ? null : logprobsOf([piece], offset);
    yield frame(chunk([choiceOf(index, piece.text, null, logprobs)]), { outputTokens: piece.tokens });
  }
  for (const choice of answer.choices) {
    yield frame(chunk([choiceOf(choice.index, '', finishReason(choice.finish))]), { phase: 'closing' });
  }
  if (settings.includesUsage && settings.hasUsage) {
    yield frame({ ...chunk([]), usage: usageOf(answer.usage) }, { phase: 'closing' });
  }
  yield frame('[DONE]', { phase: 'last' });
}

// The choices take turns, as they do at a provider that samples them side by side.
function* interleave(choices: Choice[]): Generator<{ index: number; piece: Piece; offset: number }> {
  const queues = choices.map((choice) => ({ index: choice.index, pieces: textPieces(choice), offset: 0 }));
  const longest = queues.reduce((length, queue) => Math.max(length, queue.pieces.length), 0);
  for (let at = 0; at < longest; at += 1) {
    for (const queue of queues) {
      const piece = queue.pieces[at];
      if (piece === undefined) continue;
      yield { index: queue.index, piece, offset: queue.offset };
      queue.offset += piece.text.length;
    }
  }
}

function textPieces(choice: Choice): Piece[] {
  return choice.parts.flatMap((part) => (part.kind === 'text' || part.kind === 'refusal' ? part.pieces : []));
}

function echoOf(choice: Choice, answer: Answer, settings: Settings): string {
  if (!settings.hasEcho) return '';
  const samples = answer.choices.length / settings.prompts.length;
  return settings.prompts[Math.floor(choice.index / samples)] ?? '';
}

function logprobsOf(pieces: Piece[], start: number): unknown {
  let offset = start;
  const offsets = pieces.map((piece) => {
    const at = offset;
    offset += piece.text.length;
    return at;
  });
  return {
    tokens: pieces.map((piece) => piece.text),
    token_logprobs: pieces.map(() => -0.5),
    top_logprobs: pieces.map((piece) => ({ [piece.text]: -0.5 })),
    text_offset: offsets,
  };
}

function finishReason(finish: Finish): string {
  if (finish === 'length') return 'length';
  return finish === 'filter' ? 'content_filter' : 'stop';
}

function usageOf(usage: Usage): unknown {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    ...(usage.cached > 0 ? { prompt_tokens_details: { cached_tokens: usage.cached } } : {}),
    ...(usage.reasoning > 0 ? { completion_tokens_details: { reasoning_tokens: usage.reasoning } } : {}),
  };
}

const knownMembers: ReadonlySet<string> = new Set(
  `model prompt max_tokens temperature top_p n stream stop presence_penalty frequency_penalty best_of echo suffix
   logprobs logit_bias seed user stream_options`.split(/\s+/),
);
