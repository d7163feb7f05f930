// How are single requests reported in words, and how do pages of them join?

import { expect, test } from 'vitest';
import { requestsLink } from '../../../dashboard/pages/requests/link.ts';
import {
  type AttemptRow,
  attemptCost,
  attemptWords,
  CSV_HEAD,
  causeWords,
  costWords,
  csvRow,
  endWords,
  FOLLOWED_MAX,
  type Known,
  type LogAnswer,
  ownerWords,
  type RequestRow,
  withNewest,
  withOlder,
} from '../../../dashboard/pages/requests/rows.ts';
import { openFormats } from '../../../dashboard/pages/words/format.ts';

const formats = openFormats('en-GB', 'UTC');
const row: RequestRow = {
  request: 'req_1',
  startedAt: '2026-11-27T10:00:00.000Z',
  namespace: 'team-a',
  apiKey: 'team-a/ci',
  owner: { name: 'Ada', team: 'search' },
  model: 'penstock/small',
  provider: 'platform/openai',
  status: 502,
  outcome: 'failed',
  failure: 'status_500',
  cause: 'answered HTTP 500',
  attempts: 1,
  tokens: { input: 6, cachedInput: 0, output: 21 },
  costUsd: '0.0000345',
  durationMs: 120,
};
const attempt: AttemptRow = {
  attempt: 1,
  startedAt: row.startedAt,
  target: 'main',
  provider: 'platform/openai',
  outcome: 'failed',
  upstreamStatus: 500,
  cause: 'answered HTTP 500',
  durationMs: 120,
  tokens: row.tokens,
  costUsd: '0',
  payer: 'platform',
};

test.each([
  [{}, 'openai answered HTTP 500 after 120 ms.'],
  [{ outcome: 'answered', durationMs: 1_234 }, 'openai answered in 1.2 s.'],
  [
    { outcome: 'broken-off', cause: 'went silent' },
    'openai went silent after 120 ms; the caller had received a part.',
  ],
  [{ outcome: 'cancelled' }, 'The caller cancelled the request after 120 ms at openai.'],
  [{ outcome: 'interrupted' }, 'The gateway process ended 120 ms into the answer of openai.'],
] as const)('an attempt that was %o is a sentence', (more, words) => {
  expect(attemptWords({ ...attempt, ...more }, formats)).toBe(words);
});

test('if a provider may not be shown, its target or nothing is', () => {
  const { provider: _, ...hidden } = attempt;
  expect(attemptWords(hidden, formats)).toBe('main answered HTTP 500 after 120 ms.');
  const { target: __, ...both } = hidden;
  expect(attemptWords(both, formats)).toBe('The provider answered HTTP 500 after 120 ms.');
});

test('a row shows the status that the caller saw, and the reason', () => {
  expect([endWords(row), causeWords(row)]).toEqual([
    { word: '502 failed', tone: 'bad' },
    'openai answered HTTP 500',
  ]);
  const refused = { ...row, status: 429, outcome: 'refused', cause: 'The limit is used up.' } as const;
  expect([endWords(refused), causeWords(refused)]).toEqual([
    { word: '429 refused', tone: 'warn' },
    'The limit is used up.',
  ]);
  expect(endWords({ ...refused, status: 503 })).toEqual({ word: '503 not sent', tone: 'bad' });
  expect(endWords({ outcome: 'answered', status: 200 })).toEqual({ word: '200', tone: 'good' });
  expect(endWords({ outcome: 'cancelled' })).toEqual({ word: 'cancelled', tone: 'off' });
  expect(causeWords({ ...row, outcome: 'answered' })).toBeUndefined();
  expect(ownerWords(row)).toBe('Ada · search');
});

test('a failed attempt names its cost and payer only if it cost something', () => {
  const money = (usd: string) => `$${usd}`;
  const failed = { ...attempt, outcome: 'failed', payer: 'platform' } as const;
  expect(attemptCost({ ...failed, costUsd: null }, money)).toEqual([]);
  expect(attemptCost({ ...failed, costUsd: '0' }, money)).toEqual([]);
  expect(attemptCost({ ...failed, costUsd: '2' }, money)).toEqual(['$2', 'paid by the platform']);
  expect(attemptCost({ ...failed, outcome: 'answered', costUsd: null, payer: 'tenant' }, money)).toEqual([
    'no price set',
  ]);
});

