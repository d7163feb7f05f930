// A program that plays many gateway pods which nobody has asked for half an hour: each has full pages in its journal, made as they
// are asked for. One server; which pod is meant says the address that was called.
//
// node stand-ins.ts <port> <pages of each> <first address> <pods>

import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { JOURNAL_CURSOR_HEADER } from '../../../core/contract/exchange.ts';
import { makeRecords } from '../../ledger/many-records.ts';
import { PAGE_RECORDS } from './page-records.ts';

const [port = '0', pages = '1'] = process.argv.slice(2);

// The same in every page but for the ids, of five thousand keys.
const lines = [
  ...makeRecords({ records: PAGE_RECORDS, keys: 5_000, namespaces: 100, days: 0.02, endMs: Date.now() }),
].map((record) => JSON.stringify(record).split(record.request));

// As a gateway does: a connection outlasts the time that a page waits to be stored.
const server = createServer({ keepAliveTimeout: 75_000 }, async (request, response) => {
  const pod = request.socket.localAddress ?? '';
  const { searchParams } = new URL(request.url ?? '', 'http://pod');
  const read = Number(searchParams.get('after') ?? 0);
  if (read === Number(pages)) {
    const givenUp = new AbortController();
    response.on('close', () => givenUp.abort());
    await pause(Number(searchParams.get('waitMs')), undefined, givenUp).catch(() => {});
    response.writeHead(200, { 'content-length': 0, [JOURNAL_CURSOR_HEADER]: String(read) });
    response.end();
    return;
  }
  const id = `req_${pod.replaceAll('.', '_')}_${read}_`;
  const bytes = Buffer.from(lines.map((parts, at) => `${parts.join(`${id}${at}`)}\n`).join(''));
  response.writeHead(200, { 'content-length': bytes.length, [JOURNAL_CURSOR_HEADER]: String(read + 1) });
  response.end(bytes);
});
server.listen(Number(port), '0.0.0.0', () => process.stdout.write('listening\n'));
