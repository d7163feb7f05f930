// What becomes of a request whose first provider fails? The matrix of faults, and what does not fit into it.

import { describe, expect, test } from 'vitest';
import { some } from '../support/runs.ts';
import type { SseStyle } from '../support/wall/behaviour.ts';
import type { Behaviour } from '../support/wall.ts';
import { ask, askOpen, errorOf, lineOf, textOf } from './ask.ts';
import {
  expectBrokenOff,
  expectReported,
  expectWhole,
  faultCasesOf,
  nativeVariants,
  translatedVariants,
} from './fault-matrix.ts';
import { modes } from './faults.ts';
import { inHouse } from './house.ts';
import { replacedConnections } from './replaced-connections.ts';

/**
 * Of two dialects one half of the faults, of the other two the other half, and of each translation every tenth, so that of the four
 * together there are many different ones; all of them are in the long form.
 */
const thinly = { native: 2, translated: 10 };

describe.concurrent.each([...nativeVariants, ...translatedVariants])('$name', (variant) => {
  const translated = translatedVariants.indexOf(variant);
  const [share, first] =
    translated < 0 ? [thinly.native, nativeVariants.indexOf(variant) % 2] : [thinly.translated, translated];
  const cases = faultCasesOf(variant);
  const faults = some([...new Set(cases.map(({ fault }) => fault))], share, first);
  const played = cases.filter(({ fault }) => faults.includes(fault));
  describe.each(modes)('%s', (mode) => {
    for (const one of played.filter((each) => each.mode === mode))
      test(
        one.name,
        inHouse(async (house) => expect(await one.play(house)).toBeGreaterThan(0)),
      );
  });
});

// With one translation: what frames an event, and what ends a stream, is the same for all.
const besides = [...nativeVariants, ...translatedVariants.slice(2, 3)];

describe.concurrent.each(besides)('$name, beside the table', (variant) => {
  const { endpoint, upstream } = variant;

  test(
    'half a stream, then a reset: an error frame and no end marker',
    inHouse(async (house) => {
      const hasRead = Promise.withResolvers<void>();
      const first = await house.wallThat({
        type: 'stall',
        after: { contentEvents: 3 },
        for: { until: hasRead.promise },
        followedBy: 'reset',
      });
      const second = await house.wallThat({ type: 'answer' });
      const rig = await house.rigOf([
        { dialects: [upstream], baseUrl: first.baseUrl },
        { dialects: [upstream], baseUrl: second.baseUrl },
      ]);
      const { connection, answer } = await askOpen(rig, { endpoint, isStream: true });
      const opened = await answer;
      while (textOf({ events: [await opened.nextEvent()].flatMap((e) => e ?? []), json: undefined }) === '');
      hasRead.resolve();
      const seen = { ...opened, ...(await opened.finished) };
      connection.close();
      expectBrokenOff(seen, 'upstream_error');
      expect(second.calls).toHaveLength(0);
      expect(rig.records.map(lineOf)).toEqual(['1 t0 broken-off truncated tenant']);
    }),
  );

  // The last event of a response is all that tells of its end: without it there is none.
  const isMarked = upstream === 'openai-responses';
  const leftOut = [
    ['no end marker, then the end', ['end']],
    ['no end marker and no usage', ['usage', 'end']],
    ['an end marker without a finish reason', ['finish']],
  ] as const;
  test.each(leftOut.filter(([, omit]) => !(isMarked && omit.some((part) => part === 'end'))))(
    '%s: the answer is whole all the same',
    inHouse(async (house, _name, omit) => {
      const wall = await house.wallThat({ type: 'answer', omit });
      const rig = await house.rigOf([{ dialects: [upstream], baseUrl: wall.baseUrl }]);
      const seen = await ask(rig, { endpoint, isStream: true });
      expectWhole(seen, 'stream');
      expect(rig.records.map(lineOf)).toEqual(['1 t0 answered tenant']);
    }),
  );

  test.each([
    ['a reset', 'reset-unannounced'],
    ['a FIN', 'fin-unannounced'],
  ] as const)(
    '%s after the whole stream costs nothing',
    inHouse(async (house, _name, afterwards) => {
      const wall = await house.wallThat({ type: 'answer', afterwards });
      const rig = await house.rigOf([{ dialects: [upstream], baseUrl: wall.baseUrl }]);
      expectWhole(await ask(rig, { endpoint, isStream: true }), 'stream');
      expect(rig.records.map(lineOf)).toEqual(['1 t0 answered tenant']);
    }),
  );

  test.each([
    ['CRLF', { newline: '\r\n' }],
    ['lone CR', { newline: '\r' }],
    ['a byte order mark', { byteOrderMark: true }],
    ['ids, retries, comments and empty data', { ids: true, retryMs: 5, comments: true, emptyData: true }],
    ['JSON over several lines', { multiline: true }],
    ['names', { eventName: 'message' }],
  ] satisfies [string, SseStyle][])(
    'a stream written with %s is whole',
    inHouse(async (house, _name, sse) => {
      const wall = await house.wallThat({ type: 'answer', sse });
      const rig = await house.rigOf([{ dialects: [upstream], baseUrl: wall.baseUrl }]);
      const seen = await ask(rig, { endpoint, isStream: true });
      expectWhole(seen, 'stream');
      expect(seen.text).not.toMatch(/^(id|retry|: comment|event: message$)/m);
    }),
  );

  test.each(modes)(
    'a connection that dies when it is used again is replaced (%s)',
    inHouse(async (house, mode) => {
      // By a reset, and by a FIN.
      expect(await replacedConnections(house, variant, mode, 4)).toBe(2);
    }),
  );
});