test('the newest page comes before the known rows, without duplicates, and alone if there is a gap', () => {
  const of = (...names: readonly string[]) => names.map((request) => ({ ...row, request }));
  const known = (...names: readonly string[]) => ({ rows: of(...names), next: 'older' });
  const page = (next: string | undefined, ...names: readonly string[]) => ({
    ...{ rows: of(...names), isTruncated: next !== undefined },
    ...(next === undefined ? {} : { next }),
  });
  const said = ({ rows, next }: Known) => `${rows.map(({ request }) => request).join('')} ${next}`;
  expect(said(withNewest(known('c', 'b', 'a'), page('new', 'e', 'd', 'c')))).toBe('edcba older');
  expect(said(withNewest(known('c', 'b', 'a'), page('new', 'f', 'e')))).toBe('fe new');
  expect(said(withNewest(known('b', 'a'), page('new', 'b', 'a')))).toBe('ba new');
  expect(said(withNewest(known('a'), page(undefined, 'b')))).toBe('ba older');
  expect(said(withOlder(known('c', 'b'), page(undefined, 'b', 'a')))).toBe('cba undefined');
  const again = { rows: [{ ...row, request: 'a', attempts: 2 }], isTruncated: true, next: 'new' };
  expect(withNewest(known('a'), again).rows[0]?.attempts).toBe(2);
});

test('a list that is followed for long keeps the newest rows, and older ones load right after them', () => {
  const pageAt = (newest: number): LogAnswer => ({
    rows: Array.from({ length: 50 }, (_, at) => ({ ...row, request: String(newest - at) })),
    ...{ isTruncated: true, next: `before ${newest - 49}` },
  });
  let known: Known = { rows: [], next: undefined };
  for (let newest = 1_000; newest <= 2_003; newest += 17) known = withNewest(known, pageAt(newest));
  const names = known.rows.map(({ request }) => Number(request));
  expect(names.length).toBeLessThanOrEqual(FOLLOWED_MAX);
  expect(names.length).toBeGreaterThan(FOLLOWED_MAX - 50);
  expect(names).toEqual(names.map((_, at) => 2_003 - at));
  expect(known.next).toBe(`before ${names.at(-1)}`);
});

test('CSV has a cell for each column', () => {
  expect(csvRow(row)).toHaveLength(CSV_HEAD.length);
  expect(Object.fromEntries(csvRow(row).map((cell, at) => [CSV_HEAD[at], cell]))).toMatchObject({
    request: 'req_1',
    owner: 'Ada',
    team: 'search',
    status: 502,
    costUsd: '0.0000345',
    outputTokens: 21,
  });
});

test('a link has the filters that are given', () => {
  expect(requestsLink()).toBe('/requests');
  expect(requestsLink({ apiKey: 'team-a/ci', outcome: 'error', model: undefined })).toBe(
    '/requests?apiKey=team-a%2Fci&outcome=error',
  );
});

test('a time of today has seconds and no day', () => {
  const nowMs = Date.parse('2026-11-27T12:00:00Z');
  expect(formats.clock('2026-11-27T10:00:05.000Z', nowMs)).toBe('10:00:05');
  expect(formats.clock('2026-11-26T10:00:05.000Z', nowMs)).toBe('26 Nov, 10:00:05');
});

test.each([
  ['0', true, 'provisioned capacity'],
  ['0', undefined, '$0'],
  ['1.5', undefined, '$1.5'],
  [null, undefined, 'no price set'],
] as const)('a cost of %s, provisioned %s, is "%s"', (costUsd, isProvisioned, words) => {
  const attempt = { costUsd, ...(isProvisioned && { isProvisioned }) };
  expect(costWords(attempt, (usd) => `$${usd}`)).toBe(words);
});
