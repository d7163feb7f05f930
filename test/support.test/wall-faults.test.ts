// Every fault of the wall is seen on the wire as what it says: a fault that never fires would make every test of
// failover pass. In each of the four dialects.

import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Finished, openRaw, type RawAnswer, rawCall, writeRequest } from '../support/raw-client.ts';
import { dataOf, endsWell, textOf } from '../support/said.ts';
import {
  type Behaviour,
  type CallEnd,
  closedPort,
  sixtyWords,
  startWall,
  type Wall,
} from '../support/wall.ts';
import { bodyOf, chatBody, chatPath, type Tongue, tongues } from './ask.ts';

type Seen = Omit<RawAnswer, 'finished' | 'nextEvent'> & Finished;

interface Row {
  name: string;
  behaviour: Behaviour;
  stream?: boolean;
  ending: Finished['ending'];
  end: CallEnd;
  /** Tokens the provider charges; left out: nothing is generated. */
  outputTokens?: number;
  check?: (seen: Seen) => void;
}

const sixty = { text: sixtyWords };
let wall: Wall;

beforeEach(async () => {
  wall = await startWall();
});

afterEach(() => wall.close());

/** The names of the events that tell of an error, where they have one. */
const errorNames: Readonly<Record<string, readonly string[]>> = {
  'anthropic-messages': ['error'],
  'openai-responses': ['error', 'response.failed'],
};
const chunkName: Readonly<Record<string, string>> = {
  'anthropic-messages': 'message_delta',
  'openai-responses': 'response.failed',
};

const text = 'The gate opens and the water runs down to the turbine.';

