// How does the process end? As Kubernetes expects: reported once it lets running answers finish, reported twice it breaks
// them off with a word, and no ledger record is lost either way.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { openRaw, type RawAnswer, rawCall, writeRequest } from '../../support/raw-client.ts';
import { some } from '../../support/runs.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { tableOf, testKey } from '../rig.ts';
import { type Folder, type ListeningProcess, launchListening, makeFolder } from './gateway-process.ts';

let folder: Folder;
let wall: Wall;
let gateway: ListeningProcess;
let mayGoOn: PromiseWithResolvers<void>;

beforeEach(async () => {
  mayGoOn = Promise.withResolvers();
  folder = await makeFolder();
  wall = await startWall();
  await folder.putTable(tableOf([{ baseUrl: wall.baseUrl }]));
});

afterEach(async () => {
  await gateway.process.stop();
  mayGoOn.resolve();
  await wall.close();
  await folder.remove();
});

async function launched(env: Record<string, string> = {}, nodeArgs: readonly string[] = []): Promise<void> {
  gateway = await launchListening(folder, env, nodeArgs);
  await gateway.process.line(/routing table in use/);
}

const port = (): number => Number(new URL(gateway.url).port);

const request = (isStream: boolean) => ({
  path: '/v1/chat/completions',
  headers: { authorization: `Bearer ${testKey}` },
  body: { model: 'm', stream: isStream, messages: [{ role: 'user', content: 'three plain words' }] },
});

/** A stream that has given its first content, and goes on when `mayGoOn` is resolved. */
async function openStream(): Promise<{ answer: RawAnswer; close(): void }> {
  wall.script({
    type: 'stall',
    after: { contentEvents: 3 },
    for: { until: mayGoOn.promise },
    followedBy: 'go-on',
  });
  const connection = await openRaw({ port: port() });
  await connection.send(writeRequest(request(true)));
  const answer = await connection.answer();
  await answer.nextEvent();
  wall.script({ type: 'answer' });
  return { answer, close: () => connection.close() };
}

const readyz = async (): Promise<number> =>
  (await rawCall({ port: Number(new URL(gateway.metricsUrl).port) }, { path: '/readyz' })).status;

async function refusing(): Promise<void> {
  for (;;) {
    const connection = await openRaw({ port: port() }).catch(() => undefined);
    if (connection === undefined) return;
    connection.close();
  }
}

/** `npm test` sends the first alone; the others two by two, to a process with a stream, below. */
const endings = some(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const, 5);

test.each(endings)('without requests, %s ends it with 0', async (name) => {
  await launched();
  gateway.process.signal(name);
  expect(await gateway.process.exit).toEqual({ code: 0, signal: null });
});

test('a running stream ends normally, and every answer is in the journal', async () => {
  await launched({ PENSTOCK_DRAIN_ACCEPT_MS: '400' });
  expect(await readyz()).toBe(200);
  const stream = await openStream();
  expect((await rawCall({ port: port() }, request(false))).status).toBe(200);

  gateway.process.signal('SIGTERM');
  await gateway.process.line(/"draining","signal":"SIGTERM"/);
  expect(await readyz(), 'not ready at once').toBe(503);
  const during = await rawCall({ port: port() }, request(false));
  expect([during.status, during.headers.connection], 'accepting for a while').toEqual([200, 'close']);
  await refusing();
  mayGoOn.resolve();
  const { text, ending } = await stream.answer.finished;
  stream.close();
  expect([text.trimEnd().endsWith('data: [DONE]'), ending]).toEqual([true, 'last-chunk']);

  expect(await gateway.process.exit).toEqual({ code: 0, signal: null });
  const records = await folder.records();
  expect(records.map(({ outcome }) => outcome)).toEqual(['answered', 'answered', 'answered']);
  expect(records.map(({ usage }) => usage.output).reduce((sum, tokens) => sum + tokens, 0)).toBe(
    wall.totals().outputTokens,
  );
  expect(gateway.process.stderr()).toBe('');
});

