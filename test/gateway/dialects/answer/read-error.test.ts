// What can be made of the error bodies that upstreams send?

import { describe, expect, test } from 'vitest';
import { readErrorBody, readErrorMember } from '../../../../gateway/dialects/answer/read-error.ts';
import { encodeOpenAiErrorFrame } from '../../../../gateway/dialects/openai/error-frame.ts';
import { findDialect } from '../../../../gateway/dialects/registry.ts';
import { backToBack } from '../properties/both-sides.ts';
import { done, frame } from '../support/openai-streams.ts';

const nothing = { message: '', type: null, code: null, param: null, status: null };

describe('26: an error body', () => {
  test.each([
    ['nothing', '', nothing],
    ['HTML', '<html><h1>502</h1></html>', nothing],
    ['a text', 'upstream connect error', nothing],
    ['a JSON text', '"no"', nothing],
    ['null', 'null', nothing],
    ['an empty object', '{}', nothing],
    ['an empty list', '[]', nothing],
    [
      'all of it',
      '{"error":{"message":"no","type":"t","code":"c","param":"p"}}',
      { message: 'no', type: 't', code: 'c', param: 'p', status: null },
    ],
    [
      'a numeric code',
      '{"error":{"message":"no","code":429}}',
      { ...nothing, message: 'no', code: '429', status: 429 },
    ],
    [
      'a code in digits',
      '{"error":{"message":"no","code":"503"}}',
      { ...nothing, message: 'no', code: '503', status: 503 },
    ],
    [
      'a code that is no status',
      '{"error":{"message":"no","code":1305}}',
      { ...nothing, message: 'no', code: '1305' },
    ],
    ['a status of success', '{"error":{"message":"no","status":200}}', { ...nothing, message: 'no' }],
    ['a broken status', '{"error":{"message":"no","status":429.5}}', { ...nothing, message: 'no' }],
    [
      'a status in words beside a code',
      '{"error":{"message":"no","status":"UNAVAILABLE","code":503}}',
      { ...nothing, message: 'no', code: '503', status: 503 },
    ],
    ['an error text', '{"error":"no"}', { ...nothing, message: 'no' }],
    [
      'an error text with members beside it',
      '{"error":"no","type":"t","code":400}',
      { ...nothing, message: 'no', type: 't', code: '400', status: 400 },
    ],
    ['a detail', '{"detail":"no"}', { ...nothing, message: 'no' }],
    ['a detail that is a list', '{"detail":[{"msg":"no"}]}', { ...nothing, message: 'no' }],
    ['a message', '{"message":"no","code":400}', { ...nothing, message: 'no', code: '400', status: 400 }],
    [
      'a marked object',
      '{"object":"error","message":"no","type":"t","param":null,"code":404}',
      { ...nothing, message: 'no', type: 't', code: '404', status: 404 },
    ],
    ['a list with one error', '[{"error":{"message":"no"}}]', { ...nothing, message: 'no' }],
    [
      'an error that is a list',
      '{"error":[{"message":"no","type":"t"}]}',
      { ...nothing, message: 'no', type: 't' },
    ],
    ['an error without a message', '{"error":{"type":"t"}}', { ...nothing, type: 't' }],
    ['members of other kinds', '{"error":{"message":{},"type":[],"code":{},"param":7}}', nothing],
    ['a number', '{"error":7}', nothing],
    [
      'a list of what does not fit, and where',
      '{"detail":[{"loc":["body","messages",0,"content"],"msg":"Field required","type":"missing"},{"msg":"and more"},7]}',
      { ...nothing, message: 'body.messages.0.content: Field required; and more' },
    ],
    ['a detail list that tells nothing', '{"detail":[{"type":"missing"}]}', nothing],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0xfe]), nothing],
  ])('of %s', (_, body, wanted) => {
    expect(readErrorBody(Buffer.from(body))).toEqual(wanted);
  });

  const retryInfo = 'type.googleapis.com/google.rpc.RetryInfo';
  test.each([
    ['17s', 17_000],
    ['17.5s', 17_500],
    ['0.000000001s', 1],
    ['0s', 0],
    ['1.5m', undefined],
    ['-3s', undefined],
    ['s', undefined],
    ['1e9s', undefined],
    ['17', undefined],
    [17, undefined],
  ])('of Google with a retry delay of %j: %j ms', (retryDelay, wanted) => {
    const details = [
      7,
      null,
      { '@type': 'type.googleapis.com/google.rpc.Help', retryDelay: '1s' },
      { '@type': retryInfo, retryDelay },
    ];
    const body = [{ error: { code: 429, message: 'no', status: 'RESOURCE_EXHAUSTED', details } }];
    expect(readErrorBody(Buffer.from(JSON.stringify(body)))).toEqual({
      ...nothing,
      message: 'no',
      code: '429',
      status: 429,
      ...(wanted === undefined ? {} : { retryAfterMs: wanted }),
    });
  });

  test.each([undefined, null, {}, 'x', []])('with details %j has no retry delay', (details) => {
    expect(readErrorBody(Buffer.from(JSON.stringify({ error: { details } })))).not.toHaveProperty(
      'retryAfterMs',
    );
  });

  test.each(['a', 'é', '漢', '😀', 'a😀'])(
    'of a huge text of %j is cut to 2 kB, to whole characters',
    (unit) => {
      const long = unit.repeat(10_000);
      for (let shift = 0; shift < 4; shift++) {
        const sent = 'x'.repeat(shift) + long;
        const error = readErrorBody(
          Buffer.from(JSON.stringify({ error: { message: sent, type: sent, code: sent } })),
        );
        for (const text of [error.message, error.type, error.code]) {
          expect(Buffer.byteLength(text ?? '')).toBeLessThanOrEqual(2048);
          expect(Buffer.byteLength(text ?? '')).toBeGreaterThan(2048 - 8);
          expect(sent.startsWith(text ?? '-')).toBe(true);
          expect(text?.isWellFormed()).toBe(true);
        }
      }
    },
  );

  test.each([
    ['see https://user:pw@host.test/a?b=c@d', 'see https://host.test/a?b=c@d'],
    ['https://token@host.test and redis://:p@ss@cache:6379', 'https://host.test and redis://cache:6379'],
    ['(HTTP://U:P@host)', '(HTTP://host)'],
    ['mail me@host.test or https://host.test/@me', 'mail me@host.test or https://host.test/@me'],
  ])('of %j shows no credentials of an address', (message, wanted) => {
    expect(readErrorBody(Buffer.from(JSON.stringify({ error: { message } }))).message).toBe(wanted);
  });

  test('with an address that would be cut inside its credentials shows no credentials', () => {
    const message = `${'x'.repeat(2030)} https://user:${'p'.repeat(50)}@host.test`;
    expect(readErrorBody(Buffer.from(JSON.stringify({ error: { message } }))).message).not.toContain('user');
  });

  test('of just 2 kB is kept whole', () => {
    const message = 'é'.repeat(1024);
    expect(readErrorBody(Buffer.from(JSON.stringify({ error: { message } }))).message).toBe(message);
  });
});

