// Which parts do the events of output items make? Servers leave out announcements, deltas, ends or whole
// items that this dialect promises. The first source of a text counts, and missing text is added once a later
// event holds it. Items are identified by `output_index`: at some servers, ids change within a stream.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { heapBytesOf, KeptText } from '../answer/kept.ts';
import { type PartWriter, pieceBytes, type TextKind } from '../answer/part-writer.ts';
import {
  readCall,
  readContentPart,
  readInput,
  readLogprobs,
  readState,
  readThought,
} from './upstream-items.ts';

interface ItemState {
  /** What the part writer knows its call by. */
  readonly key: number;
  readonly type: unknown;
  isCallOpen: boolean;
  isDone: boolean;
  /** Input of a call whose name has not arrived yet. */
  heldInput: KeptText;
  /** The texts of which something was written, by kind and place. */
  readonly written: Set<string>;
  /** Summary or raw reasoning, whichever came first: they tell the same. */
  thoughtSource: string | undefined;
}

/** Memory for a known item, beside its names. */
const itemBytes = 500;

export class ItemEvents {
  private readonly writer: PartWriter;
  private readonly origin: string;
  private readonly states = new Map<number, ItemState>();
  private readonly seenIds = new Set<unknown>();
  private keys = 0;
  /** The item that was announced last. */
  private latest = 0;
  /** The item that the last text belongs to. */
  private textOwner: ItemState | undefined;

  constructor(writer: PartWriter, origin: string) {
    this.writer = writer;
    this.origin = origin;
  }

  /** Other events than those of items mean nothing here. */
  read(type: string, event: JsonRecord): void {
    const index = typeof event.output_index === 'number' ? event.output_index : this.latest;
    switch (type) {
      case 'response.output_item.added':
        this.added(index, asRecord(event.item) ?? {});
        break;
      case 'response.output_item.done':
        this.done(index, asRecord(event.item) ?? {});
        break;
      case 'response.output_text.delta':
        this.delta('text', index, event);
        break;
      case 'response.refusal.delta':
        this.delta('refusal', index, event);
        break;
      case 'response.output_text.done':
        this.whole('text', index, event, event.text);
        break;
      case 'response.refusal.done':
        this.whole('refusal', index, event, event.refusal);
        break;
      case 'response.content_part.done':
        this.contentPart(index, event);
        break;
      case 'response.reasoning_summary_text.delta':
        this.thought('summary', index, event.summary_index, event.delta, false);
        break;
      case 'response.reasoning_summary_text.done':
        this.thought('summary', index, event.summary_index, event.text, true);
        break;
      case 'response.reasoning_summary_part.done':
        this.thought('summary', index, event.summary_index, asRecord(event.part)?.text, true);
        break;
      case 'response.reasoning_text.delta':
        this.thought('content', index, event.content_index, event.delta, false);
        break;
      case 'response.reasoning_text.done':
        this.thought('content', index, event.content_index, event.text, true);
        break;
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        this.input(index, event.delta, false);
        break;
      case 'response.function_call_arguments.done':
        this.input(index, event.arguments, true);
        break;
      case 'response.custom_tool_call_input.done':
        this.input(index, event.input, true);
        break;
    }
  }

  /** The items of the terminal event: what the stream has left out of them comes now. */
  complete(output: unknown): void {
    for (const [index, item] of (Array.isArray(output) ? output : []).entries()) {
      if (!isRecord(item)) continue;
      const state = this.states.get(index);
      const isSeen = state
        ? state.isDone || (state.type !== undefined && state.type !== item.type)
        : (item.id !== undefined && this.seenIds.has(item.id)) ||
          (item.call_id !== undefined && this.seenIds.has(item.call_id));
      if (!isSeen) this.done(index, item);
    }
  }

  private stateOf(index: number): ItemState {
    return this.states.get(index) ?? this.newState(index, undefined);
  }

  private newState(index: number, type: unknown, before?: ItemState): ItemState {
    const state = {
      key: this.keys++,
      type,
      isCallOpen: false,
      isDone: false,
      heldInput: before?.heldInput ?? new KeptText(),
      written: before?.written ?? new Set<string>(),
      thoughtSource: before?.thoughtSource,
    };
    this.states.set(index, state);
    this.writer.keep(itemBytes + heapBytesOf(type));
    return state;
  }

  private added(index: number, item: JsonRecord): void {
    const known = this.states.get(index);
    // Announced twice.
    if (known?.isCallOpen && !known.isDone && this.seenIds.has(item.call_id)) return;
    // Deltas may have come before their item; some servers give every item the same index.
    const isEarly = known !== undefined && known.type === undefined && !known.isDone;
    this.latest = index;
    const state = this.newState(index, item.type, isEarly ? known : undefined);
    if (this.textOwner === known && isEarly) this.textOwner = state;
    else this.writer.close();
    this.note(item);
    this.openCall(state, item);
  }

