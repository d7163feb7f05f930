// Which counts and limits of tokens do both sides believe?

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../../core/contract/routing-table.ts';
import { rebuildAnswer } from '../../../support/rebuild-answer.ts';
import { recordOf } from '../../endpoints/ask.ts';
import type { Members } from '../support/askings.ts';
import { endOf, start, textBlock } from '../support/messages-events.ts';
import { named } from '../support/named-events.ts';
import { frame, usageChunk } from '../support/openai-streams.ts';
import { responseUsage, tell } from '../support/tellings.ts';
import { C, eventsOf, everyPair, isTranslated, M, open, R, sent, stream, streamed, T } from './whole-way.ts';

describe('counts', () => {
  const usageOf = (client: DialectName, upstream: DialectName, reported: string): Members =>
    recordOf(recordOf(rebuildAnswer(client, streamed(client, upstream, reported))).usage);
  const countsOf = (text: string) => stream(M, M, text).facts[0]?.usage;
  const total = {
    [C]: ['prompt_tokens', 'completion_tokens'],
    [R]: ['input_tokens', 'output_tokens'],
  } as const;

  /** Its start tells 10 of input, 5 and 2 of a cache, and 1 of output. */
  const both = start + textBlock(0, 'a') + endOf('end_turn', { input_tokens: 10, output_tokens: 7 });
  const began = { id: 'msg_1', type: 'message', role: 'assistant', model: 'served', content: [] };
  const starts = [{}, { usage: null }, { usage: { input_tokens: 0, output_tokens: 0 } }].map((more) =>
    named('message_start', { message: { ...began, ...more } }),
  );
  const endOnly = endOf('end_turn', { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 7 });

  test.each([C, R] as const)(
    '19: those of message_start and message_delta are not added, for a client of %s',
    (client) => {
      const usage = usageOf(client, M, both);
      expect(total[client].map((name) => usage[name])).toEqual([17, 7]);
    },
  );

  test('19: nor for the records of a messages client', () => {
    expect(countsOf(both)).toMatchObject({ input: 17, output: 7 });
  });

  test.each([C, R] as const)(
    '20: those that only message_delta has are used, for a client of %s',
    (client) => {
      for (const begin of starts) {
        const usage = usageOf(client, M, begin + textBlock(0, 'a') + endOnly);
        expect(total[client].map((name) => usage[name])).toEqual([15, 7]);
      }
    },
  );

  test('20: and for the records of a messages client', () => {
    for (const begin of starts) {
      expect(countsOf(begin + textBlock(0, 'a') + endOnly)).toMatchObject({ input: 15, output: 7 });
    }
  });

  test.each([
    [
      C,
      frame({
        ...usageChunk,
        usage: {
          prompt_tokens: 100,
          completion_tokens: 3,
          total_tokens: 103,
          prompt_tokens_details: { cached_tokens: 60 },
        },
      }),
    ],
    [
      R,
      { ...responseUsage, input_tokens: 100, input_tokens_details: { cached_tokens: 60 }, total_tokens: 103 },
    ],
  ] as const)(
    '21: message_delta from %s has the final input, without what came from the cache',
    (upstream, usage) => {
      const reported =
        upstream === C
          ? tell(C, [['text', 'a']]).replace(frame(usageChunk), String(usage))
          : tell(R, [['text', 'a']]).replace(JSON.stringify(responseUsage), JSON.stringify(usage));
      const end = eventsOf(streamed(M, upstream, reported)).find(({ type }) => type === 'message_delta');
      expect(end?.usage).toMatchObject({ input_tokens: 40, cache_read_input_tokens: 60, output_tokens: 3 });
    },
  );
});

describe('limits', () => {
  test.each([C, R] as const)('60: a client of %s that sets no limit gets one at messages', (client) => {
    expect(sent(client, M).max_tokens).toBeGreaterThanOrEqual(4096);
    expect(sent(client, M, {}, { maxOutputTokens: 2048 }).max_tokens).toBe(2048);
  });

  const limits = {
    [C]: ['max_completion_tokens'],
    [R]: ['max_output_tokens'],
    [M]: ['max_tokens'],
    [T]: ['max_tokens'],
  } as const;

  test.each(everyPair.filter(isTranslated))(
    '61: a limit of %s above what the model can give is clamped for %s, and reported',
    (client, upstream) => {
      const [name] = limits[client];
      const through = open(client, upstream, { [name]: 128_000 }, { maxOutputTokens: 8192 });
      const body = recordOf(JSON.parse(String(through.sent[0])));
      expect(body[limits[upstream][0]] ?? body.max_tokens).toBe(8192);
      expect(through.dropped).toContain(name);
    },
  );
});
