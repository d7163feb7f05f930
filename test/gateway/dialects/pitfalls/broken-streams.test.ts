// What does a client get of a stream that breaks, is oddly written, or says nothing for a while?

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../../core/contract/routing-table.ts';
import { errorBody } from '../../../support/translate-through.ts';
import { recordOf } from '../../endpoints/ask.ts';
import { endOf, start, textBlock } from '../support/messages-events.ts';
import { named } from '../support/named-events.ts';
import { delta, frame } from '../support/openai-streams.ts';
import {
  all,
  hearStream,
  numbered,
  responseHead,
  responseUsage,
  type Said,
  talkative,
  tell,
} from '../support/tellings.ts';
import { C, eventsOf, everyPair, expectErrorLast, M, open, R, stream, streamed, T } from './whole-way.ts';

/** The beginning of an answer, up to its end or after its text. */
function beginning(upstream: DialectName): string {
  const text = tell(upstream, [['text', 'half an answer']]);
  const ends: Readonly<Record<DialectName, string>> = {
    [C]: frame(delta({}, 'stop')),
    [T]: '"finish_reason":"stop"',
    [M]: 'event: message_delta',
    [R]: 'event: response.completed',
  };
  const whole = text.slice(0, text.indexOf(ends[upstream]));
  return whole.slice(0, whole.lastIndexOf('\n\n') + 2);
}

const errorEvents: Readonly<Record<DialectName, string>> = {
  [C]: frame({ error: { message: 'out of order', type: 'server_error', code: 500 } }),
  [T]: frame({ error: { message: 'out of order', type: 'server_error', code: 500 } }),
  [M]: named('error', { error: { type: 'overloaded_error', message: 'out of order' } }),
  [R]: numbered({
    type: 'response.failed',
    response: { ...responseHead, status: 'failed', error: { code: 'server_error', message: 'out of order' } },
  }),
};

describe('streams that fail', () => {
  test.each(everyPair)(
    '11, 13: for a client of %s a stream of %s that just ends is an error, reported in the client’s own way',
    (client, upstream) => {
      const outcome = stream(client, upstream, beginning(upstream));
      expect(outcome.type).toBe('broken-off');
      if (outcome.type === 'broken-off') expectErrorLast(client, outcome.text);
    },
  );

  test.each(everyPair)(
    '12: for a client of %s an error of %s behind content is an error, not the end of an answer',
    (client, upstream) => {
      const outcome = stream(client, upstream, beginning(upstream) + errorEvents[upstream]);
      expect(outcome.type).toBe('broken-off');
      if (outcome.type === 'broken-off') expectErrorLast(client, outcome.text);
    },
  );

  test.each(everyPair)(
    '12: for a client of %s an error of %s before any content is a status, not an empty answer',
    (client, upstream) => {
      const outcome = stream(client, upstream, errorEvents[upstream]);
      expect(outcome.type).toBe('failed');
      expect(outcome.type === 'failed' && outcome.error.status).toBeGreaterThanOrEqual(500);
    },
  );

  test.each(everyPair)(
    '12: for a client of %s a plain answer of %s that is an error is a status',
    (client, upstream) => {
      const failed = { ...responseHead, status: 'failed', error: { code: 'server_error', message: 'no' } };
      for (const body of [{ error: { message: 'no' } }, ...(upstream === R ? [failed] : [])]) {
        const outcome = open(client, upstream).plain(() => Buffer.from(JSON.stringify(body)));
        expect(outcome).toMatchObject({ type: 'failed', error: { status: 502 } });
      }
    },
  );

  test.each(everyPair)(
    '13: for a client of %s a stream of %s that holds nothing is an error',
    (client, upstream) => {
      expect(stream(client, upstream, '')).toMatchObject({ type: 'failed', error: { status: 502 } });
    },
  );

  test.each([C, R, T] as const)(
    '14: an error event of a messages upstream is not prose to a client of %s',
    (client) => {
      const outcome = stream(client, M, beginning(M) + errorEvents[M]);
      if (outcome.type !== 'broken-off') throw new Error(outcome.type);
      const said = eventsOf(outcome.text)
        .filter(
          ({ error, type }) => !error && !String(type).startsWith('response.failed') && type !== 'error',
        )
        .map((each) => JSON.stringify(each));
      expect(said.join('')).toContain('half an answer');
      expect(said.join('')).not.toContain('out of order');
    },
  );

  test.each(talkative)(
    '22: the counts of a responses answer that is incomplete or failed are recorded, for a client of %s',
    (client) => {
      for (const status of ['incomplete', 'failed']) {
        const response = {
          ...responseHead,
          status,
          incomplete_details: { reason: 'max_output_tokens' },
          error: status === 'failed' ? { code: 'server_error', message: 'no' } : null,
          usage: responseUsage,
        };
        const outcome = stream(client, R, beginning(R) + numbered({ type: `response.${status}`, response }));
        expect(outcome.facts[0]?.usage).toMatchObject({ input: 7, output: 3 });
      }
    },
  );
});