function rowsOf({ leading, trailing, name: dialect }: Tongue): Row[] {
  const tokensIn = (events: number): number => Math.max(0, events - leading);
  return [
    {
      name: 'a status with its headers and an error in the shape of the dialect',
      behaviour: { type: 'status', status: 429, headers: { 'retry-after': '2' } },
      ending: 'length-complete',
      end: 'complete',
      check(seen) {
        expect(seen.status).toBe(429);
        expect(seen.headers['retry-after']).toBe('2');
        const error = { type: 'rate_limit_error' };
        expect(seen.json).toMatchObject(
          dialect === 'anthropic-messages'
            ? { type: 'error', error }
            : { error: { ...error, code: 'rate_limit_exceeded' } },
        );
      },
    },
    {
      name: 'a status with a body of one’s own',
      behaviour: { type: 'status', status: 400, body: { detail: 'no' } },
      ending: 'length-complete',
      end: 'complete',
      check: (seen) => expect(seen.json).toEqual({ detail: 'no' }),
    },
    {
      name: 'a redirect',
      behaviour: { type: 'redirect', location: 'http://127.0.0.1:1/' },
      ending: 'no-body',
      end: 'complete',
      check: (seen) => expect([seen.status, seen.headers.location]).toEqual([307, 'http://127.0.0.1:1/']),
    },
    {
      name: 'a reset after some events',
      behaviour: { type: 'reset', after: { events: 3 }, answer: sixty },
      stream: true,
      ending: 'reset',
      end: 'reset',
      outputTokens: tokensIn(3),
      check: (seen) => expect(seen.events).toHaveLength(3),
    },
    {
      name: 'a reset after some body bytes',
      behaviour: { type: 'reset', after: { bytes: 100 }, answer: sixty },
      stream: true,
      ending: 'reset',
      end: 'reset',
      outputTokens: 0,
      check: (seen) => expect(seen.body).toHaveLength(100),
    },
    {
      name: 'a FIN after forty of sixty tokens, chunked',
      behaviour: { type: 'cut', after: { contentEvents: 40 }, answer: sixty },
      stream: true,
      ending: 'fin-early',
      end: 'fin',
      outputTokens: 40,
      check: (seen) => expect(textOf(seen)).toMatch(/word40 $/),
    },
    {
      name: 'a FIN after some events that were sent in pieces: a token counts once',
      behaviour: { type: 'cut', after: { events: 3 }, answer: { ...sixty, split: { body: [7] } } },
      stream: true,
      ending: 'fin-early',
      end: 'fin',
      outputTokens: tokensIn(3),
      check: (seen) => expect(seen.events).toHaveLength(3),
    },
    {
      name: 'a FIN behind the whole body, only the last chunk missing',
      behaviour: { type: 'cut', after: { events: leading + 60 + trailing }, answer: sixty },
      stream: true,
      ending: 'fin-early',
      end: 'fin',
      outputTokens: 60,
      check: (seen) => expect(endsWell(seen)).toBe(true),
    },
    {
      name: 'a FIN before the promised length, streamed',
      behaviour: { type: 'cut', after: { events: 5 + leading }, framing: 'content-length', answer: sixty },
      stream: true,
      ending: 'fin-early',
      end: 'fin',
      outputTokens: 5,
      check: (seen) => expect(Number(seen.headers['content-length'])).toBeGreaterThan(seen.body.length),
    },
    {
      name: 'a FIN before the promised length, plain: all was generated before',
      behaviour: { type: 'cut', after: { bytes: 50 }, answer: sixty },
      ending: 'fin-early',
      end: 'fin',
      outputTokens: 60,
      check: (seen) => expect(seen.body).toHaveLength(50),
    },
    {
      name: 'a FIN that looks like the end of a close-delimited body',
      behaviour: { type: 'cut', after: { events: 5 + leading }, framing: 'close', answer: sixty },
      stream: true,
      ending: 'close-delimited',
      end: 'fin',
      outputTokens: 5,
      check: (seen) => expect(seen.events).toHaveLength(5 + leading),
    },
    {
      name: 'a reset inside a close-delimited body',
      behaviour: { type: 'reset', after: { events: 5 + leading }, answer: { ...sixty, framing: 'close' } },
      stream: true,
      ending: 'reset',
      end: 'reset',
      outputTokens: 5,
    },
    {
      name: 'a plain answer cut at two thirds, the same point as forty of sixty tokens',
      behaviour: { type: 'cut', after: { contentEvents: 40 }, framing: 'chunked', answer: sixty },
      ending: 'fin-early',
      end: 'fin',
      outputTokens: 60,
      check: (seen) => expect(seen.json).toBeUndefined(),
    },
    {
      name: 'silence after some events that ends in a FIN',
      behaviour: { type: 'stall', after: { events: 2 }, for: { ms: 1 }, followedBy: 'fin', answer: sixty },
      stream: true,
      ending: 'fin-early',
      end: 'fin',
      outputTokens: tokensIn(2),
      check: (seen) => expect(seen.events).toHaveLength(2),
    },
    {
      name: 'silence that goes on',
      behaviour: { type: 'stall', after: { bytes: 333 }, for: { ms: 1 }, answer: sixty },
      stream: true,
      ending: 'last-chunk',
      end: 'complete',
      outputTokens: 60,
      check: (seen) => expect(textOf(seen)).toBe(sixtyWords),
    },
    ...(['data', 'event', 'chunk'] as const).map(
      (shape): Row => ({
        name: `an error as the first event, in the shape of ${shape}`,
        behaviour: { type: 'error-event', shape, error: { code: 'overloaded', type: 'overloaded_error' } },
        stream: true,
        ending: 'last-chunk',
        end: 'complete',
        outputTokens: 0,
        check(seen) {
          expect(seen.status).toBe(200);
          expect(seen.events).toHaveLength(1);
          expect(seen.events[0]?.name).toBe(
            shape === 'chunk' ? chunkName[dialect] : shape === 'event' ? 'error' : undefined,
          );
          expect(JSON.parse(seen.events[0]?.data ?? '')).toBeTypeOf('object');
          expect(seen.text).toMatch(/"code":"overloaded"/);
        },
      }),
    ),
    {
      name: 'an error after some events, then the end marker all the same',
      behaviour: { type: 'error-event', afterEvents: 4, followedBy: 'end-marker', answer: sixty },
      stream: true,
      ending: 'last-chunk',
      end: 'complete',
      outputTokens: tokensIn(4),
      check(seen) {
        expect(seen.events.slice(4, -1).map(({ name }) => name)).toEqual(errorNames[dialect] ?? [undefined]);
        expect(seen.text).toMatch(/"message":"The wall broke off"/);
        expect(dataOf(seen).at(-1)).toMatch(
          dialect === 'anthropic-messages' ? /"message_stop"/ : /^\[DONE\]$/,
        );
      },
    },
    {
      name: 'an error event, then a FIN',
      behaviour: { type: 'error-event', shape: 'event', afterEvents: 1, followedBy: 'fin' },
      stream: true,
      ending: 'fin-early',
      end: 'fin',
      outputTokens: tokensIn(1),
      check: (seen) => expect(seen.events).toHaveLength(2),
    },
    {
      name: 'a tenth event that is not JSON, and a whole answer around it',
      behaviour: { type: 'garbage-event', atEvent: 10, answer: sixty },
      stream: true,
      ending: 'last-chunk',
      end: 'complete',
      outputTokens: 60,
      check(seen) {
        expect(() => JSON.parse(seen.events[9]?.data ?? '')).toThrow(SyntaxError);
        expect(textOf(seen)).toBe(sixtyWords);
      },
    },
    {
      name: 'an event of more than a mebibyte',
      behaviour: { type: 'oversized-event' },
      stream: true,
      ending: 'last-chunk',
      end: 'complete',
      outputTokens: 11,
      check: (seen) => expect(seen.events[1]?.data?.length).toBeGreaterThan(1024 * 1024),
    },
    {
      name: 'a page of HTML',
      behaviour: { type: 'html' },
      stream: true,
      ending: 'length-complete',
      end: 'complete',
      check(seen) {
        expect(seen.headers['content-type']).toContain('text/html');
        expect(seen.text).toMatch(/^<!doctype html>/);
      },
    },
    {
      name: 'nothing under a 200',
      behaviour: { type: 'empty' },
      ending: 'no-body',
      end: 'complete',
      check: (seen) => expect([seen.status, seen.body.length]).toEqual([200, 0]),
    },
    {
      name: 'a wrong content type',
      behaviour: { type: 'answer', contentType: 'text/plain' },
      stream: true,
      ending: 'last-chunk',
      end: 'complete',
      outputTokens: 11,
      check: (seen) => expect(seen.headers['content-type']).toBe('text/plain'),
    },
    {
      name: 'a plain body although a stream was asked for',
      behaviour: { type: 'answer', mode: 'plain' },
      stream: true,
      ending: 'length-complete',
      end: 'complete',
      outputTokens: 11,
      check: (seen) => expect(textOf(seen)).toBe(text),
    },
    {
      name: 'no end marker',
      behaviour: { type: 'answer', omit: ['end'] },
      stream: true,
      ending: 'last-chunk',
      end: 'complete',
      outputTokens: 11,
      check: (seen) => expect([textOf(seen), endsWell(seen)]).toEqual([text, false]),
    },
    {
      name: 'no finish reason',
      behaviour: { type: 'answer', omit: ['finish'] },
      stream: true,
      ending: 'last-chunk',
      end: 'complete',
      outputTokens: 11,
      check: (seen) => expect(seen.text).not.toMatch(/"(finish|stop)_reason":"|output_item\.done/),
    },
    {
      name: 'neither of both: a clean end that proves nothing',
      behaviour: { type: 'answer', omit: ['finish', 'end'] },
      stream: true,
      ending: 'last-chunk',
      end: 'complete',
      outputTokens: 11,
      check: (seen) => expect(dataOf(seen).at(-1)).toContain('turbine.'),
    },
    {
      name: 'JSON that ends early in a complete message',
      behaviour: { type: 'truncated-json' },
      ending: 'length-complete',
      end: 'complete',
      outputTokens: 11,
      check: (seen) => expect(() => JSON.parse(seen.text)).toThrow(SyntaxError),
    },
    {
      name: 'an unrequested gzip',
      behaviour: { type: 'answer', gzip: true },
      ending: 'length-complete',
      end: 'complete',
      outputTokens: 11,
      check(seen) {
        expect(seen.headers['content-encoding']).toBe('gzip');
        expect(gunzipSync(seen.body).toString()).toContain('turbine.');
      },
    },
    {
      name: 'huge headers',
      behaviour: { type: 'huge-headers', bytes: 100_000 },
      ending: 'length-complete',
      end: 'complete',
      outputTokens: 11,
      check: (seen) => expect(JSON.stringify(seen.rawHeaders).length).toBeGreaterThan(100_000),
    },
    {
      name: 'informational answers in front of the real one',
      behaviour: { type: 'informational', statuses: [102, 103], next: { type: 'status', status: 503 } },
      ending: 'length-complete',
      end: 'complete',
      check(seen) {
        expect(seen.informational.map((head) => head.status)).toEqual([102, 103]);
        expect(seen.status).toBe(503);
      },
    },
    {
      name: 'raw bytes',
      behaviour: {
        type: 'raw',
        bytes: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
        followedBy: 'fin',
      },
      ending: 'malformed',
      end: 'fin',
    },
  ];
}

describe.each(tongues)('$name', (tongue) => {
  test.each(rowsOf(tongue))('$name', async ({ behaviour, stream, ending, end, outputTokens, check }) => {
    wall.script(behaviour);
    const seen = await rawCall(wall, {
      path: tongue.path,
      body: bodyOf(tongue, { stream: stream ?? false }),
    });
    expect(seen.ending).toBe(ending);
    const [call] = wall.calls;
    expect(await call?.finished).toBe(end);
    expect(call?.tokens.outputTokens).toBe(outputTokens ?? 0);
    expect(call?.tokens.inputTokens).toBe(outputTokens === undefined ? 0 : 4);
    check?.(seen);
  });
});

describe('without an answer', () => {
  test('a reset before any byte', async () => {
    wall.script({ type: 'reset' });
    await expect(rawCall(wall, { path: chatPath, body: chatBody() })).rejects.toThrow('reset');
    expect(wall.calls[0]).toMatchObject({ end: 'reset', bytesWritten: 0 });
  });

  test('raw bytes that are no head', async () => {
    wall.script({ type: 'raw', bytes: 'SSH-2.0-OpenSSH\r\n\r\n', followedBy: 'hang' });
    await expect(rawCall(wall, { path: chatPath, body: chatBody() })).rejects.toThrow('malformed');
  });

  test.each(['before-headers', 'after-headers'] as const)(
    'silence %s, until the caller leaves',
    async (when) => {
      wall.script({ type: 'hang', when });
      const connection = await openRaw(wall);
      await connection.send(writeRequest({ path: chatPath, body: chatBody({ stream: true }) }));
      const call = await wall.nextCall();
      if (when === 'after-headers') expect((await connection.answer()).status).toBe(200);
      connection.close();
      expect(await call.finished).toBe('client-closed');
      expect(call.bodyBytesWritten).toBe(0);
      expect(call.bytesWritten > 0).toBe(when === 'after-headers');
    },
  );

  test('silence with comments in between', async () => {
    wall.script({ type: 'stall', after: { events: 1 }, pingEveryMs: 1 });
    const connection = await openRaw(wall);
    await connection.send(writeRequest({ path: chatPath, body: chatBody({ stream: true }) }));
    const answer = await connection.answer();
    const types = [await answer.nextEvent(), await answer.nextEvent(), await answer.nextEvent()];
    expect(types.map((event) => event?.type)).toEqual(['event', 'comment', 'comment']);
    connection.close();
  });

  test('a refused connection', async () => {
    const closed = await closedPort();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await expect(openRaw(closed)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    }
    await closed.close();
  });
});

describe('waiting', () => {
  const gates = ['beforeHeaders', 'beforeFirstEvent', 'beforeFirstContent'] as const;
  // The second call runs from beginning to end at the same time: what was not held back would have been written by then.
  test.each(gates)('%s holds exactly what lies behind it', async (gateName) => {
    const gate = Promise.withResolvers<void>();
    wall.script([{ type: 'answer', [gateName]: { until: gate.promise } }, { type: 'answer' }]);
    const connection = await openRaw(wall);
    await connection.send(writeRequest({ path: chatPath, body: chatBody({ stream: true }) }));
    const call = await wall.nextCall();
    const head = connection.answer();
    if (gateName !== 'beforeHeaders') await head;
    if (gateName === 'beforeFirstContent') expect((await (await head).nextEvent())?.data).toContain('"role"');
    await rawCall(wall, { path: chatPath, body: chatBody({ stream: true }) });
    expect([call.bytesWritten > 0, call.eventsWritten]).toEqual([
      gateName !== 'beforeHeaders',
      gateName === 'beforeFirstContent' ? 1 : 0,
    ]);
    gate.resolve();
    expect((await (await head).finished).ending).toBe('last-chunk');
    connection.close();
  });
});

describe('the keep-alive race', () => {
  test.each(['fin', 'reset'] as const)(
    'the second request on a connection meets a %s, a fresh one an answer',
    async (how) => {
      wall.script({ type: 'stale-reuse', how });
      const connection = await openRaw(wall);
      const request = writeRequest({ path: chatPath, body: chatBody() });
      await connection.send(request);
      expect((await (await connection.answer()).finished).ending).toBe('length-complete');
      await connection.send(request);
      await expect(connection.answer()).rejects.toThrow(how);
      expect((await rawCall(wall, { path: chatPath, body: chatBody() })).status).toBe(200);
      expect(wall.calls.map((call) => call.end)).toEqual(['complete', how, 'complete']);
      connection.close();
    },
  );
});

describe('a cut at any byte of the wire', () => {
  const framings = ['chunked', 'content-length', 'close'] as const;
  test.each(framings)(
    '%s: exactly that many bytes arrive, and the end is never taken for a good one',
    async (framing) => {
      const answer = { text: 'One two.', framing };
      const { bytesWritten } = await measure({ type: 'answer', ...answer });
      for (let wireBytes = 0; wireBytes < bytesWritten; wireBytes += 37) {
        wall.script({ type: 'cut', after: { wireBytes }, answer });
        const connection = await openRaw(wall);
        let received = 0;
        connection.socket.on('data', (bytes) => {
          received += bytes.length;
        });
        await connection.send(writeRequest({ path: chatPath, body: chatBody({ stream: true }) }));
        const ending = await connection.answer().then(
          async (head) => (await head.finished).ending,
          () => 'fin-early',
        );
        expect([received, ending]).toEqual([
          wireBytes,
          framing === 'close' && ending !== 'fin-early' ? 'close-delimited' : 'fin-early',
        ]);
        connection.close();
      }
    },
  );

  async function measure(behaviour: Behaviour) {
    wall.script(behaviour);
    await rawCall(wall, { path: chatPath, body: chatBody({ stream: true }) });
    return await wall.nextCall();
  }
});

describe('a script that cannot be played', () => {
  const impossible: [string, Behaviour, boolean][] = [
    ['a cut after the last event', { type: 'cut', after: { events: 999 } }, true],
    ['a cut after the last byte', { type: 'cut', after: { bytes: 1e9 } }, false],
    [
      'a cut at the very end of a known length',
      { type: 'cut', after: { events: 4 }, framing: 'content-length', answer: { text: 'One.' } },
      true,
    ],
    ['a cut where nothing is missing on the wire', { type: 'cut', after: { wireBytes: 1e9 } }, true],
    ['a truncation that keeps everything', { type: 'truncated-json', bytes: 1e9 }, false],
    ['a split into nothing', { type: 'answer', split: { body: [0] } }, true],
  ];
  test.each(impossible)('%s fails the call and the close', async (_name, behaviour, stream) => {
    const own = await startWall(behaviour);
    const { status } = await rawCall(own, { path: chatPath, body: chatBody({ stream }) });
    expect(status).toBe(599);
    await expect(own.close()).rejects.toThrow(`could not play "${behaviour.type}"`);
  });

  test('a path the wall does not speak is a 404 and uses up no behaviour', async () => {
    wall.script([{ type: 'status', status: 500 }, { type: 'answer' }]);
    expect((await rawCall(wall, { path: '/v1/embeddings', body: {} })).status).toBe(404);
    expect((await rawCall(wall, { path: chatPath, body: chatBody() })).status).toBe(500);
    expect(wall.calls.map((call) => call.voice)).toEqual([undefined, 'openai-chat']);
  });
});

describe('the script', () => {
  test('a list is played in order and its last behaviour goes on', async () => {
    wall.script([{ type: 'status', status: 503 }, { type: 'status', status: 500 }, { type: 'answer' }]);
    const statuses: number[] = [];
    for (let call = 0; call < 4; call += 1) {
      statuses.push((await rawCall(wall, { path: chatPath, body: chatBody() })).status);
    }
    expect(statuses).toEqual([503, 500, 200, 200]);
  });

  test('a function chooses by the call', async () => {
    wall.script((call) => (call.bodyText.includes('"stream":true') ? { type: 'html' } : { type: 'answer' }));
    const streamed = await rawCall(wall, { path: chatPath, body: chatBody({ stream: true }) });
    const plain = await rawCall(wall, { path: chatPath, body: chatBody() });
    expect([streamed, plain].map((seen) => seen.headers['content-type'])).toEqual([
      'text/html; charset=utf-8',
      'application/json',
    ]);
  });

  test('listings have a script of their own', async () => {
    wall.scriptListings({ type: 'status', status: 401 });
    expect((await rawCall(wall, { path: '/v1/models' })).status).toBe(401);
    expect((await rawCall(wall, { path: chatPath, body: chatBody() })).status).toBe(200);
  });
});
