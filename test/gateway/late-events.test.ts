// Can a late event reach another caller's request? Events of upstreams, timers and clients are played in every order, also long after
// the request that they belong to has ended, over what requests share: one queue of deadlines, and one connection of a client.

import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Attempt } from '../../gateway/attempt/attempt.ts';
import type { Receiver } from '../../gateway/attempt/attempt-io.ts';
import { ordinaryCommit } from '../../gateway/attempt/commit-point.ts';
import { readMessagesError } from '../../gateway/dialects/anthropic-messages/error-body.ts';
import { relayOpenAiStream } from '../../gateway/dialects/openai/relay-stream.ts';
import { ClientConnections, onAnswerClosed } from '../../gateway/endpoints/client-connection.ts';
import { isRecord } from '../../gateway/json/record.ts';
import { TimerQueue } from '../../gateway/stream/timer-queue.ts';
import { type FakeClock, makeFakeClock } from '../support/fake-clock.ts';
import { runs } from '../support/runs.ts';

const limits = { firstEventMs: 1_000, livenessMs: 2_000, progressMs: 5_000, totalMs: 60_000 };

/** An attempt, and all that was seen of it. */
function play(name: string, clock: FakeClock, timers: TimerQueue) {
  const seen: string[] = [];
  const drains: (() => void)[] = [];
  let receiver: Receiver | undefined;
  let ends = 0;
  let isFull = false;
  const attempt = new Attempt<string>(
    {
      send: (given) => {
        receiver = given;
        return { isSent: true, abort: () => {}, pause: () => {}, resume: () => {} };
      },
      readError: readMessagesError,
      reader: {
        type: 'stream',
        unfold: () => ({ ok: false, fault: { kind: 'truncated' } }),
        stream: relayOpenAiStream({
          choices: 1,
          wantsUsage: true,
          hasContent: ({ delta }) => isRecord(delta) && typeof delta.content === 'string',
          hasCalls: ({ delta }) => isRecord(delta) && delta.tool_calls !== undefined,
        }),
        commitRule: ordinaryCommit,
        sink: {
          write: (bytes) => {
            seen.push(`write ${bytes}`);
            return !isFull;
          },
          onDrain: (resume) => drains.push(resume),
        },
      },
    },
    limits,
    {
      clock,
      timers,
      totalAt: 60_000,
      onContent: () => seen.push('content'),
      onEnd: ({ outcome }) => {
        ends++;
        seen.push(outcome);
      },
    },
  );
  attempt.start();
  const chunk = (content: string, reason: string | null) =>
    Buffer.from(
      `data: {"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":${reason}}]}\n\n`,
    );
  const events = {
    head: () => receiver?.onHead(200, () => 'text/event-stream'),
    errorHead: () => receiver?.onHead(503, () => undefined),
    body: () => receiver?.onBody(chunk(`of ${name}`, null)),
    garbage: () => receiver?.onBody(Buffer.from('data: {not\n\n')),
    finish: () => receiver?.onBody(chunk('', '"stop"')),
    done: () => receiver?.onBody(Buffer.from('data: [DONE]\n\n')),
    end: () => receiver?.onEnd(),
    break: () => receiver?.onBreak('reset', 'it broke off'),
    leave: () => attempt.cancel(),
    fill: () => {
      isFull = true;
    },
    drain: () => {
      isFull = false;
      for (const resume of drains.splice(0)) resume();
    },
    tick: () => clock.advance(700),
  };
  return { seen, events, ends: () => ends };
}

const names = [
  ...(['head', 'errorHead', 'body', 'body', 'garbage', 'finish', 'done', 'end', 'break'] as const),
  ...(['leave', 'fill', 'drain', 'tick', 'tick'] as const),
];

test('an attempt ends once, and events of other attempts or after its end have no effect', () => {
  const step = fc.record({ who: fc.nat(2), what: fc.constantFrom(...names) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      const clock = makeFakeClock();
      const timers = new TimerQueue(clock);
      const played = ['a', 'b', 'c'].map((name) => play(name, clock, timers));
      for (const { who, what } of steps) {
        const before = played.map(({ seen, ends }) => ({ count: seen.length, isOver: ends() > 0 }));
        played[who]?.events[what]();
        for (const [index, { seen, ends }] of played.entries()) {
          const { count = 0, isOver = false } = before[index] ?? {};
          if (isOver) expect(seen).toHaveLength(count);
          // Time is everybody's; every other event belongs to one.
          else if (index !== who && what !== 'tick') expect(seen).toHaveLength(count);
          expect(ends()).toBeLessThanOrEqual(1);
        }
      }
      clock.advance(120_000);
      for (const [index, { seen, ends }] of played.entries()) {
        expect(ends()).toBe(1);
        const others = ['a', 'b', 'c'].filter((_, other) => other !== index);
        for (const other of others) expect(seen.join('\n')).not.toContain(`of ${other}`);
      }
      expect(timers.size).toBe(0);
    }),
    { numRuns: runs(500, 4) },
  );
});

/** As Node has them, as far as a connection looks at them. */
function makeExchange(socket: Socket): { request: IncomingMessage; response: ServerResponse } {
  const request = Object.assign(new EventEmitter(), { socket, complete: true, resume: () => {} });
  const response = Object.assign(new EventEmitter(), { req: request, closed: false, shouldKeepAlive: true });
  // @ts-expect-error: few of their members.
  return { request, response };
}

test('the end of an answer reaches the request of that answer, once, and the next request begins after it', () => {
  const step = fc.constantFrom('request', 'close', 'late close', 'late hearing', 'tick');
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30, size: 'max' }), fc.nat(), (steps, seed) => {
      const clock = makeFakeClock();
      const connections = new ClientConnections(clock, 1_000);
      // @ts-expect-error: few of its members.
      const socket: Socket = Object.assign(new EventEmitter(), { bytesRead: 0, writable: true });
      const begun: ServerResponse[] = [];
      const closed: ServerResponse[] = [];
      const second: ServerResponse[] = [];
      const listener = connections.oneByOne((_, response) => {
        expect(begun.slice(0, -1).every((earlier) => earlier.closed)).toBe(true);
        begun.push(response);
        onAnswerClosed(response, { onClosed: () => closed.push(response) });
        onAnswerClosed(response, { onClosed: () => second.push(response) });
      });
      let came = 0;
      for (const [index, what] of steps.entries()) {
        if (what === 'request' && came - closed.length < 5) {
          const { request, response } = makeExchange(socket);
          came++;
          listener(request, response);
        } else if (what === 'close') {
          const response = begun.at(-1);
          if (response === undefined || response.closed) continue;
          Object.assign(response, { closed: true });
          response.emit('close');
        } else if (what === 'late close') {
          const earlier = begun.filter((response) => response.closed);
          earlier[(seed + index) % Math.max(1, earlier.length)]?.emit('close');
        } else if (what === 'late hearing') {
          const earlier = begun.filter((response) => response.closed);
          const answer = earlier[(seed + index) % Math.max(1, earlier.length)];
          if (answer) onAnswerClosed(answer, { onClosed: () => expect.fail('another answer has ended') });
        } else if (what === 'tick') clock.advance(300);
        expect(second).toEqual(closed);
        expect(closed).toEqual(begun.filter((response) => response.closed));
      }
    }),
    { numRuns: runs(500, 4) },
  );
});
