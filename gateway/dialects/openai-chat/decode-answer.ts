// A chat completion, plain or streamed, in our own form.

import { asRecord, type JsonRecord, tryParseJson } from '../../json/record.ts';
import type { AnswerChoice, ModelAnswer, Part } from '../conversation.ts';
import type { AnswerFacts, AnswerFault, StreamDecoder } from '../dialect.ts';
import { OpenAiChunkReader } from '../openai-chunks.ts';
import { readErrorMember } from '../openai-error.ts';
import { decodeOpenAiFinish } from '../openai-finish.ts';
import { freshFacts } from '../openai-relay.ts';
import { readOpenAiUsage } from '../openai-usage.ts';
import type { StreamPart } from '../stream-part.ts';

type Decoded =
  | { readonly ok: true; readonly answer: ModelAnswer }
  | { readonly ok: false; readonly fault: AnswerFault };

export function decodeChatAnswer(body: Buffer): Decoded {
  const value = asRecord(tryParseJson(body.toString('utf8')));
  if (!value) return { ok: false, fault: { kind: 'malformed', detail: 'the answer is not a JSON object' } };
  const error = readErrorMember(value);
  if (error) return { ok: false, fault: { kind: 'error-event', error } };
  if (!Array.isArray(value.choices) || value.choices.length === 0) {
    return { ok: false, fault: { kind: 'malformed', detail: "the answer has no 'choices'" } };
  }
  const usage = readOpenAiUsage(value.usage);
  return {
    ok: true,
    answer: {
      id: String(value.id ?? ''),
      model: String(value.model ?? ''),
      createdAt: Number(value.created ?? 0),
      choices: value.choices.map(decodeChoice),
      ...(usage ? { usage } : {}),
    },
  };
}

function decodeChoice(value: unknown, position: number): AnswerChoice {
  const choice = asRecord(value);
  const message = asRecord(choice?.message);
  const parts: Part[] = [];
  const thinking = message?.reasoning_content ?? message?.reasoning;
  if (typeof thinking === 'string' && thinking !== '') parts.push({ type: 'thinking', text: thinking });
  const content = textOf(message?.content);
  if (content !== '') parts.push({ type: 'text', text: content });
  if (typeof message?.refusal === 'string' && message.refusal !== '') {
    parts.push({ type: 'refusal', text: message.refusal });
  }
  return {
    index: typeof choice?.index === 'number' ? choice.index : position,
    parts,
    finish: decodeOpenAiFinish(choice?.finish_reason, false),
  };
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

export function decodeChatStream(choices: number): StreamDecoder {
  return new ChatStreamDecoder(choices);
}

type OpenPart = 'thinking' | 'text' | 'refusal';

class ChatStreamDecoder implements StreamDecoder {
  readonly facts: AnswerFacts = freshFacts();
  private readonly reader = new OpenAiChunkReader(this.facts);
  private readonly choices: number;
  private readonly finished = new Set<number>();
  /** The part each choice is in the middle of; parts are numbered in order of appearance. */
  private readonly open = new Map<number, { readonly type: OpenPart; readonly index: number }>();
  private hasStarted = false;

  constructor(choices: number) {
    this.choices = choices;
  }

  push(chunk: Buffer): readonly StreamPart[] {
    return this.decode(this.reader.push(chunk));
  }

  end(): readonly StreamPart[] {
    const parts = this.decode(this.reader.end());
    if (!this.facts.isComplete && !this.facts.fault) {
      if (this.finished.size >= this.choices) this.facts.isComplete = true;
      else this.facts.fault = { kind: 'truncated' };
    }
    return parts;
  }

  private decode(chunks: readonly JsonRecord[]): readonly StreamPart[] {
    const parts: StreamPart[] = [];
    for (const chunk of chunks) this.chunk(chunk, parts);
    return parts;
  }

  private chunk(chunk: JsonRecord, parts: StreamPart[]): void {
    this.start(chunk, parts);
    for (const entry of Array.isArray(chunk.choices) ? chunk.choices : []) {
      const choice = asRecord(entry);
      if (choice) this.choice(choice, parts);
    }
    const usage = readOpenAiUsage(chunk.usage);
    if (usage) {
      this.facts.usage = usage;
      parts.push({ type: 'usage', usage });
    }
  }

  private start(chunk: JsonRecord, parts: StreamPart[]): void {
    if (this.hasStarted) return;
    this.hasStarted = true;
    const model = String(chunk.model ?? '');
    this.facts.servedModel = model;
    parts.push({
      type: 'answer-start',
      id: String(chunk.id ?? ''),
      model,
      createdAt: Number(chunk.created ?? 0),
    });
  }

  private choice(choice: JsonRecord, parts: StreamPart[]): void {
    const index = typeof choice.index === 'number' ? choice.index : 0;
    const delta = asRecord(choice.delta);
    this.text(index, 'thinking', delta?.reasoning_content ?? delta?.reasoning, parts);
    this.text(index, 'text', textOf(delta?.content), parts);
    this.text(index, 'refusal', delta?.refusal, parts);
    if (
      typeof choice.finish_reason === 'string' &&
      choice.finish_reason !== '' &&
      !this.finished.has(index)
    ) {
      this.finished.add(index);
      this.close(index, parts);
      parts.push({
        type: 'choice-end',
        choice: index,
        finish: decodeOpenAiFinish(choice.finish_reason, false),
      });
    }
  }

  private text(choice: number, type: OpenPart, value: unknown, parts: StreamPart[]): void {
    if (typeof value !== 'string' || value === '') return;
    let open = this.open.get(choice);
    if (open?.type !== type) {
      const index = open ? open.index + 1 : 0;
      this.close(choice, parts);
      open = { type, index };
      this.open.set(choice, open);
      parts.push({ type: 'part-start', choice, index, head: { type } });
    }
    this.facts.hasContent = true;
    this.facts.outputEstimate++;
    parts.push({ type: 'part-delta', choice, index: open.index, text: value });
  }

  private close(choice: number, parts: StreamPart[]): void {
    const open = this.open.get(choice);
    if (!open) return;
    parts.push({ type: 'part-end', choice, index: open.index });
  }
}
