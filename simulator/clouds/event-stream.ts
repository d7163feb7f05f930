// How does AWS frame a stream? The writer's side: length, headers, payload, and a checksum of both.

import { crc32 } from 'node:zlib';

export function eventFrame(eventType: string, payload: object): Buffer {
  return frameOf(
    { ':event-type': eventType, ':content-type': 'application/json', ':message-type': 'event' },
    Buffer.from(JSON.stringify({ ...payload, p: 'abcdefghij' })),
  );
}

export function exceptionFrame(exceptionType: string, message: string): Buffer {
  return frameOf(
    { ':exception-type': exceptionType, ':content-type': 'application/json', ':message-type': 'exception' },
    Buffer.from(JSON.stringify({ message })),
  );
}

const stringType = 7;

function frameOf(headers: Readonly<Record<string, string>>, payload: Buffer): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const bytes = Buffer.from(value);
      const size = Buffer.alloc(2);
      size.writeUInt16BE(bytes.length);
      return Buffer.concat([
        Buffer.from([name.length]),
        Buffer.from(name),
        Buffer.from([stringType]),
        size,
        bytes,
      ]);
    }),
  );
  const total = 16 + head.length + payload.length;
  const frame = Buffer.alloc(total);
  frame.writeUInt32BE(total, 0);
  frame.writeUInt32BE(head.length, 4);
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8);
  head.copy(frame, 12);
  payload.copy(frame, 12 + head.length);
  frame.writeUInt32BE(crc32(frame.subarray(0, total - 4)), total - 4);
  return frame;
}
