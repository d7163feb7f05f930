// What did the assistant think in an earlier turn, and what does its provider want back of it? As
// encode-thinking.ts has written it, or as other services write it.

import { isRecord, type JsonRecord } from '../../json/record.ts';
import type { PartOf } from '../conversation.ts';
import type { NoteAsk } from '../request/read-values.ts';
import { type MarkedState, unpackOpaque } from '../state/opaque.ts';
import { thinkingSeparator } from './encode-thinking.ts';

type Thinking = PartOf<'thinking'>;

interface Packed {
  readonly opaque: Required<MarkedState>;
  readonly textLength: number | undefined;
}

export function decodeThinking(message: JsonRecord, path: string, note: NoteAsk): Thinking[] {
  const text = textOf(message.reasoning_content) || textOf(message.reasoning);
  const details = Array.isArray(message.reasoning_details) ? message.reasoning_details.filter(isRecord) : [];
  if (text !== '') note('reasoning-history', `${path}.reasoning_content`);
  if (details.length > 0) note('reasoning-history', `${path}.reasoning_details`);
  const packed: Packed[] = [];
  const foreign: Thinking[] = [];
  for (const entry of details) {
    const opaque = unpackOpaque(textOf(entry.data));
    if (opaque === 'damaged') continue;
    if (opaque) packed.push({ opaque, textLength: lengthOf(entry.text_length) });
    else foreign.push({ type: 'thinking', text: '', opaque: { state: { kind: 'details', value: entry } } });
  }
  return [...shareOut(text, packed), ...foreign];
}

/** Gives every state the text it was made for: a signature is good for exactly that. */
function shareOut(text: string, packed: readonly Packed[]): Thinking[] {
  const exact = cutExactly(text, packed);
  if (exact) return exact;
  // Clients that know only the common members lose the lengths.
  const shown = packed.filter(({ opaque }) => opaque.state.kind !== 'redacted');
  if (shown.length === 1) {
    return packed.map(({ opaque }) => ({
      type: 'thinking',
      text: opaque === shown[0]?.opaque ? text : '',
      opaque,
    }));
  }
  const unsigned = packed.filter(({ opaque }) => opaque.state.kind !== 'signature');
  return [
    ...(text === '' ? [] : [{ type: 'thinking', text } as const]),
    ...unsigned.map(({ opaque }): Thinking => ({ type: 'thinking', text: '', opaque })),
  ];
}

function cutExactly(text: string, packed: readonly Packed[]): Thinking[] | undefined {
  const parts: Thinking[] = [];
  let at = 0;
  for (const { opaque, textLength } of packed) {
    if (textLength === undefined) return undefined;
    if (textLength > 0 && at > 0) at += thinkingSeparator.length;
    parts.push({ type: 'thinking', text: text.slice(at, at + textLength), opaque });
    at += textLength;
  }
  return packed.length > 0 && at === text.length ? parts : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function lengthOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}
