// Do numbers, addresses, snippets and streamed words come out as they are meant?

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { snippetsFor } from '../../../dashboard/pages/keys/snippets.ts';
import {
  exhaustedWords,
  limitWords,
  sinceWords,
  spanWords,
  tightestBudget,
} from '../../../dashboard/pages/keys/words.ts';
import { openStreamReader } from '../../../dashboard/pages/playground/read-stream.ts';
import { errorOf } from '../../../dashboard/pages/shell/api.ts';
import { readFilters, writeFilters } from '../../../dashboard/pages/shell/filters.ts';
import { pathOf, placeOf } from '../../../dashboard/pages/shell/place.ts';
import { callsIn } from '../../../dashboard/pages/words/calls.ts';
import { openFormats, perMillion } from '../../../dashboard/pages/words/format.ts';
import type { ApiKey } from '../../../dashboard/pages/words/kube.ts';
import { targetWords } from '../../../dashboard/pages/words/part-states.ts';
import { periodStartMs } from '../../../dashboard/rows/period-start.ts';

describe('formats', () => {
  const formats = openFormats('en-US', 'Europe/Berlin');

  test('of durations have the unit in which they are short', () => {
    const durations = [0.4, 13, 999.4, 999.6, 1_240, 59_940, 59_960, 185_000, 3_720_000];
    expect(durations.map(formats.milliseconds)).toEqual([
      ...['0 ms', '13 ms', '999 ms', '1 s', '1.2 s', '59.9 s', '1 min', '3 min 5 s', '62 min'],
    ]);
  });

  test('are written in one file, and no page has its own', async () => {
    const pages = fileURLToPath(new URL('../../../dashboard/pages', import.meta.url));
    const files = (await readdir(pages, { recursive: true })).filter((name) => /\.tsx?$/.test(name));
    const own = /Intl\.\w+Format\(|\.toLocale\w*String\(|\.toFixed\(/;
    const found = await Promise.all(
      files.map(async (name) => (own.test(await readFile(join(pages, name), 'utf8')) ? [name] : [])),
    );
    expect(found.flat().sort()).toEqual([
      // Decimal text for `formats.money`.
      'models/plan.ts',
      // A column of a CSV.
      'overview/top-list.tsx',
      // The name of the time zone.
      'shell/frame.tsx',
      'words/format.ts',
    ]);
  });

  const nowMs = Date.parse('2026-11-23T12:00:00Z');

  test('money has cents, and small amounts their significant digits', () => {
    expect(['41.237', '0', '0.000204', '0.0000001', '1234567.5'].map(formats.money)).toEqual([
      '$41.24',
      '$0.00',
      '$0.000204',
      '< $0.000001',
      '$1,234,567.50',
    ]);
    expect(openFormats('de-DE').money('1234.5')).toBe('1.234,50\u00a0$');
  });

  test('a small share is not 0 %, and a share near the whole is not 100 %', () => {
    expect([0.00004, 1e-12, 0.0004999, 0.0005, 0].map(formats.percent)).toEqual([
      '< 0.1%',
      '< 0.1%',
      '< 0.1%',
      '0.1%',
      '0%',
    ]);
    expect([0.9994, 0.9995, 0.999_999, 1, 1.5].map(formats.percent)).toEqual([
      '99.9%',
      '> 99.9%',
      '> 99.9%',
      '100%',
      '150%',
    ]);
    expect(openFormats('de-DE').percent(0.00004)).toBe('< 0,1\u00a0%');
  });

  test('one object has the singular, others the plural', () => {
    const words = [0, 1, 2, 1024].map((count) => formats.counted(count, 'key'));
    expect(words).toEqual(['0 keys', '1 key', '2 keys', '1,024 keys']);
  });

  test('spend of a past period is shown with its start', () => {
    const since = (period: string, start?: string) => sinceWords(period, start, nowMs, { time: (at) => at });
    expect([since('Month', '2026-10-01'), since('Day', '2026-11-22'), since('Week', '2026-11-16')]).toEqual([
      'in the month since 2026-10-01',
      'in the day since 2026-11-22',
      'in the week since 2026-11-16',
    ]);
    expect([since('Month', '2026-11-01'), since('Day', '2026-11-23'), since('Week', '2026-11-23')]).toEqual([
      'this month',
      'today',
      'this week',
    ]);
    expect([since('Day'), since('Total')]).toEqual(['today', 'in total']);
  });

  test('a period is over when budgets reset', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('Day', 'Week', 'Month'),
        fc.integer({ min: 0, max: 4e12 }),
        fc.integer({ min: 0, max: 40 * 86_400_000 }),
        (period, atMs, laterMs) => {
          const startMs = periodStartMs(period, atMs);
          const words = sinceWords(period, new Date(startMs).toISOString(), atMs + laterMs, { time: String });
          const isPresent = periodStartMs(period, atMs + laterMs) === startMs;
          expect(words === spanWords(period)).toBe(isPresent);
        },
      ),
    );
  });

  test('spend of a period is that of the present one, and of a day that of today', () => {
    const words = ['Day', 'Week', 'Month', 'Total'].map(spanWords);
    expect(words).toEqual(['today', 'this week', 'this month', 'in total']);
  });

  test('prices are shown to the last digit', () => {
    expect(['0.075', '2.5', '15'].map(formats.price)).toEqual(['$0.075', '$2.50', '$15.00']);
  });

  test('times have their zone, days of the ledger are in UTC', () => {
    expect(formats.time('2026-11-23T23:30:00Z')).toMatch(/^Nov 24, 2026, 00:30 GMT\+1$/);
    expect(formats.day('2026-11-23')).toBe('Nov 23');
  });

  test('the age of a time', () => {
    expect(formats.ago('2026-11-23T11:55:00Z', nowMs)).toBe('5 minutes ago');
    expect(formats.ago('2026-11-26T12:00:00Z', nowMs)).toBe('in 3 days');
    expect(formats.ago('2026-11-23T12:00:00.400Z', nowMs)).toBe('now');
    expect(formats.money(0.0022514999999999996)).toBe(formats.money('0.0022515'));
    expect(formats.lasting('2026-11-23T11:47:30Z', nowMs)).toBe('12 min');
    expect(formats.money(0.0022514999999999996)).toBe(formats.money('0.0022515'));
    expect(formats.lasting('2026-11-23T12:00:09Z', nowMs)).toBe('0 sec');
  });

  test('a value that is no time or number is shown unchanged', () => {
    expect(formats.time('soon')).toBe('soon');
    expect(formats.money('unknown')).toBe('unknown');
  });

  test('a price per token becomes one per million, exactly', () => {
    expect(['0.00000015', '0.0000025', '0', '1', '0.000001', '12.5'].map(perMillion)).toEqual([
      '0.15',
      '2.5',
      '0',
      '1000000',
      '1',
      '12500000',
    ]);
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (picodollars) => {
        const perToken = `${picodollars / 10n ** 12n}.${String(picodollars % 10n ** 12n).padStart(12, '0')}`;
        const [whole = '', fraction = ''] = perMillion(perToken).split('.');
        expect(BigInt(whole + fraction.padEnd(6, '0'))).toBe(picodollars);
      }),
    );
  });
});

