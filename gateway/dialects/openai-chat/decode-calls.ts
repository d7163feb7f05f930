// Which tool calls do the entries of `tool_calls` make up? In a plain answer each is one. Streams
// give them in pieces, and providers differ in how they say which piece belongs to which call.
//
//   the same `index`, or without one the same `id`, or without both the latest call: more of it
//   another `id` on a known `index`: a new call (some count every call as 0)
//   another name without an `id` there, or a name again in one list: a new call

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { heapBytesOf, KeptText } from '../answer/kept.ts';
import type { PartWriter } from '../answer/part-writer.ts';
import { stateOfCall } from './extra-content.ts';

interface OpenCall {
  /** Counts from 0 in order of appearance. */
  readonly key: number;
  /** The list it began in. */
  readonly list: number;
  id: string;
  /** Empty until it has come; only then the reader knows of the call. */
  name: string;
  /** Input that came before the name; a call that never gets one cannot be made. */
  held: KeptText | undefined;
  /** What its provider wants back with it; the first counts, as some repeat it on every piece. */
  extra: JsonRecord | undefined;
  isExtraGiven: boolean;
}

interface CallReading {
  /** A plain answer: no entry is a piece of another. */
  readonly isWhole: boolean;
  /** Keeps what the provider wants back, at the place that has been reached. */
  keep(state: JsonRecord): void;
}

export class CallReader {
  private readonly writer: PartWriter;
  private readonly reading: CallReading;
  private readonly byIndex = new Map<number, OpenCall>();
  private readonly byId = new Map<string, OpenCall>();
  private latest: OpenCall | undefined;
  private count = 0;
  private list = 0;

  constructor(writer: PartWriter, reading: CallReading) {
    this.writer = writer;
    this.reading = reading;
  }

  /** The entries of one message or delta. */
  read(entries: readonly JsonRecord[]): void {
    this.list++;
    for (const entry of entries) {
      if (this.writer.isClosed) return;
      this.entry(entry);
    }
  }

  private entry(entry: JsonRecord): void {
    const id = textOf(entry.id);
    const tool = asRecord(entry.function) ?? asRecord(entry.custom) ?? {};
    const name = textOf(tool.name);
    const call = this.callOf(typeof entry.index === 'number' ? entry.index : undefined, id, name);
    if (call.id === '') this.identify(call, id);
    this.latest = call;
    if (!call.extra && isRecord(entry.extra_content)) {
      call.extra = entry.extra_content;
      this.writer.keep(heapBytesOf(call.extra));
    }
    const input = inputOf(tool.arguments ?? tool.input);
    if (call.name === '' && name === '') {
      call.held ??= new KeptText();
      call.held.add(input);
      this.writer.keep(heapBytesOf(input));
      return;
    }
    this.keepExtra(call);
    if (call.name === '') {
      call.name = name;
      this.writer.call(call.key, { id: call.id, name });
      const held = call.held?.toString() ?? '';
      call.held = undefined;
      this.writer.keep(-heapBytesOf(held));
      this.writer.callInput(call.key, held);
    }
    this.writer.callInput(call.key, input);
  }

  private keepExtra(call: OpenCall): void {
    if (!call.extra || call.isExtraGiven) return;
    call.isExtraGiven = true;
    this.reading.keep(stateOfCall(call.id, call.extra));
  }

  private callOf(index: number | undefined, id: string, name: string): OpenCall {
    const known = this.reading.isWhole ? undefined : this.find(index, id, name);
    if (known && !this.isAnother(known, id, name)) return known;
    if (known) this.writer.endCall(known.key);
    const { list } = this;
    const call = {
      key: this.count++,
      list,
      id: '',
      name: '',
      held: undefined,
      extra: undefined,
      isExtraGiven: false,
    };
    this.writer.checkCount(this.count);
    if (index !== undefined) this.byIndex.set(index, call);
    return call;
  }

  private isAnother(known: OpenCall, id: string, name: string): boolean {
    if (id !== '') return known.id !== '' && known.id !== id;
    return name !== '' && known.name !== '' && (known.name !== name || known.list === this.list);
  }

  private find(index: number | undefined, id: string, name: string): OpenCall | undefined {
    if (index !== undefined) return this.byIndex.get(index);
    if (id !== '') return this.byId.get(id);
    // Without index and id, only a name can tell that another call begins.
    return name !== '' && this.latest && this.latest.name !== '' ? undefined : this.latest;
  }

  private identify(call: OpenCall, id: string): void {
    if (id === '') return;
    call.id = id;
    this.writer.keep(heapBytesOf(id));
    this.byId.set(id, call);
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A few providers give arguments as the object they are. */
function inputOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return asRecord(value) ? JSON.stringify(value) : '';
}
