// Which plain response do the events of a stream add up to, and can its client use it? The terminal event
// holds the whole response. If a server leaves its items out, the items of earlier events are used.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { flawOfArguments } from '../answer/flaw.ts';
import type { AnswerGatherer } from '../dialect.ts';
import { isInProgress } from './map-finish-reason.ts';

export function gatherResponse(): AnswerGatherer {
  const items = new Map<number, unknown>();
  let response: JsonRecord | undefined;
  return {
    add({ type, item, output_index: index, response: last }) {
      if (type === 'response.output_item.done') {
        items.set(typeof index === 'number' ? index : items.size, item);
      } else if (type === 'response.completed' || type === 'response.incomplete') response = asRecord(last);
    },
    answer() {
      if (!response) return undefined;
      if (
        Array.isArray(response.output) &&
        response.output.length > 0 &&
        response.output.length >= items.size
      )
        return response;
      return { ...response, output: [...items].toSorted(([a], [b]) => a - b).map(([, item]) => item) };
    },
  };
}

export function flawOfResponse({ status, output }: JsonRecord): string | undefined {
  if (status === 'incomplete') return undefined;
  if (isInProgress(status)) return `the answer is still '${status}'`;
  for (const item of Array.isArray(output) ? output : []) {
    const isCall = isRecord(item) && item.type === 'function_call';
    const flaw = isCall ? flawOfArguments(item.arguments ?? '') : undefined;
    if (flaw) return flaw;
  }
  return undefined;
}
