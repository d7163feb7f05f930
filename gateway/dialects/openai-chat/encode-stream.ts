// Our stream parts as chat completion chunks. For each choice:
//
//   role → deltas → finish reason; then, where asked for, one chunk with the usage of all
//
// Clients need the role in the first delta, an index on every piece of a call, and the id, type and
// name of a call on its first piece only.

import type { Usage } from '../../../core/contract/ledger-record.ts';
import type { AnswerHead, PartsEncoder, StreamEncoder } from '../dialect.ts';
import { encodeOpenAiUsage } from '../openai/convert-usage.ts';
import type { PartHead, StreamPart } from '../stream-part.ts';
import { type ChatShape, encodeLogprobs, finishOf, mintCallId } from './encode-answer.ts';
import { packThinking, thinkingSeparator } from './encode-thinking.ts';

export function encodeChatStream(head: AnswerHead, shape: ChatShape): StreamEncoder {
  let attempt: ChatEncoder | undefined;
  return {
    open() {
      attempt = new ChatEncoder(head, shape);
      return attempt;
    },
    close: () => attempt?.close() ?? '',
  };
}

/** Where one choice is. */
interface OpenChoice {
  /** Of the part that is open. */
  head: PartHead | undefined;
  calls: number;
  hasRefusal: boolean;
  /** Of the thinking so far: whether there was any text, and entries given back. */
  hasThought: boolean;
  details: number;
  /** Of the thinking part that is open. */
  textLength: number;
}

/** One attempt at the answer. */
class ChatEncoder implements PartsEncoder {
  private readonly head: AnswerHead;
  private readonly shape: ChatShape;
  private readonly choices = new Map<number, OpenChoice>();
  private model = '';
  /** Of every frame, up to its choices. */
  private top: string | undefined;
  private usage: Usage | undefined;

  constructor(head: AnswerHead, shape: ChatShape) {
    this.head = head;
    this.shape = shape;
  }

  encode(parts: readonly StreamPart[]): string {
    let text = '';
    for (const part of parts) text += this.part(part);
    return text;
  }

  close(): string {
    if (!this.shape.wantsUsage || !this.usage) return '';
    return this.frame(undefined, encodeOpenAiUsage(this.usage));
  }

  private part(part: StreamPart): string {
    switch (part.type) {
      case 'answer-start':
        this.model = part.model;
        this.top = undefined;
        return '';
      case 'part-start':
        return this.start(part.choice, part.head);
      case 'part-delta': {
        const choice = this.choices.get(part.choice);
        if (!choice?.head) return '';
        return this.delta(part.choice, this.piece(choice, choice.head, part.text), part.logprobs);
      }
      case 'part-end':
        return this.endPart(part);
      case 'choice-end':
        return this.endChoice(part);
      case 'usage':
        this.usage = part.usage;
        return '';
      case 'ping':
        return ': keep-alive\n\n';
    }
  }

  private start(index: number, head: PartHead): string {
    const { choice, role } = this.openChoice(index, head);
    choice.head = head;
    choice.textLength = 0;
    if (head.type === 'refusal') choice.hasRefusal = true;
    if (head.type !== 'tool-call') return role;
    const position = choice.calls++;
    if (this.shape.usesFunctions) {
      // The old form has one call an answer.
      if (position > 0) return role;
      return role + this.delta(index, { function_call: { name: head.name, arguments: '' } });
    }
    const id = head.id === '' ? mintCallId(this.head, index, position) : head.id;
    const tool =
      head.kind === 'custom'
        ? { type: 'custom', custom: { name: head.name, input: '' } }
        : { type: 'function', function: { name: head.name, arguments: '' } };
    return role + this.delta(index, { tool_calls: [{ index: position, id, ...tool }] });
  }

  private openChoice(index: number, head?: PartHead): { readonly choice: OpenChoice; readonly role: string } {
    const known = this.choices.get(index);
    if (known) return { choice: known, role: '' };
    const choice: OpenChoice = {
      head,
      calls: 0,
      hasRefusal: false,
      hasThought: false,
      details: 0,
      textLength: 0,
    };
    this.choices.set(index, choice);
    const content = head?.type === 'tool-call' ? null : '';
    return { choice, role: this.delta(index, { role: 'assistant', content, refusal: null }) };
  }

  private piece(choice: OpenChoice, head: PartHead, text: string): Record<string, unknown> | undefined {
    switch (head.type) {
      case 'text':
        return { content: text };
      case 'refusal':
        return { refusal: text };
      case 'thinking': {
        const isNext = choice.hasThought && choice.textLength === 0;
        choice.hasThought = true;
        choice.textLength += text.length;
        return { reasoning_content: isNext ? thinkingSeparator + text : text };
      }
      case 'tool-call': {
        const index = choice.calls - 1;
        if (this.shape.usesFunctions) return index === 0 ? { function_call: { arguments: text } } : undefined;
        const more = head.kind === 'custom' ? { custom: { input: text } } : { function: { arguments: text } };
        return { tool_calls: [{ index, ...more }] };
      }
    }
  }

  private endPart({ choice: index, opaque }: Extract<StreamPart, { type: 'part-end' }>): string {
    const choice = this.choices.get(index);
    if (!choice) return '';
    choice.head = undefined;
    const entry = packThinking(opaque, choice.details, choice.textLength);
    if (!entry) return '';
    choice.details++;
    return this.delta(index, { reasoning_details: [entry] });
  }

  private endChoice({ choice: index, finish, refusal }: Extract<StreamPart, { type: 'choice-end' }>): string {
    const { choice, role } = this.openChoice(index);
    const explanation = choice.hasRefusal ? null : (refusal?.explanation ?? null);
    const said = explanation === null ? '' : this.delta(index, { refusal: explanation });
    const reason = finishOf(finish, this.shape.usesFunctions);
    return role + said + this.frame({ index, delta: {}, logprobs: null, finish_reason: reason });
  }

  private delta(
    index: number,
    delta: Record<string, unknown> | undefined,
    logprobs?: readonly unknown[],
  ): string {
    if (!delta) return '';
    return this.frame({ index, delta, logprobs: encodeLogprobs(logprobs), finish_reason: null });
  }

  private frame(choice: unknown, usage?: unknown): string {
    this.top ??= JSON.stringify({
      id: `chatcmpl-${this.head.id}`,
      object: 'chat.completion.chunk',
      created: this.head.createdAt,
      model: this.model || this.head.model,
    }).slice(0, -1);
    const choices = choice === undefined ? '' : JSON.stringify(choice);
    const end = this.shape.wantsUsage ? `,"usage":${JSON.stringify(usage ?? null)}}` : '}';
    return `data: ${this.top},"choices":[${choices}]${end}\n\n`;
  }
}
