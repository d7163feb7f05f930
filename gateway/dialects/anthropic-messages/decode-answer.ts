// A message of an upstream, in our own form. Lenient: whatever JSON it is, it is no reason to fail
// that a member has an unexpected form.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { keepSources, textOfObject } from '../../json/sources.ts';
import { JsonText, writeJson } from '../../json/write-json.ts';
import { malformed } from '../answer/malformed.ts';
import { wholeInput } from '../answer/part-writer.ts';
import { readAnswer } from '../answer/read-answer.ts';
import {
  type AnswerReading,
  hasEnded,
  isAnswer,
  isAnswerCall,
  readEnding,
  saysNothing,
  textOf,
} from '../anthropic/read-events.ts';
import type { Part } from '../conversation.ts';
import type { DecodedAnswer } from '../dialect.ts';
import type { OpaqueState } from '../state/opaque.ts';
import { uniqueIds } from '../tools/unique-ids.ts';
import { plainUsageOf } from './convert-usage.ts';
import { readMessagesErrorMember } from './error-body.ts';
import { decodeStopReason } from './map-finish-reason.ts';

export function decodeMessagesAnswer(body: Buffer, reading: AnswerReading): DecodedAnswer {
  const read = readAnswer(body, readMessagesErrorMember);
  if (!read.ok) return read;
  const { answer: message } = read;
  keepSources(message, body.toString('latin1'));
  if (!Array.isArray(message.content)) return malformed("the answer has no 'content'");
  if (!isAnswer(message)) return malformed(saysNothing);
  const uniqueId = uniqueIds();
  const parts = answerBlocks(
    message.content.map((block) => asRecord(block) ?? {}),
    reading,
  ).flatMap((block) => decodeBlock(block, reading, uniqueId));
  const hasCalls = parts.some(({ type }) => type === 'tool-call');
  const usage = plainUsageOf(message.usage);
  const { reason, ...more } = readEnding(message);
  const ending = { ...more, ...(hasEnded(reason) ? {} : { isAssumed: true }) };
  return {
    ok: true,
    answer: {
      id: textOf(message.id),
      model: textOf(message.model),
      createdAt: 0,
      choices: [{ index: 0, parts, finish: decodeStopReason(reason, hasCalls, reading), ...ending }],
      ...(usage ? { usage } : {}),
    },
  };
}

/** Where the answer was given as a call, what else was said is no part of it: callers parse the whole. */
function answerBlocks(blocks: readonly JsonRecord[], reading: AnswerReading): readonly JsonRecord[] {
  return blocks.some((block) => isAnswerCall(block, reading))
    ? blocks.filter(({ type }) => type !== 'text')
    : blocks;
}

/** Blocks of the provider's own tools say nothing to other dialects. */
function decodeBlock(
  block: JsonRecord,
  reading: AnswerReading,
  uniqueId: (id: string) => string,
): readonly Part[] {
  const { names, origin } = reading;
  switch (block.type) {
    case 'text': {
      const text = textOf(block.text);
      return text === '' ? [] : [{ type: 'text', text: text.toWellFormed() }];
    }
    case 'thinking':
      return thinkingOf(textOf(block.thinking).toWellFormed(), textOf(block.signature), 'signature', origin);
    case 'redacted_thinking':
      return thinkingOf('', textOf(block.data), 'redacted', origin);
    case 'tool_use': {
      if (isAnswerCall(block, reading)) {
        return [{ type: 'text', text: inputText(block.input ?? {}) }];
      }
      const tool = names.toolOf(textOf(block.name));
      const { name, namespace, kind } = tool;
      const input = wholeInput(tool, block.input === undefined ? '' : inputText(block.input)).toWellFormed();
      const id = textOf(block.id) === '' ? '' : uniqueId(textOf(block.id));
      return [
        { type: 'tool-call', id, name, ...(namespace === undefined ? {} : { namespace }), kind, input },
      ];
    }
    default:
      return [];
  }
}

function inputText(input: unknown): string {
  return writeJson(isRecord(input) ? new JsonText(textOfObject(input)) : input);
}

function thinkingOf(
  text: string,
  value: string,
  kind: Extract<OpaqueState['kind'], 'signature' | 'redacted'>,
  origin: string,
): readonly Part[] {
  if (value !== '') return [{ type: 'thinking', text, opaque: { origin, state: { kind, value } } }];
  return text === '' ? [] : [{ type: 'thinking', text }];
}
