// Which records go, and when is it looked for them?

import { afterEach, expect, test } from 'vitest';
import { type KeepOptions, keepYoung } from '../../ledger/keep.ts';
import type { PurgeOptions } from '../../ledger/store/store.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { until } from '../support/until.ts';

const nowMs = Date.parse('2026-11-22T12:00:00Z');
const dayMs = 86_400_000;
let keeper: { close(): Promise<void> } | undefined;
afterEach(() => keeper?.close());

function keep(more: Partial<KeepOptions> = {}) {
  const fake = makeFakeClock();
  const purges: PurgeOptions[] = [];
  const failed: string[] = [];
  const purged: number[] = [];
  keeper = keepYoung({
    clock: { ...fake, wallMs: () => nowMs + fake.now() },
    retentionDays: 90,
    sink: undefined,
    store: {
      async purge(options) {
        purges.push(options);
        if (purges.length === 2) throw new Error('the disk is full');
        return purges.length;
      },
      sinkCursor: async () => 7,
      state: async () => ({ id: 'i', sequence: 7, keptFrom: '', youngestMs: undefined }),
    },
    onPurged: (records) => purged.push(records),
    onOddClock: () => {},
    onFailed: (reason) => failed.push(reason),
    ...more,
  });
  return { fake, purges, failed, purged };
}

test('days before the kept ones go, at the start and every hour, also after an hour in which it failed', async () => {
  const { fake, purges, failed, purged } = keep();
  for (let hour = 1; hour <= 3; hour++) {
    await until(async () => purges.length === hour && fake.pending().length === 1);
    fake.advance(3_600_000);
  }
  expect(purges[0]).toEqual({
    refusalsKept: 1_000_000,
    before: '2026-08-24',
    upTo: undefined,
    silentSinceMs: nowMs - 30 * dayMs,
    nowMs,
  });
  expect([failed, purged.slice(0, 2)]).toEqual([['the disk is full'], [1, 3]]);
});

test('without old days, cursors of deleted journals are still removed', async () => {
  const { purges } = keep({ retentionDays: 0, sink: 'events' });
  await until(async () => purges.length === 1);
  expect(purges[0]).toEqual({
    before: '',
    upTo: 7,
    refusalsKept: 1_000_000,
    silentSinceMs: nowMs - 30 * dayMs,
    nowMs,
  });
});
