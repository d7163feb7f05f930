// A provider that answers with a document of the test's own, whatever was asked.

import type { Behaviour } from '../support/wall.ts';

/** 200; the connection ends behind it. */
export function jsonAnswer(body: object): Behaviour {
  const text = JSON.stringify(body);
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n`;
  return { type: 'raw', bytes: head + text, followedBy: 'fin' };
}
