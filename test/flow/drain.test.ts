// Is a running stream cut when the table changes or the process goes? Not before the grace is over; then it is reported.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { type FakeClock, makeFakeClock } from '../support/fake-clock.ts';
import { openRaw, type RawAnswer, writeRequest } from '../support/raw-client.ts';
import { startWall, type Wall } from '../support/wall.ts';
import { ask, askOpen, dataOf, errorOf, lineOf, portOf, requestOf, textOf, wallText } from './ask.ts';

const acceptMs = 10_000;
const graceMs = 8_000;

let walls: Wall[];
let clock: FakeClock;
let rig: Rig;
let mayGoOn: PromiseWithResolvers<void>;

beforeEach(async () => {
  mayGoOn = Promise.withResolvers();
  walls = await Promise.all([startWall(), startWall()]);
  clock = makeFakeClock();
  rig = await rigWith(graceMs);
});

function rigWith(drainGraceMs: number): Promise<Rig> {
  const wallClock = { ...clock, wallMs: () => Date.now() };
  return startRig(tableFor(0), { clock: wallClock, drainAcceptMs: acceptMs, drainGraceMs });
}

afterEach(async () => {
  rig.gateway.hurry();
  await rig.close();
  await Promise.all(walls.map((wall) => wall.close()));
});

/** The provider moves from one address to the other with every table. */
function tableFor(swap: number) {
  return tableOf([{ baseUrl: walls[swap % 2]?.baseUrl ?? '' }]);
}

function swapTimes(count: number): void {
  for (let swap = 1; swap <= count; swap++) rig.offer(tableFor(swap));
}

/** A stream that has given its first content and goes on when `mayGoOn` is resolved. */
async function openStream(): Promise<{ answer: RawAnswer; close(): void }> {
  for (const wall of walls) {
    wall.script({
      type: 'stall',
      after: { contentEvents: 3 },
      for: { until: mayGoOn.promise },
      followedBy: 'go-on',
    });
  }
  const { connection, answer } = await askOpen(rig, { isStream: true });
  const opened = await answer;
  while (
    textOf({ events: [await opened.nextEvent()].flatMap((event) => event ?? []), json: undefined }) === ''
  );
  for (const wall of walls) wall.script({ type: 'answer' });
  return { answer: opened, close: () => connection.close() };
}

async function readiness(): Promise<number> {
  return (await fetch(`${rig.gateway.metricsUrl}/readyz`)).status;
}

async function refuses(): Promise<void> {
  await vi.waitFor(() => expect(openRaw({ port: portOf(rig) })).rejects.toThrow(/ECONNREFUSED/));
}

test('two streams outlive 100 tables and a drain; each keeps the table it began with', async () => {
  const first = await openStream();
  swapTimes(50);
  const second = await openStream();
  swapTimes(50);
  expect((await ask(rig)).headers['x-penstock-generation']).toBe('101');

  expect(await readiness()).toBe(200);
  const drained = rig.gateway.drain();
  expect(await readiness()).toBe(503);
  const during = await ask(rig);
  expect([during.status, during.headers.connection, textOf(during)]).toEqual([200, 'close', wallText]);
  const streamed = await ask(rig, { isStream: true });
  expect([streamed.headers.connection, dataOf(streamed).at(-1)]).toEqual(['close', '[DONE]']);

  clock.advance(acceptMs);
  await refuses();
  clock.advance(graceMs - 1);
  mayGoOn.resolve();
  const generations: (string | undefined)[] = [];
  for (const { answer, close } of [first, second]) {
    const finished = await answer.finished;
    close();
    expect([textOf(finished), dataOf(finished).at(-1), finished.ending]).toEqual([
      wallText,
      '[DONE]',
      'last-chunk',
    ]);
    generations.push(answer.headers['x-penstock-generation']);
  }
  expect(generations).toEqual(['1', '51']);
  await drained;
  expect(rig.records.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 5 }, () => 'answered'));
  expect(rig.failures).toEqual([]);
});

