// One try at one candidate: what ends it, when, and what is made of it. The transport is played by hand.

import { expect, test } from 'vitest';
import type { KeyUse } from '../../../gateway/admission/fair-share.ts';
import type { AttemptResult, Receiver } from '../../../gateway/attempt/attempt-io.ts';
import { type CommitRule, heldBytesMax, ordinaryCommit } from '../../../gateway/attempt/commit-point.ts';
import type { Limits } from '../../../gateway/attempt/deadlines.ts';
import { readMessagesError } from '../../../gateway/dialects/anthropic-messages/error-body.ts';
import { relayOpenAiStream } from '../../../gateway/dialects/openai/relay-stream.ts';
import { isRecord } from '../../../gateway/json/record.ts';
import { Cancellation } from '../../../gateway/stream/cancellation.ts';
import { TimerQueue } from '../../../gateway/stream/timer-queue.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { runAttempt } from './run.ts';

type Headers = Readonly<Record<string, string>>;

const limits = { firstEventMs: 1_000, livenessMs: 2_000, progressMs: 5_000, totalMs: 60_000 };

function startAttempt(
  kind: 'stream' | 'plain',
  commitRule: CommitRule = ordinaryCommit,
  streamLimits: Limits = limits,
) {
  const clock = { ...makeFakeClock(), wallMs: () => Date.parse('2026-01-01T00:00:00Z') };
  const timers = new TimerQueue(clock);
  const caller = new Cancellation();
  const log: string[] = [];
  const contents: number[] = [];
  const written: string[] = [];
  const drains: (() => void)[] = [];
  let receiver: Receiver | undefined;
  let isFull = false;
  let held = 0;
  let room = Number.POSITIVE_INFINITY;
  const turns = {
    isPacing: false,
    paces: () => turns.isPacing,
    mustWait: (_: KeyUse, resume: () => void) => waiting.push(resume) > 0,
  };
  const waiting: (() => void)[] = [];
  const result = runAttempt<string>(
    {
      turns,
      place: { inFlight: 1, idleLooks: 0, tenant: { inFlight: 1, keys: new Set() } },
      send: (given) => {
        receiver = given;
        return {
          isSent: true,
          abort: () => log.push('abort'),
          pause: () => log.push('pause'),
          resume: () => log.push('resume'),
        };
      },
      readError: readMessagesError,
      redact: (text) => text.replaceAll('sk-sent', '***'),
      hold: (change) => {
        held += change;
        return held <= room;
      },
      reader:
        kind === 'plain'
          ? {
              type: 'plain',
              read: (body) => {
                if (body.toString() === 'break') throw new TypeError('nobody had thought of this');
                return {
                  ok: true,
                  value: body.toString(),
                  usage: undefined,
                  outputEstimate: 1,
                  servedModel: undefined,
                };
              },
            }
          : {
              type: 'stream',
              unfold: (body) => ({ ok: true, events: Buffer.from(`data: ${body}\n\ndata: [DONE]\n\n`) }),
              stream: relayOpenAiStream({
                choices: 1,
                wantsUsage: true,
                hasContent: ({ delta }) => isRecord(delta) && typeof delta.content === 'string',
                hasCalls: ({ delta }) => isRecord(delta) && delta.tool_calls !== undefined,
              }),
              commitRule,
              sink: {
                write: (bytes) => {
                  written.push(bytes.toString());
                  return !isFull;
                },
                onDrain: (resume) => drains.push(resume),
              },
            },
    },
    {
      limits: kind === 'plain' ? { ...limits, firstEventMs: null } : streamLimits,
      totalAt: 60_000,
      clock,
      timers,
      caller,
      onContent: () => contents.push(clock.now()),
    },
  );
  if (!receiver) throw new Error('nothing was sent');
  const upstream = receiver;
  return {
    clock,
    timers,
    contents,
    caller,
    log,
    written,
    result,
    upstream,
    head: (status: number, headers: Headers = {}) => upstream.onHead(status, (name) => headers[name]),
    body: (text: string) => upstream.onBody(Buffer.from(text)),
    held: () => held,
    leaveRoom: (bytes: number) => {
      room = bytes;
    },
    fill: () => {
      isFull = true;
    },
    drain: () => {
      isFull = false;
      for (const resume of drains.splice(0)) resume();
    },
    turns,
    nextTurn: () => {
      for (const resume of waiting.splice(0)) resume();
    },
  };
}

