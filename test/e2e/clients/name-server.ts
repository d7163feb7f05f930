// Which names does a program look up? A name server that knows none, and writes down what it was asked.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface NameServer {
  /** Every name that was looked up. */
  readonly names: readonly string[];
  close(): void;
}

/** On 127.0.0.1:53: only in a network of its own. */
export async function startNameServer(): Promise<NameServer> {
  const names: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (question, from) => {
    names.push(readName(question));
    const answer = Buffer.from(question);
    // A response, with recursion, and code 3: there is no such name (RFC 1035, section 4.1.1).
    answer.writeUInt16BE(0x8183, 2);
    socket.send(answer, from.port, from.address);
  });
  socket.bind(53, '127.0.0.1');
  await once(socket, 'listening');
  return { names, close: () => void socket.close() };
}

/** The first question, behind the header of twelve bytes: labels with their lengths before them. */
function readName(question: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; at < question.length; ) {
    const length = question.readUInt8(at);
    if (length === 0) break;
    labels.push(question.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return labels.join('.');
}
