// Our stream parts as the events of a message: blocks one after the other, each of the type its
// part has, and one end.
//
//   message_start (content_block_start content_block_delta* content_block_stop)* message_delta message_stop
//
// The start is held back until there is content: until then the answer may still fail with an HTTP status. The end waits for the last
// usage, which some upstreams send after the finish reason.

import type { Usage } from '../../../core/contract/ledger-record.ts';
import { estimateTokensOfLength } from '../answer/estimate-tokens.ts';
import type { AnswerHead, PartsEncoder, StreamEncoder } from '../dialect.ts';
import { belongsTo, isCallState, packCallId } from '../state/call-state.ts';
import { type MarkedState, packOpaque } from '../state/opaque.ts';
import type { PartHead, StreamPart } from '../stream-part.ts';
import { giveCallIds } from './call-ids.ts';
import { encodeMessagesUsage } from './convert-usage.ts';
import { type Ending, encodeEnding } from './map-finish-reason.ts';

export const pingFrame = 'event: ping\ndata: {"type":"ping"}\n\n';

export function encodeMessagesStream(head: AnswerHead): StreamEncoder {
  let attempt: MessageEncoder | undefined;
  return {
    open() {
      attempt = new MessageEncoder(head);
      return attempt;
    },
    close: () => attempt?.close() ?? '',
  };
}

/** One attempt at the answer. */
class MessageEncoder implements PartsEncoder {
  private readonly head: AnswerHead;
  private readonly callId: (upstreamId: string) => string;
  private model: string;
  private usage: Usage | undefined;
  /** Length of all text, for upstreams that report no tokens. */
  private outputLength = 0;
  private ending: Ending | undefined;
  private hasStarted = false;
  private hasCalls = false;
  private hasRefusal = false;
  /** Of the open block, or of the next one. */
  private index = 0;
  /** Type of the open part, and so of its deltas. */
  private part: PartHead['type'] | undefined;
  private isBlockOpen = false;
  /** The last part was text. */
  private isBehindText = false;
  /** Belongs to the call that follows or to an earlier one; not known yet. */
  private callState: MarkedState | undefined;
  /** A bare signature of the text before: at the end nothing needs one, and clients such as Claude Code show the last block alone. */
  private textState: MarkedState | undefined;

  constructor(head: AnswerHead) {
    this.head = head;
    this.model = head.model;
    this.callId = giveCallIds(head.id);
  }

  encode(parts: readonly StreamPart[]): string {
    let text = '';
    for (const part of parts) text += this.one(part);
    return text;
  }

  /** Everything has come. */
  close(): string {
    const usage = encodeMessagesUsage(
      this.usage,
      this.head.inputEstimate,
      estimateTokensOfLength(this.outputLength),
    );
    const delta = encodeEnding(this.ending ?? { finish: 'stop' }, {
      hasCalls: this.hasCalls,
      hasRefusal: this.hasRefusal,
    });
    this.textState = undefined;
    return (
      this.start() +
      this.heldState() +
      this.end() +
      frame('message_delta', { delta, usage }) +
      frame('message_stop', {})
    );
  }

  private one(part: StreamPart): string {
    // Other choices have no place in a message.
    if ('choice' in part && part.choice !== 0) return '';
    switch (part.type) {
      case 'answer-start':
        if (part.model !== '') this.model = part.model;
        return '';
      case 'usage':
        this.usage = part.usage;
        return '';
      case 'ping':
        return this.hasStarted ? pingFrame : '';
      case 'part-start':
        return this.begin(part.head);
      case 'part-delta':
        this.outputLength += part.text.length;
        return this.delta(part.text);
      case 'part-end':
        return this.finish(part.opaque);
      case 'choice-end':
        this.ending = part;
        return '';
    }
  }

  private start(): string {
    if (this.hasStarted) return '';
    this.hasStarted = true;
    const message = {
      id: `msg_${this.head.id}`,
      type: 'message',
      role: 'assistant',
      model: this.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      // If the true values are not known yet, they come at the end. Some clients read the input here alone, and shorten a
      // conversation by it.
      usage: encodeMessagesUsage(this.usage, this.head.inputEstimate, 0),
    };
    return frame('message_start', { message });
  }

  private begin(head: PartHead): string {
    this.part = head.type;
    if (head.type === 'refusal') this.hasRefusal = true;
    if (head.type !== 'tool-call') return this.heldState();
    this.hasCalls = true;
    const { callState } = this;
    const isOwn = belongsTo(callState, head.id);
    if (isOwn) this.callState = undefined;
    const held = this.heldState();
    const plainId = this.callId(head.id);
    const id = isOwn ? packCallId(plainId, callState) : plainId;
    return held + this.block({ type: 'tool_use', id, name: head.name, input: {} });
  }

  private heldState(): string {
    const { textState, callState } = this;
    this.textState = undefined;
    this.callState = undefined;
    return this.stateBlock(textState) + this.stateBlock(callState);
  }

  private stateBlock(state: MarkedState | undefined): string {
    return state ? this.state(state) + this.end() : '';
  }

  private delta(text: string): string {
    switch (this.part) {
      case undefined:
        return '';
      case 'tool-call':
        return this.blockDelta('input_json_delta', 'partial_json', text);
      case 'thinking':
        return this.thinking() + this.blockDelta('thinking_delta', 'thinking', text);
      case 'text':
      case 'refusal': {
        const start = this.isBlockOpen ? '' : this.block({ type: 'text', text: '', citations: null });
        return start + this.blockDelta('text_delta', 'text', text);
      }
    }
  }

  /** Opens the block unless it is open: hidden thinking has no delta that would open it. */
  private thinking(): string {
    return this.isBlockOpen ? '' : this.block({ type: 'thinking', thinking: '', signature: '' });
  }

  private finish(opaque: MarkedState | undefined): string {
    const isThinking = this.part === 'thinking';
    const { isBehindText } = this;
    this.isBehindText = this.part === 'text';
    this.part = undefined;
    if (isThinking && !this.isBlockOpen && isCallState(opaque?.state.value)) {
      const held = this.heldState();
      this.callState = opaque;
      return held;
    }
    if (isThinking && !this.isBlockOpen && isBehindText && opaque?.state.kind === 'signature') {
      this.textState = opaque;
      return '';
    }
    return (isThinking ? this.state(opaque) : '') + this.end();
  }

  /** The state travels where this dialect has its own: the block comes back with it. */
  private state(opaque: MarkedState | undefined): string {
    if (opaque?.origin === undefined) return '';
    const packed = packOpaque(opaque.origin, opaque.state);
    if (!this.isBlockOpen && opaque.state.kind === 'redacted') {
      return this.block({ type: 'redacted_thinking', data: packed });
    }
    return this.thinking() + this.blockDelta('signature_delta', 'signature', packed);
  }

  private block(block: unknown): string {
    const start = this.start();
    this.isBlockOpen = true;
    return start + frame('content_block_start', { index: this.index, content_block: block });
  }

  /** Most of a stream is made of these: a template costs half of encoding the event as a whole. */
  private blockDelta(type: string, member: string, text: string): string {
    const delta = `{"type":"${type}","${member}":${JSON.stringify(text)}}`;
    return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.index},"delta":${delta}}\n\n`;
  }

  private end(): string {
    if (!this.isBlockOpen) return '';
    this.isBlockOpen = false;
    const index = this.index++;
    return frame('content_block_stop', { index });
  }
}

function frame(type: string, members: Readonly<Record<string, unknown>>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}
