// The answer of one choice of a stream, as stream parts: opened, filled and ended one after the other, in whatever order the upstream
// sends them. Content of a later part waits until the earlier part has ended. Every decoder writes through this class.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord } from '../../json/record.ts';
import { endOfJson, mendJson, mendText } from '../../json/well-formed.ts';
import type { FinishReason, RefusalDetails } from '../conversation.ts';
import type { AnswerFacts } from '../dialect.ts';
import type { MarkedState } from '../state/opaque.ts';
import type { PartHead, StreamPart } from '../stream-part.ts';
import type { NamedTool, ToolNames } from '../tools/tool-names.ts';
import { uniqueIds } from '../tools/unique-ids.ts';
import { heapBytesOf, KeptText } from './kept.ts';
import { checkCallsAreWhole, failMalformed } from './malformed.ts';
import { ObjectEnd } from './object-end.ts';

/**
 * Calls of one choice, and parts of it that are open or wait for one that is: each is looked for in lists, and kept. Models call
 * a few tools at once, at most some tens; an answer with more than this is malformed.
 */
export const partsMax = 1_000;

/**
 * How many entries of such a list may be compared over a whole answer, to find the part that a piece continues. The search begins at
 * the last entry, which is nearly always the right one.
 */
export const looksMax = 10_000 * partsMax;

/** Memory for a kept piece, beside its text. */
export const pieceBytes = 64;

export type TextKind = 'text' | 'refusal' | 'thinking';

interface WaitingPart {
  readonly head: PartHead;
  readonly tool: NamedTool | undefined;
  readonly waiting: { readonly text: string; readonly logprobs: readonly unknown[] | undefined }[];
  /** Bytes of waiting text, of the part's state, and of input to be unwrapped. */
  keptBytes: number;
  hasInput: boolean;
  /** The end of what came, where it may be half a character; with the probabilities of its tokens. */
  half: { readonly text: string; readonly logprobs: readonly unknown[] | undefined } | undefined;
  /** Input that can be unwrapped only as a whole. */
  wrapped: KeptText | undefined;
  /** Finds the end of an object input; absent if only the upstream knows the end. */
  readonly inputEnd: ObjectEnd | undefined;
  /** Nothing that could still come belongs to it. */
  isWhole: boolean;
  isEnded: boolean;
  opaque: MarkedState | undefined;
}

export class PartWriter {
  /** A tool was called. */
  hasCalls = false;
  private readonly facts: AnswerFacts;
  private readonly names: ToolNames;
  private readonly choice: number;
  private readonly parts: StreamPart[];
  /** Not yet ended for the reader; the first of them is being written. */
  private readonly queue: WaitingPart[] = [];
  private readonly calls = new Map<string | number, WaitingPart>();
  private readonly uniqueId = uniqueIds();
  /** Of the first part in the queue. */
  private index = 0;
  private isFirstOpen = false;
  private hasEnded = false;
  private callCount = 0;

  /** @param parts What is written goes in here, among what others put in. */
  constructor(facts: AnswerFacts, names: ToolNames, choice = 0, parts: StreamPart[] = []) {
    this.facts = facts;
    this.names = names;
    this.choice = choice;
    this.parts = parts;
  }

  /** The parts written since the last call. */
  take(): readonly StreamPart[] {
    return this.parts.splice(0);
  }

  /** Nothing more is taken. */
  get isClosed(): boolean {
    return this.hasEnded || this.facts.fault !== undefined;
  }

  /** Another one of a list that is kept of this choice; no list is longer than `partsMax`. */
  checkCount(count: number): void {
    if (count > partsMax)
      failMalformed(this.facts, `the answer has more than ${partsMax} tool calls or parts at once`);
  }

  /** Entries checked in all searches of one kind; see `looksMax`. */
  checkLooks(looks: number): void {
    if (looks > looksMax) failMalformed(this.facts, 'the parts of the answer are out of order');
  }

  /** Adds to the bytes kept of this choice for later (below 0: subtracts). */
  keep(bytes: number): void {
    this.facts.keptBytes += bytes;
  }

