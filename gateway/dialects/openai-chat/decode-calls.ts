// Which tool calls do the entries of `tool_calls` make up? Streams give them in pieces, and
// providers differ in how they say which piece belongs to which call.
//
//   the same `index`, or without one the same `id`, or without both the latest call: more of it
//   another `id` on a known `index`: a new call (some count every call as 0)

import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { PartWriter } from '../answer/part-writer.ts';

interface OpenCall {
  /** Counts from 0 in order of appearance. */
  readonly key: number;
  id: string;
  /** Its name has come, and the reader knows of it. */
  isNamed: boolean;
  /** Input that came before the name; a call that never gets one cannot be made. */
  held: string;
}

export class CallReader {
  private readonly writer: PartWriter;
  private readonly byIndex = new Map<number, OpenCall>();
  private readonly byId = new Map<string, OpenCall>();
  private latest: OpenCall | undefined;
  private count = 0;

  constructor(writer: PartWriter) {
    this.writer = writer;
  }

  read(entry: JsonRecord): void {
    const id = textOf(entry.id);
    const tool = asRecord(entry.function) ?? asRecord(entry.custom) ?? {};
    const name = textOf(tool.name);
    const call = this.callOf(typeof entry.index === 'number' ? entry.index : undefined, id, name);
    if (call.id === '') this.identify(call, id);
    this.latest = call;
    const input = inputOf(tool.arguments ?? tool.input);
    if (!call.isNamed && name === '') {
      call.held += input;
      return;
    }
    if (!call.isNamed) {
      call.isNamed = true;
      this.writer.call(call.key, { id: call.id, name });
      this.writer.callInput(call.key, call.held);
    }
    this.writer.callInput(call.key, input);
  }

  private callOf(index: number | undefined, id: string, name: string): OpenCall {
    const known = this.find(index, id, name);
    if (known && (id === '' || known.id === '' || known.id === id)) return known;
    if (known) this.writer.endCall(known.key);
    const call: OpenCall = { key: this.count++, id: '', isNamed: false, held: '' };
    if (index !== undefined) this.byIndex.set(index, call);
    return call;
  }

  private find(index: number | undefined, id: string, name: string): OpenCall | undefined {
    if (index !== undefined) return this.byIndex.get(index);
    if (id !== '') return this.byId.get(id);
    // Without index and id, only a name can tell that another call begins.
    return name !== '' && this.latest?.isNamed ? undefined : this.latest;
  }

  private identify(call: OpenCall, id: string): void {
    if (id === '') return;
    call.id = id;
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