test(
  'an event named error is an error, whatever its data',
  inHouse(async (house) => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
    const event = 'event: error\ndata: {"type":"overloaded_error","message":"busy"}\n\n';
    const first = await house.wallThat({ type: 'raw', bytes: head + event, followedBy: 'fin' });
    const second = await house.wallThat({ type: 'answer' });
    const rig = await house.rigOf([{ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }]);
    expectWhole(await ask(rig, { isStream: true }), 'stream');
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed error_event platform', '2 t1 answered tenant']);
  }),
);

test.each(['chat', 'messages'] as const)(
  'a message without a beginning fails, however it goes on: the next provider answers (%s)',
  async (endpoint) =>
    inHouse(async (house) => {
      const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
      const events = [
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
      ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      const first = await house.wallThat({ type: 'raw', bytes: head + events.join(''), followedBy: 'fin' });
      const second = await house.wallThat({ type: 'answer' });
      const dialects = ['anthropic-messages' as const];
      const rig = await house.rigOf([first, second].map(({ baseUrl }) => ({ baseUrl, dialects })));
      expectWhole(await ask(rig, { endpoint, isStream: true }), 'stream');
      expect(rig.records.map(lineOf)).toEqual(['1 t0 failed malformed platform', '2 t1 answered tenant']);
    })(),
);

test(
  'three attempts are the maximum: the fourth provider is not asked',
  inHouse(async (house) => {
    const walls = await Promise.all([529, 503, 500, 200].map((code) => house.wallThat(answerOf(code))));
    const rig = await house.rigOf(walls.map(({ baseUrl }) => ({ baseUrl })));
    const seen = await ask(rig);
    expectReported(seen, { status: 502, code: 'upstream_error' });
    expect(walls.map(({ calls }) => calls.length)).toEqual([1, 1, 1, 0]);
    expect(seen.headers['x-should-retry']).toBe('false');
  }),
);

test(
  'if no provider is left, the last is tried again: two providers, three calls',
  inHouse(async (house) => {
    const walls = await Promise.all([503, 500].map((code) => house.wallThat(answerOf(code))));
    const rig = await house.rigOf(walls.map(({ baseUrl }) => ({ baseUrl })));
    expectReported(await ask(rig), { status: 502, code: 'upstream_error' });
    expect(walls.map(({ calls }) => calls.length)).toEqual([1, 2]);
  }),
);

test(
  'a brief failure is retried at the same provider, before a lower tier serves',
  inHouse(async (house) => {
    const first = await house.wallThat([{ type: 'status', status: 500 }, { type: 'answer' }]);
    const second = await house.wallThat({ type: 'answer' });
    const rig = await house.rigOf([{ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }]);
    expectWhole(await ask(rig), 'plain');
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed status_500 platform', '2 t0 answered tenant']);
  }),
);

test(
  'no provider is skipped for a retry of another one: three providers, three calls',
  inHouse(async (house) => {
    const walls = await Promise.all([500, 500, 200].map((code) => house.wallThat(answerOf(code))));
    const rig = await house.rigOf(walls.map(({ baseUrl }) => ({ baseUrl })));
    expectWhole(await ask(rig), 'plain');
    expect(walls.map(({ calls }) => calls.length)).toEqual([1, 1, 1]);
  }),
);

test(
  'a provider that has recovered answers the retry',
  inHouse(async (house) => {
    const wall = await house.wallThat([{ type: 'status', status: 500 }, { type: 'answer' }]);
    const rig = await house.rigOf([{ baseUrl: wall.baseUrl }]);
    expectWhole(await ask(rig), 'plain');
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed status_500 platform', '2 t0 answered tenant']);
  }),
);

/** They say nothing of the request, so that its caller could not mend them. */
test.each([405, 407, 410, 421, 425])(
  '%i of one provider: another one answers, and alone it is no mistake of the caller',
  (code) =>
    inHouse(async (house) => {
      const first = await house.wallThat({ type: 'status', status: code, body: '' });
      const second = await house.wallThat({ type: 'answer' });
      const both = await house.rigOf([{ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }]);
      expectWhole(await ask(both), 'plain');
      expect(both.records.at(-1)?.outcome).toBe('answered');
      const alone = await house.rigOf([{ baseUrl: first.baseUrl }]);
      const reported = await ask(alone);
      expect([reported.status, reported.headers['x-should-retry']]).toEqual([502, 'false']);
    })(),
);

test.each([421, 425])('%i is retried over another connection', (code) =>
  inHouse(async (house) => {
    const wall = await house.wallThat([
      { type: 'answer' },
      { type: 'status', status: code },
      { type: 'answer' },
    ]);
    const rig = await house.rigOf([{ baseUrl: wall.baseUrl }]);
    expectWhole(await ask(rig), 'plain');
    expectWhole(await ask(rig), 'plain');
    const [warm, refused, again] = wall.calls.map(({ connection }) => connection);
    expect(refused).toBe(warm);
    expect(again).not.toBe(refused);
  })(),
);

test(
  'a wait for a Retry-After that ends after the deadline is not started',
  inHouse(async (house) => {
    const wall = await house.wallThat({ type: 'status', status: 429, headers: { 'retry-after': '4' } });
    const rig = await house.rigOf([{ baseUrl: wall.baseUrl, timeouts: { totalMs: 3_000 } }]);
    expectReported(await ask(rig), { status: 429, code: 'rate_limit_exceeded', retryAfter: '4' });
    expect(wall.calls).toHaveLength(1);
  }),
);

test(
  'a provider with a shorter timeout than the next one leaves it the remaining time',
  inHouse(async (house) => {
    const first = await house.wallThat({ type: 'hang', when: 'before-headers' });
    const second = await house.wallThat({ type: 'answer' });
    const rig = await house.rigOf([
      { baseUrl: first.baseUrl, timeouts: { totalMs: 100 } },
      { baseUrl: second.baseUrl },
    ]);
    expectWhole(await ask(rig), 'plain');
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed timeout_total platform', '2 t1 answered tenant']);
  }),
);

test(
  "a tenant's own rejected key is reported as its own, never as the caller's",
  inHouse(async (house) => {
    const wall = await house.wallThat({ type: 'status', status: 401 });
    const rig = await house.rigOf([
      { baseUrl: wall.baseUrl, provider: 'team/own', providerEntry: { isPlatform: false } },
    ]);
    const seen = await ask(rig);
    expectReported(seen, { status: 403, code: 'upstream_auth_failed' });
    expect(seen.headers['x-should-retry']).toBe('false');
    expect(rig.records.map(lineOf)).toEqual(['1 t0 failed status_401 own-key']);
  }),
);

test(
  'an error of the request that only the second provider finds is reported with its message',
  inHouse(async (house) => {
    const first = await house.wallThat({ type: 'status', status: 503 });
    const second = await house.wallThat({ type: 'status', status: 400, error: { message: 'too hot' } });
    const rig = await house.rigOf([{ baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }]);
    const seen = await ask(rig);
    expect([seen.status, errorOf(seen)?.message]).toEqual([400, 'too hot']);
  }),
);

test(
  'nothing of an upstream appears in the error of the caller',
  inHouse(async (house) => {
    const wall = await house.wallThat({
      type: 'status',
      status: 500,
      headers: { 'x-account': 'acct-secret', 'retry-after': '7' },
      error: { message: 'account acct-secret at http://10.1.2.3 is broken' },
    });
    const rig = await house.rigOf([{ baseUrl: wall.baseUrl }]);
    const seen = await ask(rig);
    expect(JSON.stringify([seen.rawHeaders, seen.text])).not.toMatch(/acct-secret|10\.1\.2\.3|127\.0\.0\.1/);
  }),
);

function answerOf(code: number): Behaviour {
  return code === 200 ? { type: 'answer' } : { type: 'status', status: code };
}
