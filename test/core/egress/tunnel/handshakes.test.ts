// What do proxies have to say, and is it heard right however it is cut? The two handshakes as plain values.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Handshake, HandshakeStep } from '../../../../core/egress/tunnel/handshake.ts';
import { startHttpConnect } from '../../../../core/egress/tunnel/http-connect.ts';
import { startSocks5 } from '../../../../core/egress/tunnel/socks5.ts';

const to = { host: 'api.example', port: 443 };
const credentials = { username: 'team-a', password: 'pass-w0rd' };
const bytes = (...values: number[]) => Buffer.from(values);

/** All steps of answers that come whole, one after the other. */
function hear(handshake: Handshake, answers: readonly Buffer[]): HandshakeStep[] {
  return answers.map((answer) => handshake.take(answer));
}

/** What is sent, and how it ends, where every answer comes in pieces of these sizes. */
function talk(handshake: Handshake, answers: readonly Buffer[], sizes: readonly number[]) {
  const sent = [handshake.opening];
  let at = 0;
  for (const answer of answers) {
    let rest = answer;
    while (rest.length > 0) {
      const size = sizes[at++ % sizes.length] ?? 1;
      const step = handshake.take(rest.subarray(0, size));
      rest = rest.subarray(size);
      if (step.type === 'send') sent.push(step.bytes);
      if (step.type === 'open' || step.type === 'refused') return { sent, end: step, left: rest.length };
    }
  }
  return { sent, end: undefined, left: 0 };
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });

describe('HTTP CONNECT', () => {
  test('names the upstream twice, with its port, and an IPv6 address in brackets', () => {
    expect(startHttpConnect(to, undefined).opening.toString()).toBe(
      'CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n',
    );
    expect(startHttpConnect({ host: '2600::1', port: 8443 }, undefined).opening.toString()).toContain(
      'CONNECT [2600::1]:8443 HTTP/1.1\r\n',
    );
  });

  test('gives user name and password as basic credentials', () => {
    expect(startHttpConnect(to, credentials).opening.toString()).toContain(
      `\r\nProxy-Authorization: Basic ${Buffer.from('team-a:pass-w0rd').toString('base64')}\r\n\r\n`,
    );
  });

  const opened = 'HTTP/1.1 200 Connection established\r\nVia: 1.1 squid\r\nContent-Length: 7\r\n\r\n';

  test.each([opened, 'HTTP/1.0 200 OK\r\n\r\n', 'HTTP/1.1 204\r\n\r\n', 'HTTP/1.1 200 OK\nVia: x\n\n'])(
    '%j opens the tunnel, cut anywhere',
    (answer) => {
      fc.assert(
        fc.property(sizes, (cuts) => {
          const { end, left } = talk(startHttpConnect(to, undefined), [Buffer.from(answer)], cuts);
          expect([end?.type, left]).toEqual(['open', 0]);
        }),
      );
    },
  );

  test.each([
    ['HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', /credentials \(407\)/],
    ['HTTP/1.1 403 Forbidden\r\nx: y\r\n\r\nno way, pass-w0rd', /\(403\); allow it at the proxy/],
    ['HTTP/1.1 503 Service Unavailable\r\n\r\n', /could not reach the upstream \(503\)/],
    ['HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\n\r\n', /refused the tunnel \(302\)/],
    ['HTTP/1.1 100 Continue\r\n\r\n', /refused the tunnel \(100\)/],
    ['HTTP/2 200\r\n\r\n', /as an HTTP proxy does/],
    ['\u0005\u0000', /as an HTTP proxy does/],
    ['SSH-2.0-OpenSSH\r\n', /as an HTTP proxy does/],
    [`${opened}HTTP/1.1 200 OK`, /before anything was asked/],
    [`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}`, /bytes of headers/],
  ])('%j is refused with our own message', (answer, words) => {
    const handshake = startHttpConnect(to, credentials);
    const [step] = hear(handshake, [Buffer.from(answer, 'latin1')]);
    expect(step).toMatchObject({ type: 'refused', fact: expect.stringMatching(words) });
    expect(JSON.stringify(step)).not.toContain('pass-w0rd');
  });
});

