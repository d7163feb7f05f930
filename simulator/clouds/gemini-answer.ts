// How does Gemini answer, plain and in chunks? Its calls carry signatures, and ids where it gives them.

import { type Frame, frame } from '../dialect.ts';
import type { Answer, Choice, Finish, Part, Usage } from '../prompt.ts';
import { joinPieces } from '../prompt.ts';
import type { Seal } from '../seal.ts';

export type Voice = {
  model: string;
  id: string;
  showsThoughts: boolean;
  hasLogprobs: boolean;
  /** Calls carry signatures, and the last text one too. */
  signs: boolean;
  givesIds: boolean;
  seal: Seal;
};

export function plainAnswer(answer: Answer, voice: Voice): unknown {
  return {
    candidates: answer.choices.map((choice) =>
      candidate(choice.index, partsOf(choice, voice), finishOf(choice.finish)),
    ),
    usageMetadata: usageOf(answer.usage),
    ...head(voice),
  };
}

/** Its chunks, in their order: what is new in each; how it ended in the last, which holds no content. */
export function* framesOf(answer: Answer, voice: Voice): Generator<Frame> {
  const running = { ...answer.usage, output: 0, reasoning: 0 };
  for (const choice of answer.choices) {
    for (const { part, tokens, isThought } of streamed(choice, voice)) {
      running.output += tokens;
      if (isThought) running.reasoning += tokens;
      const usageMetadata = usageOf(running);
      const chunk = { candidates: [candidate(choice.index, [part])], usageMetadata, ...head(voice) };
      yield frame(chunk, { outputTokens: tokens, reasoningTokens: isThought ? tokens : 0 });
    }
  }
  // Hidden thinking is counted too.
  const { output, reasoning } = running;
  for (const [at, choice] of answer.choices.entries()) {
    const isLast = at === answer.choices.length - 1;
    const candidates = [{ finishReason: finishOf(choice.finish), index: choice.index }];
    const usageMetadata = usageOf(isLast ? answer.usage : running);
    const left = isLast
      ? { output: answer.usage.output - output, reasoning: answer.usage.reasoning - reasoning }
      : { output: 0, reasoning: 0 };
    yield frame(
      { candidates, usageMetadata, ...head(voice) },
      { outputTokens: left.output, reasoningTokens: left.reasoning, phase: isLast ? 'last' : 'closing' },
    );
  }
}

function head({ model, id }: Voice) {
  return { modelVersion: model, responseId: id };
}

function candidate(index: number, parts: unknown[], finishReason?: string) {
  return {
    content: { role: 'model', parts },
    ...(finishReason === undefined ? {} : { finishReason }),
    index,
  };
}

function partsOf(choice: Choice, voice: Voice): unknown[] {
  return choice.parts.flatMap((part, at) => {
    if (part.kind === 'call') return [callPart(part, isFirstCall(choice, at), voice)];
    const text = joinPieces(part.pieces);
    if (part.kind === 'reasoning') return voice.showsThoughts ? [{ text, thought: true }] : [];
    return [{ text, ...(voice.signs ? { thoughtSignature: voice.seal.make(text) } : {}) }];
  });
}

interface Streamed {
  readonly part: unknown;
  readonly tokens: number;
  readonly isThought?: true;
}

/** Text in pieces, its signature on an empty one after it; calls whole. */
function* streamed(choice: Choice, voice: Voice): Generator<Streamed> {
  for (const [at, part] of choice.parts.entries()) {
    if (part.kind === 'call') {
      const tokens = part.pieces.reduce((sum, piece) => sum + piece.tokens, part.nameTokens);
      yield { part: callPart(part, isFirstCall(choice, at), voice), tokens };
      continue;
    }
    const isThought = part.kind === 'reasoning';
    if (isThought && !voice.showsThoughts) continue;
    for (const { text, tokens } of part.pieces)
      yield isThought ? { part: { text, thought: true }, tokens, isThought } : { part: { text }, tokens };
    if (!isThought && voice.signs)
      yield { part: { text: '', thoughtSignature: voice.seal.make(joinPieces(part.pieces)) }, tokens: 0 };
  }
}

function isFirstCall(choice: Choice, at: number): boolean {
  return choice.parts.findIndex(({ kind }) => kind === 'call') === at;
}

function callPart(part: Extract<Part, { kind: 'call' }>, isFirst: boolean, voice: Voice): unknown {
  const id = voice.givesIds ? { id: part.id } : {};
  const text = joinPieces(part.pieces);
  return {
    functionCall: { ...id, name: part.tool.name, args: JSON.parse(text === '' ? '{}' : text) as unknown },
    ...(isFirst && voice.signs ? { thoughtSignature: voice.seal.make(text) } : {}),
  };
}

function finishOf(finish: Finish): string {
  if (finish === 'length') return 'MAX_TOKENS';
  return finish === 'filter' || finish === 'refusal' ? 'SAFETY' : 'STOP';
}

function usageOf({ input, cached, output, reasoning }: Usage) {
  return {
    promptTokenCount: input,
    ...(cached > 0 ? { cachedContentTokenCount: cached } : {}),
    ...(output > reasoning ? { candidatesTokenCount: output - reasoning } : {}),
    ...(reasoning > 0 ? { thoughtsTokenCount: reasoning } : {}),
    totalTokenCount: input + output,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
  };
}
