// What is a caller reported where the upstream names no model and counts no tokens?

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { asRecord } from '../../../gateway/json/record.ts';
import { translateThrough } from '../../support/translate-through.ts';

const messages = [{ role: 'user', content: 'Hi' }];
const requests: Readonly<Partial<Record<DialectName, object>>> = {
  'openai-chat': { messages },
  'openai-responses': { input: 'Hi' },
  'anthropic-messages': { max_tokens: 10, messages },
  'openai-completions': { prompt: 'Hi' },
};
const choice = { index: 0, finish_reason: 'stop' };

/** Of an upstream that says no more than it must. */
function answersOf(
  upstream: DialectName,
  model: object,
): { readonly plain: object; readonly stream: string } {
  if (upstream === 'openai-chat') {
    return {
      plain: { ...model, choices: [{ ...choice, message: { role: 'assistant', content: 'Hello' } }] },
      stream: `data: ${JSON.stringify({ ...model, choices: [{ ...choice, delta: { content: 'Hello' } }] })}\n\ndata: [DONE]\n\n`,
    };
  }
  const event = (type: string, members: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
  const message = { type: 'message', role: 'assistant', ...model };
  return {
    plain: { ...message, content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn' },
    stream:
      event('message_start', { message: { ...message, content: [] } }) +
      event('content_block_start', { index: 0, content_block: { type: 'text', text: 'Hello' } }) +
      event('content_block_stop', { index: 0 }) +
      event('message_delta', { delta: { stop_reason: 'end_turn' } }) +
      event('message_stop', {}),
  };
}

const pairs = [
  ['openai-chat', 'anthropic-messages'],
  ['openai-completions', 'openai-chat'],
  ['openai-responses', 'openai-chat'],
  ['anthropic-messages', 'openai-chat'],
] as const;

const through = (client: DialectName, upstream: DialectName, isStream: boolean) => {
  const request = JSON.stringify({ model: 'asked-for', stream: isStream, ...requests[client] });
  return { call: translateThrough(client, upstream, Buffer.from(request)), length: request.length };
};

describe.each(pairs)('%s from %s', (client, upstream) => {
  test.each([{}, { model: '' }])('a plain answer of %j names the model that was asked for', (model) => {
    const bytes = Buffer.from(JSON.stringify(answersOf(upstream, model).plain));
    const outcome = through(client, upstream, false).call.plain(() => bytes);
    if (outcome.type !== 'answered') throw outcome.error;
    expect(JSON.parse(outcome.body.toString('utf8'))).toMatchObject({ model: 'asked-for' });
  });

  test.each([{}, { model: '' }])('a stream of %j names the model that was asked for', (model) => {
    const bytes = Buffer.from(answersOf(upstream, model).stream);
    const outcome = through(client, upstream, true).call.stream(() => [bytes]);
    if (outcome.type !== 'answered') throw outcome.error;
    expect(outcome.text).toContain('Hello');
    expect(new Set(outcome.text.match(/"model":"[^"]*"/g))).toEqual(new Set(['"model":"asked-for"']));
  });
});

describe.each(['openai-responses', 'anthropic-messages'] as const)('%s without counts', (client) => {
  test('a plain answer is estimated at four bytes of request per token', () => {
    const { call, length } = through(client, 'openai-chat', false);
    const outcome = call.plain(() => Buffer.from(JSON.stringify(answersOf('openai-chat', {}).plain)));
    if (outcome.type !== 'answered') throw outcome.error;
    const { usage } = JSON.parse(outcome.body.toString('utf8'));
    expect(asRecord(usage)?.input_tokens).toBe(Math.ceil(length / 4));
  });

  test('a stream reports the estimate at its end', () => {
    const { call, length } = through(client, 'openai-chat', true);
    const outcome = call.stream(() => [Buffer.from(answersOf('openai-chat', {}).stream)]);
    if (outcome.type !== 'answered') throw outcome.error;
    expect(outcome.text.match(/"input_tokens":\d+/g)?.at(-1)).toBe(`"input_tokens":${Math.ceil(length / 4)}`);
  });
});
