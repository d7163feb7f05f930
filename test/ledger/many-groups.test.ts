// Is every model and route reported whole, however many of them there are? More than ten thousand ways in which their attempts ended.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import { makeEntry } from './make-entry.ts';
import { type ReadApi, serveToAnybody } from './read-house.ts';

const nowMs = Date.parse('2026-11-22T12:30:00Z');
const models = 2_100;
const outcomes = ledgerRecordSchema.shape.outcome.options;
const started = new AsyncDisposableStack();
let reader: ReadApi;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const store = started.adopt(await openSqliteStore(join(folder, 'ledger.sqlite')), (one) => one.close());
  const names = Array.from({ length: models }, (_, at) => String(at).padStart(4, '0'));
  const entries = names.flatMap((name) =>
    outcomes.map((outcome) =>
      makeEntry({
        ...{ id: `${name}-${outcome}.1`, startedAt: '2026-11-22T10:00:00.000Z', outcome },
        ...{ model: `m-${name}`, upstreamModel: `u-${name}`, route: `team/r-${name}`, namespace: 'team' },
      }),
    ),
  );
  await store.take({ source: 'p', cursor: 'c', entries, asides: [] }, nowMs);
  reader = await serveToAnybody(store, nowMs);
  started.adopt(reader, (one) => one.close());
}, 60_000);
afterAll(() => started.disposeAsync());

const once = Object.fromEntries(outcomes.map((outcome) => [outcome, 1]));

test.each([
  ['/v1/models', 'rows', { model: 'm-2050' }],
  ['/v1/health', 'health', { provider: 'platform/p', upstreamModel: 'u-2050' }],
  ['/v1/health?namespace=team', 'health', { route: 'team/r-2050' }],
])('%s has the ends of the attempts of each', async (path, list, name) => {
  const rowsOf = async (page: string): Promise<{ outcomes: unknown }[]> => {
    const { body } = await reader.ask(`${path}${path.includes('?') ? '&' : '?'}${page}`, 'anybody');
    expect(body.error).toBeUndefined();
    return body[list] as { outcomes: unknown }[];
  };
  const all = await rowsOf('limit=10000');
  expect(all).toHaveLength(models);
  expect(all.map((row) => row.outcomes)).toEqual(all.map(() => once));
  expect(await rowsOf('limit=1&offset=2050')).toMatchObject([{ ...name, attempts: 5, outcomes: once }]);
});
