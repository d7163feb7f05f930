// Does the terminal say one line about each request, and do programs on the machine read the same from the dashboard's port?

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type LedgerRecord, ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import { refusalSchema, refusalSumsSchema } from '../../core/contract/refusal.ts';
import { openRequestLines } from '../../local/request-lines.ts';
import { readSettings } from '../../local/settings.ts';
import { makeRecord } from '../gateway/meter/make-facts.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { copyQuickstart, makePages, startLocalRig } from './rig.ts';

const sinceMs = Date.parse('2026-11-27T10:00:00Z');

function entryOf(more: Partial<LedgerRecord>) {
  const record = ledgerRecordSchema.parse({
    ...makeRecord(),
    startedAt: '2026-11-27T10:00:01.000Z',
    model: 'penstock/small',
    apiKey: 'default/quickstart',
    durationMs: 13,
    usage: { input: 6, cachedInput: 0, cacheWrite: 0, output: 21, reasoning: 0 },
    costPicodollars: 34_500_000,
    isEstimated: false,
    outcome: 'answered',
    ...more,
  });
  return { record, line: '' };
}
const refusalOf = (id: string, second: number, more: object = {}) => {
  const at = new Date(sinceMs + second * 1_000).toISOString();
  const names = { namespace: 'team-a', apiKey: 'team-a/ci', model: 'penstock/small' };
  const line = { kind: 'refusal', id, at, ...names, status: 429, code: 'rate_limit_exceeded', ...more };
  return { refusal: refusalSchema.parse(line), line: '' };
};

function open() {
  const printed: string[] = [];
  const clock = makeFakeClock(sinceMs);
  const { onPage } = openRequestLines((line) => printed.push(line), clock);
  return { printed, onPage, clock };
}

test('an answer, a refusal, a failure and an answer after it are a line each, in their order', () => {
  const { printed, onPage, clock } = open();
  const failed = { outcome: 'failed', provider: 'default/down', status: 500, costPicodollars: 0 } as const;
  onPage({
    entries: [
      entryOf({ id: 'req_b.1', request: 'req_b', attempt: 1, ...failed }),
      entryOf({ id: 'req_b.2', request: 'req_b', attempt: 2, provider: 'default/second', durationMs: 2_000 }),
      entryOf({ id: 'req_a.1', request: 'req_a', attempt: 1 }),
      entryOf({
        id: 'req_c.1',
        request: 'req_c',
        attempt: 1,
        ...failed,
        status: undefined,
        failure: 'dns_failed',
        durationMs: 3_000,
      }),
      entryOf({ id: 'req_old.1', request: 'req_old', attempt: 1, startedAt: '2026-11-27T09:59:59.000Z' }),
    ],
    refusals: [
      refusalOf('req_r', 2, {}),
      refusalOf('req_u', 9, {
        namespace: undefined,
        apiKey: undefined,
        model: undefined,
        status: 401,
        code: 'invalid_api_key',
      }),
    ],
  });
  expect(printed).toEqual([
    '200 penstock/small quickstart 13 ms 6+21 tok $0.0000345 req_a',
    '429 penstock/small team-a/ci rate_limit_exceeded req_r',
    '200 penstock/small quickstart 2000 ms 6+21 tok $0.0000345 attempt 2 (default/second) req_b',
  ]);
  // It may go on with another attempt: lines after it wait.
  clock.advance(1_000);
  expect(printed.slice(3)).toEqual([
    'ERR penstock/small quickstart default/down: dns_failed 3000 ms 6+21 tok $0 req_c',
    '401 - unknown key invalid_api_key req_u',
  ]);
});

test('a request that no provider was asked for has the last failure of its model, until it answers', () => {
  const { printed, onPage, clock } = open();
  const unavailable = (id: string) => refusalOf(id, 5, { status: 503, code: 'upstream_unavailable' });
  const failed = { outcome: 'failed', provider: 'default/down', failure: 'refused' } as const;
  onPage({ entries: [entryOf({ id: 'req_a.1', request: 'req_a', attempt: 1, ...failed })] });
  onPage({ entries: [], refusals: [unavailable('req_b')] });
  clock.advance(1_000);
  onPage({
    entries: [entryOf({ id: 'req_c.1', request: 'req_c', attempt: 1 })],
    refusals: [unavailable('req_d')],
  });
  expect(printed.filter((line) => line.startsWith('503'))).toEqual([
    '503 penstock/small team-a/ci upstream_unavailable (last failure: default/down: refused) req_b',
    '503 penstock/small team-a/ci upstream_unavailable req_d',
  ]);
});

