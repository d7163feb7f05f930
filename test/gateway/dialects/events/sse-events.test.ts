// Are events read alike, whatever bytes they are made of and however they arrive?

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSse, type SseEvent } from '../../../../gateway/dialects/events/sse-events.ts';
import { runs } from '../../../support/runs.ts';
import { cutAt } from '../support/read-pieces.ts';

const lengthMax = 24;

const pieces = fc.oneof(
  fc
    .constantFrom(
      'data: {"a":1}\n\n',
      'data: {"a":"é"}\n\n',
      'data: {\r}\n\n',
      'data: {"a":1}\r\n\r\n',
      'data: {"a":\ndata: 2}\n\n',
      'event: x\ndata: {}\n\n',
      'id: 1\n',
      ': ping\n\n',
      'data: {\n',
      'data: {',
      'data:{}\n\n',
      'data: \n\n',
      '\n',
      '\n\n',
      '\r',
      '\ufeff',
      'ignored\n\n',
      `data: {${'x'.repeat(lengthMax - 1)}\n\n`,
      `data: {${'x'.repeat(lengthMax)}\n\n`,
    )
    .map((text) => Buffer.from(text)),
  // Not UTF-8, also where it would be cut off by the end of the event.
  fc
    .uint8Array({ maxLength: 6 })
    .map((bytes) => Buffer.concat([Buffer.from('data: {'), bytes, Buffer.from('\n\n')])),
  fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
);

test('any cut into chunks gives the same events as one chunk', () => {
  const cuts = fc.array(fc.nat({ max: 200 }), { maxLength: 6 });
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 10 }), cuts, (chunks, at) => {
      const all = Buffer.concat(chunks);
      const bytewise = read([...all].map((byte) => Buffer.from([byte])));
      expect(read(chunks)).toEqual(bytewise);
      expect(read(cutAt(all, at))).toEqual(bytewise);
    }),
    { seed: 7, numRuns: runs(10_000) },
  );
});

function read(chunks: readonly Buffer[]): {
  readonly events: readonly SseEvent[];
  readonly isOverfull: boolean;
} {
  const reader = readSse(lengthMax);
  const events = chunks.flatMap((chunk) => reader.push(chunk));
  return { events: [...events, ...reader.end()], isOverfull: reader.isOverfull };
}
