// Does the operator hear every gateway pod at once, and get over those that do not answer, or answer nonsense?

import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock as gatewayClock, systemClock } from '../../../core/clock.ts';
import {
  type DrillOrder,
  EXCHANGE_WAIT_MS_MAX,
  type ExchangeRequest,
  type ExchangeResponse,
  exchangeRequestSchema,
} from '../../../core/contract/exchange.ts';
import { Drills } from '../../../gateway/drill/drills.ts';
import { PodState } from '../../../gateway/exchange/pod-state.ts';
import { buildExchangeServer } from '../../../gateway/exchange/server.ts';
import { Health } from '../../../gateway/route/health.ts';
import { TableStatus } from '../../../gateway/table/status.ts';
import { type Exchange, startExchange } from '../../../operator/pods/exchange.ts';
import type { PodAnswer } from '../../../operator/pods/pods-state.ts';
import type { GatewayPod } from '../../../operator/watch/gateway-pods.ts';
import { noPlan } from '../../gateway/exchange/no-plan.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { until } from '../../support/until.ts';
import { closedPort } from '../../support/wall/closed-port.ts';

const TOKEN = 'a-token';
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    const isClosed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await isClosed;
  });
  return (server.address() as AddressInfo).port;
}

const podAt = (port: number, name = 'gateway-0'): GatewayPod => ({
  uid: `uid-${name}`,
  name,
  ip: '127.0.0.1',
  port,
});

interface Watched extends Exchange {
  /** Settled with the answer of the pod once it is like that. */
  until(uid: string, isThere: (answer: PodAnswer) => boolean): Promise<PodAnswer>;
  changes: string[];
}

function start(options: Partial<Parameters<typeof startExchange>[0]> = {}): Watched {
  const waiting = new Set<() => void>();
  const changes: string[] = [];
  const exchange = startExchange({
    clock: systemClock,
    random: () => 0,
    tokenOf: () => TOKEN,
    onChange(uid) {
      changes.push(uid);
      for (const look of waiting) look();
    },
    ...options,
  });
  closers.push(() => exchange.close());
  return {
    ...exchange,
    changes,
    until(uid, isThere) {
      const { promise, resolve } = Promise.withResolvers<PodAnswer>();
      const look = () => {
        const answer = exchange.answers().get(uid);
        if (answer !== undefined && isThere(answer)) resolve(answer);
      };
      waiting.add(look);
      look();
      return promise.finally(() => waiting.delete(look));
    },
  };
}

/** The server that gateway pods have, with a table that the test changes. */
async function gateway(token: () => string | undefined = () => TOKEN) {
  const table = new TableStatus(() => Date.now());
  const drills = new Drills(async ({ id }) => ({ id, isPassed: true, message: 'played' }));
  const state = new PodState({ clock: gatewayClock, table, health: new Health(() => 0), drills });
  const readyPods: number[] = [];
  const journal = {
    begin() {},
    append() {},
    flush: () => Promise.resolve(),
    close: () => Promise.resolve(),
    read: () => Promise.resolve(undefined),
    onWritten: () => () => {},
  };
  const { server } = buildExchangeServer({
    clock: gatewayClock,
    state,
    journal,
    token,
    plan: noPlan,
    onReadyPods: (count) => readyPods.push(count),
  });
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  const port = await listen(server);
  const take = (generation: number) => table.taken({ version: { epoch: 1, generation }, source: 'api' });
  return { port, take, table, readyPods, connections: () => connections };
}

const RESPONSE: ExchangeResponse = { state: 'one', formats: { min: 1, max: 1 }, health: [] };

/** A pod that answers as the test says. */
async function oddPod(listener: RequestListener): Promise<number> {
  return listen(createServer(listener));
}

async function bodyOf(request: IncomingMessage): Promise<ExchangeRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return exchangeRequestSchema.parse(JSON.parse(Buffer.concat(chunks).toString()));
}

