// What is sent after a request that is being answered, and is broken, slow or large, does no harm to that answer: it comes whole, and
// the error in its turn (RFC 9112, section 9.3.2). A client that disconnects is noticed at once, whatever was sent before: the upstream is cancelled.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRaw, type RawAnswer, type RawConnection, writeRequest } from '../../support/raw-client.ts';
import { type Call, startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { bearer, errorOf, portOf } from './ask.ts';

const path = '/v1/chat/completions';
const ask = (more: object = {}): object => ({
  model: 'm',
  messages: [{ role: 'user', content: 'x' }],
  ...more,
});

let wall: Wall;
let rig: Rig;
let connection: RawConnection;
let mayGoOn: PromiseWithResolvers<void>;

/** Before each test of a group. */
async function start(options: Parameters<typeof startRig>[1]): Promise<void> {
  mayGoOn = Promise.withResolvers();
  wall = await startWall();
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]), options);
  connection = await openRaw({ port: portOf(rig) });
}

/** Senders are too slow soon, all of them. */
const impatient = { patience: { headersMs: 150, requestMs: 150, checkEveryMs: 20 } };

afterEach(async () => {
  mayGoOn.resolve();
  connection.close();
  await rig.close();
  await wall.close();
  expect(rig.failures).toEqual([]);
});

const head = `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: ${bearer.authorization}\r\n`;
const chunked = `${head}transfer-encoding: chunked\r\n\r\n`;
const mebibyte = 1024 * 1024;

const firsts = {
  'a running stream': {
    body: ask({ stream: true }),
    script: () => ({ type: 'stall', after: { contentEvents: 2 }, for: { until: mayGoOn.promise } }) as const,
  },
  'a plain answer that is waited for': {
    body: ask(),
    script: () => ({ type: 'answer', beforeHeaders: { until: mayGoOn.promise } }) as const,
  },
};

/** Until its upstream has been asked. */
async function begin(first: keyof typeof firsts, behind = ''): Promise<Call> {
  const { body, script } = firsts[first];
  wall.script([script(), { type: 'answer' }]);
  await connection.send(
    Buffer.concat([writeRequest({ path, headers: bearer, body }), Buffer.from(behind, 'latin1')]),
  );
  return wall.nextCall();
}

/** Whatever had been sent before was read, and learnt that it is too slow where it is. */
async function pass(): Promise<void> {
  const slow = await openRaw({ port: portOf(rig) });
  await slow.send(head);
  expect((await slow.answer()).status).toBe(408);
  slow.close();
}

async function expectWhole(answer: RawAnswer): Promise<void> {
  expect(answer.status).toBe(200);
  const { ending, text, json } = await answer.finished;
  expect(text).not.toContain('HTTP/1.1');
  if (ending === 'last-chunk') expect(text).toMatch(/data: \[DONE\]\n\n$/);
  else expect(json).toMatchObject({ object: 'chat.completion' });
}

describe.each(Object.keys(firsts) as (keyof typeof firsts)[])(
  '%s comes whole, and then the error',
  (first) => {
    beforeEach(() => start(impatient));

    test.each([
      ['bytes that are no request', 'NONSENSE\r\n\r\n', 400, 'invalid_parameter'],
      ['headers that are too large', `${head}x-a: ${'x'.repeat(17_000)}\r\n\r\n`, 431, 'headers_too_large'],
      ['invalid chunks', `${chunked}NONSENSE\r\n`, 400, 'invalid_parameter'],
      ['headers that stop', head, 408, 'request_timeout'],
      ['a body that stops', `${head}content-length: 100\r\n\r\n{`, 408, 'request_timeout'],
    ])('%s', async (_, behind, status, code) => {
      await begin(first);
      await connection.send(behind);
      await pass();
      mayGoOn.resolve();
      await expectWhole(await connection.answer());
      const error = await connection.answer();
      expect([error.status, error.headers.connection]).toEqual([status, 'close']);
      expect(errorOf(await error.finished).code).toBe(code);
      expect(await connection.closed).toBe('fin');
      expect(wall.calls).toHaveLength(1);
    });

    // Of a client that counts its body wrongly, the first answer tells more than an error about the rest would.
    test('a surplus byte in the packet of the request', async () => {
      await begin(first, '\0');
      mayGoOn.resolve();
      await expectWhole(await connection.answer());
      expect((await connection.answer()).status).toBe(400);
    });

    test('bytes after a complete request that waits', async () => {
      await begin(first);
      await connection.send(
        Buffer.concat([writeRequest({ path, headers: bearer, body: ask() }), Buffer.from('NONSENSE\r\n')]),
      );
      await pass();
      mayGoOn.resolve();
      await expectWhole(await connection.answer());
      await expectWhole(await connection.answer());
      expect((await connection.answer()).status).toBe(400);
      await wall.nextCall();
    });

    test('and a slow body that is complete when its turn comes is served', async () => {
      const body = JSON.stringify(ask());
      await begin(first);
      await connection.send(`${head}content-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`);
      await pass();
      await connection.send(body.slice(10));
      await pass();
      mayGoOn.resolve();
      await expectWhole(await connection.answer());
      await expectWhole(await connection.answer());
      await wall.nextCall();
      // And what is broken behind that is reported.
      await connection.send('NONSENSE\r\n\r\n');
      expect((await connection.answer()).status).toBe(400);
    });
  },
);

