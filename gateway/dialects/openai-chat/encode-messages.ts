// Our turns as chat messages.
//
//   system block, system turn    one `system` message each, at its own place
//   user turn                    its tool results as `tool` messages, then one `user` message
//   assistant turn               one `assistant` message with text, refusal, reasoning and calls

import type { JsonRecord } from '../../json/record.ts';
import { wellFormedJson } from '../../json/well-formed.ts';
import type { Conversation, Part, PartOf, Turn } from '../conversation.ts';
import { findExtras, isExtraState, stateOf } from '../state/extra-content.ts';
import { fitToolIds } from '../tools/tool-ids.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { wrapInput } from '../tools/wrapped-tool.ts';
import { encodeToolResult, encodeUserContent, mediaOf, mediaSource, textOf } from './encode-content.ts';

/** OpenAI's own ids are shorter; longer ones are refused. */
const toolIdLengthMax = 40;

type Message = Readonly<Record<string, unknown>>;

export function encodeMessages(conversation: Conversation, names: ToolNames): readonly Message[] {
  const fitId = fitToolIds(conversation, toolIdLengthMax);
  const messages = [
    ...conversation.system.map((part) => ({ role: 'system', content: textOf([part]) })),
    ...conversation.turns.flatMap((turn) => encodeTurn(turn, names, fitId)),
  ];
  // A prompt of white space has been removed, but upstreams demand one message.
  return messages.length === 0 ? [{ role: 'user', content: '' }] : messages;
}

function encodeTurn({ role, parts }: Turn, names: ToolNames, fitId: (id: string) => string): Message[] {
  switch (role) {
    case 'system':
      return parts.map((part) => ({ role, content: textOf([part]) }));
    case 'assistant':
      return [encodeAssistant(parts, names, fitId)];
    case 'user':
      return encodeUser(parts, fitId);
  }
}

function encodeUser(parts: readonly Part[], fitId: (id: string) => string): Message[] {
  const results = parts.filter((part) => part.type === 'tool-result');
  const rest = parts.filter((part) => part.type !== 'tool-result');
  const media = results.flatMap(mediaOf);
  const content = encodeUserContent([...(media.length > 0 ? [mediaSource, ...media] : []), ...rest]);
  return [
    ...results.map((result) => ({
      role: 'tool',
      tool_call_id: fitId(result.id),
      content: encodeToolResult(result),
    })),
    ...(content === undefined ? [] : [{ role: 'user', content }]),
  ];
}

function encodeAssistant(parts: readonly Part[], names: ToolNames, fitId: (id: string) => string): Message {
  const calls = parts.filter((part) => part.type === 'tool-call');
  const texts = parts.filter((part) => part.type === 'text');
  const refusal = textOf(parts.filter((part) => part.type === 'refusal'));
  const extras = findExtras(parts);
  return {
    role: 'assistant',
    content: texts.length === 0 && (calls.length > 0 || refusal !== '') ? null : textOf(texts),
    ...(refusal === '' ? {} : { refusal }),
    ...encodeThinking(
      parts.filter((part) => part.type === 'thinking'),
      calls.length > 0,
    ),
    ...(calls.length === 0
      ? {}
      : { tool_calls: calls.map((call) => encodeCall(call, names, fitId, extras.ofCalls.get(call))) }),
    ...(extras.ofMessage ? { extra_content: extras.ofMessage } : {}),
  };
}

/** The provider gets its own entries back as it gave them; text alone is wanted on turns with calls only. */
function encodeThinking(parts: readonly PartOf<'thinking'>[], hasCalls: boolean): Record<string, unknown> {
  const entries = parts.flatMap((part): readonly JsonRecord[] => {
    const state = stateOf(part);
    return state && !isExtraState(state) ? [state] : [];
  });
  const blocks = entries.filter(isThinkingBlock);
  const details = entries.filter((entry) => !isThinkingBlock(entry));
  const texts = parts.flatMap(({ text }) => (text === '' ? [] : [text]));
  return {
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(blocks.length === 0 ? {} : { thinking_blocks: blocks }),
    ...(hasCalls && entries.length === 0 && texts.length > 0
      ? { reasoning_content: texts.join('\n\n') }
      : {}),
  };
}

/** LiteLLM's entries have the types of the messages dialect. */
function isThinkingBlock({ type }: JsonRecord): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

function encodeCall(
  call: PartOf<'tool-call'>,
  names: ToolNames,
  fitId: (id: string) => string,
  extra: JsonRecord | undefined,
): Record<string, unknown> {
  return {
    id: fitId(call.id),
    type: 'function',
    function: {
      name: names.wireName(call),
      arguments: wellFormedJson(call.kind === 'custom' ? wrapInput(call.input) : call.input),
    },
    ...(extra ? { extra_content: extra } : {}),
  };
}
