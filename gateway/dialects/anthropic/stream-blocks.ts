// What do the blocks of a streamed message hold? Written on as parts, as they come.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import { heapBytesOf, KeptText } from '../answer/kept.ts';
import { type PartWriter, pieceBytes } from '../answer/part-writer.ts';
import type { MarkedState } from '../state/opaque.ts';
import { type AnswerReading, isAnswerCall, textOf } from './read-events.ts';

/** The type of a block that is a call in form and the answer in truth. */
const answer = 'answer';

/** A block that has begun; `content_block_stop` tells its number only. */
interface OpenBlock {
  readonly type: string;
  signature: string;
  hasText: boolean;
  /** Input of a call in its block's start, for upstreams that send no deltas. */
  readonly input: string;
  keptBytes: number;
}

/** What it takes to keep a block, beside what it holds. */
const blockBytes = 200;

/** The blocks that have begun and not ended. */
export class StreamBlocks {
  private readonly writer: PartWriter;
  private readonly reading: AnswerReading;
  private readonly open = new Map<number, OpenBlock>();
  /**
   * Text that is the answer only if none is given as a call: callers parse the whole, so nothing may
   * stand beside it. One entry a block.
   */
  private held: KeptText[] = [];
  private heldBytes = 0;
  private isAnswered = false;

  constructor(writer: PartWriter, reading: AnswerReading) {
    this.writer = writer;
    this.reading = reading;
  }

  /** `content_block_start`. */
  start(index: number, block: JsonRecord): void {
    const type = this.typeOf(block);
    const input = asRecord(block.input);
    const hasInput = input !== undefined && Object.keys(input).length > 0;
    this.forget(index);
    const open: OpenBlock = {
      type,
      signature: textOf(type === 'redacted_thinking' ? block.data : block.signature),
      hasText: false,
      input: hasInput ? JSON.stringify(input) : '',
      keptBytes: 0,
    };
    this.open.set(index, open);
    this.keepFor(
      open,
      blockBytes + heapBytesOf(type) + heapBytesOf(open.signature) + heapBytesOf(open.input),
    );
    if (type === answer) this.isAnswered = true;
    if (type === 'tool_use') this.release();
    if (type === 'text') this.hold();
    if (type === 'text') this.text(index, 'text', textOf(block.text));
    else if (type === 'thinking') this.text(index, 'thinking', textOf(block.thinking));
    else if (type === 'tool_use') this.writer.call(index, { id: textOf(block.id), name: textOf(block.name) });
  }

  /** `content_block_delta`; deltas of types to come are ignored. */
  delta(index: number, delta: JsonRecord): void {
    const block = this.open.get(index);
    switch (delta.type) {
      case 'text_delta':
        this.text(index, 'text', textOf(delta.text));
        return;
      case 'thinking_delta':
        this.text(index, 'thinking', textOf(delta.thinking));
        return;
      case 'input_json_delta':
        if (block?.type === 'tool_use') this.writer.callInput(index, textOf(delta.partial_json));
        else if (block?.type === answer) this.text(index, 'text', textOf(delta.partial_json));
        return;
      case 'signature_delta':
        if (!block) return;
        block.signature += textOf(delta.signature);
        this.keepFor(block, pieceBytes + heapBytesOf(textOf(delta.signature)));
        return;
    }
  }

  /** `content_block_stop`. */
  stop(index: number): void {
    const block = this.open.get(index);
    if (!block) return;
    this.forget(index);
    switch (block.type) {
      case 'tool_use':
        if (!this.writer.hasInput(index)) this.writer.callInput(index, block.input);
        this.writer.endCall(index);
        return;
      case answer:
        if (!block.hasText) this.writer.text('text', block.input === '' ? '{}' : block.input);
        this.writer.close();
        return;
      case 'thinking':
      case 'redacted_thinking':
        // Thinking that is not shown has no text, but has to come back.
        if (!block.hasText && block.signature !== '') this.writer.open('thinking');
        this.writer.close(this.stateOf(block));
        return;
      default:
        this.writer.close();
    }
  }

  /** Some upstreams end the message and leave its blocks open. */
  stopAll(): void {
    for (const index of [...this.open.keys()]) this.stop(index);
    this.release();
  }

  private typeOf(block: JsonRecord): string {
    return isAnswerCall(block, this.reading) ? answer : textOf(block.type);
  }

  private text(index: number, kind: 'text' | 'thinking', text: string): void {
    const block = this.open.get(index);
    if (block && text !== '') block.hasText = true;
    if (kind === 'text' && block?.type !== answer && this.reading.answerTool !== undefined) {
      (this.held.at(-1) ?? this.hold()).add(text);
      this.countHeld(heapBytesOf(text));
    } else this.writer.text(kind, text);
  }

  /** The answer is no call, or another tool is called first. */
  private release(): void {
    for (const text of this.held.splice(0)) {
      if (this.isAnswered) continue;
      this.writer.text('text', text.toString());
      this.writer.close();
    }
    this.countHeld(-this.heldBytes);
  }

  private hold(): KeptText {
    const text = new KeptText();
    this.held.push(text);
    this.countHeld(blockBytes);
    return text;
  }

  private countHeld(bytes: number): void {
    this.heldBytes += bytes;
    this.writer.keep(bytes);
  }

  private keepFor(block: OpenBlock, bytes: number): void {
    block.keptBytes += bytes;
    this.writer.keep(bytes);
  }

  private forget(index: number): void {
    this.writer.keep(-(this.open.get(index)?.keptBytes ?? 0));
    this.open.delete(index);
  }

  private stateOf({ type, signature }: OpenBlock): MarkedState | undefined {
    if (signature === '') return undefined;
    const kind = type === 'thinking' ? 'signature' : 'redacted';
    return { origin: this.reading.origin, state: { kind, value: signature } };
  }
}