test('requests past the grace period end: a stream with an error frame, a plain call with 503', async () => {
  const stream = await openStream();
  const [wall] = walls;
  wall?.script({ type: 'hang', when: 'before-headers' });
  const plain = ask(rig);
  await vi.waitFor(() => expect(wall?.calls).toHaveLength(2));

  const drained = rig.gateway.drain();
  clock.advance(acceptMs);
  await refuses();
  clock.advance(graceMs - 1);
  expect(rig.records).toEqual([]);
  clock.advance(1);

  const broken = await stream.answer.finished;
  stream.close();
  expect([errorOf(broken)?.code, broken.ending]).toEqual(['server_shutting_down', 'fin-early']);
  expect(broken.text).not.toContain('[DONE]');
  const reported = await plain;
  expect([reported.status, errorOf(reported)?.code, reported.ending]).toEqual([
    503,
    'overloaded',
    'length-complete',
  ]);
  expect(reported.headers).toMatchObject({ 'retry-after': '1', connection: 'close' });
  await drained;
  // Who has got nothing and is asked to ask again pays once.
  expect(rig.records.map(lineOf).sort()).toEqual(['1 t0 cancelled platform', '1 t0 cancelled tenant']);
  await Promise.all(wall?.calls.map(({ clientClosed }) => clientClosed) ?? []);
});

test('a stream cut before its first content is not billed to the tenant, although its input was counted', async () => {
  const [wall] = walls;
  wall?.script({ type: 'stall', after: { events: 2 } });
  const { baseUrl = '' } = wall ?? {};
  rig.offer(tableOf([{ baseUrl, dialects: ['anthropic-messages'] }]));
  const reported = ask(rig, { endpoint: 'messages', isStream: true });
  // The beginning of its message.
  await vi.waitFor(async () =>
    expect(await rig.gateway.metrics.registry.metrics()).toMatch(/^penstock_held_bytes [1-9]/m),
  );
  const drained = rig.gateway.drain();
  rig.gateway.hurry();
  expect((await reported).status).toBe(503);
  await drained;
  expect(rig.records.map(lineOf)).toEqual(['1 t0 cancelled platform']);
  expect(rig.records[0]?.usage.input).toBeGreaterThan(0);
});

test('a request that is complete only after the grace period gets 503, and no provider is called', async () => {
  const whole = writeRequest(requestOf());
  const connection = await openRaw({ port: portOf(rig) });
  await connection.send(whole.subarray(0, -5));
  await vi.waitFor(async () =>
    expect(await rig.gateway.metrics.registry.metrics()).toMatch(/^penstock_request_body_bytes [1-9]/m),
  );
  const drained = rig.gateway.drain();
  rig.gateway.hurry();
  await refuses();
  await connection.send(whole.subarray(-5));
  const { status, finished } = await connection.answer();
  expect([status, errorOf(await finished)?.code]).toEqual([503, 'overloaded']);
  connection.close();
  await drained;
  expect([walls[0]?.calls, rig.records]).toEqual([[], []]);
});

test('a second signal skips the waiting', async () => {
  const stream = await openStream();
  const drained = rig.gateway.drain();
  rig.gateway.hurry();
  const broken = await stream.answer.finished;
  stream.close();
  expect([errorOf(broken)?.code, broken.ending]).toEqual(['server_shutting_down', 'fin-early']);
  await drained;
});

test('with no request in flight a drain lasts no longer than its time to accept', async () => {
  const drained = rig.gateway.drain();
  expect((await ask(rig)).status).toBe(200);
  clock.advance(acceptMs);
  await drained;
  await refuses();
});

describe('a plain answer that its client reads slowly', () => {
  const text = 'twelve bytes'.repeat(1_500_000);

  async function draining() {
    rig.gateway.hurry();
    await rig.close();
    rig = await rigWith(600_000);
    for (const wall of walls) wall.script({ type: 'answer', text });
    const { connection, answer } = await askOpen(rig, { isStream: false });
    const opened = await answer;
    connection.pause();
    await vi.waitFor(() => expect(rig.records).toHaveLength(1));
    const drained = rig.gateway.drain();
    return { connection, opened, drained };
  }

  /** One step after the other: each sets timers of its own. */
  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1_000);
      await new Promise(setImmediate);
    }
  }

  test('is sent to its end, though no other client is connected', async () => {
    const { connection, opened, drained } = await draining();
    // Longer than all other patience of a drain, and not as long as nobody may take anything.
    await pass(20);
    connection.resume();
    expect(textOf(await opened.finished)).toBe(text);
    connection.close();
    await pass(20);
    await drained;
  });

  test('and does not keep the process after it', async () => {
    const { connection, opened, drained } = await draining();
    await pass(620);
    await drained;
    connection.resume();
    expect((await opened.finished).ending).not.toBe('length-complete');
    connection.close();
  });
});