const sse = { 'content-type': 'text/event-stream' };
const role = 'data: {"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}\n\n';
const word = 'data: {"choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n';
const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
const usage = 'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}\n\n';
const done = 'data: [DONE]\n\n';
const ping = ': ping\n\n';

const endOf = ({ outcome, ...rest }: AttemptResult<unknown>): unknown =>
  'failure' in rest ? [outcome, rest.failure] : outcome;

test('a role is no commit point, content is, and both are sent together', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.body(role);
  expect(attempt.written).toEqual([]);
  expect(attempt.contents).toHaveLength(0);
  attempt.body(word);
  expect(attempt.written).toEqual([role + word]);
  attempt.body(word + finish + usage + done);
  expect(attempt.contents, 'reported once').toHaveLength(1);
  attempt.upstream.onEnd();
  expect(await attempt.result).toMatchObject({ outcome: 'answered', usage: { input: 3, output: 1 } });
  expect(attempt.log).toEqual([]);
  expect(attempt.timers.size).toBe(0);
});

test('silence before the first content, pings included, is a timeout', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.body(role);
  attempt.clock.advance(999);
  attempt.body(ping);
  expect(attempt.log).toEqual([]);
  attempt.clock.advance(1);
  expect(endOf(await attempt.result)).toEqual(['failed', { kind: 'timeout', timer: 'first-event' }]);
  expect([attempt.log, attempt.written]).toEqual([['abort'], []]);
});

test('pings keep a stream alive, but not without progress', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.body(role + word);
  for (let seconds = 1; seconds < 5; seconds++) {
    attempt.clock.advance(1_000);
    attempt.body(ping);
  }
  expect(attempt.log).toEqual([]);
  attempt.clock.advance(1_000);
  expect(endOf(await attempt.result)).toEqual(['broken-off', { kind: 'timeout', timer: 'progress' }]);
});

test('content is progress', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  for (let seconds = 0; seconds < 20; seconds++) {
    attempt.body(word);
    attempt.clock.advance(1_000);
  }
  attempt.clock.advance(1_000);
  expect(endOf(await attempt.result)).toEqual(['broken-off', { kind: 'timeout', timer: 'liveness' }]);
  expect(attempt.written).toHaveLength(20);
});

test('silence of an upstream that the gateway has paused counts for the total timeout only', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.fill();
  attempt.body(word);
  expect(attempt.log).toEqual(['pause']);
  attempt.clock.advance(50_000);
  attempt.drain();
  expect(attempt.log).toEqual(['pause', 'resume']);
  attempt.clock.advance(1_999);
  attempt.body(finish + done);
  attempt.upstream.onEnd();
  expect(endOf(await attempt.result)).toBe('answered');
});

test('after a pause the liveness timeout starts again, also if the pause was longer', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.fill();
  attempt.body(word);
  attempt.clock.advance(50_000);
  attempt.drain();
  attempt.clock.advance(2_000);
  expect(endOf(await attempt.result)).toEqual(['broken-off', { kind: 'timeout', timer: 'liveness' }]);
});

test('an upstream that floods the gateway with comments is throttled, and its timeouts go on', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  const flood = ':\n\n'.repeat(20_000);
  for (let count = 0; count < 20; count++) attempt.body(flood);
  expect(attempt.log).toEqual(['pause']);
  attempt.clock.advance(250);
  expect(attempt.log).toEqual(['pause', 'resume']);
  attempt.body(flood);
  expect(attempt.log).toEqual(['pause', 'resume', 'pause']);
  attempt.clock.advance(750);
  expect(endOf(await attempt.result)).toEqual(['failed', { kind: 'timeout', timer: 'first-event' }]);
  expect([attempt.log.at(-1), attempt.timers.size]).toEqual(['abort', 0]);
});

