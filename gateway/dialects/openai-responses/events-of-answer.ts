// Which events does a plain response stand for?

import { isRecord, type JsonRecord } from '../../json/record.ts';
import { encodeMembers, frame } from './error-body.ts';

type Event = readonly [type: string, members: JsonRecord];

export function encodeResponseEvents(response: JsonRecord): string {
  const { output, status } = response;
  const items: readonly unknown[] = Array.isArray(output) ? output : [];
  const begun = { ...response, status: 'in_progress', output: [], usage: null };
  const events: readonly Event[] = [
    ['response.created', { response: begun }],
    ['response.in_progress', { response: begun }],
    ...items.filter(isRecord).flatMap(eventsOfItem),
    [status === 'incomplete' ? 'response.incomplete' : 'response.completed', { response }],
  ];
  return events.map(([type, members], sequence) => frame(type, sequence, encodeMembers(members))).join('');
}

function eventsOfItem(item: JsonRecord, outputIndex: number): readonly Event[] {
  const place = { item_id: item.id, output_index: outputIndex };
  return [
    ['response.output_item.added', { output_index: outputIndex, item: begunItem(item) }],
    ...eventsInside(item, place),
    ['response.output_item.done', { output_index: outputIndex, item }],
  ];
}

function begunItem(item: JsonRecord): JsonRecord {
  const begun = 'status' in item ? { ...item, status: 'in_progress' } : item;
  if (item.type === 'message') return { ...begun, content: [] };
  return item.type === 'function_call' ? { ...begun, arguments: '' } : begun;
}

/** Clients show and gather what comes in pieces of text and of arguments; all else they take from the item as a whole. */
function eventsInside(item: JsonRecord, place: JsonRecord): readonly Event[] {
  if (item.type === 'function_call') {
    const input = typeof item.arguments === 'string' ? item.arguments : '';
    return [
      ['response.function_call_arguments.delta', { ...place, delta: input }],
      ['response.function_call_arguments.done', { ...place, arguments: input }],
    ];
  }
  const parts: readonly unknown[] =
    item.type === 'message' && Array.isArray(item.content) ? item.content : [];
  return parts.filter(isRecord).flatMap((part, index): readonly Event[] => {
    const at = { ...place, content_index: index };
    const name = part.type === 'refusal' ? 'refusal' : 'text';
    const text = part[name];
    if (typeof text !== 'string') return [];
    const kind = name === 'text' ? 'output_text' : name;
    return [
      ['response.content_part.added', { ...at, part: { ...part, [name]: '' } }],
      [`response.${kind}.delta`, { ...at, delta: text }],
      [`response.${kind}.done`, { ...at, [name]: text }],
      ['response.content_part.done', { ...at, part }],
    ];
  });
}