test('a second SIGTERM breaks running streams off with an error, at once, and the process ends with 0, though clients keep their connections', async () => {
  await launched({ PENSTOCK_DRAIN_ACCEPT_MS: '60000' });
  const streams = [await openStream(), await openStream()];
  gateway.process.signal('SIGTERM');
  await gateway.process.line(/"draining"/);
  gateway.process.signal('SIGTERM');
  for (const { answer } of streams) {
    const { text, ending } = await answer.finished;
    expect(text).toMatch(/data: \{"error":.*"code":"server_shutting_down"/);
    expect([text.includes('[DONE]'), ending]).toEqual([false, 'fin-early']);
  }
  expect(await gateway.process.exit).toEqual({ code: 0, signal: null });
  for (const { close } of streams) close();
  expect((await folder.records()).map(({ outcome }) => outcome)).toEqual(['cancelled', 'cancelled']);
  expect(gateway.process.stderr()).toBe('');
});

test.each([
  ['SIGUSR2', 'SIGQUIT'],
  ['SIGINT', 'SIGHUP'],
] as const)('%s and %s are counted together: the second signal loses no record', async (first, second) => {
  await launched({ PENSTOCK_DRAIN_ACCEPT_MS: '60000' });
  const { answer, close } = await openStream();
  gateway.process.signal(first);
  // The kernel makes one of two signals that nobody has taken yet.
  await gateway.process.line(/"draining"/);
  gateway.process.signal(second);
  expect((await answer.finished).text).toMatch(/"code":"server_shutting_down"/);
  close();
  expect(await gateway.process.exit).toEqual({ code: 0, signal: null });
  expect((await folder.records()).map(({ outcome }) => outcome)).toEqual(['cancelled']);
});

/** Throws what nobody catches whenever this signal comes, which means nothing else. */
const failing = [
  '--import',
  `data:text/javascript,process.on('SIGWINCH', () => { throw new TypeError('a quoted ' + 'value'); })`,
];

async function fail(times: number): Promise<void> {
  for (let done = 0; done < times; done++) {
    const reported = gateway.process.nextLine(/the process failed/);
    gateway.process.signal('SIGWINCH');
    await reported;
  }
}

test('an error during the drain is logged without its message, and breaks no stream: every record is kept, and it ends with 1', async () => {
  await launched({}, failing);
  const { answer, close } = await openStream();
  await fail(3);
  mayGoOn.resolve();
  const { text, ending } = await answer.finished;
  close();
  expect([text.trimEnd().endsWith('data: [DONE]'), ending]).toEqual([true, 'last-chunk']);
  expect(await gateway.process.exit).toEqual({ code: 1, signal: null });
  expect((await folder.records()).map(({ outcome }) => outcome)).toEqual(['answered']);
  const failures = gateway.process.stdout().match(/the process failed.*?TypeError/g);
  expect(failures).toEqual([
    'the process failed and drains","error":"TypeError',
    ...Array(2).fill('the process failed while it drained","error":"TypeError'),
  ]);
  expect(gateway.process.stdout()).not.toContain('a quoted value');
  expect(gateway.process.stderr()).toBe('');
});

test('a process that fails again and again does not wait for its streams', async () => {
  await launched({}, failing);
  const { close } = await openStream();
  await fail(9);
  gateway.process.signal('SIGWINCH');
  expect(await gateway.process.exit).toEqual({ code: 1, signal: null });
  close();
});

test('a stream that still runs after the grace period is broken off with an error', async () => {
  await launched({ PENSTOCK_DRAIN_GRACE_MS: '1' });
  const stream = await openStream();
  gateway.process.signal('SIGTERM');
  const { text, ending } = await stream.answer.finished;
  stream.close();
  expect(text).toMatch(/"code":"server_shutting_down"/);
  expect(ending).toBe('fin-early');
  expect(await gateway.process.exit).toEqual({ code: 0, signal: null });
});

test('connections that are idle, or stop inside their headers or body, do not keep the process', async () => {
  await launched({ PENSTOCK_DRAIN_GRACE_MS: '300' });
  const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n';
  const rest = `authorization: Bearer ${testKey}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"model":`;
  const connections = [];
  for (const bytes of ['', head, head + rest]) {
    const connection = await openRaw({ port: port() });
    if (bytes !== '') await connection.send(bytes);
    connections.push(connection);
  }
  expect((await rawCall({ port: port() }, request(false))).status, 'and have been accepted').toBe(200);
  gateway.process.signal('SIGTERM');
  expect(await gateway.process.exit).toEqual({ code: 0, signal: null });
  for (const connection of connections) connection.close();
  expect((await folder.records()).map(({ outcome }) => outcome)).toEqual(['answered']);
});

test('a request whose body is in flight when the port closes is served to its end', async () => {
  await launched();
  const whole = writeRequest(request(true));
  const connection = await openRaw({ port: port() });
  await connection.send(whole.subarray(0, whole.length - 10));
  expect((await rawCall({ port: port() }, request(false))).status, 'and has been accepted').toBe(200);
  gateway.process.signal('SIGTERM');
  await refusing();
  await connection.send(whole.subarray(whole.length - 10));
  const answer = await connection.answer();
  const { text, ending } = await answer.finished;
  expect([answer.status, answer.headers.connection, ending]).toEqual([200, 'close', 'last-chunk']);
  expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
  connection.close();
  expect(await gateway.process.exit).toEqual({ code: 0, signal: null });
  expect((await folder.records()).map(({ outcome }) => outcome)).toEqual(['answered', 'answered']);
});