test('an event without content counts with its whole length, however late it ends', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  const long = `:${'x'.repeat(900_000)}`;
  for (const text of [long, '\n\n', long]) attempt.body(text);
  expect(attempt.log).toEqual([]);
  attempt.body('\n\n');
  expect(attempt.log).toEqual(['pause']);
  attempt.clock.advance(250);
  for (const text of [long, '\n\n']) attempt.body(text);
  expect(attempt.log).toEqual(['pause', 'resume', 'pause']);
  attempt.clock.advance(250);
  attempt.body(word + finish + done);
  expect(await attempt.result).toMatchObject({ outcome: 'answered' });
});

test('an event that is forwarded is not throttled, however long it is and however late it ends', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  for (let n = 0; n < 8; n++) {
    attempt.body(`data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(900_000)}`);
    attempt.body('"}}]}\n\n');
  }
  expect(attempt.log).toEqual([]);
  attempt.body(finish + done);
  expect(await attempt.result).toMatchObject({ outcome: 'answered' });
});

test('an upstream that is paused for its comments and for a slow client resumes after both', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.body(role + word);
  attempt.fill();
  attempt.body(word + ':\n\n'.repeat(400_000));
  expect(attempt.log).toEqual(['pause', 'pause']);
  attempt.clock.advance(250);
  expect(attempt.log).toEqual(['pause', 'pause']);
  attempt.drain();
  expect(attempt.log).toEqual(['pause', 'pause', 'resume']);
  attempt.fill();
  attempt.body(word + ':\n\n'.repeat(100_000));
  attempt.drain();
  expect(attempt.log.slice(3)).toEqual(['pause', 'pause']);
  attempt.clock.advance(250);
  expect(attempt.log.slice(5)).toEqual(['resume']);
  attempt.body(finish + done);
  expect(await attempt.result).toMatchObject({ outcome: 'answered' });
});

test('an answer with a finish reason is complete, even if the upstream then is silent', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.body(word + finish);
  attempt.clock.advance(2_000);
  expect(endOf(await attempt.result)).toBe('answered');
});

test('after the usage chunk the gateway does not wait for [DONE]', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.body(word + finish + usage);
  expect(await attempt.result).toMatchObject({ outcome: 'answered', usage: { output: 1 } });
  expect(attempt.written.join('')).toBe(word + finish + usage);
});

test('a connection that stays open after the terminal marker is closed after two seconds', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.body(word + finish + done);
  expect(endOf(await attempt.result)).toBe('answered');
  attempt.clock.advance(1_999);
  expect(attempt.log).toEqual([]);
  attempt.clock.advance(1);
  expect(attempt.log).toEqual(['abort']);
});

test('a break after the finish reason is ignored; a break before it truncates the stream', async () => {
  const whole = startAttempt('stream');
  whole.head(200, sse);
  whole.body(word + finish);
  whole.upstream.onBreak('reset', '');
  expect(endOf(await whole.result)).toBe('answered');

  const half = startAttempt('stream');
  half.head(200, sse);
  half.body(word);
  half.upstream.onBreak('reset', '');
  expect(endOf(await half.result)).toEqual(['broken-off', { kind: 'answer', fault: { kind: 'truncated' } }]);
});

test('a finish reason in a chunk with text is not yet the end: a break after it still counts', async () => {
  const both = word.replace('"finish_reason":null', '"finish_reason":"stop"');
  expect(both).not.toBe(word);
  const torn = startAttempt('stream');
  torn.head(200, sse);
  torn.body(both);
  torn.upstream.onBreak('reset', '');
  expect(endOf(await torn.result)).toEqual(['broken-off', { kind: 'answer', fault: { kind: 'truncated' } }]);
});