describe('a gateway pod', () => {
  test('reports at once, and again as soon as it runs another table', async () => {
    const pod = await gateway();
    const exchange = start();
    exchange.setPods([podAt(pod.port)]);
    const first = await exchange.until('uid-gateway-0', ({ response }) => response !== undefined);
    expect(first.response?.table).toBeUndefined();
    for (const generation of [7, 8]) {
      const reported = exchange.until(
        'uid-gateway-0',
        ({ response }) => response?.table?.generation === generation,
      );
      pod.take(generation);
      expect((await reported).failure).toBeUndefined();
    }
    const refused = exchange.until('uid-gateway-0', ({ response }) => response?.rejected !== undefined);
    pod.table.refused('it is damaged', { failure: 'damaged', version: { epoch: 1, generation: 9 } } as never);
    expect((await refused).response).toMatchObject({ table: { generation: 8 }, rejected: { generation: 9 } });
    expect(pod.connections()).toBe(1);
    expect(pod.readyPods.every((count) => count === 1)).toBe(true);
  });

  test('without news is polled again, and no change is reported', async () => {
    const asked = Promise.withResolvers<void>();
    let calls = 0;
    const port = await oddPod(async (request, response) => {
      const { seen } = await bodyOf(request);
      calls += 1;
      if (calls === 1) expect(seen).toBeUndefined();
      else expect(seen).toBe('one');
      if (calls === 3) asked.resolve();
      response.end(JSON.stringify(RESPONSE));
    });
    const exchange = start();
    exchange.setPods([podAt(port)]);
    await asked.promise;
    expect(exchange.changes).toEqual(['uid-gateway-0']);
  });

  test('may wait 30 s, and gets the number of ready pods', async () => {
    const bodies: ExchangeRequest[] = [];
    const both = Promise.withResolvers<void>();
    const ports = await Promise.all(
      [1, 2].map(() =>
        oddPod(async (request, response) => {
          bodies.push(await bodyOf(request));
          response.end(JSON.stringify(RESPONSE));
          if (bodies.length >= 4) both.resolve();
        }),
      ),
    );
    const exchange = start();
    exchange.setPods(ports.map((port, index) => podAt(port, `p${index}`)));
    await both.promise;
    expect(bodies.slice(0, 4).map(({ waitMs }) => waitMs)).toEqual(Array(4).fill(EXCHANGE_WAIT_MS_MAX));
    expect(bodies.map(({ readyPods }) => readyPods)).toEqual(bodies.map(() => 2));
  });

  test('that leaves the list is forgotten at once, and its call is aborted', async () => {
    const pod = await gateway();
    const ended = Promise.withResolvers<void>();
    const port = await oddPod((request, response) => {
      response.on('close', () => ended.resolve());
      request.resume();
    });
    const exchange = start();
    exchange.setPods([podAt(pod.port), podAt(port, 'gateway-1')]);
    await exchange.until('uid-gateway-0', ({ response }) => response !== undefined);
    exchange.setPods([podAt(port, 'gateway-1')]);
    expect([...exchange.answers().keys()]).toEqual([]);
    exchange.setPods([]);
    await ended.promise;
    expect(exchange.changes).toEqual(['uid-gateway-0']);
  });

  test('with a new address is another one', async () => {
    const [before, after] = [await gateway(), await gateway()];
    before.take(5);
    after.take(6);
    const exchange = start();
    exchange.setPods([podAt(before.port)]);
    await exchange.until('uid-gateway-0', ({ response }) => response?.table?.generation === 5);
    exchange.setPods([podAt(after.port)]);
    expect(exchange.answers().size).toBe(0);
    await exchange.until('uid-gateway-0', ({ response }) => response?.table?.generation === 6);
  });
});

