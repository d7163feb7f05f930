// Which plain message do the events of a stream make up, and can its client use it?

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import type { AnswerGatherer } from '../dialect.ts';
import { type MessagesCounters, mergeCounters, mergeFinalCounters } from './convert-usage.ts';

type Members = Record<string, unknown>;

interface Block {
  readonly members: Members;
  /** JSON text of the input of a tool, which comes in pieces. */
  input: string;
}

export function gatherMessage(): AnswerGatherer {
  const blocks = new Map<unknown, Block>();
  let message: JsonRecord | undefined;
  let usage: JsonRecord = {};
  let counters: MessagesCounters = {};
  return {
    add(event) {
      switch (event.type) {
        case 'message_start':
          message = asRecord(event.message) ?? {};
          usage = { ...usage, ...asRecord(message.usage) };
          counters = mergeCounters(counters, message.usage);
          return;
        case 'content_block_start':
          blocks.set(event.index, { members: { ...asRecord(event.content_block) }, input: '' });
          return;
        case 'content_block_delta': {
          const block = blocks.get(event.index);
          if (block) addDelta(block, asRecord(event.delta) ?? {});
          return;
        }
        case 'message_delta': {
          const { type: _, delta, usage: counted, ...rest } = event;
          message = { ...message, ...rest, ...asRecord(delta) };
          counters = mergeFinalCounters(counters, counted);
          usage = { ...usage, ...withoutNulls(asRecord(counted) ?? {}), ...outputIn(counters) };
          return;
        }
      }
    },
    answer() {
      if (!message) return undefined;
      const isWhole = !isCutShort(message.stop_reason);
      return { ...message, content: [...blocks.values()].map((block) => encodeBlock(block, isWhole)), usage };
    },
  };
}

/** @param answer A message whose `input`s are objects, unless their text was none. */
export function flawOfMessage(answer: JsonRecord): string | undefined {
  const { content, stop_reason: reason } = answer;
  if (typeof reason !== 'string' || reason === '') return 'the answer has no stop reason';
  if (isCutShort(reason) || !Array.isArray(content)) return undefined;
  const isBad = content.some((block) => isRecord(block) && isCall(block) && !isRecord(block.input));
  return isBad ? 'the input of a tool call is not a JSON object' : undefined;
}

/** Deltas of types to come belong to nothing that is known here. */
function addDelta(block: Block, delta: JsonRecord): void {
  const { members } = block;
  switch (delta.type) {
    case 'text_delta':
      append(members, 'text', delta.text);
      return;
    case 'thinking_delta':
      append(members, 'thinking', delta.thinking);
      return;
    case 'signature_delta':
      append(members, 'signature', delta.signature);
      return;
    case 'input_json_delta':
      if (typeof delta.partial_json === 'string') block.input += delta.partial_json;
      return;
    case 'citations_delta':
      if (!Array.isArray(members.citations)) members.citations = [];
      if (Array.isArray(members.citations) && delta.citation !== undefined)
        members.citations.push(delta.citation);
  }
}

function append(members: Members, name: string, text: unknown): void {
  if (typeof text !== 'string') return;
  const known = members[name];
  members[name] = (typeof known === 'string' ? known : '') + text;
}

/** In an answer that was cut short, the input may be half an object, which no client can parse: it becomes `{}`. */
function encodeBlock({ members, input }: Block, isWhole: boolean): JsonRecord {
  if (input.trim() === '') return members;
  const value = parseJson(input);
  if (isRecord(value)) return { ...members, input: value };
  return { ...members, input: isWhole ? input : {} };
}

function isCall({ type }: JsonRecord): boolean {
  return type === 'tool_use' || type === 'server_tool_use';
}

function isCutShort(reason: unknown): boolean {
  return reason === 'max_tokens' || reason === 'model_context_window_exceeded' || reason === 'refusal';
}

/** The output count never falls; later and lower reports are ignored. */
function outputIn({ output }: MessagesCounters): JsonRecord {
  return output === undefined ? {} : { output_tokens: output };
}

function withoutNulls(members: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