test('endless framing without content ends the attempt and counts against no breaker', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  const long = role.replace('{', `{"padding":"${'x'.repeat(heldBytesMax / 16)}",`);
  for (let n = 0; n < 17; n++) attempt.body(long);
  expect(endOf(await attempt.result)).toMatchObject(['failed', { fault: { kind: 'too-large' } }]);
  expect(attempt.written).toEqual([]);
});

test.each(['stream', 'plain'] as const)(
  '%s: the status of an error decides, its body may break off',
  async (kind) => {
    const attempt = startAttempt(kind);
    attempt.head(400, { 'content-type': 'application/json' });
    attempt.body('{"error":{"mess');
    attempt.upstream.onBreak('reset', '');
    expect(endOf(await attempt.result)).toMatchObject(['failed', { kind: 'status', status: 400 }]);
  },
);

test.each(['stream', 'plain'] as const)(
  '%s: the body of an error is not waited for longer than 2 s',
  async (kind) => {
    const attempt = startAttempt(kind);
    attempt.head(429, { 'retry-after': '3' });
    attempt.clock.advance(2_000);
    expect(endOf(await attempt.result)).toMatchObject([
      'failed',
      { kind: 'status', status: 429, retryAfterMs: 3_000 },
    ]);
    expect(attempt.log).toEqual(['abort']);
    expect(attempt.timers.size).toBe(0);
  },
);

test('only the start of an endless error page is read', async () => {
  const attempt = startAttempt('plain');
  attempt.head(503);
  for (let n = 0; n < 9; n++) attempt.body('x'.repeat(8 * 1024));
  expect(endOf(await attempt.result)).toMatchObject(['failed', { kind: 'status', status: 503 }]);
  expect(attempt.log).toEqual(['abort']);
});

test.each([
  ['2', 2_000],
  ['0.5', 500],
  ['0', 0],
  ['-3', 0],
  ['Thu, 01 Jan 2026 00:00:09 GMT', 9_000],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ['Thursday, 01-Jan-26 00:00:09 GMT', 9_000],
  ['2026-01-01T00:00:09Z', 9_000],
  ['soon', undefined],
  ['12, 12', undefined],
  ['9;', undefined],
  ['9 seconds', undefined],
  ['', undefined],
])('Retry-After %j is %j ms', async (value, retryAfterMs) => {
  const attempt = startAttempt('plain');
  attempt.head(429, { 'retry-after': value });
  attempt.upstream.onEnd();
  expect(endOf(await attempt.result)).toMatchObject(['failed', { retryAfterMs }]);
});

test.each([
  ['Wed, 31 Dec 2025 23:50:00 GMT', 'Wed, 31 Dec 2025 23:50:09 GMT', 9_000],
  ['Thu, 01 Jan 2026 00:10:00 GMT', 'Thu, 01 Jan 2026 00:10:09 GMT', 9_000],
  ['Thu, 01 Jan 2026 00:10:00 GMT', 'Thu, 01 Jan 2026 00:00:09 GMT', 0],
  ['soon', 'Thu, 01 Jan 2026 00:00:09 GMT', 9_000],
])('by an upstream whose clock says %j, Retry-After %j is %j ms', async (date, value, retryAfterMs) => {
  const attempt = startAttempt('plain');
  attempt.head(429, { date, 'retry-after': value });
  attempt.upstream.onEnd();
  expect(endOf(await attempt.result)).toMatchObject(['failed', { retryAfterMs }]);
});

test('a plain answer larger than the limit of requests fails the attempt', async () => {
  const attempt = startAttempt('plain');
  attempt.head(200);
  const mebibyte = 'x'.repeat(1024 * 1024);
  for (let n = 0; n < 32; n++) attempt.body(mebibyte);
  expect(attempt.log).toEqual([]);
  attempt.body('x');
  expect(endOf(await attempt.result)).toMatchObject([
    'failed',
    { kind: 'answer', fault: { kind: 'too-large', detail: 'it is longer than 32 MiB' } },
  ]);
  expect(attempt.held()).toBe(0);
});

