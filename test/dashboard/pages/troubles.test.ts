// Is it reported in words which pods do not ask a provider, since when, and until when?

import { expect, test } from 'vitest';
import { openFormats } from '../../../dashboard/pages/words/format.ts';
import type { ProviderTrouble } from '../../../dashboard/pages/words/kube.ts';
import { troubleWords } from '../../../dashboard/pages/words/troubles.ts';

const nowMs = Date.parse('2026-11-23T06:41:00Z');
const formats = openFormats('en-GB', 'UTC');
const pod = (name: string, nextTryTime?: string) => ({
  name,
  sinceTime: '2026-11-23T06:38:00Z',
  ...(nextTryTime === undefined ? {} : { nextTryTime }),
});
const trouble = (more: Partial<ProviderTrouble>): ProviderTrouble => ({
  reason: 'CircuitOpen',
  podCount: 1,
  pods: [pod('gateway-abc', '2026-11-23T06:41:12Z')],
  ...more,
});
const wordsOf = (troubles: readonly ProviderTrouble[], model?: string) =>
  troubleWords({ status: { health: { troubles } } }, formats, nowMs, model);

test('a pod is named with its reason, since when, and the time of its next try', () => {
  expect(wordsOf([trouble({})])).toEqual([
    {
      id: '  CircuitOpen',
      what: 'Address',
      tone: 'bad',
      pods: [
        {
          name: 'gateway-abc',
          sentence: `Paused by gateway-abc: circuit open since ${formats.time('2026-11-23T06:38:00Z')}, retry in 12 seconds`,
        },
      ],
      more: 0,
    },
  ]);
});

test.each([
  ['RateLimited', 'warn', 'cooling down after a rate limit since'],
  ['Exhausted', 'bad', 'quota used up since'],
  ['Invalid', 'bad', 'rejected by the upstream since'],
  ['OfANewerOperator', 'warn', 'OfANewerOperator since'],
])('a key that is %s says so', (reason, tone, text) => {
  const [words] = wordsOf([trouble({ key: 'main', reason })]);
  expect(words).toMatchObject({ what: 'Key main', tone });
  expect(words?.pods[0]?.sentence).toContain(text);
});

test('a next try in the past, or unknown, is not shown', () => {
  const pods = [pod('a', '2026-11-23T06:40:59Z'), pod('b')];
  const [words] = wordsOf([trouble({ podCount: 12, pods })]);
  expect(words?.pods.map(({ sentence }) => sentence.endsWith(', retried from time to time'))).toEqual([
    true,
    true,
  ]);
  expect(words?.more).toBe(10);
});

test('a target shows only what its calls meet', () => {
  const troubles = [
    trouble({}),
    trouble({ upstreamModel: 'large' }),
    trouble({ upstreamModel: 'small' }),
    trouble({ key: 'main', reason: 'RateLimited' }),
  ];
  expect(wordsOf(troubles, 'small').map(({ what }) => what)).toEqual(['Address', 'Model small', 'Key main']);
  expect(troubleWords({}, formats, nowMs)).toEqual([]);
});
