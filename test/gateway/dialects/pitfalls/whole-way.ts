// One request the whole way: what a client asks, what the upstream is sent, what it tells, and what the
// client gets.

import { expect } from 'vitest';
import type { DialectName } from '../../../../core/contract/routing-table.ts';
import { GatewayError } from '../../../../gateway/request/errors.ts';
import { framesOf } from '../../../support/rebuild-answer.ts';
import {
  type StreamOutcome,
  type Through,
  type ThroughOptions,
  translateThrough,
} from '../../../support/translate-through.ts';
import { recordOf } from '../../endpoints/ask.ts';
import { type Members, plainQuestions, questions } from '../support/askings.ts';
import { all, hear, hearStream, type Said, talkative, tell, tellPlain } from '../support/tellings.ts';

export const [C, R, M] = talkative;
export const T = 'openai-completions';

/** Every client with every upstream. */
export function pairsOf<Client extends DialectName, Upstream extends DialectName>(
  clients: readonly Client[],
  upstreams: readonly Upstream[],
): readonly (readonly [Client, Upstream])[] {
  return clients.flatMap((client) => upstreams.map((upstream) => [client, upstream] as const));
}

export const isTranslated = ([client, upstream]: readonly [DialectName, DialectName]): boolean =>
  client !== upstream;

export const everyPair = pairsOf(all, all);
/** Of those that have tools and reasoning. */
export const translated = pairsOf(talkative, talkative).filter(isTranslated);

/** A request of the client in flight; with tools where both sides have them. */
export function open(
  client: DialectName,
  upstream: DialectName,
  more: Members = {},
  options?: ThroughOptions,
): Through {
  const needsTools = client !== T && upstream !== T;
  const question = (needsTools ? questions : plainQuestions)[client];
  return translateThrough(client, upstream, Buffer.from(JSON.stringify({ ...question, ...more })), options);
}

/** What the upstream is sent. */
export function sent(
  client: DialectName,
  upstream: DialectName,
  more: Members = {},
  options?: ThroughOptions,
): Record<string, unknown> {
  return recordOf(JSON.parse(String(open(client, upstream, more, options).sent[0])));
}

/** What the client is streamed for these bytes of the upstream, in pieces of so many. */
export function stream(
  client: DialectName,
  upstream: DialectName,
  reported: string,
  more: Members = {},
  pieceBytes = Number.POSITIVE_INFINITY,
): StreamOutcome {
  const usage = client === C || client === T ? { stream_options: { include_usage: true } } : {};
  const bytes = Buffer.from(reported);
  const size = Math.min(pieceBytes, Math.max(1, bytes.length));
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  return open(client, upstream, { ...usage, ...more, stream: true }).stream(() => pieces);
}

/** The text of a stream that came to its end. */
export function streamed(...asked: Parameters<typeof stream>): string {
  const outcome = stream(...asked);
  if (outcome.type !== 'answered')
    throw new Error(`${outcome.type}: ${outcome.error.message}`, { cause: outcome.error });
  return outcome.text;
}

/** What the client hears; the same in a stream and in one piece. */
export function heard(
  client: DialectName,
  upstream: DialectName,
  said: readonly Said[],
  end: Parameters<typeof tell>[2] = 'stop',
  more: Members = {},
): readonly string[] {
  const lines = hearStream(client, streamed(client, upstream, tell(upstream, said, end), more));
  const outcome = open(client, upstream, more).plain(() => tellPlain(upstream, said, end));
  if (outcome.type !== 'answered') throw outcome.error;
  expect(hear(client, JSON.parse(String(outcome.body)))).toEqual(lines);
  return lines;
}

/** The data of the events that a client is sent. */
export function eventsOf(text: string): readonly Members[] {
  return framesOf(text).flatMap(({ data }) => (data === '[DONE]' ? [] : [recordOf(JSON.parse(data))]));
}

/** The error that the act ends in. */
export function refusalOf(act: () => unknown): GatewayError {
  try {
    act();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('not refused');
}

export const call = (name = 'look', input = '{"city":"Rome"}', id = 'call_1'): Said => [
  'call',
  id,
  name,
  input,
];

/** What each dialect tells a client in mid-stream, and that nothing comes behind it. */
export function expectErrorLast(client: DialectName, text: string): void {
  const frames = framesOf(text);
  const last = frames.at(-1);
  const { error, type, response } = recordOf(JSON.parse(last?.data ?? '{}'));
  expect(text).not.toContain('[DONE]');
  if (client === C || client === T) {
    expect([last?.name, typeof recordOf(error).message]).toEqual([undefined, 'string']);
    return;
  }
  if (client === M) {
    expect([last?.name, type, typeof recordOf(error).message]).toEqual(['error', 'error', 'string']);
    expect(text).not.toContain('message_stop');
    return;
  }
  const failed = frames.find(({ name }) => name === 'response.failed');
  expect(['response.failed', 'error']).toContain(last?.name);
  expect(recordOf(JSON.parse(failed?.data ?? '{}')).response ?? response).toMatchObject({
    status: 'failed',
    error: { message: expect.any(String) },
  });
  expect(text).not.toMatch(/event: response\.(completed|incomplete)/);
}
