// Is a page reported what a stream says, and is its place free for others while it has none? Over real sockets, with the locks of a real lock manager.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EventSource } from 'undici';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { followChanges } from '../../../dashboard/pages/shell/follow-changes.ts';
import { until } from '../../support/until.ts';

let parts: AsyncDisposableStack;
beforeEach(() => {
  parts = new AsyncDisposableStack();
  vi.stubGlobal('EventSource', EventSource);
  parts.defer(() => void vi.unstubAllGlobals());
});
afterEach(() => parts.disposeAsync());

/** What a page hears of a server that answers so. */
async function follow(answer: (response: ServerResponse) => void) {
  const requests: ServerResponse[] = [];
  const server = createServer((_, response) => {
    requests.push(response);
    answer(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const heard: unknown[] = [];
  const over = new AbortController();
  const ended = followChanges(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    {
      change: ({ type }) => heard.push(type),
      reset: (version) => heard.push(version ?? 'reset'),
      live: (isLive) => heard.push(isLive),
    },
    over.signal,
  );
  parts.defer(async () => {
    over.abort();
    await ended;
    server.closeAllConnections();
    server.close();
  });
  return { heard, requests, ended, giveUp: () => over.abort() };
}

const placesHeld = async () => (await navigator.locks.query()).held?.length;

function streamOf(...events: readonly (readonly [name: string, data: object])[]) {
  return (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const [name, data] of events) response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  };
}

test('changes are reported, and the slot is free after the last view has left', async () => {
  const { heard, requests, ended, giveUp } = await follow(
    streamOf(['reset', { resourceVersion: '7' }], ['change', { type: 'ADDED', object: {} }]),
  );
  await until(async () => heard.length === 3);
  expect([heard, await placesHeld()]).toEqual([[true, 7, 'ADDED'], 1]);
  const [response] = requests;
  const closed = response === undefined ? undefined : once(response, 'close');
  giveUp();
  await Promise.all([ended, closed]);
  expect(await placesHeld()).toBe(0);
});

test('a refused view holds no slot while it waits to try again', async () => {
  const { heard, requests } = await follow((response) => response.writeHead(429).end());
  await until(async () => heard.length === 1);
  await until(async () => (await placesHeld()) === 0);
  expect([heard, requests.length]).toEqual([[false], 1]);
});

test('a stream that ends normally is not opened again, and all views reload', async () => {
  const { heard, ended } = await follow(
    streamOf(['reset', { resourceVersion: '7' }], ['end', { reason: 'session' }]),
  );
  await ended;
  expect([heard, await placesHeld()]).toEqual([[true, 7, false, 'reset'], 0]);
});
