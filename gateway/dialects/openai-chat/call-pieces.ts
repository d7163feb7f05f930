// Which tool call does an entry of `tool_calls` belong to? In a plain answer each is one. Streams
// give them in pieces, and providers differ in how they say which piece belongs to which call.
//
//   the same `index`, or without one the same `id`, or without both the latest call: more of it
//   another `id` on a known `index`: a new call (some count every call as 0)
//   another name without an `id` there, or a name again in one list: a new call

/** The known parts of a call so far. */
export interface KnownCall {
  /** Counts from 0 in order of appearance. */
  readonly key: number;
  /** The list it began in. */
  readonly list: number;
  /** Empty until it has come; set by the reader. */
  id: string;
  /** Empty until it has come; set by the reader. */
  name: string;
}

/** An entry of `tool_calls`: the members that identify its call. */
interface CallEntry {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
}

interface Placed<Call> {
  readonly call: Call;
  /** The call that had its place until now, and has ended. */
  readonly ended: Call | undefined;
}

export class CallPieces<Call extends KnownCall> {
  count = 0;
  private readonly isWhole: boolean;
  private readonly begin: (known: Pick<KnownCall, 'key' | 'list'>) => Call;
  private readonly byIndex = new Map<number, Call>();
  private readonly byId = new Map<string, Call>();
  private latest: Call | undefined;
  private list = 0;

  /** @param isWhole A plain answer: no entry is a piece of another. */
  constructor(isWhole: boolean, begin: (known: Pick<KnownCall, 'key' | 'list'>) => Call) {
    this.isWhole = isWhole;
    this.begin = begin;
  }

  /** The entries that follow are of the next message or delta. */
  nextList(): void {
    this.list++;
  }

  /** The call that the entry belongs to, perhaps a new one. */
  place(entry: CallEntry): Placed<Call> {
    const known = this.isWhole ? undefined : this.find(entry);
    if (known && !this.isAnother(known, entry)) return { call: this.note(known, entry), ended: undefined };
    const call = this.begin({ key: this.count++, list: this.list });
    if (entry.index !== undefined) this.byIndex.set(entry.index, call);
    return { call: this.note(call, entry), ended: known };
  }

  private note(call: Call, { id }: CallEntry): Call {
    this.latest = call;
    if (call.id === '' && id !== '') this.byId.set(id, call);
    return call;
  }

  private isAnother(known: Call, { id, name }: CallEntry): boolean {
    if (id !== '') return known.id !== '' && known.id !== id;
    return name !== '' && known.name !== '' && (known.name !== name || known.list === this.list);
  }

  private find({ index, id, name }: CallEntry): Call | undefined {
    if (index !== undefined) return this.byIndex.get(index);
    if (id !== '') return this.byId.get(id);
    // Without index and id, only a name can tell that another call begins.
    return name !== '' && this.latest && this.latest.name !== '' ? undefined : this.latest;
  }
}