  /** Text continues the last part if that is open and of its kind; otherwise a new part begins. Empty text is ignored. */
  text(kind: TextKind, text: string, logprobs?: readonly unknown[]): void {
    if (text === '' || this.isClosed) return;
    this.facts.hasContent = true;
    this.facts.outputEstimate++;
    const last = this.queue.at(-1);
    const part = last && !last.isEnded && last.head.type === kind ? last : this.begin({ type: kind });
    this.piece(part, text, logprobs);
  }

  /** Begins a text part that may stay empty: thinking that is not shown. */
  open(kind: TextKind): void {
    if (this.isClosed) return;
    this.begin({ type: kind });
    this.flush();
  }

  /** Ends the last part where it is text of some kind. */
  close(opaque?: MarkedState): void {
    const last = this.queue.at(-1);
    if (!last || last.isEnded || last.head.type === 'tool-call') return;
    if (opaque) {
      last.opaque = opaque;
      this.keepFor(last, heapBytesOf(opaque));
    }
    endOf(last);
    this.flush();
  }

  /**
   * Begins a call.
   *
   * @param key What the upstream knows it by in this answer.
   */
  call(
    key: string | number,
    wire: { readonly id: string; readonly name: string; readonly namespace?: string | undefined },
  ): void {
    this.checkCount(this.callCount + 1);
    if (this.isClosed) return;
    this.callCount++;
    this.facts.hasContent = true;
    this.facts.outputEstimate++;
    this.hasCalls = true;
    const tool = this.names.toolOf(wire.name, wire.namespace);
    const { name, namespace, kind } = tool;
    this.keep(heapBytesOf(wire.id) + heapBytesOf(wire.name));
    // Some upstreams number the calls of an answer all alike.
    const id = wire.id === '' ? '' : this.uniqueId(wire.id);
    const head = { type: 'tool-call', id, name, kind } as const;
    this.calls.set(key, this.begin(namespace === undefined ? head : { ...head, namespace }, tool));
    this.flush();
  }

  /** More of the input of a call that has begun. */
  callInput(key: string | number, text: string): void {
    const part = this.calls.get(key);
    if (text === '' || !part || part.isEnded || this.isClosed) return;
    checkCallsAreWhole(this.facts);
    this.facts.outputEstimate++;
    part.hasInput = true;
    if (part.wrapped) {
      part.wrapped.add(text);
      this.keepFor(part, heapBytesOf(text));
    } else this.piece(part, text, undefined);
    noteEnd(part, text);
    // Another part has begun after it.
    if (part.isWhole && part !== this.queue.at(-1)) endOf(part);
    this.flush();
  }

  /** Whether any input of this call has come. */
  hasInput(key: string | number): boolean {
    return this.calls.get(key)?.hasInput === true;
  }

  endCall(key: string | number): void {
    const part = this.calls.get(key);
    if (!part || part.isEnded) return;
    endOf(part);
    this.flush();
  }

  /** Ends all parts, then the choice. Only the first call counts. */
  end(
    finish: FinishReason,
    more: {
      readonly isAssumed?: boolean;
      readonly stopSequence?: string | undefined;
      readonly refusal?: RefusalDetails | undefined;
    } = {},
  ): void {
    if (this.hasEnded) return;
    if (this.hasCalls) checkCallsAreWhole(this.facts);
    for (const part of this.queue) endOf(part);
    this.flush();
    this.hasEnded = true;
    this.parts.push({
      type: 'choice-end',
      choice: this.choice,
      // Some upstreams say `stop` where tools were called; cut short is cut short.
      finish: this.hasCalls && finish === 'stop' ? 'tool-calls' : finish,
      ...(more.isAssumed ? { isAssumed: true } : {}),
      ...(more.stopSequence === undefined ? {} : { stopSequence: more.stopSequence }),
      ...(more.refusal === undefined ? {} : { refusal: more.refusal }),
    });
  }

  /** A new part ends those before it, but for calls whose input is not whole yet. */
  private begin(head: PartHead, tool?: NamedTool): WaitingPart {
    const last = this.queue.at(-1);
    if (last?.isWhole) endOf(last);
    const part = {
      head,
      tool,
      waiting: [],
      keptBytes: 0,
      hasInput: false,
      half: undefined,
      wrapped: tool?.isWrapped ? new KeptText() : undefined,
      inputEnd: tool?.kind === 'function' || tool?.isWrapped ? new ObjectEnd() : undefined,
      isWhole: head.type !== 'tool-call',
      isEnded: false,
      opaque: undefined,
    };
    this.queue.push(part);
    this.checkCount(this.queue.length);
    return part;
  }

