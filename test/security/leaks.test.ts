// What finds nothing proves nothing: is a secret found in every form, and reported without its value?

import { expect, test } from 'vitest';
import { findLeaks } from './leaks.ts';

const value = 'sk-of-team/a+?"42\nsecond-line-of-it';
const secrets = new Map([['the key', value]]);

test.each([
  ['as it is', `x${value}y`],
  ['one of its lines', 'a second-line-of-it b'],
  ['in JSON', JSON.stringify({ error: `refused ${value}` })],
  ['percent-encoded', `https://a.test/?key=${encodeURIComponent(value)}`],
  ['in base64', Buffer.from(value).toString('base64')],
  ['behind a user name in base64', `Basic ${Buffer.from(`u:${value}`).toString('base64')}`],
  ['behind a longer user name in base64', `Basic ${Buffer.from(`us:${value} and more`).toString('base64')}`],
  ['in base64url', Buffer.from(`{"a":"${value}"}`).toString('base64url')],
  ['in hex', Buffer.from(value).toString('hex')],
])('%s', (_, text) => {
  const leaks = findLeaks(secrets, { 'the log': text, 'another log': 'nothing' });
  expect(leaks).toEqual(['the key in the log']);
});

test('a short value, and the frame of a PEM file, are no secrets', () => {
  const short = new Map([
    ['short', 'main'],
    ['pem', '-----BEGIN PRIVATE KEY-----\nc2VjcmV0LWtleS1tYXRlcmlhbA==\n-----END PRIVATE KEY-----\n'],
  ]);
  expect(findLeaks(short, { log: 'main: -----BEGIN PRIVATE KEY-----' })).toEqual([]);
});

test('of thousands with the same beginning, in a long text, each is found', () => {
  const many = new Map(
    Array.from({ length: 3_000 }, (_, index) => [`key ${index}`, `psk_alike_for_long_${index}_end`]),
  );
  const text = `${'a line of a log\n'.repeat(1_000)}psk_alike_for_long_2999_end and psk_alike_for_long_17_end`;
  expect(findLeaks(many, { log: text })).toEqual(['key 2999 in log', 'key 17 in log']);
});