test.each(['plain', 'stream'] as const)(
  'what is kept of a %s answer is reported, and where there is no room for it the attempt fails for that',
  async (kind) => {
    const attempt = startAttempt(kind);
    attempt.head(200, kind === 'stream' ? sse : {});
    attempt.body('data: {');
    expect(attempt.held()).toBe(7);
    attempt.leaveRoom(0);
    attempt.body('x');
    expect(endOf(await attempt.result)).toEqual(['failed', { kind: 'gateway', code: 'no_room' }]);
    expect([attempt.held(), attempt.log]).toEqual([0, ['abort']]);
  },
);

test('a plain answer counts against memory until its client has it', async () => {
  const attempt = startAttempt('plain');
  attempt.head(200);
  attempt.body('{}');
  attempt.upstream.onEnd();
  expect(await attempt.result).toMatchObject({ outcome: 'answered' });
  expect(attempt.held()).toBe(2);
});

test('an event counts against memory only until it ends', () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.body(word.slice(0, 9));
  expect(attempt.held()).toBe(9);
  attempt.body(word.slice(9));
  expect(attempt.held()).toBe(0);
  attempt.caller.cancel();
});

test('an error inside the gateway ends the attempt at once and is reported', async () => {
  const attempt = startAttempt('plain');
  attempt.head(200);
  attempt.body('break');
  expect(() => attempt.upstream.onEnd()).not.toThrow();
  expect(endOf(await attempt.result)).toEqual([
    'failed',
    { kind: 'gateway', code: 'internal_error', error: expect.any(TypeError) },
  ]);
  expect(attempt.timers.size).toBe(0);
});

test.each(['', 'soon'])('retry-after-ms %j says nothing', async (value) => {
  const attempt = startAttempt('plain');
  attempt.head(429, { 'retry-after': '9', 'retry-after-ms': value });
  attempt.upstream.onEnd();
  expect(endOf(await attempt.result)).toMatchObject(['failed', { retryAfterMs: 9_000 }]);
});

test('credentials are removed from the error text of an upstream, in a response and in a stream', async () => {
  const said = { message: 'the key sk-sent is wrong', type: 'sk-sent', code: 'sk-sent', param: 'sk-sent' };
  const heard = { message: 'the key *** is wrong', type: '***', code: '***', param: '***' };
  const plain = startAttempt('plain');
  plain.head(400);
  const deep = (key: string): unknown => ({ a: [{ [key]: 1, b: [key, 2] }] });
  plain.body(JSON.stringify({ error: { ...said, details: deep('sk-sent') } }));
  plain.upstream.onEnd();
  expect(endOf(await plain.result)).toMatchObject([
    'failed',
    { kind: 'status', error: { ...heard, details: deep('***') } },
  ]);

  const streamed = startAttempt('stream');
  streamed.head(200, sse);
  streamed.body(`data: ${JSON.stringify({ error: said })}\n\n`);
  expect(endOf(await streamed.result)).toMatchObject(['failed', { kind: 'answer', fault: { error: heard } }]);
});

test('retry-after-ms takes precedence over Retry-After', async () => {
  const attempt = startAttempt('plain');
  attempt.head(429, { 'retry-after': '9', 'retry-after-ms': '250' });
  attempt.upstream.onEnd();
  expect(endOf(await attempt.result)).toMatchObject(['failed', { retryAfterMs: 250 }]);
});