test('a request that waits for 100 Continue gets it in its turn, with the full time to send', async () => {
  await start({ patience: { headersMs: 150, requestMs: 1_000, checkEveryMs: 20 } });
  const body = JSON.stringify(ask());
  const waiting = `${head}expect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`;
  await begin('a running stream');
  await connection.send(waiting);
  // By then the time of what waits is over too.
  const slow = await openRaw({ port: portOf(rig) });
  await slow.send(`${head}content-length: 100\r\n\r\n{`);
  expect((await slow.answer()).status).toBe(408);
  slow.close();
  mayGoOn.resolve();
  await expectWhole(await connection.answer());
  await connection.send(body);
  const answer = await connection.answer();
  expect(answer.informational.map(({ status }) => status)).toEqual([100]);
  await expectWhole(answer);
});

test('a request that got 100 Continue in its turn and sends nothing gets 408', async () => {
  await start(impatient);
  await begin('a running stream');
  await connection.send(`${head}expect: 100-continue\r\ncontent-length: 100\r\n\r\n`);
  await pass();
  mayGoOn.resolve();
  await expectWhole(await connection.answer());
  expect((await connection.answer()).status).toBe(408);
});

test('after a stream that breaks off, nothing more is sent', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  await start(impatient);
  wall.script({
    type: 'stall',
    after: { contentEvents: 2 },
    for: { until: mayGoOn.promise },
    followedBy: 'reset',
  });
  await connection.send(writeRequest({ path, headers: bearer, body: ask({ stream: true }) }));
  const answer = await connection.answer();
  await answer.nextEvent();
  // Slow first, then broken.
  for (const behind of [chunked, 'NONSENSE\r\n']) {
    await connection.send(behind);
    await pass();
  }
  mayGoOn.resolve();
  const { ending, text } = await answer.finished;
  expect(ending).toBe('fin-early');
  expect(text).not.toContain('HTTP/1.1');
  await expect(connection.answer()).rejects.toThrow('before an answer had come');
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});

describe('a body that waits', () => {
  beforeEach(() => start({}));

  const large = JSON.stringify(ask({ user: 'x'.repeat(mebibyte) }));
  const small = JSON.stringify(ask({ user: 'x'.repeat(50_000) }));
  const inChunks = (body: string): string => `${chunked}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const inLength = (body: string): string => `${head}content-length: ${body.length}\r\n\r\n${body}`;

  test.each([
    ['with a length', inLength(small)],
    ['in chunks', inChunks(small)],
  ])('is served where it is small: %s', async (_, behind) => {
    await begin('a running stream');
    await connection.send(behind);
    mayGoOn.resolve();
    await expectWhole(await connection.answer());
    await expectWhole(await connection.answer());
    expect((await wall.nextCall()).bodyText).toContain('x'.repeat(50_000));
  });

  test.each([
    ['with a length', inLength(large)],
    ['in chunks', inChunks(large)],
    ['with more behind it', inLength(large) + inLength(small)],
  ])('is refused in its turn where it is large: %s', async (_, behind) => {
    await begin('a running stream');
    await connection.send(behind);
    mayGoOn.resolve();
    await expectWhole(await connection.answer());
    const refusal = await connection.answer();
    expect([refusal.status, refusal.headers.connection, refusal.headers['retry-after']]).toEqual([
      503,
      'close',
      '1',
    ]);
    expect(errorOf(await refusal.finished)).toMatchObject({
      code: 'overloaded',
      message:
        'This pipelined request is too large to queue. Wait for the previous response on the connection, then send it again.',
    });
    expect(await connection.closed).toBe('fin');
    expect(wall.calls).toHaveLength(1);
  });
});

/** Other timers would end the call too, after 30 s. */
const atOnce = { timeout: 10_000 };

describe.each([
  ['ends its side', 'halfClose'],
  ['resets', 'abort'],
] as const)('a client that %s cancels the upstream at once', (_, leave) => {
  beforeEach(() => start({}));

  const half = 'x'.repeat(mebibyte / 2);
  test.each([
    ['after the request alone', ''],
    ['behind bytes that are no request', 'NONSENSE\r\n\r\n'],
    ['in headers', head],
    ['in a body', `${head}content-length: 100\r\n\r\n{`],
    ['in a large body', `${head}content-length: ${mebibyte}\r\n\r\n${half}`],
    ['in a large chunk', `${chunked}${mebibyte.toString(16)}\r\n${half}`],
    ['behind a whole large body', `${head}content-length: ${half.length}\r\n\r\n${half}`],
  ])('%s', atOnce, async (_where, behind) => {
    const call = await begin('a running stream');
    await (await connection.answer()).nextEvent();
    await connection.send(behind);
    connection[leave]();
    expect(await call.clientClosed).toMatch(/^(fin|reset)$/);
  });
});

test.each([
  ['ends its side', 'halfClose'],
  ['resets', 'abort'],
] as const)('so does one that was found too slow, and %s', atOnce, async (_, leave) => {
  await start(impatient);
  const call = await begin('a running stream');
  await connection.send(`${head}content-length: 100\r\n\r\n{`);
  await pass();
  connection[leave]();
  expect(await call.clientClosed).toMatch(/^(fin|reset)$/);
});
