// Our answer as a chat completion.

import { writeJson } from '../../json/write-json.ts';
import type { AnswerChoice, ModelAnswer, Part, PartOf } from '../conversation.ts';
import type { AnswerHead } from '../dialect.ts';
import { encodeOpenAiUsage } from '../openai/convert-usage.ts';
import { encodeChatFinish } from '../openai/map-finish-reason.ts';
import { packThinking, thinkingSeparator } from './encode-thinking.ts';

/** What encoding needs to know of the request. */
export interface ChatShape {
  readonly wantsUsage: boolean;
  /** It speaks of functions, not of tools: so must the answer. */
  readonly usesFunctions: boolean;
}

export function encodeChatAnswer(
  [answer]: readonly ModelAnswer[],
  head: AnswerHead,
  { usesFunctions }: Pick<ChatShape, 'usesFunctions'>,
): Buffer {
  const { model = '', choices = [], usage, serviceTier } = answer ?? {};
  return Buffer.from(
    writeJson({
      id: `chatcmpl-${head.id}`,
      object: 'chat.completion',
      created: head.createdAt,
      model: model || head.model,
      choices: choices
        .map((choice) => ({
          index: choice.index,
          message: encodeMessage(choice, head, usesFunctions),
          logprobs: encodeLogprobs(choice.logprobs),
          finish_reason: finishOf(choice.finish, usesFunctions),
        }))
        .toSorted((a, b) => a.index - b.index),
      ...(usage ? { usage: encodeOpenAiUsage(usage) } : {}),
      ...(serviceTier === undefined ? {} : { service_tier: serviceTier }),
    }),
  );
}

export function finishOf(finish: AnswerChoice['finish'], usesFunctions: boolean): string {
  return usesFunctions && finish === 'tool-calls' ? 'function_call' : encodeChatFinish(finish);
}

export function encodeLogprobs(content: readonly unknown[] | undefined): unknown {
  return content ? { content, refusal: null } : null;
}

/** The id of a call that its upstream gave none. */
export function mintCallId(head: AnswerHead, choice: number, position: number): string {
  return `call_${head.id}_${choice}_${position}`;
}

function encodeMessage(
  { index, parts, refusal: details }: AnswerChoice,
  head: AnswerHead,
  usesFunctions: boolean,
): Record<string, unknown> {
  const text = joined(parts, 'text');
  const refusal = joined(parts, 'refusal') ?? details?.explanation ?? null;
  const calls = parts.filter((part) => part.type === 'tool-call');
  const [firstCall] = calls;
  return {
    role: 'assistant',
    content: text ?? (firstCall || refusal !== null ? null : ''),
    refusal,
    ...encodeThinking(parts.filter((part) => part.type === 'thinking')),
    ...(firstCall && usesFunctions
      ? { function_call: { name: firstCall.name, arguments: firstCall.input } }
      : {}),
    ...(firstCall && !usesFunctions
      ? { tool_calls: calls.map((call, position) => encodeCall(call, mintCallId(head, index, position))) }
      : {}),
  };
}

/** Undefined if there is no part of that kind. */
function joined(parts: readonly Part[], type: 'text' | 'refusal'): string | undefined {
  const texts = parts.flatMap((part) => (part.type === type ? [part.text] : []));
  return texts.length === 0 ? undefined : texts.join('');
}

function encodeThinking(parts: readonly PartOf<'thinking'>[]): Record<string, unknown> {
  const texts = parts.flatMap(({ text }) => (text === '' ? [] : [text]));
  const details = parts
    .filter(({ opaque }) => opaque?.origin !== undefined)
    .map(({ opaque, text }, index) => packThinking(opaque, index, text.length));
  return {
    ...(texts.length === 0 ? {} : { reasoning_content: texts.join(thinkingSeparator) }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
  };
}

function encodeCall({ id, name, kind, input }: PartOf<'tool-call'>, minted: string): unknown {
  const head = { id: id === '' ? minted : id, type: kind };
  return kind === 'custom'
    ? { ...head, custom: { name, input } }
    : { ...head, function: { name, arguments: input } };
}
