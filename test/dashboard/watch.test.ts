// How do changes reach a page? By a stream that keeps nothing for slow readers and ends with its session; here over a cluster that has as
// much to tell as is taken.

import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { type Cluster, ClusterAway, type ClusterEvent, ClusterRefusal } from '../../dashboard/cluster.ts';
import { openSealer } from '../../dashboard/session/seal.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { until } from '../support/until.ts';
import { type House, openBrowser, openHouse } from './house.ts';

const key = randomBytes(32);
const sessionMs = 3_600_000;
let house: House | undefined;

afterEach(() => house?.close());

/** @param tell what happens, once the first event was reported. @param call what Kubernetes says when it is asked for a right. */
async function openStream(
  tell: (signal: AbortSignal) => AsyncIterable<ClusterEvent>,
  call: Cluster['call'] = async () => allowed(true),
) {
  const clock = makeFakeClock();
  const cluster: Cluster = {
    call,
    async *watch(_path, signal) {
      yield { type: 'RESET', resourceVersion: '7' };
      yield* tell(signal);
    },
  };
  house = await openHouse(
    { url: 'https://127.0.0.1:1', caFile: '' },
    { clock, clusterOf: () => cluster, settings: { sessionKeys: [key] } },
  );
  const browser = openBrowser(house);
  const session = { id: 'x', token: 'x', csrf: 'x', issuedAtMs: 0, expiresAtMs: sessionMs };
  browser.cookies.set('__Host-penstock-session', await openSealer([key]).seal('session', session));
  const stream = await browser.stream('/api/watch?kind=apikeys&namespace=team-a');
  expect(await stream.nextEvent()).toMatchObject({ name: 'reset', data: '{"resourceVersion":"7"}' });
  return { stream, clock };
}

const allowed = (isAllowed: boolean) => ({ status: 201, body: { status: { allowed: isAllowed } } });
const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

// biome-ignore lint/correctness/useYield: nothing happens
async function* silence(signal: AbortSignal): AsyncGenerator<ClusterEvent> {
  await untilAborted(signal);
}

test('a silent stream sends a heartbeat every fifteen seconds', async () => {
  const { stream, clock } = await openStream(silence);
  clock.advance(15_000);
  expect((await stream.nextEvent())?.type).toBe('comment');
  clock.advance(15_000);
  expect((await stream.nextEvent())?.type).toBe('comment');
  stream.close();
});

describe('a stream ends', () => {
  test('at the end of the session, and says so', async () => {
    const { stream, clock } = await openStream(silence);
    clock.advance(sessionMs);
    const { events, ending } = await stream.finished;
    expect([events.at(-1)?.name, events.at(-1)?.data, ending]).toEqual([
      'end',
      '{"reason":"session"}',
      'last-chunk',
    ]);
  });

  test('after the right is withdrawn, and says so', async () => {
    // biome-ignore lint/correctness/useYield: it is refused
    const { stream } = await openStream(async function* () {
      throw new ClusterRefusal({ status: 403, body: {} });
    });
    const { events } = await stream.finished;
    expect([events.at(-1)?.name, events.at(-1)?.data]).toEqual(['end', '{"reason":"refused"}']);
  });

  const refusals: readonly [string, Awaited<ReturnType<Cluster['call']>>][] = [
    ['right is taken away', allowed(false)],
    ['token is known no longer', { status: 401, body: {} }],
  ];
  test.each(refusals)('within ten seconds if the %s while nothing changes, and says so', async (_, no) => {
    const asked: unknown[] = [];
    const answers = [
      async () => allowed(true),
      // Nobody answers, or not all who judge for Kubernetes: what was said before is.
      async () => Promise.reject(new ClusterAway('no answer')),
      async () => ({
        status: 201,
        body: { status: { allowed: false, evaluationError: 'the webhook does not answer' } },
      }),
      async () => no,
    ];
    const { stream, clock } = await openStream(silence, async ({ body }) => {
      asked.push(body);
      return (await answers[asked.length - 1]?.()) ?? expect.fail('it is asked no more');
    });
    for (const count of [1, 2, 3, 4]) {
      await until(async () => clock.pending().includes(count * 10_000));
      clock.advance(10_000);
      await until(async () => asked.length === count);
    }
    const { events } = await stream.finished;
    expect([events.at(-1)?.name, events.at(-1)?.data]).toEqual(['end', '{"reason":"refused"}']);
    expect(asked[0]).toMatchObject({
      spec: {
        resourceAttributes: {
          verb: 'watch',
          group: 'penstock.dev',
          resource: 'apikeys',
          namespace: 'team-a',
        },
      },
    });
    expect(clock.pending()).toEqual([]);
  });

  test('silently after its reader has disconnected, together with the watch', async () => {
    const ended = Promise.withResolvers<void>();
    const { stream } = await openStream(async function* (signal) {
      yield* silence(signal);
      ended.resolve();
    });
    stream.close();
    await ended.promise;
  });
});

test('nothing is buffered for a client that does not read, and after half a minute the stream closes', async () => {
  let reported = 0;
  const ended = Promise.withResolvers<void>();
  const text = 'x'.repeat(100_000);
  const { stream, clock } = await openStream(async function* (signal) {
    // More than all buffers of sockets hold; unread, it would stand in memory.
    for (; reported < 1_000 && !signal.aborted; reported += 1) yield { type: 'ADDED', object: { text } };
    ended.resolve();
  });
  stream.pause();
  let before = -1;
  await until(async () => {
    const isStill = reported > 0 && reported === before;
    before = reported;
    return isStill;
  }, 50);
  expect(reported).toBeLessThan(400);
  // In the middle of it, it goes on where it was.
  stream.resume();
  await until(async () => reported > before + 5 || reported === 1_000);
  stream.pause();
  await until(async () => {
    const isStill = reported === before;
    before = reported;
    return isStill;
  }, 50);
  clock.advance(30_000);
  await ended.promise;
  expect(reported).toBeLessThan(1_000);
  stream.close();
});
