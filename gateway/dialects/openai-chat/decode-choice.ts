// What does one choice of a chat completion hold? Read from messages and from deltas, which have
// the same members, in all the spellings that are out there.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import type { PartWriter } from '../answer/part-writer.ts';
import type { ChoiceReader } from '../openai/decode-answers.ts';
import { CallReader } from './decode-calls.ts';
import { ReasoningReader } from './decode-reasoning.ts';

export function readChatChoice(writer: PartWriter, origin: string): ChoiceReader {
  return new ChatChoiceReader(writer, origin);
}

class ChatChoiceReader implements ChoiceReader {
  private readonly writer: PartWriter;
  private readonly calls: CallReader;
  private readonly reasoning: ReasoningReader;
  /** Of tokens whose text has not come yet: half a character has none. */
  private logprobs: unknown[] = [];

  constructor(writer: PartWriter, origin: string) {
    this.writer = writer;
    this.calls = new CallReader(writer);
    this.reasoning = new ReasoningReader(writer, origin);
  }

  read(entry: JsonRecord): void {
    const message = asRecord(entry.message) ?? asRecord(entry.delta);
    const logprobs = asRecord(entry.logprobs)?.content;
    if (Array.isArray(logprobs)) this.logprobs.push(...logprobs);
    if (!message) return;
    this.reasoning.read(message);
    const text = textOf(message.content);
    const refusal = textOf(message.refusal);
    const calls = callsOf(message);
    if (text === '' && refusal === '' && calls.length === 0) return;
    this.reasoning.close();
    if (text !== '') {
      this.writer.text('text', text, this.logprobs.length === 0 ? undefined : this.logprobs);
      this.logprobs = [];
    }
    this.writer.text('refusal', refusal);
    for (const call of calls) this.calls.read(call);
  }

  end(): void {
    this.reasoning.close();
  }
}

function callsOf({ tool_calls: calls, function_call: legacy }: JsonRecord): readonly JsonRecord[] {
  if (Array.isArray(calls) && calls.length > 0) return calls.filter(isRecord);
  // One call an answer: all of its pieces are the same call.
  return isRecord(legacy) ? [{ index: 0, function: legacy }] : [];
}

/** Some providers answer with a list of parts, as requests have them. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => asRecord(part)?.text)
    .filter((text) => typeof text === 'string')
    .join('');
}