describe('bytes of a stream', () => {
  const said: readonly Said[] = [['text', 'Grüße, 漢字 😀']];

  const writings = [
    ['15: characters cut in two', (text: string) => text],
    ['16: CRLF', (text: string) => text.replaceAll('\n', '\r\n')],
    ['16: lone CR', (text: string) => text.replaceAll('\n', '\r')],
    [
      '17: no space behind the colon',
      (text: string) => text.replaceAll('data: ', 'data:').replaceAll('event: ', 'event:'),
    ],
  ] as const;

  test.each(
    writings.flatMap(([name, write]) =>
      everyPair.map(([client, upstream]) => ({ name, write, client, upstream })),
    ),
  )('$name, to $client from $upstream, byte by byte', ({ write, client, upstream }) => {
    const reported = tell(upstream, said);
    const lines = hearStream(client, streamed(client, upstream, reported));
    expect(lines[0]).toBe('text Grüße, 漢字 😀');
    const text = streamed(client, upstream, write(reported), {}, 1);
    // Where nothing is translated, the bytes of an event stay as they are.
    const spaced = text.replaceAll(/^(data|event):(?! )/gm, '$1: ');
    expect(hearStream(client, client === upstream ? spaced : text)).toEqual(lines);
  });

  test.each(all)(
    '18: one event of a responses upstream over many pieces gives its counts, to a client of %s',
    (client) => {
      const outcome = stream(client, R, tell(R, said), {}, 3);
      expect(outcome).toMatchObject({ type: 'answered', facts: [{ usage: { input: 7, output: 3 } }] });
    },
  );
});

describe('signs of life', () => {
  const reported = start + textBlock(0, 'a') + named('ping') + textBlock(1, 'b') + endOf('end_turn');

  test.each([
    [C, /\n\n:[^\n]*\n\n/],
    [R, /\n\n:[^\n]*\n\n/],
    [T, /\n\n:[^\n]*\n\n/],
    [M, /\n\nevent: ping\n/],
  ] as const)('23: a ping of a messages upstream reaches a client of %s', (client, sign) => {
    const text = streamed(client, M, reported);
    expect(text).toMatch(sign);
    expect(hearStream(client, text).slice(0, -1).join('')).toMatch(/a.*b/);
  });
});

describe('errors of upstreams', () => {
  const bodies: Readonly<Record<string, string>> = {
    'a numeric code': '{"error":{"message":"no such thing","type":"x","code":42}}',
    'a string': '{"error":"no such thing"}',
    'a list': '[{"error":{"message":"no such thing","code":42}}]',
    'a list inside': '{"error":["no such thing"]}',
    'a page': '<html><body>no such thing</body></html>',
    nothing: '',
  };

  test.each(
    everyPair.flatMap(([client, upstream]) =>
      Object.entries(bodies).map(([shape, body]) => ({ client, upstream, shape, body })),
    ),
  )(
    '26: an error of $upstream that is $shape is one in the words of $client',
    ({ client, upstream, body }) => {
      const error = open(client, upstream).refuse(400, Buffer.from(body));
      const reported = recordOf(JSON.parse(errorBody(error, client)));
      expect(error.status).toBe(400);
      const { message, type, code } = recordOf(reported.error);
      expect([typeof message, typeof type]).toEqual(['string', 'string']);
      expect(String(message)).not.toMatch(/^$|object Object|undefined/);
      expect(code === undefined || code === null || typeof code === 'string').toBe(true);
      expect(reported.type).toBe(client === M ? 'error' : undefined);
    },
  );
});