test.each([
  [{}],
  [{ error: null }],
  [{ error: false }],
  [{ error: '' }],
  [{ message: 'no' }],
  [{ choices: [] }],
  [[]],
  ['no'],
  [null],
])('%j carries no error', (value) => {
  expect(readErrorMember(value)).toBeUndefined();
});

test('an error frame is one data line, and never the end of a stream', () => {
  const frame = encodeOpenAiErrorFrame({ message: 'a\n\nb', type: 'server_error', code: 'c', param: null });
  expect(frame).toMatch(/^data: \{"error":\{.*\}\}\n\n$/);
  expect(JSON.parse(frame.slice(6))).toEqual({
    error: { message: 'a\n\nb', type: 'server_error', code: 'c', param: null },
  });
});

describe('12: a choice that ends in an error is no answer', () => {
  const chunk = (finish: string) => ({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });

  const brokenOff = ['error', 'abort', 'aborted', 'insufficient_system_resource', 'network_error'];

  test.each(brokenOff)('though nothing else says so: %s', (finish) => {
    expect(readErrorMember(chunk(finish))).toMatchObject({ message: '' });
  });

  // Vendors have words of their own for a natural end, and clients take each that they do not know for one.
  test.each(['stop', 'length', 'content_filter', 'eos_token', 'COMPLETE', 'newer'])(
    '%s is an end',
    (finish) => {
      expect(readErrorMember(chunk(finish))).toBeUndefined();
    },
  );

  test.each(
    brokenOff.flatMap((finish) => [
      ['relayed', finish],
      ['translated', finish],
    ]),
  )('in a %s stream: %s', (way, finish) => {
    const shown = { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] };
    const facts = { model: 'm', isStream: true, wantsUsage: false, choices: 1 };
    const stream =
      way === 'relayed'
        ? findDialect('openai-chat').same.relayStream(facts)
        : backToBack(findDialect('openai-chat')).call.streamDecoder();
    // The last of them behind content, where the mass of a stream is only looked at.
    stream.push(Buffer.from(frame(shown)));
    stream.push(Buffer.from(frame(shown) + frame(chunk(finish)) + done));
    stream.end();
    expect(stream.facts).toMatchObject({ isComplete: false, fault: { kind: 'error-event' } });
  });
});
