// Which output items do the parts of an answer make, and which events report them? One item at a time is
// open. It is closed when the next begins or the answer ends, because only then is it known whether it
// was cut short:
//
//   message    added -> (content part added -> delta* -> done -> content part done)* -> done
//   call       added -> delta* -> arguments or input done -> done
//              of a tool with its own item type: added -> done, when its input is whole
//   reasoning  added -> (summary part added -> delta* -> done -> summary part done)? -> done
//
// A message and reasoning begin with their first text: an item that stays empty has no events.

import { mintedReasoningPrefix } from '../../json/own-beginnings.ts';
import type { JsonRecord } from '../../json/record.ts';
import { heapBytesOf, KeptText } from '../answer/kept.ts';
import type { FinishReason, RefusalDetails } from '../conversation.ts';
import { type MarkedState, packOpaque } from '../state/opaque.ts';
import type { PartHead } from '../stream-part.ts';
import { type ClientToolType, clientCallIdPrefix, encodeClientCall } from './client-tools.ts';
import { encodeMembers } from './error-body.ts';
import {
  type CallHead,
  encodeItem,
  encodeText,
  encodeToken,
  type OpenCall,
  type OpenItem,
  tokensOf,
} from './item-objects.ts';
import { encodeResponsesFinish, type ResponseEnd } from './map-finish-reason.ts';

/** Tells the client of an event; the members as JSON text without the braces. */
type EmitEvent = (type: string, members: string) => void;

/** Which form items have that may have several. */
export interface ItemForms {
  /**
   * Refusals have content parts of their own: clients that parse the text as JSON must be able to
   * tell. Else they are text: some clients show nothing of a refusal part.
   */
  readonly showsRefusals: boolean;
  readonly clientTools: ReadonlySet<ClientToolType>;
}

/** Memory for a kept item, or for a part of one, beside its text. */
const itemBytes = 500;

export class OutputItems {
  /** The length of all that was written, for an estimate of its tokens. */
  textLength = 0;
  /** Bytes of text that the end of an item, and the end of the response, repeat. */
  keptBytes = 0;
  private readonly finished: { readonly item: OpenItem; readonly status: ResponseEnd['status'] }[] = [];
  private readonly id: string;
  private readonly forms: ItemForms;
  private readonly emitText: EmitEvent;
  private item: OpenItem | undefined;
  /** The part that is being written. */
  private head: PartHead | undefined;
  private isPartShown = false;
  /** The members that all deltas of the part begin with: most of a stream is made of these. */
  private deltaStart = '';
  private hasRefused = false;
  private hasText = false;

  /** @param id Part of every id that is made here. */
  constructor(id: string, forms: ItemForms, emit: EmitEvent) {
    this.id = id;
    this.forms = forms;
    this.emitText = emit;
  }

  /** All items, including one that is still open, in its current state. */
  get output(): readonly unknown[] {
    const finished = this.finished.map(({ item, status }) => encodeItem(item, status));
    return this.item ? [...finished, encodeItem(this.item, 'incomplete')] : finished;
  }

  start(head: PartHead): void {
    this.head = head;
    this.isPartShown = false;
    if (head.type !== 'tool-call') return;
    this.close('completed');
    const form = this.formOf(head);
    const prefix = form ? clientCallIdPrefix(form) : head.kind === 'custom' ? 'ctc_' : 'fc_';
    const callId = head.id || `call_${this.id}_${this.finished.length}`;
    this.textLength += head.name.length;
    const item = {
      type: 'call',
      id: this.nextId(prefix),
      callId,
      head,
      form,
      input: new KeptText(),
    } as const;
    // Its action is one value, which is known only when the input is whole.
    if (form) this.item = item;
    else this.openCall(item);
  }

  private formOf({ kind, name, namespace }: CallHead): ClientToolType | undefined {
    const isOwn = kind === 'function' && namespace === undefined;
    return isOwn ? [...this.forms.clientTools].find((type) => type === name) : undefined;
  }

  private openCall(item: OpenCall): void {
    this.open(item);
    this.beginDeltas(this.place(item));
  }

  delta(text: string, logprobs?: readonly unknown[]): void {
    const { head } = this;
    if (!head) return;
    this.textLength += text.length;
    this.keptBytes += heapBytesOf(text);
    if (head.type === 'tool-call') this.input(text);
    else if (head.type === 'thinking') this.thought(text);
    else this.text(text, head.type === 'refusal', logprobs);
  }

  end(opaque?: MarkedState): void {
    const { head } = this;
    this.head = undefined;
    if (head?.type === 'thinking') this.endThought(opaque);
    else if (head && head.type !== 'tool-call' && this.isPartShown) this.endText();
  }

  /** Closes the last item; the items say nothing of the end of the response itself. */
  finish(finish: FinishReason, refusal: RefusalDetails | undefined): ResponseEnd {
    if (refusal && !this.hasRefused) this.emitRefusal(refusal);
    const end = encodeResponsesFinish(finish, refusal !== undefined || this.hasRefused);
    this.close(end.status);
    return end;
  }

  private emitRefusal({ explanation }: RefusalDetails): void {
    const text = explanation ?? (this.hasText ? '' : 'The model declined to answer.');
    if (text === '') return;
    this.start({ type: 'refusal' });
    this.delta(text);
    this.end();
  }

  private nextId(prefix: string): string {
    return `${prefix}${this.id}_${this.finished.length}`;
  }

  private emit(type: string, members: JsonRecord): void {
    this.emitText(type, encodeMembers(members));
  }

  private beginDeltas(place: JsonRecord): void {
    this.deltaStart = `${encodeMembers(place)},"delta":`;
  }

