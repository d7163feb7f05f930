// An answer has begun, and its head cannot be read: is its upstream asked, and paid, a second time? Never: only where no byte of an answer
// has come may the same request be sent there again.

import { expect, test } from 'vitest';
import type { Behaviour } from '../support/wall.ts';
import { ask, errorOf, lineOf } from './ask.ts';
import { inHouse } from './house.ts';

const body = '{"choices":[]}';
const answerWith = (lines: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${lines}\r\n${body}`;
const length = `content-length: ${body.length}\r\n`;
const raw = (bytes: string): Behaviour => ({ type: 'raw', bytes, followedBy: 'keep-alive' });

const heads: [name: string, fault: Behaviour][] = [
  ['a length and chunks', raw(answerWith(`${length}transfer-encoding: chunked\r\n`))],
  ['two lengths', raw(answerWith(`${length}content-length: 3\r\n`))],
  // Which a client may take for one (RFC 9112, section 6.3); the parser we use does not.
  ['the same length twice', raw(answerWith(length + length))],
  ['lines that end with a bare LF', raw(answerWith(length).replaceAll('\r\n', '\n'))],
  ['no HTTP at all', raw('SSH-2.0-OpenSSH_9.9\r\n')],
  ['more than 16 KiB', { type: 'huge-headers', bytes: 20_000 }],
  ['a 100 in front', { type: 'informational', statuses: [100] }],
  ['a 101', raw('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n')],
  ['an end in its midst', { type: 'raw', bytes: 'HTTP/1.1 200 OK\r\ncont', followedBy: 'fin' }],
  ['a 102 and an end', { type: 'raw', bytes: 'HTTP/1.1 102 Processing\r\n\r\n', followedBy: 'fin' }],
];

test.each(heads)(
  '%s: the caller is reported, after one call',
  inHouse(async (house, _name, fault) => {
    const wall = await house.wallThat(fault);
    const rig = await house.rigOf([{ baseUrl: wall.baseUrl }]);
    const seen = await ask(rig);
    expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_invalid_response']);
    expect(errorOf(seen)?.message).toContain(
      'the upstream sent response headers that are not HTTP, too long or cut off',
    );
    expect(wall.calls).toHaveLength(1);
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed bad_head platform']);
  }),
);

test.each(heads)(
  '%s: the next provider answers',
  inHouse(async (house, _name, fault) => {
    const [first, second] = [await house.wallThat(fault), await house.wallThat({ type: 'answer' })];
    const rig = await house.rigOf([{ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }]);
    expect((await ask(rig)).status).toBe(200);
    expect([first.calls.length, second.calls.length]).toEqual([1, 1]);
  }),
);

test(
  'after a valid head, a body with unreadable chunks counts as broken off, with a single call',
  inHouse(async (house) => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
    const wall = await house.wallThat(raw(`${head}e\r\n${body}\r\nno chunk\r\n`));
    const rig = await house.rigOf([{ baseUrl: wall.baseUrl }]);
    const seen = await ask(rig);
    expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_invalid_response']);
    expect(wall.calls).toHaveLength(1);
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed truncated platform']);
  }),
);
