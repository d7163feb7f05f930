// Is the API server asked no faster than we said, and the urgent first?

import { expect, test } from 'vitest';
import { type KubeClient, KubeError, type KubeRequest } from '../../core/kube/client.ts';
import { throttleClient } from '../../operator/throttle.ts';
import { makeClock, settle } from './clock.ts';

const get = (path: string): KubeRequest => ({ method: 'GET', path });

function makeClient(answer: (request: KubeRequest) => unknown = () => 'ok') {
  const clock = makeClock();
  const sent: string[] = [];
  const reported: unknown[][] = [];
  const inner: KubeClient = {
    async call(request) {
      sent.push(request.path);
      return answer(request);
    },
    async stream(request) {
      sent.push(request.path);
      answer(request);
      return { body: (async function* () {})(), close() {} };
    },
    close: () => void sent.push('closed'),
  };
  const client = throttleClient(inner, {
    clock,
    callsPerSecond: 10,
    callsBurst: 3,
    host: 'api',
    metrics: {
      waited: (...facts) => reported.push(['waited', ...facts]),
      ended: (...facts) => reported.push(['ended', ...facts]),
    },
  });
  const advance = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  return { clock, client, sent, reported, advance };
}

test('a burst passes at once, then a number a second, in order', async () => {
  const { client, sent, advance, clock } = makeClient();
  const calls = ['1', '2', '3', '4', '5'].map((path) => client.call(get(path)));
  await settle();
  expect(sent).toEqual(['1', '2', '3']);
  await advance(99);
  expect(sent).toEqual(['1', '2', '3']);
  await advance(1);
  expect(sent).toEqual(['1', '2', '3', '4']);
  await advance(100);
  expect(await Promise.all(calls)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
  expect(clock.pending()).toEqual([]);
});

test('idle time saves one burst at most', async () => {
  const { client, sent, advance } = makeClient();
  await advance(1_000_000);
  for (let index = 0; index < 6; index += 1) void client.call(get(String(index)));
  await settle();
  expect(sent).toHaveLength(3);
  await advance(300);
  expect(sent).toHaveLength(6);
});

test('urgent calls pass before waiting ones, at the same rate', async () => {
  const { client, sent, advance } = makeClient();
  for (const path of ['1', '2', '3', 'slow-1', 'slow-2']) void client.call(get(path));
  void client.urgent.call(get('urgent'));
  await advance(300);
  expect(sent).toEqual(['1', '2', '3', 'urgent', 'slow-1', 'slow-2']);
});

test('a call that is cancelled while it waits is not sent and takes no turn', async () => {
  const { client, sent, advance } = makeClient();
  const stop = new AbortController();
  for (const path of ['1', '2', '3']) void client.call(get(path));
  const given = client.call({ ...get('given up'), signal: stop.signal });
  const other = client.call(get('other'));
  stop.abort(new Error('enough'));
  await expect(given).rejects.toThrow('enough');
  await advance(100);
  expect(await other).toBe('ok');
  expect(sent).toEqual(['1', '2', '3', 'other']);
});

test('watches are not held back', async () => {
  const { client, sent } = makeClient();
  for (let index = 0; index < 10; index += 1) await client.stream(get(String(index)));
  expect(sent).toHaveLength(10);
});

test('calls are counted by result, and by their delay', async () => {
  const { client, reported, advance } = makeClient(({ path }) => {
    if (path === 'taken') throw new KubeError(409, 'AlreadyExists', 'it is there');
    if (path === 'gone') throw new KubeError(0, 'Unreachable', 'nobody is there');
    return 'ok';
  });
  await client.call(get('fine'));
  await expect(client.call({ method: 'POST', path: 'taken' })).rejects.toThrow('it is there');
  await expect(client.call(get('gone'))).rejects.toThrow('nobody is there');
  const late = client.call(get('late'));
  await advance(100);
  await late;
  expect(reported).toEqual([
    ['waited', 'GET', 'api', 0],
    ['ended', 'GET', 'api', '2xx', 0],
    ['waited', 'POST', 'api', 0],
    ['ended', 'POST', 'api', '409', 0],
    ['waited', 'GET', 'api', 0],
    ['ended', 'GET', 'api', '<error>', 0],
    ['waited', 'GET', 'api', 100],
    ['ended', 'GET', 'api', '2xx', 0],
  ]);
});

test('closing leaves no call waiting and no timer set', async () => {
  const { client, sent, clock } = makeClient();
  const calls = ['1', '2', '3', '4'].map((path) => client.call(get(path)));
  await settle();
  client.close();
  await Promise.all(calls);
  expect(sent).toEqual(['1', '2', '3', 'closed', '4']);
  expect(clock.pending()).toEqual([]);
});
