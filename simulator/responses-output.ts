// Which output items does a responses answer have, and which events lead to each of them?

import type { Stamp } from './dialect.ts';
import type { Choice, Part, Piece } from './prompt.ts';
import { joinPieces } from './prompt.ts';
import type { ResponsesSettings } from './responses-request.ts';
import type { Seal } from './seal.ts';

export type ItemVoice = ResponsesSettings & { seal: Seal };

type EventTokens = { outputTokens?: number; reasoningTokens?: number };

/** One output item: as it is announced, as it ends, and the part of the answer that it carries. */
export type Item = {
  id: string;
  part: Part;
  empty: Record<string, unknown>;
  whole: Record<string, unknown>;
  /** Tokens that are generated when the item is announced. */
  added: EventTokens;
};

export function itemsOf(choice: Choice, stamp: Stamp, voice: ItemVoice): Item[] {
  if (voice.isCompaction) return [compactionItem(choice, stamp, voice)];
  const parts = choice.parts.length > 0 ? choice.parts : [emptyText];
  const isCut = choice.finish === 'length';
  return parts.map((part, at) => {
    const isLast = at === parts.length - 1;
    return itemOf(part, `${stamp.id}${at}`, isCut && isLast ? 'incomplete' : 'completed', voice);
  });
}

const emptyText: Part = { kind: 'text', pieces: [] };

/** The events between `output_item.added` and `output_item.done`, without the members that all of them share. */
export function* partEvents(item: Item, voice: ItemVoice): Generator<PartEvent> {
  switch (item.part.kind) {
    case 'call':
      return yield* callEvents(item.part);
    case 'reasoning':
      return yield* reasoningEvents(item, item.part.pieces, voice);
    case 'text':
    case 'refusal':
      if (!voice.isCompaction) yield* messageEvents(item.part, voice);
  }
}

type PartEvent = { data: { type: string } & Record<string, unknown>; tokens: EventTokens };

type Status = 'completed' | 'incomplete';

function itemOf(part: Part, id: string, status: Status, voice: ItemVoice): Item {
  switch (part.kind) {
    case 'call':
      return callItem(part, id, status);
    case 'reasoning':
      return reasoningItem(part, id, voice);
    case 'text':
    case 'refusal':
      return messageItem(part, id, status, voice);
  }
}

type TextPart = Extract<Part, { kind: 'text' | 'refusal' }>;

function messageItem(part: TextPart, opaque: string, status: Status, voice: ItemVoice): Item {
  const head = { id: `msg_${opaque}`, type: 'message', role: 'assistant' };
  return {
    id: head.id,
    part,
    empty: { ...head, status: 'in_progress', content: [] },
    whole: { ...head, status, content: [contentOf(part, part.pieces, voice)] },
    added: {},
  };
}

function contentOf(part: TextPart, pieces: Piece[], voice: ItemVoice): Record<string, unknown> {
  const text = joinPieces(pieces);
  if (part.kind === 'refusal') return { type: 'refusal', refusal: text };
  return {
    type: 'output_text',
    text,
    annotations: [],
    logprobs: voice.includesLogprobs ? logprobsOf(pieces) : [],
  };
}

function logprobsOf(pieces: Piece[]): unknown[] {
  return pieces.map((piece) => ({
    token: piece.text,
    logprob: -0.5,
    bytes: [...Buffer.from(piece.text)],
    top_logprobs: [],
  }));
}

function* messageEvents(part: TextPart, voice: ItemVoice): Generator<PartEvent> {
  const place = { content_index: 0 };
  const name = part.kind === 'refusal' ? 'refusal' : 'output_text';
  yield {
    data: { type: 'response.content_part.added', ...place, part: contentOf(part, [], voice) },
    tokens: {},
  };
  for (const piece of part.pieces) {
    const logprobs =
      part.kind === 'refusal' ? {} : { logprobs: voice.includesLogprobs ? logprobsOf([piece]) : [] };
    const data = { type: `response.${name}.delta`, ...place, delta: piece.text, ...logprobs };
    yield { data, tokens: { outputTokens: piece.tokens } };
  }
  const text = joinPieces(part.pieces);
  const done =
    part.kind === 'refusal'
      ? { refusal: text }
      : { text, logprobs: voice.includesLogprobs ? logprobsOf(part.pieces) : [] };
  yield { data: { type: `response.${name}.done`, ...place, ...done }, tokens: {} };
  yield {
    data: { type: 'response.content_part.done', ...place, part: contentOf(part, part.pieces, voice) },
    tokens: {},
  };
}