  private open(item: OpenItem): void {
    this.item = item;
    this.keptBytes += itemBytes + (item.type === 'call' ? heapBytesOf(item.head) : 0);
    this.emit('response.output_item.added', {
      output_index: this.finished.length,
      item: encodeItem(item, 'in_progress'),
    });
  }

  /** What every event of the open item names. */
  private place(item: OpenItem): { readonly item_id: string; readonly output_index: number } {
    return { item_id: item.id, output_index: this.finished.length };
  }

  private text(delta: string, isRefusalPart: boolean, logprobs: readonly unknown[] | undefined): void {
    if (this.item?.type !== 'message') {
      this.close('completed');
      this.open({ type: 'message', id: this.nextId('msg_'), content: [] });
    }
    if (this.item?.type !== 'message') return;
    const { content } = this.item;
    if (!this.isPartShown) {
      this.isPartShown = true;
      this.hasText = true;
      if (isRefusalPart) this.hasRefused = true;
      content.push({
        isRefusal: isRefusalPart && this.forms.showsRefusals,
        text: new KeptText(),
        logprobs: new KeptText(),
      });
      this.keptBytes += itemBytes;
      const place = this.textPlace(this.item);
      this.emit('response.content_part.added', { ...place, part: encodeText(content.at(-1)) });
      this.beginDeltas(place);
    }
    const part = content.at(-1);
    if (!part) return;
    part.text.add(delta);
    const tokens = logprobs ? JSON.stringify(logprobs.map(encodeToken)).slice(1, -1) : '';
    if (tokens !== '') part.logprobs.add(`${tokens},`);
    this.keptBytes += tokens.length;
    const members = this.deltaStart + JSON.stringify(delta);
    if (part.isRefusal) this.emitText('response.refusal.delta', members);
    else this.emitText('response.output_text.delta', `${members},"logprobs":[${tokens}]`);
  }

  private endText(): void {
    const part = this.item?.type === 'message' ? this.item.content.at(-1) : undefined;
    if (this.item?.type !== 'message' || !part) return;
    const place = this.textPlace(this.item);
    if (part.isRefusal) this.emit('response.refusal.done', { ...place, refusal: part.text.toString() });
    else {
      const text = part.text.toString();
      this.emit('response.output_text.done', { ...place, text, logprobs: tokensOf(part) });
    }
    this.emit('response.content_part.done', { ...place, part: encodeText(part) });
  }

  private textPlace(item: Extract<OpenItem, { type: 'message' }>): JsonRecord {
    return { ...this.place(item), content_index: item.content.length - 1 };
  }

  private input(delta: string): void {
    if (this.item?.type !== 'call') return;
    this.item.input.add(delta);
    if (this.item.form) return;
    this.emitText(`response.${inputEvent(this.item.head)}.delta`, this.deltaStart + JSON.stringify(delta));
  }

  /** If a model breaks the schema, the client gets a call of an unknown function. */
  private openClientCall(item: OpenCall, form: ClientToolType): void {
    const input = item.input.toString();
    if (encodeClientCall(form, input)) {
      this.open(item);
      return;
    }
    this.openCall({ ...item, id: this.nextId('fc_'), form: undefined, input: new KeptText() });
    if (input !== '') this.input(input);
  }

  private thought(delta: string): void {
    if (!this.isPartShown) {
      this.isPartShown = true;
      this.openThought(true);
    }
    if (this.item?.type !== 'reasoning') return;
    this.item.text.add(delta);
    this.emitText('response.reasoning_summary_text.delta', this.deltaStart + JSON.stringify(delta));
  }

  private openThought(isShown: boolean): void {
    this.close('completed');
    const item: OpenItem = {
      type: 'reasoning',
      id: this.nextId(mintedReasoningPrefix),
      isShown,
      text: new KeptText(),
      sealed: undefined,
    };
    this.open(item);
    if (!isShown) return;
    const part = { type: 'summary_text', text: '' };
    const place = { ...this.place(item), summary_index: 0 };
    this.emit('response.reasoning_summary_part.added', { ...place, part });
    this.beginDeltas(place);
  }

  private endThought(opaque: MarkedState | undefined): void {
    const sealed = opaque?.origin === undefined ? undefined : packOpaque(opaque.origin, opaque.state);
    if (!this.isPartShown) {
      if (sealed === undefined) return;
      this.openThought(false);
    }
    const { item } = this;
    if (item?.type !== 'reasoning') return;
    if (item.isShown) {
      const place = { ...this.place(item), summary_index: 0 };
      const text = item.text.toString();
      this.emit('response.reasoning_summary_text.done', { ...place, text });
      this.emit('response.reasoning_summary_part.done', { ...place, part: { type: 'summary_text', text } });
    }
    item.sealed = sealed;
    this.keptBytes += heapBytesOf(sealed);
    this.close('completed');
  }

  private close(status: 'completed' | 'incomplete'): void {
    if (this.item?.type === 'call' && this.item.form) this.openClientCall(this.item, this.item.form);
    const { item } = this;
    if (!item) return;
    if (item.type === 'call' && !item.form) {
      const { head } = item;
      const input = item.input.toString();
      const whole = head.kind === 'custom' ? { input } : { arguments: input, name: head.name };
      this.emit(`response.${inputEvent(head)}.done`, { ...this.place(item), ...whole });
    }
    this.emit('response.output_item.done', {
      output_index: this.finished.length,
      item: encodeItem(item, status),
    });
    this.finished.push({ item, status });
    this.item = undefined;
  }
}

function inputEvent({ kind }: CallHead): string {
  return kind === 'custom' ? 'custom_tool_call_input' : 'function_call_arguments';
}