describe('a drill that a pod is to run', () => {
  const order: DrillOrder = { id: 'one', route: 'team/m', fault: 'Hang', takeoverWithinMs: 5 };

  test('is in its next call; after a request to renew, it calls at once, and a finished drill is reported', async () => {
    const pod = await gateway();
    let orders: readonly DrillOrder[] = [];
    const exchange = start({ drillsOf: (uid) => (uid === 'uid-gateway-0' ? orders : []) });
    exchange.setPods([podAt(pod.port)]);
    const first = await exchange.until('uid-gateway-0', ({ response }) => response !== undefined);
    expect(first.response?.drills).toEqual([]);
    // The call after it: it waits for as long as a pod may.
    await until(async () => pod.readyPods.length === 2);
    orders = [order];
    const played = exchange.until('uid-gateway-0', ({ response }) => response?.drills?.length === 1);
    exchange.renew('uid-gateway-0');
    const { response, failure } = await played;
    expect(response?.drills).toEqual([{ id: 'one', isPassed: true, message: 'played' }]);
    expect(failure).toBeUndefined();
    expect(pod.readyPods).toHaveLength(3);
  });

  test('may be newer than the current call: aborting that call is not a failure', async () => {
    const calls: ExchangeRequest[] = [];
    const came = new Map([1, 2].map((count) => [count, Promise.withResolvers<void>()]));
    const port = await oddPod(async (request) => {
      calls.push(await bodyOf(request));
      came.get(calls.length)?.resolve();
    });
    let orders: readonly DrillOrder[] = [];
    const exchange = start({ drillsOf: () => orders });
    exchange.setPods([podAt(port)]);
    await came.get(1)?.promise;
    orders = [order];
    exchange.renew('uid-gateway-0');
    exchange.renew('uid-of-another');
    await came.get(2)?.promise;
    expect(calls.map(({ drills }) => drills)).toEqual([undefined, [order]]);
    expect(exchange.answers().size).toBe(0);
  });
});

describe('the token', () => {
  test('is the current one: a new one is read, and a pod that does not know it yet is called again', async () => {
    let expected: string | undefined = 'old';
    let own: string | undefined;
    const pod = await gateway(() => expected);
    const exchange = start({ tokenOf: () => own });
    exchange.setPods([podAt(pod.port)]);
    await exchange.until(
      'uid-gateway-0',
      ({ failure }) => failure === 'the operator has no exchange token yet',
    );
    own = 'new';
    await exchange.until('uid-gateway-0', ({ failure }) => failure === 'it rejects the exchange token');
    expected = 'new';
    await exchange.until(
      'uid-gateway-0',
      ({ response, failure }) => response !== undefined && failure === undefined,
    );
  });

  test('is in no error', async () => {
    const port = await oddPod((request, response) => {
      request.resume();
      response.writeHead(500).end(`you said ${request.headers.authorization}`);
    });
    const exchange = start();
    exchange.setPods([podAt(port)]);
    const { failure } = await exchange.until('uid-gateway-0', (answer) => answer.failure !== undefined);
    expect(failure).toBe('it answers the exchange with status 500');
  });
});

