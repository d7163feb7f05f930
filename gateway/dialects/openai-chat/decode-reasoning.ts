// What did the model think, and what does its provider want back? Chat completions have no standard
// for it: `reasoning_content` (DeepSeek, xAI, vLLM, SGLang), `reasoning` (Groq, OpenRouter),
// `reasoning_details` (OpenRouter), `thinking_blocks` (LiteLLM). Text that comes in two spellings at
// once is read once.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { heapBytesOf, KeptText } from '../answer/kept.ts';
import type { PartWriter } from '../answer/part-writer.ts';
import type { MarkedState } from '../state/opaque.ts';

const spellings = ['reasoning_content', 'reasoning', 'reasoning_details', 'thinking_blocks'] as const;

/** Members of an entry that stream in pieces. */
const piecewise = ['text', 'summary', 'thinking', 'data'] as const;

/** Types of entries whose pieces may come without an index: they go on until they are signed. */
const unnumbered = ['reasoning.text', 'reasoning.summary', 'thinking'];

/** Of one entry; its own, as what an event holds is read until the next only. */
type Members = Map<string, unknown>;

export class ReasoningReader {
  private readonly writer: PartWriter;
  private readonly origin: string;
  /** What the provider wants back; whole when thinking ends. */
  private readonly entries: Members[] = [];
  /** Of those. */
  private keptBytes = 0;
  /** Entries looked at for those that pieces go on with. */
  private looks = 0;
  /** Thinking that is shown has not ended yet. */
  private isShown = false;

  constructor(writer: PartWriter, origin: string) {
    this.writer = writer;
    this.origin = origin;
  }

  read(message: JsonRecord): void {
    // Most deltas hold text alone.
    if (!hasReasoning(message)) return;
    const details = recordsOf(message.reasoning_details);
    const blocks = recordsOf(message.thinking_blocks);
    const before = this.entries.length;
    for (const entry of [...details, ...blocks]) {
      if (this.writer.isClosed) return;
      this.add(entry, before);
    }
    const text =
      textOf(message.reasoning_content) ||
      textOf(message.reasoning) ||
      details.map(({ text, summary }) => textOf(text) || textOf(summary)).join('') ||
      blocks.map(({ thinking }) => textOf(thinking)).join('');
    this.show(text);
  }

  /** Thinking that anybody may see. */
  show(text: string): void {
    if (text === '') return;
    this.isShown = true;
    this.writer.text('thinking', text);
  }

  /** What the provider wants back, beside all that was thought. */
  keep(value: JsonRecord): void {
    this.writer.open('thinking');
    this.writer.close(this.marked(value));
  }

  /** Thinking ends here: the first entry goes with the text that was shown, the others stand alone. */
  close(): void {
    if (this.entries.length === 0) {
      this.isShown = false;
      return;
    }
    for (const members of this.entries.splice(0)) {
      if (!this.isShown) this.writer.open('thinking');
      this.isShown = false;
      this.writer.close(this.marked(recordOf(members)));
    }
    this.isShown = false;
    this.count(-this.keptBytes);
  }

  private marked(value: JsonRecord): MarkedState {
    return { origin: this.origin, state: { kind: 'details', value } };
  }

  /** @param before Entries there were before this message: those of one list are never pieces of each other. */
  private add(entry: JsonRecord, before: number): void {
    let at = before - 1;
    while (at >= 0 && !isSame(this.entries[at], entry)) at--;
    this.looks += before - at;
    this.writer.checkLooks(this.looks);
    const known = this.entries[at];
    const members: Members = known ?? new Map();
    if (!known) this.entries.push(members);
    this.mergeInto(members, entry);
    this.writer.checkCount(this.entries.length);
  }

  private mergeInto(known: Members, more: JsonRecord): void {
    for (const [name, value] of Object.entries(more)) {
      const before = known.get(name);
      if (value === before || (before !== undefined && (value === null || value === undefined))) continue;
      this.count(heapBytesOf(value));
      if (typeof value === 'string' && piecewise.some((piece) => piece === name)) {
        const text = before instanceof KeptText ? before : new KeptText();
        text.add(value);
        known.set(name, text);
      } else known.set(name, value);
    }
  }

  private count(bytes: number): void {
    this.keptBytes += bytes;
    this.writer.keep(bytes);
  }
}

function hasReasoning(message: JsonRecord): boolean {
  for (const name of spellings) if (message[name] !== undefined) return true;
  return false;
}

function isSame(known: Members | undefined, more: JsonRecord): boolean {
  if (!known || known.get('type') !== more.type) return false;
  if (typeof more.index === 'number') return known.get('index') === more.index;
  return unnumbered.some((type) => type === more.type) && typeof known.get('signature') !== 'string';
}

function recordOf(members: Members): JsonRecord {
  return Object.fromEntries(
    [...members].map(([name, value]) => [name, value instanceof KeptText ? value.toString() : value]),
  );
}

function recordsOf(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** An object here is a provider's own idea of text. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const { text, content } = asRecord(value) ?? {};
  return typeof text === 'string' ? text : typeof content === 'string' ? content : '';
}