test.each([
  ['stream', {}, true],
  ['stream', { 'content-type': 'text/event-stream; charset=utf-8' }, true],
  ['stream', { 'content-type': 'application/json' }, true],
  ['stream', { 'content-type': 'text/html' }, false],
  ['stream', { ...sse, 'content-encoding': 'identity' }, true],
  ['stream', { 'content-type': 'Text/Event-Stream', 'content-encoding': 'Identity' }, true],
  ['stream', { ...sse, 'content-encoding': 'gzip' }, false],
  ['plain', {}, true],
  ['plain', { 'content-type': 'application/json' }, true],
  ['plain', { 'content-type': 'Application/JSON' }, true],
  ['plain', { 'content-type': 'application/vnd.provider+json' }, true],
  ['plain', { 'content-type': 'text/html' }, false],
  ['plain', sse, true],
] satisfies ['stream' | 'plain', Headers, boolean][])(
  '%s: a 200 with %o is read: %j',
  (kind, headers, isRead) => {
    const attempt = startAttempt(kind);
    attempt.head(200, headers);
    expect(attempt.log).toEqual(isRead ? [] : ['abort']);
  },
);

test.each([201, 202, 204, 302])('status %i is not an answer', async (status) => {
  const attempt = startAttempt('plain');
  attempt.head(status);
  attempt.upstream.onEnd();
  expect(endOf(await attempt.result)).toMatchObject(['failed', { kind: 'status', status }]);
});

test('a client that disconnects ends the attempt in the same tick, at any time', async () => {
  const before = startAttempt('plain');
  before.caller.cancel();
  expect(before.log).toEqual(['abort']);
  expect(endOf(await before.result)).toBe('cancelled');
  expect(await before.result).toMatchObject({ isSent: true });

  const within = startAttempt('stream');
  within.head(200, sse);
  within.body(word);
  within.caller.cancel();
  expect(within.log).toEqual(['abort']);
  expect(await within.result).toMatchObject({ outcome: 'cancelled', outputEstimate: 1 });
  expect(within.timers.size).toBe(0);
});

test('events after the end of an attempt change nothing', async () => {
  const attempt = startAttempt('stream');
  attempt.upstream.onBreak('connect_refused', '');
  attempt.head(200, sse);
  attempt.body(word);
  attempt.upstream.onEnd();
  expect(endOf(await attempt.result)).toMatchObject([
    'failed',
    { kind: 'transport', code: 'connect_refused' },
  ]);
  expect(attempt.written).toEqual([]);
});

const whole: CommitRule = { type: 'whole' };
const garbage = 'data: {not js\n\n';

test('an assured answer is sent in one piece after its end marker', async () => {
  const attempt = startAttempt('stream', whole);
  attempt.head(200, sse);
  attempt.body(role + word);
  attempt.body(word + finish);
  expect([attempt.written, attempt.contents.length]).toEqual([[], 1]);
  attempt.body(usage + done);
  expect(attempt.written).toEqual([role + word + word + finish + usage]);
  expect(endOf(await attempt.result)).toBe('answered');
});

test.each<[string, (attempt: ReturnType<typeof startAttempt>) => void, object]>([
  ['a break', ({ upstream }) => upstream.onBreak('reset', ''), { fault: { kind: 'truncated' } }],
  ['an end too early', ({ upstream }) => upstream.onEnd(), { fault: { kind: 'truncated' } }],
  ['an error event', ({ body }) => body('data: {"error":{"message":"no"}}\n\n'), { kind: 'answer' }],
  ['garbage', ({ body }) => body(garbage), { fault: { kind: 'unusable' } }],
  ['silence', ({ clock }) => clock.advance(2_000), { kind: 'timeout', timer: 'liveness' }],
  [
    'pings without content',
    ({ clock, body }) => {
      for (let seconds = 0; seconds < 5; seconds++) {
        clock.advance(1_000);
        body(ping);
      }
    },
    { kind: 'timeout', timer: 'progress' },
  ],
])(
  '%s after content fails an attempt whose answer is held, and the client sees none of it',
  async (_, fail, failure) => {
    const attempt = startAttempt('stream', whole);
    attempt.head(200, sse);
    attempt.body(role + word + word);
    fail(attempt);
    const result = await attempt.result;
    expect(endOf(result)).toMatchObject(['failed', failure]);
    expect([attempt.written, attempt.timers.size, result.outputEstimate]).toEqual([[], 0, 2]);
  },
);