describe('a pod that fails', () => {
  test.each<[string, RequestListener, string | RegExp]>([
    ['resets', (request) => request.socket.destroy(), 'it does not answer (ECONNRESET)'],
    [
      'breaks off',
      (_, response) => void response.write('{"state":', () => response.destroy()),
      'it broke off (ECONNRESET)',
    ],
    ['answers text', (_, response) => void response.end('hello'), 'its answer is not JSON'],
    [
      'answers something else',
      (_, response) => void response.end('{"state":7}'),
      /^its answer is not understood: state: /,
    ],
    [
      'knows no exchange',
      (_, response) => void response.writeHead(404).end(),
      'it answers the exchange with status 404',
    ],
    [
      'sends us elsewhere',
      (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      'it answers the exchange with status 302',
    ],
    [
      'never ends its answer',
      (_, response) => {
        const more = () => {
          while (!response.destroyed && response.write(' '.repeat(65_536)));
        };
        response.on('drain', more);
        more();
      },
      /^its answer is longer than/,
    ],
  ])('%s: reports why, and is called again', async (_, listener, expected) => {
    let calls = 0;
    const again = Promise.withResolvers<void>();
    const port = await oddPod((request, response) => {
      calls += 1;
      if (calls > 1) {
        again.resolve();
        response.end(JSON.stringify(RESPONSE));
        return;
      }
      listener(request, response);
    });
    const exchange = start();
    exchange.setPods([podAt(port)]);
    const { failure } = await exchange.until('uid-gateway-0', (answer) => answer.failure !== undefined);
    if (typeof expected === 'string') expect(failure).toBe(expected);
    else expect(failure).toMatch(expected);
    await again.promise;
    const healed = await exchange.until('uid-gateway-0', (answer) => answer.failure === undefined);
    expect(healed.response).toEqual(RESPONSE);
    expect(exchange.changes).toHaveLength(2);
  });

  test('keeps its last report', async () => {
    let calls = 0;
    const port = await oddPod((_, response) => {
      calls += 1;
      if (calls === 1) response.end(JSON.stringify(RESPONSE));
      else response.writeHead(503).end();
    });
    const exchange = start();
    exchange.setPods([podAt(port)]);
    const answer = await exchange.until('uid-gateway-0', ({ failure }) => failure !== undefined);
    expect(answer).toMatchObject({ response: RESPONSE, failure: 'it answers the exchange with status 503' });
  });

  test('refuses connections: is retried after 0.1 to 0.2 s first, and every 2.5 to 5 s later', async () => {
    const closed = await closedPort();
    closers.push(() => closed.close());
    const clock = { ...makeFakeClock(), wallMs: () => 0 };
    const delays: number[] = [];
    const failed: (() => void)[] = [];
    const exchange = start({
      clock: {
        ...clock,
        setTimer(ms, callback) {
          // The other timer is the patience of a call.
          if (ms < 10_000) {
            delays.push(ms);
            failed.shift()?.();
          }
          return clock.setTimer(ms, callback);
        },
      },
    });
    for (let count = 0; count < 8; count++) {
      const { promise, resolve } = Promise.withResolvers<void>();
      failed.push(resolve);
      if (count === 0) exchange.setPods([podAt(closed.port)]);
      else clock.advance(delays.at(-1) ?? 0);
      await promise;
    }
    expect(delays).toEqual([100, 200, 400, 800, 1_600, 2_500, 2_500, 2_500]);
    expect(exchange.answers().get('uid-gateway-0')?.failure).toBe('it does not answer (ECONNREFUSED)');
    expect(exchange.changes).toHaveLength(1);
  });

  test('hangs beyond its time to wait: the call is aborted', async () => {
    const came = Promise.withResolvers<void>();
    const port = await oddPod((request) => {
      request.resume();
      came.resolve();
    });
    const clock = { ...makeFakeClock(), wallMs: () => 0 };
    const exchange = start({ clock });
    exchange.setPods([podAt(port)]);
    await came.promise;
    clock.advance(39_999);
    expect(exchange.answers().size).toBe(0);
    clock.advance(1);
    const { failure } = await exchange.until('uid-gateway-0', (answer) => answer.failure !== undefined);
    expect(failure).toBe('it did not answer within 40 s');
  });
});

test('after the end no timer is left, and no pod is called', async () => {
  const pod = await gateway();
  const clock = { ...makeFakeClock(), wallMs: () => 0 };
  const exchange = start({ clock });
  exchange.setPods([podAt(pod.port), podAt(pod.port, 'gateway-1')]);
  await exchange.until('uid-gateway-0', ({ response }) => response !== undefined);
  await exchange.until('uid-gateway-1', ({ response }) => response !== undefined);
  exchange.close();
  exchange.setPods([podAt(pod.port)]);
  expect(clock.pending()).toEqual([]);
});