test('a failed attempt and the next one soon after it are one line', () => {
  const { printed, onPage, clock } = open();
  onPage({ entries: [entryOf({ id: 'req_a.1', request: 'req_a', attempt: 1, outcome: 'failed' })] });
  clock.advance(999);
  onPage({ entries: [entryOf({ id: 'req_a.2', request: 'req_a', attempt: 2, provider: 'default/second' })] });
  clock.advance(10_000);
  expect(printed).toEqual([
    '200 penstock/small quickstart 13 ms 6+21 tok $0.0000345 attempt 2 (default/second) req_a',
  ]);
});

test('a flood is twenty lines and a number, and refusals without a line are a number', () => {
  const { printed, onPage } = open();
  onPage({
    entries: Array.from({ length: 50 }, (_, at) =>
      entryOf({ id: `req_${at}.1`, request: `req_${at}`, attempt: 1 }),
    ),
  });
  expect(printed).toHaveLength(21);
  expect(printed.at(-1)).toBe('… and 30 more requests in this moment');
  onPage({ entries: [], refusals: [refusalOf('req_1', 3), refusalOf('req_2', 4)] });
  const sums = (count: number, second: number) => ({
    sums: refusalSumsSchema.parse({
      ...{ kind: 'refusal-sums', id: `p.${second}`, windowMs: 10_000 },
      at: new Date(sinceMs + second * 1_000).toISOString(),
      counts: [{ status: 429, code: 'rate_limit_exceeded', count }],
    }),
    line: '',
  });
  onPage({ entries: [], refusalSums: [sums(427, 0), sums(1, 10)] });
  expect(printed.slice(23)).toEqual([
    '… and 425 more refused in ten seconds',
    '… and 1 more refused in ten seconds',
  ]);
});

test('the lines can be switched off', () => {
  expect(readSettings({}).requestLines).toBe(true);
  expect(readSettings({ PENSTOCK_REQUEST_LINES: 'off' }).requestLines).toBe(false);
  expect(() => readSettings({ PENSTOCK_REQUEST_LINES: 'some' })).toThrow(
    /PENSTOCK_REQUEST_LINES must be on or off/,
  );
});

test('each call has its line, and /v1/sums, /v1/refusals and /v1/plan answer on the port of the dashboard', async () => {
  const rig = await startLocalRig({
    async prepare(folders, upstream) {
      await makePages(folders);
      await copyQuickstart(folders, upstream.port);
    },
  });
  try {
    expect((await rig.ask('penstock/small')).status).toBe(200);
    await rig.next(/^200 penstock\/small quickstart \d+ ms ~?\d+\+\d+ tok \$0\.\d+ req_\w+$/);
    expect((await rig.ask('penstock/none')).status).toBe(404);
    await rig.next(/^404 penstock\/none quickstart model_not_found req_\w+$/);

    const place = rig.local.dashboard?.url ?? '';
    const file = join(rig.state, 'read-token');
    expect((await stat(file)).mode & 0o077).toBe(0);
    const token = await readFile(file, 'utf8');
    const ask = (path: string, bearer: string | undefined, body?: object) =>
      fetch(`${place}${path}`, {
        headers: {
          'content-type': 'application/json',
          ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      });
    const sums = await ask('/v1/sums?by=model', token);
    expect([sums.status, await sums.json()]).toMatchObject([
      200,
      { rows: [{ model: 'penstock/small', requests: 1, refused: 0 }] },
    ]);
    const plan = { namespace: 'default', apiKey: 'quickstart', dialect: 'messages', model: 'penstock/small' };
    const planned = await ask('/v1/plan', token, plan);
    expect([planned.status, await planned.json()]).toMatchObject([
      200,
      { targets: [{ state: 'wouldBeTried' }, {}] },
    ]);
    for (const bearer of [undefined, 'x'.repeat(43)]) {
      const refused = await ask('/v1/sums', bearer);
      expect([refused.status, await refused.json()]).toMatchObject([
        401,
        {
          error: {
            code: 'invalid_token',
            message: `send the token of ${file} as Authorization: Bearer …; each start makes a new one`,
          },
        },
      ]);
    }
  } finally {
    await rig.close();
  }
});