describe('addresses', () => {
  const spec = { q: { usual: '' }, sort: { usual: 'name', words: ['name', 'spend'] } } as const;

  test('defaults are left out, and parameters of other pages stay', () => {
    expect(writeFilters(spec, '?namespace=team-a&q=old', { q: '', sort: 'spend' })).toBe(
      '?namespace=team-a&sort=spend',
    );
    expect(writeFilters(spec, '?sort=spend', { sort: 'name' })).toBe('');
  });

  test('any filter text round-trips, and unknown words are dropped', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (q) => {
        expect(readFilters(spec, writeFilters(spec, '', { q }))).toEqual({ q, sort: 'name' });
      }),
    );
    expect(readFilters(spec, '?sort=colour')).toEqual({ q: '', sort: 'name' });
  });

  test('every object has a path that leads to it', () => {
    const name = fc.stringMatching(/^[a-z0-9]([-.a-z0-9]{0,20}[a-z0-9])?$/);
    fc.assert(
      fc.property(fc.constantFrom('keys', 'providers', 'routes'), name, name, (kind, namespace, of) => {
        const view = { keys: 'key', providers: 'provider', routes: 'route' }[kind];
        const path = pathOf(kind as 'keys', namespace, of);
        if (namespace !== 'new') expect(placeOf(path)).toEqual({ view, namespace, name: of });
      }),
    );
  });

  test.each(['/nothing', '/keys/a', '/keys/a/b/c', '/keys/%zz/b', '/toString'])(
    '%s leads nowhere',
    (path) => {
      expect(placeOf(path)).toEqual({ view: 'not-found' });
    },
  );

  test.each([
    ['/', 'overview'],
    ['/keys', 'keys'],
    ['/keys/', 'keys'],
    ['/models/plan', 'plan'],
  ])('%s is %s', (path, view) => {
    expect(placeOf(path)).toEqual({ view });
  });
});

