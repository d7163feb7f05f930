// Which text was generated in these events? Works for every dialect, by the member names that they use for pieces of an answer: for an
// estimate, not for a client.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord } from '../../json/record.ts';

interface SampledText {
  readonly text: string;
  /** Events that it stood in. */
  readonly events: number;
}

/** Members whose text was generated. */
const generated = new Set([
  ...['content', 'text', 'reasoning_content', 'reasoning', 'thinking', 'refusal'],
  ...['delta', 'partial_json', 'arguments'],
]);
/** Members of an event that lead to its text. All others hold metadata or repeat the text. */
const places = new Set(['choices', 'delta', 'content', 'tool_calls', 'function_call', 'function']);
const depthMax = 8;

/** @param bytes A stretch of a stream, which may begin and end anywhere. */
export function sampledText(bytes: Uint8Array): SampledText {
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('utf8')
    .split(/\r\n|\n|\r/);
  let text = '';
  let events = 0;
  for (const [at, line] of lines.entries()) {
    if (!line.startsWith('data:')) continue;
    const piece = textOf(line.slice(5)) ?? (at === lines.length - 1 && events === 0 ? cutText(line) : '');
    if (piece === '') continue;
    text += piece;
    events++;
  }
  return { text, events };
}

/** Undefined if it is not whole. */
function textOf(data: string): string | undefined {
  const event = asRecord(parseJson(data));
  if (event === undefined) return undefined;
  // A typed event that is not a delta repeats the whole text of a part.
  if (typeof event.type === 'string' && !event.type.endsWith('delta')) return '';
  const found = new Set<string>();
  collect(event, found, 0);
  return [...found].join('');
}

/** Some providers give one piece under two names. */
function collect(value: unknown, found: Set<string>, depth: number): void {
  if (depth > depthMax) return;
  if (Array.isArray(value)) {
    for (const item of value) collect(item, found, depth + 1);
    return;
  }
  for (const [name, member] of Object.entries(asRecord(value) ?? {})) {
    if (typeof member === 'string' && generated.has(name)) found.add(member);
    else if (typeof member === 'object' && places.has(name)) collect(member, found, depth + 1);
  }
}

/** The first event did not fit: what there is of its text. */
function cutText(line: string): string {
  const [, type = 'delta'] = /^data:\s*\{\s*"type"\s*:\s*"([\w.]+)"/.exec(line) ?? [];
  if (!type.endsWith('delta')) return '';
  return (
    /"(?:content|text|delta|arguments|partial_json|thinking)"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(line)?.[1] ?? ''
  );
}