test('during the hold-back time a failure fails the attempt; after it, a failure breaks the stream off', async () => {
  const rule: CommitRule = { type: 'hold-back', events: undefined, durationMs: 500 };
  const early = startAttempt('stream', rule);
  early.head(200, sse);
  early.clock.advance(900);
  early.body(role + word);
  early.clock.advance(499);
  expect(early.written).toEqual([]);
  early.upstream.onBreak('reset', '');
  expect(endOf(await early.result)).toMatchObject(['failed', { kind: 'answer' }]);
  expect([early.written, early.timers.size]).toEqual([[], 0]);

  const late = startAttempt('stream', rule);
  late.head(200, sse);
  late.body(role + word);
  // Nothing comes, and what is there goes out all the same.
  late.clock.advance(500);
  expect(late.written).toEqual([role + word]);
  late.upstream.onBreak('reset', '');
  expect(endOf(await late.result)).toMatchObject(['broken-off', { kind: 'answer' }]);
});

test('hold-back ends at its number of events or its duration, whichever is first', async () => {
  const rule: CommitRule = { type: 'hold-back', events: 2, durationMs: 500 };
  const attempt = startAttempt('stream', rule);
  attempt.head(200, sse);
  attempt.body(role + word);
  expect(attempt.written).toEqual([]);
  attempt.body(word);
  expect(attempt.written).toEqual([role + word + word]);
  attempt.clock.advance(500);
  attempt.body(finish + done);
  expect(attempt.written).toEqual([role + word + word, finish]);
  expect(endOf(await attempt.result)).toBe('answered');
});

test('a client with a full buffer at the end of the hold-back time pauses the upstream', async () => {
  const attempt = startAttempt('stream', { type: 'hold-back', events: undefined, durationMs: 500 });
  attempt.head(200, sse);
  attempt.fill();
  attempt.body(role + word);
  expect(attempt.log).toEqual([]);
  attempt.clock.advance(500);
  expect(attempt.log).toEqual(['pause']);
  attempt.drain();
  attempt.body(finish + done);
  expect(endOf(await attempt.result)).toBe('answered');
});

test('one unreadable event is left out of a stream that has started, and is counted', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.body(role + word);
  attempt.body(garbage + word + finish + done);
  expect(await attempt.result).toMatchObject({ outcome: 'answered', malformedFrames: 1 });
  expect(attempt.written.join('')).toBe(role + word + word + finish);
});

test('the second unreadable event ends the stream', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.body(role + word);
  attempt.body(garbage + word);
  attempt.body(garbage + word);
  expect(await attempt.result).toMatchObject({
    outcome: 'broken-off',
    failure: { fault: { kind: 'malformed' } },
    malformedFrames: 2,
  });
  expect(attempt.written.join('')).toBe(role + word + word);
});

test.each([
  ['before content', [role + garbage]],
  ['in the very bytes that bring the content', [role + word + garbage + word]],
])('an unreadable event, %s, is not an answer', async (_, bodies) => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  for (const body of bodies) attempt.body(body);
  expect(await attempt.result).toMatchObject({ outcome: 'failed', malformedFrames: 1 });
  expect(attempt.written).toEqual([]);
});

test('an upstream that sends neither counts nor an end marker delays the end of an answer by five seconds at most', async () => {
  const attempt = startAttempt('stream', whole, { ...limits, livenessMs: 30_000, progressMs: 60_000 });
  attempt.head(200, sse);
  attempt.body(role + word + finish);
  attempt.clock.advance(4_999);
  expect(attempt.written).toEqual([]);
  attempt.clock.advance(1);
  expect(endOf(await attempt.result)).toBe('answered');
  expect(attempt.written).toEqual([role + word + finish]);
});