describe('SOCKS5', () => {
  const replyTo = (...address: number[]) => bytes(5, 0, 0, ...address, 0x1f, 0x90);
  const replies = [
    replyTo(1, 10, 0, 0, 1),
    replyTo(4, ...Array.from({ length: 16 }, (_, index) => index)),
    replyTo(3, 4, 0x6e, 0x61, 0x6d, 0x65),
  ];

  test.each(replies)('without credentials: greeting, request with the name, %j, cut anywhere', (reply) => {
    fc.assert(
      fc.property(sizes, (cuts) => {
        const { sent, end, left } = talk(startSocks5(to, undefined), [bytes(5, 0), reply], cuts);
        expect(sent).toEqual([
          bytes(5, 1, 0),
          Buffer.concat([bytes(5, 1, 0, 3, 11), Buffer.from('api.example'), bytes(0x01, 0xbb)]),
        ]);
        expect([end?.type, left]).toEqual(['open', 0]);
      }),
    );
  });

  test('with credentials: both methods are offered, and the password is sent if the proxy asks for it', () => {
    fc.assert(
      fc.property(sizes, (cuts) => {
        const { sent, end } = talk(
          startSocks5(to, credentials),
          [bytes(5, 2), bytes(1, 0), replyTo(1, 0, 0, 0, 0)],
          cuts,
        );
        expect(sent.slice(0, 2)).toEqual([
          bytes(5, 2, 0, 2),
          Buffer.concat([bytes(1, 6), Buffer.from('team-a'), bytes(9), Buffer.from('pass-w0rd')]),
        ]);
        expect(end?.type).toBe('open');
      }),
    );
    const open = startSocks5(to, credentials);
    const request = open.take(bytes(5, 0));
    expect(request.type === 'send' && request.bytes[3]).toBe(3);
  });

  test('addresses are sent as addresses', () => {
    const requestTo = (host: string) => {
      const step = startSocks5({ host, port: 80 }, undefined).take(bytes(5, 0));
      return step.type === 'send' ? step.bytes.toString('hex') : step;
    };
    expect(requestTo('93.184.216.34')).toBe('050100015db8d8220050');
    expect(requestTo('2600:1406::22:0:9')).toBe('05010004260014060000000000000022000000090050');
    expect(requestTo('::1')).toBe('05010004000000000000000000000000000000010050');
  });

  test.each([
    [[bytes(5, 0xff)], undefined, /requires a user name and password/],
    [[bytes(5, 2)], undefined, /requires a user name and password/],
    [[bytes(5, 0xff)], credentials, /accepts neither/],
    [[bytes(5, 2), bytes(1, 1)], credentials, /rejects the credentials/],
    [[bytes(5, 0), bytes(5, 2, 0, 1)], undefined, /does not allow this host or port/],
    [[bytes(5, 0), bytes(5, 4)], undefined, /could not reach the upstream \(SOCKS reply 4\)/],
    [[bytes(5, 0), bytes(5, 8, 0, 1)], undefined, /kind of address/],
    [[bytes(5, 0), bytes(5, 1)], undefined, /refused the tunnel \(SOCKS reply 1\)/],
    [[bytes(4, 0x5a)], undefined, /as a SOCKS5 proxy does/],
    [[Buffer.from('HTTP/1.1 400 Bad Request\r\n')], undefined, /as a SOCKS5 proxy does/],
    [[bytes(5, 0), bytes(5, 0, 0, 9, 0)], undefined, /as a SOCKS5 proxy does/],
    [[bytes(5, 0, 5)], undefined, /before anything was asked/],
    [
      [bytes(5, 0), Buffer.concat([replyTo(1, 1, 2, 3, 4), bytes(0x16)])],
      undefined,
      /before anything was asked/,
    ],
  ])('%j is refused with our own message', (answers, given, words) => {
    const steps = hear(startSocks5(to, given), answers);
    expect(steps.at(-1)).toMatchObject({ type: 'refused', fact: expect.stringMatching(words) });
    expect(JSON.stringify(steps.at(-1))).not.toContain('pass-w0rd');
  });

  test('a text that is too long for its length byte is refused before anything is sent', () => {
    expect(() => startSocks5({ host: 'a'.repeat(256), port: 1 }, undefined)).toThrow(RangeError);
    expect(() => startSocks5(to, { username: 'x', password: '' })).toThrow(RangeError);
    expect(() => startSocks5(to, { username: 'ü'.repeat(128), password: 'x' })).toThrow(RangeError);
  });
});

test('any bytes, cut anywhere, fail or continue, and never end in an open tunnel with bytes left', () => {
  const starters = [startHttpConnect, startSocks5];
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 80 }),
    fc.uint8Array({ maxLength: 30 }).map((rest) => Uint8Array.from([5, 0, 5, 0, 0, 1, ...rest])),
    fc.string({ maxLength: 60 }).map((rest) => Buffer.from(`HTTP/1.1 200 ${rest}\r\n\r\n`)),
  );
  fc.assert(
    fc.property(fc.constantFrom(...starters), noise, sizes, (begin, answer, cuts) => {
      const whole = talk(begin(to, credentials), [Buffer.from(answer)], [answer.length || 1]);
      const cut = talk(begin(to, credentials), [Buffer.from(answer)], cuts);
      if (whole.end?.type === 'open') expect(cut.end?.type).toBe('open');
      if (whole.end?.type === 'open') expect(whole.left).toBe(0);
    }),
    { numRuns: 2_000 },
  );
});
