// What is a page reported of a watch of Kubernetes that does not begin, or does not go on? Over a server that misbehaves.

import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { openConnection } from '../../core/kube/connection.ts';
import { ClusterAway, type ClusterEvent, ClusterRefusal } from '../../dashboard/cluster.ts';
import { watchCollection } from '../../dashboard/kubernetes/watch.ts';
import {
  type Answer,
  line,
  list,
  object,
  refusal,
  reset,
  startFaultServer,
  watch,
} from '../core/kube/fault-server.ts';
import { makeFakeClock } from '../support/fake-clock.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function start(from: string | undefined, ...answers: readonly Answer[]) {
  const server = await startFaultServer(...answers);
  const connection = openConnection({ server: server.url });
  const over = new AbortController();
  ends.push(() => server.close());
  ends.push(() => connection.close());
  ends.push(() => over.abort());
  const fake = makeFakeClock();
  const clock = {
    ...fake,
    wallMs: fake.now,
    /** Waits take no time, and silence is never too long. */
    setTimer(ms: number, callback: () => void) {
      if (ms >= 70_000) return () => {};
      const timer = setImmediate(callback);
      return () => clearImmediate(timer);
    },
  };
  const events = watchCollection({ connection, token: 'x', clock, path: '/x', signal: over.signal, from });
  const next = async (): Promise<ClusterEvent | undefined> => (await events.next()).value ?? undefined;
  return { server, events, next };
}

const began = (resourceVersion: string) => ({ type: 'RESET', resourceVersion });
const changed = (type: string, version: number) => ({
  type,
  object: { metadata: { namespace: 'a', name: 'a', resourceVersion: String(version) } },
});
/** As the API server ends each after five minutes. */
const ends6 = watch(line('ADDED', object('a', 6)), (response) => response.end());
const tooOld = watch(line('ERROR', { code: 410 }));

describe.each([
  ['the version of a list', '5', []],
  ['where the collection is', undefined, [list(5, {})]],
] as const)('from %s', (_, from, before) => {
  test('begins with the watch, and not before', async () => {
    const asked = Promise.withResolvers<ServerResponse>();
    const { next } = await start(from, ...before, (response) => asked.resolve(response));
    let isTold = false;
    const first = next().finally(() => {
      isTold = true;
    });
    const response = await asked.promise;
    expect(isTold).toBe(false);
    response.writeHead(200).flushHeaders();
    expect(await first).toEqual(began('5'));
  });

  test.each([
    ['is forbidden', refusal(403, 'Forbidden'), ClusterRefusal],
    ['gets a 503', refusal(503, 'Unavailable'), ClusterAway],
    ['loses its connection', reset, ClusterAway],
  ] as const)('a list that %s fails before the stream begins', async (_, answer, expected) => {
    const { next } = await start(from, ...before, answer);
    await expect(next()).rejects.toBeInstanceOf(expected);
  });

  test('a client that disconnects at the beginning leaves no watch open', async () => {
    const closed = Promise.withResolvers<void>();
    const { events, next } = await start(from, ...before, (response) => {
      response.once('close', closed.resolve);
      response.writeHead(200).flushHeaders();
    });
    expect(await next()).toEqual(began('5'));
    await events.return();
    await closed.promise;
  });

  test('a cut watch resumes silently where it stopped', async () => {
    const cut = watch(line('ADDED', object('a', 6)), (response) => response.destroy());
    const { server, next } = await start(
      from,
      ...[...before, cut, reset],
      watch(line('MODIFIED', object('a', 7))),
    );
    expect([await next(), await next(), await next()]).toEqual([
      began('5'),
      changed('ADDED', 6),
      changed('MODIFIED', 7),
    ]);
    expect(server.asked.at(-1)).toContain('resourceVersion=6');
  });
});

test.each([
  ['an authorizer is away', refusal(500, 'InternalError')],
  ['the server is not well', refusal(503, 'Unavailable')],
  ['it has too much to do', refusal(429, 'TooManyRequests')],
])('one that ends while %s resumes after that', async (_, answer) => {
  const { next } = await start(
    '5',
    ends6,
    answer,
    answer,
    list(9, {}),
    watch(line('ADDED', object('a', 10))),
  );
  expect([await next(), await next()]).toEqual([began('5'), changed('ADDED', 6)]);
  expect([await next(), await next()]).toEqual([began('9'), changed('ADDED', 10)]);
});

test('an ended watch does not resume for a user who lost the right', async () => {
  const { next } = await start('5', ends6, refusal(403, 'Forbidden'));
  expect([await next(), await next()]).toEqual([began('5'), changed('ADDED', 6)]);
  await expect(next()).rejects.toBeInstanceOf(ClusterRefusal);
});

test.each([
  ['as it begins', refusal(410, 'Expired'), []],
  ['when it has begun', tooOld, [began('5')]],
])('from a version that is too old it begins again, %s', async (_, answer, first) => {
  const { next } = await start('5', answer, list(9, {}), watch(line('ADDED', object('a', 10))));
  for (const event of first) expect(await next()).toEqual(event);
  expect([await next(), await next()]).toEqual([began('9'), changed('ADDED', 10)]);
});
