// What does one choice of a chat completion hold? Read from messages and from deltas, which have
// the same members, in all the spellings that are out there.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { heapBytesOf } from '../answer/kept.ts';
import type { PartWriter } from '../answer/part-writer.ts';
import type { ChoiceReader } from '../openai/decode-answers.ts';
import { stateOfMessage } from '../state/extra-content.ts';
import { CallReader } from './decode-calls.ts';
import { ReasoningReader } from './decode-reasoning.ts';

interface ChatChoiceReading {
  /** Marks what the provider wants back. */
  readonly origin: string;
  /** True for a plain answer; a stream comes in pieces. */
  readonly isWhole: boolean;
}

export function readChatChoice(writer: PartWriter, reading: ChatChoiceReading): ChoiceReader {
  return new ChatChoiceReader(writer, reading);
}

class ChatChoiceReader implements ChoiceReader {
  private readonly writer: PartWriter;
  private readonly calls: CallReader;
  private readonly reasoning: ReasoningReader;
  /** Log probabilities of tokens without text so far, such as half a character. */
  private logprobs: unknown[] = [];
  private logprobsBytes = 0;
  /** What the provider wants back with the whole message. */
  private extra: JsonRecord | undefined;

  constructor(writer: PartWriter, { origin, isWhole }: ChatChoiceReading) {
    this.writer = writer;
    this.reasoning = new ReasoningReader(writer, origin);
    this.calls = new CallReader(writer, { isWhole, keep: (state) => this.reasoning.keep(state) });
  }

  read(entry: JsonRecord): void {
    const message = asRecord(entry.message) ?? asRecord(entry.delta);
    const tokens = asRecord(entry.logprobs)?.content;
    if (Array.isArray(tokens)) for (const token of tokens) this.logprobs.push(token);
    if (message) this.message(message);
    // The log probabilities of text have been written with it; these are left.
    if (Array.isArray(tokens) && this.logprobs.length > 0) this.countLogprobs(heapBytesOf(tokens));
  }

  private message(message: JsonRecord): void {
    if (isSigned(message.extra_content)) this.keepExtra(message.extra_content);
    this.reasoning.read(message);
    this.content(message.content);
    const refusal = textOf(message.refusal);
    const calls = callsOf(message);
    if (refusal === '' && calls.length === 0) return;
    this.reasoning.close();
    this.writer.text('refusal', refusal);
    this.calls.read(calls);
  }

  end(): void {
    this.reasoning.close();
    // Streams send this state with the last text, so plain answers put it after the text, too.
    if (this.extra) this.reasoning.keep(stateOfMessage(this.extra));
  }

  /** Some providers answer with a list of parts, as requests have them; Mistral's may be thinking. */
  private content(content: unknown): void {
    if (typeof content === 'string') this.text(content);
    if (!Array.isArray(content)) return;
    for (const part of content) {
      if (!isRecord(part)) continue;
      if (part.type === 'thinking') this.reasoning.show(textOf(part.thinking));
      else this.text(textOf(part.text));
    }
  }

  private text(text: string): void {
    if (text === '') return;
    this.reasoning.close();
    this.writer.text('text', text, this.logprobs.length === 0 ? undefined : this.logprobs);
    this.logprobs = [];
    this.countLogprobs(-this.logprobsBytes);
  }

  private countLogprobs(bytes: number): void {
    this.logprobsBytes += bytes;
    this.writer.keep(bytes);
  }

  private keepExtra(extra: JsonRecord): void {
    this.writer.keep(heapBytesOf(extra) - heapBytesOf(this.extra));
    this.extra = extra;
  }
}

function callsOf({ tool_calls: calls, function_call: legacy }: JsonRecord): readonly JsonRecord[] {
  if (Array.isArray(calls) && calls.length > 0) return calls.filter(isRecord);
  // One call an answer: all of its pieces are the same call.
  return isRecord(legacy) ? [{ index: 0, function: legacy }] : [];
}

/** Gemini marks every delta of thinking in the same place; these marks are not needed later. */
function isSigned(extra: unknown): extra is JsonRecord {
  return typeof asRecord(asRecord(extra)?.google)?.thought_signature === 'string';
}

/** A text, or a list of texts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => asRecord(part)?.text)
    .filter((text) => typeof text === 'string')
    .join('');
}
