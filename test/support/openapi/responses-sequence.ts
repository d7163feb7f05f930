// Does a stream of response events tell one story? Each event is checked against its schema; together
// they are counted without gaps, open every item and part before they fill it, close it before the
// next begins, and end with the output they have reported.

import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../../../core/parse-json.ts';
import { asRecord } from '../../../gateway/json/record.ts';
import { type ResponseEvent, responseEvent } from './responses-schema.ts';

/**
 * The events of a whole stream, as a client gets them.
 *
 * @throws {Error} naming the first event that does not fit.
 */
export function readResponseEvents(text: string): readonly ResponseEvent[] {
  const frames = text.split('\n\n').filter((frame) => frame !== '' && !frame.startsWith(':'));
  const events = frames.map((frame, at) => {
    const [, name, data] = /^event: (\S+)\ndata: (.+)$/.exec(frame) ?? [];
    const value = parseJson(data ?? '');
    if (asRecord(value)?.type !== name) throw new Error(`frame ${at} is not named after its event: ${frame}`);
    const parsed = responseEvent.safeParse(value);
    if (!parsed.success) throw new Error(`event ${at}: ${parsed.error.message}\n${data}`);
    return parsed.data;
  });
  checkSequence(events);
  return events;
}

function checkSequence(events: readonly ResponseEvent[]): void {
  let open: { readonly id: string; readonly parts: Set<string>; text: string } | undefined;
  const done: unknown[] = [];
  let isOver = false;
  for (const [at, event] of events.entries()) {
    const must = (isTrue: boolean, fact: string): void => {
      if (!isTrue) throw new Error(`event ${at} (${event.type}): ${fact}`);
    };
    must(event.sequence_number === at, 'the sequence number has a gap');
    must((at === 0) === (event.type === 'response.created'), 'the first event is response.created');
    must(!isOver || event.type === 'error', 'nothing but an error comes after the end');
    if ('output_index' in event) must(event.output_index === done.length, 'output_index counts items');
    if ('item_id' in event) must(event.item_id === open?.id, 'the item is the open one');
    switch (event.type) {
      case 'response.output_item.added':
        must(open === undefined, 'the item before is closed');
        must(event.item.status === 'in_progress', 'the item has just begun');
        open = { id: event.item.id, parts: new Set(), text: '' };
        break;
      case 'response.output_item.done':
        must(event.item.id === open?.id, 'the item was added');
        must(event.item.status !== 'in_progress', 'the item has ended');
        must(open?.parts.size === 0, 'all parts are closed');
        done.push(event.item);
        open = undefined;
        break;
      case 'response.content_part.added':
      case 'response.reasoning_summary_part.added':
        must(open?.parts.size === 0, 'the part before is closed');
        open?.parts.add(event.part.type);
        if (open) open.text = '';
        break;
      case 'response.output_text.delta':
      case 'response.refusal.delta':
      case 'response.reasoning_summary_text.delta':
        must(open?.parts.size === 1, 'the part was added');
        if (open) open.text += event.delta;
        break;
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        if (open) open.text += event.delta;
        break;
      case 'response.output_text.done':
      case 'response.reasoning_summary_text.done':
        must(event.text === open?.text, 'the whole is the sum of its deltas');
        break;
      case 'response.refusal.done':
        must(event.refusal === open?.text, 'the whole is the sum of its deltas');
        break;
      case 'response.function_call_arguments.done':
        must(event.arguments === open?.text, 'the whole is the sum of its deltas');
        break;
      case 'response.custom_tool_call_input.done':
        must(event.input === open?.text, 'the whole is the sum of its deltas');
        break;
      case 'response.content_part.done':
      case 'response.reasoning_summary_part.done':
        must(open?.parts.delete(event.part.type) === true, 'the part was added');
        break;
      case 'response.completed':
      case 'response.incomplete':
        must(open === undefined, 'all items are closed');
        must(isDeepStrictEqual(event.response.output, done), 'the output is what was reported');
        must(event.response.usage !== null, 'the counts are there');
        isOver = true;
        break;
      case 'response.failed':
        isOver = true;
        break;
      case 'error':
        must(isOver, 'an error is behind the failed response');
        break;
      case 'response.created':
      case 'response.in_progress':
        must(event.response.output.length === 0 && event.response.usage === null, 'nothing has come yet');
    }
  }
  if (!isOver) throw new Error('the stream has no terminal event');
}