describe('snippets', () => {
  const key = `psk_${'a'.repeat(49)}`;

  test.each(['https://ai.example.com', 'https://ai.example.com/', 'https://ai.example.com/v1'])(
    'each client gets %s as it wants it: OpenAI with /v1, Anthropic without',
    (address) => {
      const texts = Object.fromEntries(
        snippetsFor(address, key, 'penstock/small').map(({ id, text }) => [id, text]),
      );
      expect(texts.curl).toContain('https://ai.example.com/v1/chat/completions');
      expect(texts['openai-python']).toContain('base_url="https://ai.example.com/v1"');
      expect(texts['openai-node']).toContain('baseURL: "https://ai.example.com/v1"');
      expect(texts['anthropic-python']).toContain('base_url="https://ai.example.com"');
      expect(texts['claude-code']).toContain('ANTHROPIC_BASE_URL=https://ai.example.com\n');
      expect(texts['claude-code']).toContain('ANTHROPIC_DEFAULT_HAIKU_MODEL=penstock/small\n');
      expect(texts.codex).toContain('base_url="https://ai.example.com/v1"');
      for (const text of Object.values(texts)) {
        expect(text).toContain(key);
        expect(text).not.toMatch(/\/v1\/v1|\/\/v1/);
      }
    },
  );
});

describe('a streamed answer', () => {
  const chunk = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;

  test('is complete, however its bytes are split', () => {
    const words = ['Hé', 'llo\n', ' data: x', '"'];
    const text = `${words.map(chunk).join('')}: ping\n\ndata: {"choices":[],"usage":{}}\n\ndata: [DONE]\n\n`;
    fc.assert(
      fc.property(fc.array(fc.nat(text.length)), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), text.length];
        const reader = openStreamReader();
        const read = places.map((place, at) => reader.take(text.slice(place, places[at + 1]))).join('');
        expect(read).toBe(words.join(''));
        expect(reader.isDone()).toBe(true);
      }),
    );
  });

  test('with an error shows it, and one that breaks off is not done', () => {
    const reader = openStreamReader();
    expect(reader.take(chunk('a'))).toBe('a');
    expect(reader.isDone()).toBe(false);
    expect(reader.tokens()).toBeUndefined();
    reader.take('data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":8}}\n');
    expect(reader.tokens()).toEqual({ input: 9, output: 8 });
    expect(() => reader.take('data: {"error":{"message":"the upstream broke off"}}\n')).toThrow(
      'the upstream broke off',
    );
  });
});

test('limits and budgets are shown in few words', () => {
  const formats = openFormats('en-US');
  expect(limitWords({ requestsPerMinute: 60, tokensPerMinute: 100_000 }, formats)).toBe(
    '60\u00a0req/min · 100K\u00a0tok/min',
  );
  expect(limitWords(null, formats)).toBe('');
  const budgets = [
    { period: 'Month', limit: '100', spend: '20' },
    { period: 'Day', limit: '10', spend: '9' },
    { period: 'Total', limit: '50', spend: null },
  ];
  expect(tightestBudget(budgets)).toEqual({ period: 'Day', limit: '10', spend: '9', share: 0.9 });
  expect(tightestBudget([{ limit: '0', spend: '0' }])).toMatchObject({ share: 1 });
  // What is not known is not nothing.
  const unknown = { limit: '0', spend: null };
  expect(tightestBudget([unknown])).toEqual({ ...unknown, share: undefined });
  expect(tightestBudget([unknown, { limit: '1', spend: '0' }])).toMatchObject({ share: 0 });
  expect(tightestBudget([])).toBeUndefined();
});

