// Which members that clients rely on does a choice of a chat completion lack? The id of a call, the index of the call in a piece of
// it, the `delta` of a chunk.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { partsMax } from '../answer/part-writer.ts';
import type { AnswerHead } from '../dialect.ts';
import type { ChoiceRepair } from '../openai/repair.ts';
import { uniqueIds } from '../tools/unique-ids.ts';
import { CallPieces, type KnownCall } from './call-pieces.ts';
import { mintCallId } from './encode-answer.ts';

interface RepairedCall extends KnownCall {
  /** What clients know it by. */
  shownId: string;
  index: number | undefined;
}

export class ChatChoiceRepair implements ChoiceRepair {
  readonly emptyPiece = { delta: {} };
  private readonly member: 'message' | 'delta';
  private readonly choice: number;
  private readonly head: () => AnswerHead;
  /** Made for the first call; most choices have none. */
  private known: KnownCalls | undefined;
  private usesFunctions = false;

  /** @param member Where a choice says what it holds: plain answers and chunks differ in it. */
  constructor(member: 'message' | 'delta', choice: number, head: () => AnswerHead) {
    this.member = member;
    this.choice = choice;
    this.head = head;
  }

  get endReason(): string {
    if (this.usesFunctions) return 'function_call';
    return this.count > 0 ? 'tool_calls' : 'stop';
  }

  private get count(): number {
    return this.known?.calls.count ?? 0;
  }

  sound(choice: JsonRecord): JsonRecord {
    const { message, delta, ...rest } = choice;
    const own = asRecord(this.member === 'delta' ? delta : message);
    // A plain answer as an event of a stream, or a chunk as a plain answer.
    const said = own ?? asRecord(message) ?? asRecord(delta) ?? {};
    if (isRecord(said.function_call)) this.usesFunctions = true;
    const calls = this.soundCalls(said.tool_calls);
    const isSame = calls === said.tool_calls;
    // Google's servers say `stop` at the end of streams that call tools, and agents end there (googleapis/python-genai#2868).
    const isCalling = this.member === 'delta' && choice.finish_reason === 'stop' && this.endReason !== 'stop';
    if (isSame && own && !isCalling) return choice;
    return {
      ...rest,
      [this.member]: isSame ? said : { ...said, tool_calls: calls },
      ...(isCalling ? { finish_reason: this.endReason } : {}),
    };
  }

  private soundCalls(entries: unknown): unknown {
    // No client can use this many calls; memory for them is bounded.
    if (!Array.isArray(entries) || entries.length === 0 || this.count > partsMax) return entries;
    this.known ??= openCalls(this.member === 'message');
    const { known } = this;
    known.calls.nextList();
    const sound = entries.map((entry) => (isRecord(entry) ? this.soundCall(entry, known) : entry));
    return sound.some((entry, at) => entry !== entries[at]) ? sound : entries;
  }

  private soundCall(entry: JsonRecord, { calls, uniqueId, indexes }: KnownCalls): JsonRecord {
    const { index, id, type, function: called, custom } = entry;
    const tool = asRecord(called) ?? asRecord(custom) ?? {};
    const { call } = calls.place({
      index: typeof index === 'number' ? index : undefined,
      id: textOf(id),
      name: textOf(tool.name),
    });
    const isFirst = call.shownId === '';
    if (isFirst) {
      call.shownId = uniqueId(textOf(id) || mintCallId(this.head(), this.choice, call.key));
      call.index = indexFor(index, indexes);
    }
    call.id ||= textOf(id);
    call.name ||= textOf(tool.name);
    const changes: Record<string, unknown> = {};
    if (this.member === 'delta' && index !== call.index) changes.index = call.index;
    // Later pieces may leave it out.
    if (isFirst ? id !== call.shownId : textOf(id) !== '' && id !== call.shownId) changes.id = call.shownId;
    if (isFirst && textOf(type) === '') changes.type = isRecord(custom) ? 'custom' : 'function';
    if (isRecord(called) && isRecord(called.arguments)) {
      changes.function = { ...called, arguments: JSON.stringify(called.arguments) };
    }
    for (const _ in changes) return { ...entry, ...changes };
    return entry;
  }
}

interface KnownCalls {
  readonly calls: CallPieces<RepairedCall>;
  readonly uniqueId: (id: string) => string;
  readonly indexes: Set<number>;
}

function openCalls(isWhole: boolean): KnownCalls {
  const calls = new CallPieces<RepairedCall>(isWhole, (known) => ({
    ...known,
    id: '',
    name: '',
    shownId: '',
    index: undefined,
  }));
  return { calls, uniqueId: uniqueIds(), indexes: new Set() };
}

/** The upstream's own number, unless another call has it. */
function indexFor(reported: unknown, indexes: Set<number>): number {
  const isOwn = typeof reported === 'number' && !indexes.has(reported);
  const index = isOwn ? reported : indexes.size === 0 ? 0 : Math.max(...indexes) + 1;
  indexes.add(index);
  return index;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
