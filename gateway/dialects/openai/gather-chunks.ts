// Which plain answer do the chunks of an OpenAI-shaped stream make up? Whatever members they have:
// texts and lists are joined, objects merged, of all else the last counts. So what a vendor has added
// is there too.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { flawOfArguments } from '../answer/flaw.ts';
import { looksMax, partsMax } from '../answer/part-writer.ts';
import type { AnswerGatherer } from '../dialect.ts';
import { laterReported, usageIn } from './convert-usage.ts';
import { isFinishReason } from './map-finish-reason.ts';

/** What differs between chat completions and completions. */
interface GatherOptions {
  readonly object: 'chat.completion' | 'text_completion';
  /** A choice in the form of a plain answer, from its merged chunk entries. */
  encodeChoice(choice: JsonRecord): JsonRecord;
}

type Members = Record<string, unknown>;

interface Merging {
  /** Entries looked at for those that pieces go on with. */
  looks: number;
  /** There is too much to look through: what is gathered is no answer. */
  isOverfull: boolean;
}

export function gatherOpenAi(options: GatherOptions): AnswerGatherer {
  const head = noMembers();
  const choices = new Map<number, Members>();
  const merging: Merging = { looks: 0, isOverfull: false };
  return {
    add(chunk) {
      if (merging.isOverfull) return;
      const { choices: entries, ...rest } = chunk;
      const usage = laterReported(head.usage, usageIn(chunk));
      for (const [name, value] of Object.entries({ ...rest, usage })) {
        // The first chunk names the answer; usage and tier are known at the end only.
        if (isEmpty(value) || (firstCounts.has(name) && !isEmpty(head[name]))) continue;
        head[name] = value;
      }
      for (const entry of Array.isArray(entries) ? entries.filter(isRecord) : []) {
        const index = typeof entry.index === 'number' ? entry.index : 0;
        const choice = choices.get(index) ?? noMembers();
        choices.set(index, choice);
        mergeInto(choice, { index, ...entry }, merging);
      }
    },
    answer() {
      if (choices.size === 0 || merging.isOverfull) return undefined;
      const ordered = [...choices].toSorted(([a], [b]) => a - b);
      return {
        ...head,
        object: options.object,
        choices: ordered.map(([, choice]) => options.encodeChoice(choice)),
      };
    },
  };
}

/** An empty text, too, says nothing: some vendors send a first chunk of such. */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || value === 0;
}

const firstCounts: ReadonlySet<string> = new Set(['id', 'created', 'model']);

/** Texts that are said again, not gone on with. */
const saidWhole: ReadonlySet<string> = new Set([
  'finish_reason',
  'format',
  'id',
  'name',
  'role',
  'stop_reason',
  'type',
]);

/** Below it the last counts. Nothing that vendors stream in pieces lies deeper. */
const depthMax = 8;

/** Without a prototype, so that no name of an upstream's means more than its value. */
function noMembers(): Members {
  return Object.create(null);
}

function mergeInto(target: Members, more: JsonRecord, merging: Merging, depth = 0): void {
  for (const [name, value] of Object.entries(more)) {
    const known = target[name];
    if (value === null || value === undefined) target[name] = known ?? null;
    else if (typeof value === 'string' && typeof known === 'string') {
      if (!saidWhole.has(name)) target[name] = known + value;
      else if (value !== '') target[name] = value;
    } else if (depth >= depthMax) target[name] = value;
    else if (Array.isArray(value)) {
      const list: unknown[] = Array.isArray(known) ? known : [];
      for (const entry of value) addEntry(list, entry, name === 'tool_calls', merging, depth + 1);
      target[name] = list;
    } else if (isRecord(value)) {
      const members: Members = isRecord(known) ? known : noMembers();
      mergeInto(members, value, merging, depth + 1);
      target[name] = members;
    } else target[name] = value;
  }
}

/** Entries with an `index` are pieces of the one with that index. */
function addEntry(list: unknown[], entry: unknown, isCall: boolean, merging: Merging, depth: number): void {
  const piece = asRecord(entry);
  if (!piece) {
    list.push(entry);
    return;
  }
  // All others stand for themselves, and there are many: the probabilities of each token.
  const isPiece = isCall || typeof piece.index === 'number';
  merging.isOverfull ||= isPiece && list.length > partsMax;
  if (merging.isOverfull) return;
  const known = isPiece
    ? list.findLast((other): other is Members => {
        merging.looks++;
        return isRecord(other) && isSame(other, piece, isCall);
      })
    : undefined;
  merging.isOverfull ||= merging.looks > looksMax;
  if (known) mergeInto(known, piece, merging, depth);
  else {
    const begun = noMembers();
    mergeInto(begun, piece, merging, depth);
    list.push(begun);
  }
}

/** Some vendors number all calls alike, others not at all: then the id tells where one begins. */
function isSame(known: JsonRecord, piece: JsonRecord, isCall: boolean): boolean {
  if (!isCall) return known.index === piece.index;
  if (piece.index !== undefined && piece.index !== null && known.index !== piece.index) return false;
  return typeof piece.id !== 'string' || piece.id === '' || isEmpty(known.id) || known.id === piece.id;
}

/** Of a list of choices. */
export function flawOfOpenAi(
  { choices }: JsonRecord,
  inputsOf: (choice: JsonRecord) => readonly unknown[],
): string | undefined {
  if (!Array.isArray(choices) || choices.length === 0) return "the answer has no 'choices'";
  for (const choice of choices) {
    if (!isRecord(choice)) return 'a choice of the answer is not an object';
    const { finish_reason: reason } = choice;
    if (!isFinishReason(reason)) return 'a choice of the answer has no finish reason';
    // Cut short by a limit of the caller's, or a filter.
    if (reason === 'length' || reason === 'content_filter') continue;
    for (const input of inputsOf(choice)) {
      const flaw = flawOfArguments(input);
      if (flaw) return flaw;
    }
  }
  return undefined;
}
