// A plain Converse answer, in our own form. Lenient: no member has to be there but the content.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { keepSources, textOfObject } from '../../json/sources.ts';
import { JsonText, writeJson } from '../../json/write-json.ts';
import { malformed } from '../answer/malformed.ts';
import { wholeInput } from '../answer/part-writer.ts';
import { readAnswer } from '../answer/read-answer.ts';
import { readErrorMember } from '../answer/read-error.ts';
import { type AnswerReading, textOf } from '../anthropic/read-events.ts';
import type { Part } from '../conversation.ts';
import type { DecodedAnswer } from '../dialect.ts';
import { uniqueIds } from '../tools/unique-ids.ts';
import { ofBytes } from './encode-turns.ts';
import { converseUsageOf, faultOfReason, readConverseEnding, saysNothing } from './read-answer.ts';

export function decodeConverseAnswer(body: Buffer, reading: AnswerReading): DecodedAnswer {
  const read = readAnswer(body, readErrorMember);
  if (!read.ok) return read;
  const { answer } = read;
  keepSources(answer, body.toString('latin1'));
  const content = asRecord(asRecord(answer.output)?.message)?.content;
  if (!Array.isArray(content)) return malformed("the answer has no 'output.message.content'");
  const fault = faultOfReason(answer);
  if (fault) return { ok: false, fault };
  const usage = converseUsageOf(answer.usage);
  if (content.length === 0 && (usage?.output ?? 0) === 0 && isNatural(answer)) return malformed(saysNothing);
  const blocks = content.map((block) => asRecord(block) ?? {});
  const isAnswered = blocks.some((block) => isAnswerUse(block, reading));
  const uniqueId = uniqueIds();
  // Where the answer was given as a call, what else was said is no part of it: callers parse the whole.
  const parts = blocks
    .filter((block) => !isAnswered || block.text === undefined)
    .flatMap((block) => decodeBlock(block, reading, uniqueId));
  const hasCalls = parts.some(({ type }) => type === 'tool-call');
  const ending = readConverseEnding(answer, hasCalls, reading.answerTool !== undefined);
  return {
    ok: true,
    answer: {
      id: '',
      model: '',
      createdAt: 0,
      choices: [{ index: 0, parts, ...ending }],
      ...(usage ? { usage } : {}),
    },
  };
}

/** Blocked before its first word, an answer is empty and still one. */
function isNatural({ stopReason: reason }: JsonRecord): boolean {
  return reason === undefined || reason === 'end_turn' || reason === 'tool_use';
}

function isAnswerUse({ toolUse }: JsonRecord, { answerTool }: AnswerReading): boolean {
  return answerTool !== undefined && asRecord(toolUse)?.name === answerTool;
}

function decodeBlock(
  block: JsonRecord,
  reading: AnswerReading,
  uniqueId: (id: string) => string,
): readonly Part[] {
  const text = textOf(block.text);
  if (text !== '') return [{ type: 'text', text: text.toWellFormed() }];
  const use = asRecord(block.toolUse);
  if (use) return decodeUse(block, use, reading, uniqueId);
  const reasoning = asRecord(block.reasoningContent);
  return reasoning ? decodeReasoning(reasoning, reading) : [];
}

function decodeUse(
  block: JsonRecord,
  use: JsonRecord,
  reading: AnswerReading,
  uniqueId: (id: string) => string,
): readonly Part[] {
  if (isAnswerUse(block, reading)) return [{ type: 'text', text: inputText(use.input ?? {}) }];
  const tool = reading.names.toolOf(textOf(use.name));
  const { name, namespace, kind } = tool;
  const input = wholeInput(tool, use.input === undefined ? '' : inputText(use.input)).toWellFormed();
  const id = textOf(use.toolUseId) === '' ? '' : uniqueId(textOf(use.toolUseId));
  return [{ type: 'tool-call', id, name, ...(namespace === undefined ? {} : { namespace }), kind, input }];
}

function inputText(input: unknown): string {
  return writeJson(isRecord(input) ? new JsonText(textOfObject(input)) : input);
}

function decodeReasoning(reasoning: JsonRecord, { origin }: AnswerReading): readonly Part[] {
  const redacted = textOf(reasoning.redactedContent);
  if (redacted !== '') {
    const state = { kind: 'redacted', value: ofBytes(redacted) } as const;
    return [{ type: 'thinking', text: '', opaque: { origin, state } }];
  }
  const shown = asRecord(reasoning.reasoningText);
  const [text, value] = [textOf(shown?.text).toWellFormed(), textOf(shown?.signature)];
  if (value !== '') {
    return [{ type: 'thinking', text, opaque: { origin, state: { kind: 'signature', value } } }];
  }
  return text === '' ? [] : [{ type: 'thinking', text }];
}
