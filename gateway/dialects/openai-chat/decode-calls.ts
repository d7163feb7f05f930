// Which tool calls do the entries of `tool_calls` make up, as parts of the answer?

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { heapBytesOf, KeptText } from '../answer/kept.ts';
import type { PartWriter } from '../answer/part-writer.ts';
import { stateOfCall } from '../state/call-state.ts';
import { CallPieces, type KnownCall } from './call-pieces.ts';

interface OpenCall extends KnownCall {
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
  private readonly pieces: CallPieces<OpenCall>;

  constructor(writer: PartWriter, reading: CallReading) {
    this.writer = writer;
    this.reading = reading;
    // A call is passed on once its name has arrived.
    this.pieces = new CallPieces(reading.isWhole, (known) => ({
      ...known,
      id: '',
      name: '',
      held: undefined,
      extra: undefined,
      isExtraGiven: false,
    }));
  }

  /** The entries of one message or delta. */
  read(entries: readonly JsonRecord[]): void {
    this.pieces.nextList();
    for (const entry of entries) {
      if (this.writer.isClosed) return;
      this.entry(entry);
    }
  }

  private entry(entry: JsonRecord): void {
    const id = textOf(entry.id);
    const tool = asRecord(entry.function) ?? asRecord(entry.custom) ?? {};
    const name = textOf(tool.name);
    const index = typeof entry.index === 'number' ? entry.index : undefined;
    const { call, ended } = this.pieces.place({ index, id, name });
    if (ended) this.writer.endCall(ended.key);
    this.writer.checkCount(this.pieces.count);
    if (call.id === '' && id !== '') {
      call.id = id;
      this.writer.keep(heapBytesOf(id));
    }
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
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A few providers give arguments as the object they are. */
function inputOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return asRecord(value) ? JSON.stringify(value) : '';
}
