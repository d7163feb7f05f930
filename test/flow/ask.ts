// How does a flow test talk to the gateway? Requests in the four dialects, and what an answer said.

import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import { type Rig, testKey } from '../gateway/rig.ts';
import {
  type Finished,
  openRaw,
  type RawAnswer,
  type RawConnection,
  rawCall,
  writeRequest,
} from '../support/raw-client.ts';

export { dataOf, type ErrorSeen, endsWell, errorOf, isBag, parseJson, textOf } from '../support/said.ts';

export type Endpoint = 'chat' | 'completions' | 'messages' | 'responses';

/** One answer, read to its end. */
export type Seen = Omit<RawAnswer, 'finished' | 'nextEvent'> & Finished;

export interface AskOptions {
  readonly endpoint?: Endpoint;
  readonly isStream?: boolean;
  /** More members of the body. */
  readonly more?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the wall says unasked. */
export const wallText = 'The gate opens and the water runs down to the turbine.';

const prompts: Readonly<Record<Endpoint, { path: string; body: object }>> = {
  chat: {
    path: '/v1/chat/completions',
    body: { messages: [{ role: 'user', content: 'three plain words' }] },
  },
  completions: { path: '/v1/completions', body: { prompt: 'three plain words', max_tokens: 64 } },
  messages: {
    path: '/v1/messages',
    body: { messages: [{ role: 'user', content: 'three plain words' }], max_tokens: 64 },
  },
  responses: { path: '/v1/responses', body: { input: 'three plain words' } },
};

export function requestOf({ endpoint = 'chat', isStream = false, more = {}, headers = {} }: AskOptions = {}) {
  const { path, body } = prompts[endpoint];
  return {
    path,
    headers: { authorization: `Bearer ${testKey}`, ...headers },
    body: { model: 'm', ...body, ...(isStream ? { stream: true } : {}), ...more },
  };
}

export function portOf({ url }: Pick<Rig, 'url'>): number {
  return Number(new URL(url).port);
}

export function ask(gateway: Pick<Rig, 'url'>, options: AskOptions = {}): Promise<Seen> {
  return rawCall({ port: portOf(gateway) }, requestOf(options));
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

/** What a record says of an attempt, in one line: a table of such lines is easy to compare. */
export function lineOf({ attempt, target, outcome, failure, payer }: LedgerRecord): string {
  return [attempt, target, outcome, ...(failure === undefined ? [] : [failure]), payer].join(' ');
}
