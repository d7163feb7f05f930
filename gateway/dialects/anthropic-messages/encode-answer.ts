// Our answer as a message.

import { writeJson } from '../../json/write-json.ts';
import { estimateTokensOfLength } from '../answer/estimate-tokens.ts';
import { toolInput } from '../anthropic/tool-input.ts';
import type { AnswerChoice, ModelAnswer, Part, PartOf } from '../conversation.ts';
import type { AnswerHead } from '../dialect.ts';
import { belongsTo, packCallId } from '../state/call-state.ts';
import { type MarkedState, packOpaque } from '../state/opaque.ts';
import { giveCallIds } from './call-ids.ts';
import { encodeMessagesUsage } from './convert-usage.ts';
import { encodeEnding } from './map-finish-reason.ts';

/** Encodes only the first choice: the dialect cannot ask for more. */
export function encodeMessagesAnswer(answers: readonly ModelAnswer[], head: AnswerHead): Buffer {
  const [answer] = answers;
  const choice: AnswerChoice = answer?.choices[0] ?? { index: 0, parts: [], finish: 'stop' };
  const callId = giveCallIds(head.id);
  const has = (kind: Part['type']): boolean => choice.parts.some(({ type }) => type === kind);
  const content = choice.parts.flatMap((_, at) => encodePart(choice.parts, at, callId));
  const length = choice.parts.reduce((sum, part) => sum + lengthOf(part), 0);
  return Buffer.from(
    writeJson({
      id: `msg_${head.id}`,
      type: 'message',
      role: 'assistant',
      model: answer?.model || head.model,
      content,
      ...encodeEnding(choice, { hasCalls: has('tool-call'), hasRefusal: has('refusal') }),
      usage: encodeMessagesUsage(answer?.usage, head.inputEstimate, estimateTokensOfLength(length)),
    }),
  );
}

function encodePart(
  parts: readonly Part[],
  at: number,
  callId: (upstreamId: string) => string,
): readonly unknown[] {
  const [before, part, next] = [parts[at - 1], parts[at], parts[at + 1]];
  switch (part?.type) {
    case 'text':
    case 'refusal':
      return part.text === '' ? [] : [{ type: 'text', text: part.text, citations: null }];
    case 'thinking':
      if (next ? isStateOf(part, next) : before?.type === 'text' && isBareSignature(part)) return [];
      return encodeThinking(part);
    case 'tool-call': {
      const plainId = callId(part.id);
      const id = before && isStateOf(before, part) ? packCallId(plainId, before.opaque) : plainId;
      return [{ type: 'tool_use', id, name: part.name, input: toolInput(part.input) }];
    }
    case 'image':
    case 'file':
    case 'audio':
    case 'tool-result':
    case undefined:
      return [];
  }
}

/** State that the provider wants back together with the call that follows. */
function isStateOf(part: Part, next: Part): part is PartOf<'thinking'> & { readonly opaque: MarkedState } {
  return part.type === 'thinking' && next.type === 'tool-call' && belongsTo(part.opaque, next.id);
}

/** Of the text before, as Gemini gives them. At the end nothing needs one, and clients such as Claude Code show the last block alone. */
function isBareSignature({ text, opaque }: PartOf<'thinking'>): boolean {
  return text === '' && opaque?.state.kind === 'signature';
}

function lengthOf(part: Part): number {
  if (part.type === 'tool-call') return part.input.length;
  return 'text' in part ? part.text.length : 0;
}

/** The state travels where this dialect has its own: the block comes back with it. */
function encodeThinking({ text, opaque }: PartOf<'thinking'>): readonly unknown[] {
  const packed = opaque?.origin === undefined ? '' : packOpaque(opaque.origin, opaque.state);
  if (text !== '') return [{ type: 'thinking', thinking: text, signature: packed }];
  if (packed === '') return [];
  return opaque?.state.kind === 'redacted'
    ? [{ type: 'redacted_thinking', data: packed }]
    : [{ type: 'thinking', thinking: '', signature: packed }];
}