type CallPart = Extract<Part, { kind: 'call' }>;

function callItem(part: CallPart, opaque: string, status: Status): Item {
  const isCustom = part.tool.kind === 'custom';
  const argument = isCustom ? 'input' : 'arguments';
  const head = {
    id: `${isCustom ? 'ctc' : 'fc'}_${opaque}`,
    type: isCustom ? 'custom_tool_call' : 'function_call',
    call_id: `call_${part.id}`,
    name: part.tool.name,
    ...(part.tool.namespace === undefined ? {} : { namespace: part.tool.namespace }),
  };
  return {
    id: head.id,
    part,
    empty: { ...head, [argument]: '', status: 'in_progress' },
    whole: { ...head, [argument]: joinPieces(part.pieces), status },
    added: { outputTokens: part.nameTokens },
  };
}

function* callEvents(part: CallPart): Generator<PartEvent> {
  const isCustom = part.tool.kind === 'custom';
  const name = isCustom ? 'custom_tool_call_input' : 'function_call_arguments';
  for (const piece of part.pieces) {
    yield {
      data: { type: `response.${name}.delta`, delta: piece.text },
      tokens: { outputTokens: piece.tokens },
    };
  }
  const text = joinPieces(part.pieces);
  const done = isCustom ? { input: text } : { arguments: text, name: part.tool.name };
  yield { data: { type: `response.${name}.done`, ...done }, tokens: {} };
}

type ReasoningPart = Extract<Part, { kind: 'reasoning' }>;

function reasoningItem(part: ReasoningPart, opaque: string, voice: ItemVoice): Item {
  const text = joinPieces(part.pieces);
  const head = { id: `rs_${opaque}`, type: 'reasoning' };
  const sealed = (content: string) =>
    voice.includesEncrypted ? { encrypted_content: voice.seal.make(content) } : {};
  return {
    id: head.id,
    part,
    empty: { ...head, summary: [], ...sealed('') },
    whole: { ...head, summary: voice.hasSummary ? [{ type: 'summary_text', text }] : [], ...sealed(text) },
    // Reasoning that is not shown is generated and paid for all the same.
    added: voice.hasSummary ? {} : reasoningTokens(part.pieces),
  };
}

function* reasoningEvents(item: Item, pieces: Piece[], voice: ItemVoice): Generator<PartEvent> {
  if (!voice.hasSummary) return;
  const place = { summary_index: 0 };
  const text = joinPieces(item.part.pieces);
  const part = (content: string) => ({ type: 'summary_text', text: content });
  yield { data: { type: 'response.reasoning_summary_part.added', ...place, part: part('') }, tokens: {} };
  for (const piece of pieces) {
    const data = { type: 'response.reasoning_summary_text.delta', ...place, delta: piece.text };
    yield { data, tokens: reasoningTokens([piece]) };
  }
  yield { data: { type: 'response.reasoning_summary_text.done', ...place, text }, tokens: {} };
  yield { data: { type: 'response.reasoning_summary_part.done', ...place, part: part(text) }, tokens: {} };
}

function reasoningTokens(pieces: Piece[]): EventTokens {
  const tokens = pieces.reduce((sum, piece) => sum + piece.tokens, 0);
  return { outputTokens: tokens, reasoningTokens: tokens };
}

// One item in place of the whole conversation so far, which is encoded in it.
function compactionItem(choice: Choice, stamp: Stamp, voice: ItemVoice): Item {
  const pieces = choice.parts.flatMap((part) => part.pieces);
  const whole = {
    id: `cmp_${stamp.id}`,
    type: 'compaction',
    encrypted_content: voice.seal.make(joinPieces(pieces)),
  };
  const outputTokens = pieces.reduce((sum, piece) => sum + piece.tokens, 0);
  return { id: whole.id, part: { kind: 'text', pieces }, empty: whole, whole, added: { outputTokens } };
}
