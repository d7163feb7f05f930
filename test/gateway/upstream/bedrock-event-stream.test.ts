// Are the frames of AWS read as what they say, however they are cut, and is nothing read of what is damaged?

import { describe, expect, test } from 'vitest';
import { readFrames } from '../../../gateway/dialects/events/framing.ts';
import { eventStream } from '../../../gateway/upstream/bedrock/event-stream.ts';
import { eventFrame, exceptionFrame } from '../../../simulator/clouds/event-stream.ts';
import { makeRandom } from '../../support/wall/split.ts';

/** From the SDK of AWS: `messageStart` with a padding member. */
const sample = Buffer.from(
  '000000800000005251a15f230b3a6576656e742d7479706507000c6d65737361676553746172740d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b22726f6c65223a22617373697374616e74222c2270223a22616263227d8eb8e9b8',
  'hex',
);

const stream = Buffer.concat([
  sample,
  eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'grün\n"p":"x"}' } }),
  eventFrame('messageStop', { stopReason: 'end_turn' }),
]);
const read = [
  'event: messageStart\ndata: {"role":"assistant"}\n\n',
  'event: contentBlockDelta\ndata: {"contentBlockIndex":0,"delta":{"text":"grün\\n\\"p\\":\\"x\\"}"}}\n\n',
  'event: messageStop\ndata: {"stopReason":"end_turn"}\n\n',
].join('');

function open() {
  const reader = eventStream.open?.();
  if (!reader) throw new Error('the framing has no reader');
  return reader;
}

function readIn(pieces: readonly Buffer[]) {
  const reader = open();
  let events = '';
  for (const piece of pieces) events += reader.push(piece).toString();
  return { events, flaw: reader.flaw, isCut: reader.pendingBytes > 0 };
}

test('a stream gives the same events, however it is cut', () => {
  for (let at = 0; at <= stream.length; at++) {
    const seen = readIn([stream.subarray(0, at), stream.subarray(at)]);
    expect(seen, `cut at ${at}`).toEqual({ events: read, flaw: undefined, isCut: false });
  }
  expect(readIn(Array.from(stream, (byte) => Buffer.from([byte]))).events).toBe(read);
});

test('a stream that ends inside a frame is cut', () => {
  for (let at = 1; at < stream.length; at++) {
    const { isCut } = readIn([stream.subarray(0, at)]);
    const isBetween = at === sample.length || readFrames(eventStream, stream.subarray(0, at)).ok;
    expect(isCut, `ends at ${at}`).toBe(!isBetween);
  }
});

test('a damaged byte anywhere is an error or truncates the stream, and nothing of its frame is read', () => {
  for (let at = 0; at < stream.length; at++) {
    const damaged = Buffer.from(stream);
    damaged[at] = (damaged[at] ?? 0) ^ 0x10;
    const { events, flaw, isCut } = readIn([damaged]);
    expect(flaw !== undefined || isCut, `damaged at ${at}`).toBe(true);
    expect(read.startsWith(events)).toBe(true);
  }
});

test('random streams in random pieces give their events', () => {
  const random = makeRandom(35);
  for (let round = 0; round < 300; round++) {
    const payloads = Array.from({ length: 1 + Math.floor(random() * 6) }, () => ({
      text: 'ä'.repeat(Math.floor(random() * 400)),
    }));
    const whole = Buffer.concat(payloads.map((payload) => eventFrame('contentBlockDelta', payload)));
    const pieces: Buffer[] = [];
    for (let at = 0; at < whole.length; ) {
      const to = at + 1 + Math.floor(random() * 300);
      pieces.push(whole.subarray(at, to));
      at = to;
    }
    const wanted = payloads.map(
      (payload) => `event: contentBlockDelta\ndata: ${JSON.stringify(payload)}\n\n`,
    );
    expect(readIn(pieces)).toEqual({ events: wanted.join(''), flaw: undefined, isCut: false });
  }
});

describe('an exception', () => {
  test.each([
    ['throttlingException', 429],
    ['modelStreamErrorException', 424],
    ['internalServerException', 500],
    ['serviceUnavailableException', 503],
    ['validationException', 400],
    ['aNewException', 500],
  ])('%s is an error of status %i', (type, status) => {
    const { events } = readIn([exceptionFrame(type, 'Not now.')]);
    const [, data = ''] = /^event: error\ndata: (.*)\n\n$/.exec(events) ?? [];
    expect(JSON.parse(data)).toEqual({
      error: { type: type.charAt(0).toUpperCase() + type.slice(1), message: 'Not now.', status },
    });
  });
});

test('a frame with an impossible length is refused before it arrives', () => {
  const huge = Buffer.alloc(12);
  huge.writeUInt32BE(0x7fffffff, 0);
  expect(readIn([huge]).flaw).toBeDefined();
});

test.each<[string, Buffer, string | undefined]>([
  ['frames', sample, 'events'],
  ['JSON', Buffer.from('{"message":"no"}'), 'json'],
  ['a page', Buffer.from('<html>'), 'other'],
  ['server-sent events', Buffer.from('data: {}\n\n'), 'other'],
  ['nothing', Buffer.alloc(0), undefined],
])('a body of %s is recognised by its beginning', (_, body, form) => {
  expect(eventStream.formOf(body)).toBe(form);
});
