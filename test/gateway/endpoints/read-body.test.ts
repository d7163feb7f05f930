// What is kept of a body while it comes? As much as it weighs, however small the pieces are in which it is sent.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { BodyReader } from '../../../gateway/endpoints/read-body.ts';
import { openRaw } from '../../support/raw-client.ts';
import { makeRandom } from '../../support/wall/split.ts';

const room = { fits: () => true, widen: () => true };

/** What is kept of a body that is sent in HTTP chunks of these sizes, and the body itself. */
async function readSent(sizes: readonly number[]) {
  const body = Buffer.alloc(sizes.reduce((sum, size) => sum + size, 0));
  for (let at = 0; at < body.length; at++) body[at] = at % 251;
  let at = 0;
  const pieces = sizes.flatMap((size) => {
    const head = Buffer.from(`${size.toString(16)}\r\n`);
    at += size;
    return [head, body.subarray(at - size, at), Buffer.from('\r\n')];
  });
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const read = new Promise<readonly Buffer[]>((resolve, reject) => {
    server.once('request', (request) =>
      new BodyReader(request, room, { onBody: resolve, onNoBody: reject }).start(),
    );
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const connection = await openRaw({ port });
  const head = 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n';
  await connection.send(Buffer.concat([Buffer.from(head), ...pieces, Buffer.from('0\r\n\r\n')]));
  const kept = await read;
  connection.close();
  server.close();
  return { body, kept };
}

test('200,000 chunks of one byte become a few buffers', async () => {
  const { body, kept } = await readSent(Array.from({ length: 200_000 }, () => 1));
  expect(Buffer.concat(kept).equals(body)).toBe(true);
  expect(kept.length).toBeLessThan(20);
});

test('chunks of any sizes are the bytes that were sent', async () => {
  const random = makeRandom(7);
  const sizes = Array.from({ length: 400 }, () => Math.ceil(random() ** 6 * 60_000));
  const { body, kept } = await readSent(sizes);
  expect(Buffer.concat(kept).equals(body)).toBe(true);
  expect(kept.length).toBeLessThan(body.length / 4_096);
});

test('a small body is one buffer', async () => {
  const { body, kept } = await readSent([5, 1, 1, 7_000]);
  expect(kept).toEqual([body]);
});