test('text after a finish reason resets the timers: the answer goes on', async () => {
  const attempt = startAttempt('stream', undefined, { ...limits, livenessMs: 30_000, progressMs: 60_000 });
  attempt.head(200, sse);
  attempt.body(role + word + finish);
  attempt.clock.advance(4_999);
  attempt.body(word);
  attempt.clock.advance(29_999);
  attempt.body(word + finish);
  attempt.clock.advance(20_000);
  expect(attempt.timers.size).toBe(1);
  attempt.upstream.onEnd();
  expect(endOf(await attempt.result)).toBe('answered');
  expect(attempt.written.join('')).toBe(role + word + finish + word + word + finish);
});

test('pings delay the end by ten seconds at most after the finish reason', async () => {
  const attempt = startAttempt('stream', whole, { ...limits, livenessMs: 30_000, progressMs: 60_000 });
  const pingFor = (seconds: number): void => {
    for (let n = 0; n < seconds; n++) {
      attempt.clock.advance(1_000);
      attempt.body(ping);
    }
  };
  attempt.head(200, sse);
  attempt.body(role + word);
  pingFor(20);
  attempt.body(finish);
  pingFor(9);
  attempt.clock.advance(999);
  expect(attempt.written).toEqual([]);
  attempt.clock.advance(1);
  expect(attempt.written).toEqual([role + word + finish]);
  expect(endOf(await attempt.result)).toBe('answered');
});

test('an error body counts against memory until its attempt ends; without room its status decides', async () => {
  for (const room of [Number.POSITIVE_INFINITY, 10]) {
    const attempt = startAttempt('plain');
    attempt.leaveRoom(room);
    attempt.head(429, { 'retry-after': '3' });
    attempt.body('{"error":');
    expect(attempt.held()).toBe(9);
    attempt.body('{"message":"slower"');
    if (room > 10) attempt.body('}}');
    if (room > 10) attempt.upstream.onEnd();
    const message = room > 10 ? 'slower' : '';
    expect(endOf(await attempt.result)).toMatchObject([
      'failed',
      { kind: 'status', status: 429, retryAfterMs: 3_000, error: { message } },
    ]);
    expect([attempt.held(), attempt.timers.size]).toEqual([0, 0]);
  }
});

const longText = word.repeat(1_000);

test('while the event loop is busy, long answers are read in turns and short ones at once', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.body(longText);
  expect(attempt.log, 'nobody waits on a calm process').toEqual([]);
  attempt.turns.isPacing = true;
  attempt.body(word.repeat(100));
  expect(attempt.log, 'short so far').toEqual([]);
  attempt.body(longText);
  expect(attempt.log).toEqual(['pause']);
  attempt.body(word);
  attempt.nextTurn();
  expect(attempt.log).toEqual(['pause', 'resume']);
  attempt.body(finish + usage + done);
  attempt.upstream.onEnd();
  expect(await attempt.result).toMatchObject({ outcome: 'answered', usage: { input: 3, output: 1 } });
});

test('an answer that waits for its turn goes on only if its client has room', () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.turns.isPacing = true;
  attempt.fill();
  attempt.body(longText);
  expect(attempt.log).toEqual(['pause', 'pause']);
  attempt.nextTurn();
  expect(attempt.log).toEqual(['pause', 'pause']);
  attempt.drain();
  expect(attempt.log).toEqual(['pause', 'pause', 'resume']);
});

test('a client that disconnects while its answer waits for a turn ends it, and nothing more is read', async () => {
  const attempt = startAttempt('stream');
  attempt.head(200, sse);
  attempt.turns.isPacing = true;
  attempt.body(longText);
  attempt.caller.cancel();
  expect(endOf(await attempt.result)).toEqual('cancelled');
  attempt.nextTurn();
  expect(attempt.log).toEqual(['pause', 'abort']);
});
