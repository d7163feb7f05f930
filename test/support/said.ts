// What did an answer say? Its text, its error and whether it ended well, in any of the four dialects, streamed or whole.

import type { Finished, SseEvent } from './raw-client.ts';

/** What of an answer is read here. */
export type Said = Pick<Finished, 'events' | 'json'>;

export interface ErrorSeen {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
}

/** The `data` of every event, comments left out. */
export function dataOf({ events }: { readonly events: readonly SseEvent[] }): string[] {
  return events.filter((event) => event.type === 'event').map((event) => event.data ?? '');
}

/** Events that are not JSON say nothing. */
export function textOf(seen: Said): string {
  return documentsOf(seen).map(textOfDocument).join('');
}

/** The error object of a JSON answer, or of the last event of a stream. */
export function errorOf(seen: Said): ErrorSeen | undefined {
  const document = seen.json ?? parseJson(dataOf(seen).at(-1) ?? '');
  return isBag(document) && isBag(document.error)
    ? {
        message: String(document.error.message),
        type: String(document.error.type),
        code: document.error.code === null ? null : String(document.error.code),
      }
    : undefined;
}

/** Whether the last event is one that ends a good stream; the third of them also represents an answer cut to length. */
export function endsWell(seen: Said): boolean {
  const last = dataOf(seen).at(-1) ?? '';
  const document = parseJson(last);
  const type = isBag(document) ? document.type : last;
  return ['[DONE]', 'message_stop', 'response.completed'].includes(String(type));
}

/** Tokens as the provider reported them at the end; undefined where it did not. */
export function usageOf(seen: Said): { input: number; output: number } | undefined {
  const reported = documentsOf(seen)
    .map((document) => (isBag(document.response) ? document.response.usage : document.usage))
    .findLast(isBag);
  if (reported === undefined) return undefined;
  const input = reported.prompt_tokens ?? reported.input_tokens;
  return { input: Number(input), output: Number(reported.completion_tokens ?? reported.output_tokens) };
}

function documentsOf(seen: Said): Record<string, unknown>[] {
  return (seen.json === undefined ? dataOf(seen).map(parseJson) : [seen.json]).filter(isBag);
}

function textOfDocument(document: Record<string, unknown>): string {
  if (document.type === 'response.output_text.delta') return String(document.delta);
  if (document.type === 'content_block_delta') return isBag(document.delta) ? textIn(document.delta) : '';
  if (document.type === 'message') return listOf(document.content).map(textIn).join('');
  if (document.object === 'response') {
    return listOf(document.output)
      .flatMap(({ content }) => listOf(content))
      .map(textIn)
      .join('');
  }
  return listOf(document.choices).map(textOfChoice).join('');
}

function textOfChoice(choice: Record<string, unknown>): string {
  for (const holder of [choice.delta, choice.message, choice]) {
    if (!isBag(holder)) continue;
    for (const text of [holder.content, holder.text]) if (typeof text === 'string') return text;
  }
  return '';
}

function textIn({ text }: Record<string, unknown>): string {
  return typeof text === 'string' ? text : '';
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isBag) : [];
}

export function isBag(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // `[DONE]`, or half an event.
    return undefined;
  }
}