  /** A surrogate pair may be split between two pieces: its first half waits for the second. */
  private piece(part: WaitingPart, text: string, logprobs: readonly unknown[] | undefined): void {
    const { half } = part;
    const isJson = part.head.type === 'tool-call' && part.head.kind === 'function';
    if (!half && text.isWellFormed() && !(isJson && text.includes('\\'))) {
      this.write(part, text, logprobs);
      return;
    }
    const mend = isJson ? mendJson : mendText;
    const mended = mend(half ? half.text + text : text);
    const tokens = half?.logprobs ? [...half.logprobs, ...(logprobs ?? [])] : logprobs;
    part.half = mended.rest === '' ? undefined : { text: mended.rest, logprobs: undefined };
    if (mended.text !== '') this.write(part, mended.text, tokens);
    else if (part.half) {
      part.half = { ...part.half, logprobs: tokens };
      this.flush();
    }
  }

  /** At once where the part is open; else it waits. */
  private write(part: WaitingPart, text: string, logprobs: readonly unknown[] | undefined): void {
    if (this.isFirstOpen && part === this.queue[0]) {
      this.delta(text, logprobs);
      return;
    }
    part.waiting.push({ text, logprobs });
    this.keepFor(part, pieceBytes + heapBytesOf(text) + heapBytesOf(logprobs));
    this.flush();
  }

  /** Until the part has been written. */
  private keepFor(part: WaitingPart, bytes: number): void {
    part.keptBytes += bytes;
    this.keep(bytes);
  }

  private flush(): void {
    const { choice } = this;
    for (let [first] = this.queue; first; [first] = this.queue) {
      if (!this.isFirstOpen) {
        this.isFirstOpen = true;
        this.parts.push({ type: 'part-start', choice, index: this.index, head: first.head });
      }
      for (const { text, logprobs } of first.waiting.splice(0)) this.delta(text, logprobs);
      if (!first.wrapped) {
        this.keep(-first.keptBytes);
        first.keptBytes = 0;
      }
      if (!first.isEnded) return;
      const { opaque } = first;
      const end = { type: 'part-end', choice, index: this.index } as const;
      this.parts.push(opaque ? { ...end, opaque } : end);
      this.queue.shift();
      this.index++;
      this.isFirstOpen = false;
    }
  }

  private delta(text: string, logprobs: readonly unknown[] | undefined): void {
    const delta = { type: 'part-delta', choice: this.choice, index: this.index, text } as const;
    this.parts.push(logprobs ? { ...delta, logprobs } : delta);
  }
}

/** Checked once, at the end of the object: later text cannot change it. */
function noteEnd(part: WaitingPart, text: string): void {
  const { inputEnd, wrapped } = part;
  if (!inputEnd || inputEnd.isReached) return;
  inputEnd.feed(text);
  // An answer that a model did not wrap is text, and may continue after a brace.
  if (inputEnd.isReached) part.isWhole = !wrapped || asRecord(parseJson(wrapped.toString())) !== undefined;
}

function endOf(part: WaitingPart): void {
  if (part.isEnded) return;
  part.isEnded = true;
  if (part.half) part.waiting.push({ ...part.half, text: endOfJson(part.half.text) });
  if (part.head.type !== 'tool-call' || !part.tool) return;
  const { wrapped } = part;
  part.wrapped = undefined;
  if (part.hasInput && !wrapped) return;
  // A call without input must become `{}`.
  const whole = wholeInput(part.tool, wrapped?.toString() ?? '').toWellFormed();
  if (whole !== '') part.waiting.push({ text: whole, logprobs: undefined });
}

/** The input of a call as the client's dialect means it, from all of what the upstream gave. */
export function wholeInput({ kind, isWrapped }: NamedTool, input: string): string {
  if (kind === 'function') return input.trim() === '' ? '{}' : input;
  if (!isWrapped) return input;
  const wrapped = asRecord(parseJson(input));
  if (wrapped && typeof wrapped.input === 'string') return wrapped.input;
  // A model that did not keep to the wrapping has written the text itself.
  return input;
}
