// Does a gateway serve callers over TLS, and a renewed certificate without a restart?

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../core/clock.ts';
import { readCertificate } from '../../../gateway/process/serving-certificate.ts';
import { type Identity, makeCertificate } from '../../core/egress/certificates.ts';
import { until } from '../../support/until.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf, testKey } from '../rig.ts';

const lookMs = 10_000;
const named = { name: 'gateway', dnsNames: ['localhost'] };

let folder: string;
let wall: Wall;
let rig: Rig;
let said: (string | undefined)[];
let look: () => void;

/** The system's, but for the looks at the certificate, which come when the test says so. */
const clock: Clock = {
  ...systemClock,
  setTimer(ms, callback) {
    if (ms !== lookMs) return systemClock.setTimer(ms, callback);
    look = callback;
    return () => {};
  },
};

async function put({ cert, key }: Pick<Identity, 'cert' | 'key'>): Promise<void> {
  await writeFile(join(folder, 'tls.crt'), cert);
  await writeFile(join(folder, 'tls.key'), key);
}

const first = makeCertificate(named);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-tls-'));
  await put(first);
  said = [];
  wall = await startWall();
  const options = { clock, tlsFolder: folder, onCertificate: (reason?: string) => said.push(reason) };
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]), options);
});
afterEach(async () => {
  await rig.close();
  await wall.close();
  await rm(folder, { recursive: true });
});

function opened(ca: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(rig.url).port), '127.0.0.1', { ca, servername: 'localhost' }, () =>
      resolve(socket),
    );
    socket.once('error', reject);
  });
}

/** Every answer on the connection until that many have come whole. */
async function ask(socket: TLSSocket, bodies: readonly object[]): Promise<string> {
  let text = '';
  const onData = (piece: Buffer): void => {
    text += piece.toString();
  };
  socket.on('data', onData);
  socket.write(bodies.map(requestOf).join(''));
  const wholes = /"total_tokens"[^\n]*}|data: \[DONE\]/g;
  await until(async () => (text.match(wholes) ?? []).length >= bodies.length);
  socket.removeListener('data', onData);
  return text;
}

function requestOf(more: object): string {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }], ...more });
  return [
    'POST /v1/chat/completions HTTP/1.1',
    'host: localhost',
    `authorization: Bearer ${testKey}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

test('answers, streams and further requests on one connection work over TLS', async () => {
  expect(rig.url).toMatch(/^https:/);
  const socket = await opened(first.cert);
  const text = await ask(socket, [{}, { stream: true }, {}]);
  socket.destroy();
  expect(text.match(/HTTP\/1.1 200 OK/g)).toHaveLength(3);
  expect(rig.records).toHaveLength(3);
});

test('new connections get a renewed certificate, and open ones go on', async () => {
  const early = await opened(first.cert);
  const next = makeCertificate(named);
  await put(next);
  look();
  expect(said).toEqual([undefined]);
  const late = await opened(next.cert);
  await ask(early, [{}]);
  await ask(late, [{}]);
  early.destroy();
  late.destroy();
  await expect(opened(first.cert)).rejects.toThrow();
});

test('an unusable certificate is logged once, and the earlier one stays in use', async () => {
  await put({ cert: makeCertificate(named).cert, key: first.key });
  look();
  look();
  expect(said).toEqual([expect.stringContaining('cannot be used')]);
  (await opened(first.cert)).destroy();
});

test('a folder without a certificate ends the start, with a message that names the missing files', async () => {
  await rm(join(folder, 'tls.key'));
  expect(() => readCertificate(folder)).toThrow(/ENOENT.*Put a Secret of type kubernetes.io\/tls there/);
});