  private note({ id, call_id: callId }: JsonRecord): void {
    for (const seen of [id, callId]) {
      if (seen === undefined || this.seenIds.has(seen)) continue;
      this.seenIds.add(seen);
      this.writer.keep(heapBytesOf(seen));
    }
  }

  private openCall(state: ItemState, item: JsonRecord): void {
    const call = readCall(item);
    if (!call) return;
    state.isCallOpen = true;
    this.writer.call(state.key, call);
    const held = state.heldInput.toString();
    state.heldInput = new KeptText();
    this.writer.keep(-heapBytesOf(held));
    this.writer.callInput(state.key, held);
  }

  private done(index: number, item: JsonRecord): void {
    let state = this.stateOf(index);
    if (state.isDone) {
      // Of an item that was never announced, after another one with this index.
      if (this.seenIds.has(item.id) || this.seenIds.has(item.call_id)) return;
      state = this.newState(index, item.type);
    }
    state.isDone = true;
    this.note(item);
    if (item.type === 'function_call' || item.type === 'custom_tool_call') this.doneCall(state, item);
    else if (item.type === 'reasoning') this.doneReasoning(state, item);
    else if (item.type === 'message') this.doneMessage(state, item);
  }

  private doneCall(state: ItemState, item: JsonRecord): void {
    if (!state.isCallOpen) this.openCall(state, item);
    if (!this.writer.hasInput(state.key)) this.writer.callInput(state.key, readInput(item));
    this.writer.endCall(state.key);
  }

  private doneReasoning(state: ItemState, item: JsonRecord): void {
    const opaque = readState(item);
    if (state.written.size === 0) {
      const text = readThought(item);
      if (text === '' && !opaque) return;
      this.writer.close();
      this.textOwner = state;
      if (text === '') this.writer.open('thinking');
      else this.writer.text('thinking', text);
    }
    this.close(state, opaque && { origin: this.origin, state: opaque });
  }

  private doneMessage(state: ItemState, item: JsonRecord): void {
    for (const [index, part] of (Array.isArray(item.content) ? item.content : []).entries()) {
      const piece = readContentPart(part);
      if (!piece) continue;
      this.write(state, piece.type, index, piece.text, true, piece.logprobs);
      this.close(state);
    }
    this.close(state);
  }

  private delta(kind: 'text' | 'refusal', index: number, event: JsonRecord): void {
    const logprobs = readLogprobs(event.logprobs);
    this.write(this.stateOf(index), kind, event.content_index, event.delta, false, logprobs);
  }

  private whole(kind: 'text' | 'refusal', index: number, event: JsonRecord, text: unknown): void {
    const state = this.stateOf(index);
    this.write(state, kind, event.content_index, text, true, readLogprobs(event.logprobs));
    this.close(state);
  }

  private contentPart(index: number, event: JsonRecord): void {
    const piece = readContentPart(event.part);
    if (piece) this.whole(piece.type, index, event, piece.text);
  }

  /** @param isWhole Then it is written only if nothing of it was. */
  private write(
    state: ItemState,
    kind: TextKind,
    place: unknown,
    text: unknown,
    isWhole: boolean,
    logprobs?: readonly unknown[],
  ): void {
    const key = `${kind} ${typeof place === 'number' ? place : 0}`;
    if (typeof text !== 'string' || text === '' || (isWhole && state.written.has(key))) return;
    // Text of another item must not go on in this one's part.
    if (this.textOwner !== state) this.writer.close();
    this.textOwner = state;
    if (!state.written.has(key)) this.writer.keep(pieceBytes);
    state.written.add(key);
    this.writer.text(kind, text, logprobs);
  }

  private thought(source: string, index: number, place: unknown, text: unknown, isWhole: boolean): void {
    const state = this.stateOf(index);
    if (typeof text !== 'string' || text === '') return;
    state.thoughtSource ??= source;
    if (state.thoughtSource !== source) return;
    const key = `thinking ${typeof place === 'number' ? place : 0}`;
    const isFurther = source === 'summary' && state.written.size > 0 && !state.written.has(key);
    this.write(state, 'thinking', place, isFurther ? `\n\n${text}` : text, isWhole);
  }

  private input(index: number, text: unknown, isWhole: boolean): void {
    const state = this.stateOf(index);
    if (typeof text !== 'string' || state.isDone) return;
    if (!state.isCallOpen) {
      if (isWhole && !state.heldInput.isEmpty) return;
      state.heldInput.add(text);
      this.writer.keep(heapBytesOf(text));
    } else if (!isWhole || !this.writer.hasInput(state.key)) this.writer.callInput(state.key, text);
  }

  private close(state: ItemState, opaque?: Parameters<PartWriter['close']>[0]): void {
    if (this.textOwner === state) this.writer.close(opaque);
  }
}
