// What was thought in earlier turns, and whose is it?

import type { JsonRecord } from '../../json/record.ts';
import type { Part } from '../conversation.ts';
import { type NoteAsk, readOptionalText, readText } from '../request/read-values.ts';
import { type MarkedState, type OpaqueState, unpackOpaque } from '../state/opaque.ts';

export function decodeThinking(block: JsonRecord, path: string, note: NoteAsk): readonly Part[] {
  note('reasoning-history', path);
  const text = readText(block.thinking, `${path}.thinking`);
  const signature = readOptionalText(block.signature, `${path}.signature`) ?? '';
  if (signature === '') return text === '' ? [] : [{ type: 'thinking', text }];
  return marked(text, signature, { kind: 'signature', value: signature });
}

export function decodeRedacted(block: JsonRecord, path: string, note: NoteAsk): readonly Part[] {
  note('reasoning-history', path);
  const data = readText(block.data, `${path}.data`);
  return marked('', data, { kind: 'redacted', value: data });
}

/** State that we have packed keeps its origin; else it is some provider's own. */
function marked(text: string, packed: string, native: OpaqueState): readonly Part[] {
  const unpacked = unpackOpaque(packed);
  if (unpacked === 'damaged') return [];
  const opaque: MarkedState = unpacked ?? { state: native };
  return [{ type: 'thinking', text, opaque }];
}
