// Our stream parts as the events of a response, from `response.created` to the terminal event. Usage may
// arrive after the end of the answer, so the terminal event waits until the stream is complete.

import type { Usage } from '../../../core/contract/ledger-record.ts';
import type { JsonRecord } from '../../json/record.ts';
import type { ErrorObject } from '../../request/errors.ts';
import type { AnswerHead, PartsEncoder, StreamEncoder } from '../dialect.ts';
import type { StreamPart } from '../stream-part.ts';
import type { AnswerShape } from './encode-answer.ts';
import { estimateUsage } from './encode-answer.ts';
import { encodeFailure, encodeMembers, frame, keepAlive } from './error-body.ts';
import type { ResponseEnd } from './map-finish-reason.ts';
import { OutputItems } from './output-items.ts';
import { buildResponse, type ResponseState } from './response-object.ts';

export function encodeResponsesStream(head: AnswerHead, shape: AnswerShape): StreamEncoder {
  let attempt: ResponseEncoder | undefined;
  return {
    open() {
      attempt = new ResponseEncoder(head, shape);
      return attempt;
    },
    close: () => attempt?.close() ?? '',
  };
}

/** One attempt: nothing of an earlier one was ever sent. */
class ResponseEncoder implements PartsEncoder {
  private readonly head: AnswerHead;
  private readonly shape: AnswerShape;
  private readonly items: OutputItems;
  private frames = '';
  private sequence = 0;
  private hasStarted = false;
  private model: string;
  private usage: Usage | undefined;
  private ended: ResponseEnd = { status: 'completed', reason: null };

  constructor(head: AnswerHead, shape: AnswerShape) {
    this.head = head;
    this.shape = shape;
    this.model = head.model;
    this.items = new OutputItems(head.id, shape, (type, members) => this.emit(type, members));
  }

  get keptBytes(): number {
    return this.items.keptBytes;
  }

  encode(parts: readonly StreamPart[]): string {
    for (const part of parts) this.part(part);
    return this.take();
  }

  readonly errorFrame = (error: ErrorObject): string => {
    this.start();
    return this.take() + encodeFailure(error, this.sequence, (failed) => this.response(failed));
  };

  close(): string {
    this.start();
    this.usage ??= estimateUsage(this.head, this.items.textLength);
    this.emitResponse(`response.${this.ended.status}`, this.ended);
    return this.take();
  }

  private part(part: StreamPart): void {
    // A response holds one answer; upstreams that give more unasked are not worth a broken one.
    if ('choice' in part && part.choice !== 0) return;
    if (part.type === 'ping') {
      this.frames += keepAlive;
      return;
    }
    if (part.type === 'answer-start' && part.model !== '') this.model = part.model;
    if (part.type === 'usage') this.usage = part.usage;
    else this.start();
    switch (part.type) {
      case 'part-start':
        this.items.start(part.head);
        return;
      case 'part-delta':
        this.items.delta(part.text, part.logprobs);
        return;
      case 'part-end':
        this.items.end(part.opaque);
        return;
      case 'choice-end':
        this.ended = this.items.finish(part.finish, part.refusal);
    }
  }

  private start(): void {
    if (this.hasStarted) return;
    this.hasStarted = true;
    this.emitResponse('response.created', { status: 'in_progress' });
    this.emitResponse('response.in_progress', { status: 'in_progress' });
  }

  private response(state: ResponseState): JsonRecord {
    const { model, usage, items } = this;
    const isOver = state.status !== 'in_progress';
    return buildResponse(this.head, this.shape.settings, state, {
      model,
      output: items.output,
      usage: isOver ? usage : undefined,
    });
  }

  private emitResponse(type: string, state: ResponseState): void {
    this.emit(type, encodeMembers({ response: this.response(state) }));
  }

  private emit(type: string, members: string): void {
    this.frames += frame(type, this.sequence++, members);
  }

  private take(): string {
    const { frames } = this;
    this.frames = '';
    return frames;
  }
}
