// How does a flow test talk to the gateway? Requests in both OpenAI dialects, and what an answer said.

import type { LedgerRecord } from '../../gateway/contract/ledger-record.ts';
import { type Rig, testKey } from '../gateway/rig.ts';
import {
  type Finished,
  openRaw,
  type RawAnswer,
  type RawConnection,
  rawCall,
  writeRequest,
} from '../support/raw-client.ts';

export type Endpoint = 'chat' | 'completions';

/** One answer, read to its end. */
export type Seen = Omit<RawAnswer, 'finished' | 'nextEvent'> & Finished;

export interface AskOptions {
  readonly endpoint?: Endpoint;
  readonly isStream?: boolean;
  /** More members of the body. */
  readonly more?: object;
}

/** What the wall says unasked. */
export const wallText = 'The gate opens and the water runs down to the turbine.';

export function requestOf({ endpoint = 'chat', isStream = false, more = {} }: AskOptions = {}) {
  const prompt =
    endpoint === 'chat'
      ? { messages: [{ role: 'user', content: 'three plain words' }] }
      : { prompt: 'three plain words', max_tokens: 64 };
  return {
    path: endpoint === 'chat' ? '/v1/chat/completions' : '/v1/completions',
    headers: { authorization: `Bearer ${testKey}` },
    body: { model: 'm', ...prompt, ...(isStream ? { stream: true } : {}), ...more },
  };
}

export function portOf({ url }: Pick<Rig, 'url'>): number {
  return Number(new URL(url).port);
}

export function ask(rig: Rig, options: AskOptions = {}): Promise<Seen> {
  return rawCall({ port: portOf(rig) }, requestOf(options));
}

/** Asks and hands out the answer as soon as its head is there; the connection is the caller's to close. */
export async function askOpen(
  rig: Rig,
  options: AskOptions = {},
): Promise<{ connection: RawConnection; answer: Promise<RawAnswer> }> {
  const connection = await openRaw({ port: portOf(rig) });
  await connection.send(writeRequest(requestOf(options)));
  return { connection, answer: connection.answer() };
}

/** The `data` of every event, comments left out. */
export function dataOf({ events }: Pick<Finished, 'events'>): string[] {
  return events.filter((event) => event.type === 'event').map((event) => event.data ?? '');
}

/** The text of an answer in either dialect, streamed or whole. */
export function textOf(seen: Pick<Finished, 'events' | 'json'>): string {
  const documents = seen.json === undefined ? dataOf(seen).map(parseJson) : [seen.json];
  return documents.flatMap(choicesOf).map(textOfChoice).join('');
}

/** The error object of a JSON answer, or of the last frame of a stream. */
export function errorOf(seen: Pick<Finished, 'events' | 'json'>): ErrorSeen | undefined {
  const document = seen.json ?? parseJson(dataOf(seen).at(-1) ?? '');
  return isBag(document) && isBag(document.error)
    ? {
        message: String(document.error.message),
        type: String(document.error.type),
        code: document.error.code === null ? null : String(document.error.code),
      }
    : undefined;
}

export interface ErrorSeen {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
}

/** What a record says of an attempt, in one line: a table of such lines is easy to compare. */
export function lineOf({ attempt, target, outcome, failure, payer }: LedgerRecord): string {
  return [attempt, target, outcome, ...(failure === undefined ? [] : [failure]), payer].join(' ');
}

function choicesOf(document: unknown): unknown[] {
  return isBag(document) && Array.isArray(document.choices) ? document.choices : [];
}

function textOfChoice(choice: unknown): string {
  if (!isBag(choice)) return '';
  for (const holder of [choice.delta, choice.message, choice]) {
    if (!isBag(holder)) continue;
    for (const text of [holder.content, holder.text]) if (typeof text === 'string') return text;
  }
  return '';
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