test('errors use the text of the server that refused', () => {
  expect(errorOf(403, { error: { message: 'no', code: 'forbidden' } })).toMatchObject({
    code: 'forbidden',
    message: 'no',
  });
  expect(errorOf(409, { kind: 'Status', message: 'exists', reason: 'AlreadyExists' })).toMatchObject({
    code: 'AlreadyExists',
    message: 'exists',
  });
  expect(errorOf(502, undefined)).toMatchObject({
    code: 'status_502',
    message: 'The server answered 502 without a reason.',
  });
});

describe('a budget that is used up', () => {
  const nowMs = Date.parse('2026-11-26T18:00:00Z');
  const key = (action: 'Block' | 'Warn', spend: string, start = '2026-11-26T00:00:00Z'): ApiKey => ({
    metadata: { namespace: 'team-a', name: 'bot' },
    spec: { budgets: [{ period: 'Day', limit: '0.001', action }] },
    status: { usage: { periods: [{ period: 'Day', start, spend }] } },
  });
  const words = (of: ApiKey) => exhaustedWords(of, openFormats('en-US', 'UTC'), nowMs);

  test('shows the spend in dollars, and until when calls are refused', () => {
    expect(words(key('Block', '0.015855'))).toBe(
      'Daily budget used up: $0.02 of $0.001. Refused until Nov 27, 2026, 00:00 UTC (in 6 hours).',
    );
  });

  test('shows nothing while money is left, if it only warns, and for a past day', () => {
    expect(words(key('Block', '0.0009'))).toBeUndefined();
    expect(words(key('Warn', '9'))).toBeUndefined();
    expect(words(key('Block', '9', '2026-11-24T00:00:00Z'))).toBeUndefined();
  });

  test('of all time ends after the limit is raised', () => {
    const total: ApiKey = {
      metadata: { namespace: 'team-a', name: 'bot' },
      spec: { budgets: [{ period: 'Total', limit: '5' }] },
      status: { usage: { periods: [{ period: 'Total', spend: '7' }] } },
    };
    expect(words(total)).toBe('Total budget used up: $7.00 of $5.00. Refused until the limit is raised.');
  });
});

test('calls of several targets are added, with the latest failure', () => {
  const row = (attempts: number, outcomes: Record<string, number>, lastFailedAt?: string) => ({
    ...{ requests: attempts, attempts, outcomes },
    ...(lastFailedAt === undefined ? {} : { lastFailedAt }),
  });
  const old = row(30, { answered: 25, failed: 3, cancelled: 2 }, '2026-11-26T17:00:00Z');
  const fresh = row(9, { 'broken-off': 9 }, '2026-11-26T17:59:00Z');
  expect(callsIn([old, fresh, row(1, { answered: 1 })])).toEqual({ calls: 38, failed: 12, last: fresh });
  expect(callsIn([])).toEqual({ calls: 0, failed: 0, last: undefined });
});

test('a target with some failing calls is not shown as working', () => {
  const facts = { message: '', isSuspended: false, isProviderFailing: false, isStandby: false };
  const words = (state: string, more: Partial<Parameters<typeof targetWords>[0]> = {}) =>
    Object.values(targetWords({ ...facts, state, ...more }));
  expect(words('Ready')).toEqual(['in use', 'good']);
  expect(words('Ready', { isStandby: true })).toEqual(['standby', 'good']);
  expect(words('Ready', { isProviderFailing: true, isStandby: true })).toEqual(['provider failing', 'bad']);
  expect(words('Ready', { message: 'some' })).toEqual(['degraded', 'warn']);
  expect(words('Unhealthy', { message: 'all' })).toEqual(['failing', 'bad']);
  expect(words('Drained')).toEqual(['drained: weight 0', 'off']);
  for (const state of ['Ready', 'Unhealthy'])
    expect(words(state, { isSuspended: true })).toEqual(['not called: route suspended', 'off']);
});

test('a sentence of the operator begins with a capital letter; a name at its start stays as it is', () => {
  const { prose } = openFormats('en-GB', 'UTC');
  expect(prose('every call has failed')).toBe('Every call has failed');
  for (const text of ['main: every call fails', 'spec.auth is wrong', 'team-a/older has it', 'Not ready'])
    expect(prose(text)).toBe(text);
});
