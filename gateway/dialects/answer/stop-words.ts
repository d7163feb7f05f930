// Of which stop sequences may a text be in the middle, and how do they go on? One automaton for all of
// them (Aho and Corasick): a text is read once, however many they are and however they repeat themselves.
//
// A state is a beginning of a sequence. The states of a sequence are numbered in a row; a sequence that branches off another begins its
// own row. States are kept in bytes, because sequences may be megabytes long.

export interface StopWords {
  /** The character that leads to a state from the one before it; -1 where a row begins. */
  readonly codes: Int32Array;
  /** The longest beginning of a sequence that a state ends with, but for itself; -1 where a sequence is complete. */
  readonly shorter: Int32Array;
  /** In the order of their states. */
  readonly rows: readonly Row[];
  /** Where rows begin, by the state that they leave and the character. */
  readonly branches: ReadonlyMap<number, number>;
  /** The sequence that is complete in a state; the longest, if it is several. */
  readonly complete: ReadonlyMap<number, string>;
}

interface Row {
  readonly from: number;
  readonly code: number;
  readonly first: number;
  readonly last: number;
  /** Characters of its first state. */
  readonly length: number;
}

/** The state in which nothing has begun. */
export const start = 0;

/** @param stops None is empty. */
export function buildStopWords(stops: readonly string[]): StopWords {
  const size = stops.reduce((sum, { length }) => sum + length, 1);
  const rows: Row[] = [];
  const branches = new Map<number, number>();
  const complete = new Map<number, string>();
  const words = { codes: new Int32Array(size + 1).fill(-1), shorter: new Int32Array(size), rows, branches };
  let free = start + 1;
  // A sequence that continues another one is never complete first.
  for (const stop of stops.toSorted((a, b) => a.length - b.length)) {
    let from = start;
    let length = 0;
    while (length < stop.length && !complete.has(from)) {
      const next = follow(words, from, stop.charCodeAt(length));
      if (next === undefined) break;
      from = next;
      length++;
    }
    if (length === stop.length || complete.has(from)) continue;
    const code = stop.charCodeAt(length);
    const first = free;
    branches.set(branchKey(from, code), first);
    for (let at = length + 1; at < stop.length; at++) words.codes[++free] = stop.charCodeAt(at);
    rows.push({ from, code, first, last: free, length: length + 1 });
    complete.set(free++, stop);
  }
  linkShorter(words, complete);
  return { ...words, complete };
}

type Steps = Pick<StopWords, 'codes' | 'branches'>;

/** The next state; undefined: no sequence continues with this character. */
function follow({ codes, branches }: Steps, state: number, code: number): number | undefined {
  return codes[state + 1] === code ? state + 1 : branches.get(branchKey(state, code));
}

function branchKey(state: number, code: number): number {
  return state * 0x1_0000 + code;
}

/** How many characters have led to a state. */
export function lengthOf({ rows }: StopWords, state: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rows[middle]?.first ?? 0) <= state) low = middle + 1;
    else high = middle;
  }
  const row = rows[low - 1];
  return row ? row.length + state - row.first : 0;
}

/** Shorter states first: each needs those of the states that are shorter than it. */
function linkShorter(words: Omit<StopWords, 'complete'>, complete: Map<number, string>): void {
  const { shorter } = words;
  const waiting = words.rows.toSorted((a, b) => b.length - a.length);
  const going: Row[] = [];
  for (let length = 1; going.length > 0 || waiting.length > 0; length++) {
    for (let row = waiting.at(-1); row?.length === length; row = waiting.at(-1)) {
      waiting.pop();
      // After a complete stop sequence the search ends.
      if (shorter[row.from] !== -1) going.push(row);
    }
    let kept = 0;
    for (const row of going) {
      const state = row.first + length - row.length;
      const link = linkOf(words, row, state);
      const stop =
        state === row.last || shorter[link] === -1 ? (complete.get(state) ?? complete.get(link)) : undefined;
      shorter[state] = stop === undefined ? link : -1;
      if (stop === undefined) going[kept++] = row;
      else complete.set(state, stop);
    }
    going.length = kept;
  }
}

function linkOf(words: Omit<StopWords, 'complete'>, row: Row, state: number): number {
  const isFirst = state === row.first;
  const before = isFirst ? row.from : state - 1;
  const code = isFirst ? row.code : (words.codes[state] ?? -1);
  return before === start ? start : step(words, words.shorter[before] ?? start, code);
}

/** The longest beginning that the text ends with after one more character. */
export function step(words: Steps & Pick<StopWords, 'shorter'>, before: number, code: number): number {
  let state = before;
  for (;;) {
    const next = follow(words, state, code);
    if (next !== undefined || state === start) return next ?? start;
    state = words.shorter[state] ?? start;
  }
}
