// What does a gateway know of how well it hears the ledger? Pure, but for the clock, which the test moves.

import { afterEach, expect, test } from 'vitest';
import type { SpendPage } from '../../../gateway/contract/spend.ts';
import { LedgerReader } from '../../../gateway/limits/ledger-reader.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';

const clock = { ...makeFakeClock(5_000), wallMs: () => 0 };
const empty: SpendPage = { sequence: 0, hasMore: false, keys: [] };
let answer: () => Promise<SpendPage> = async () => empty;
let reader: LedgerReader;
afterEach(() => reader.close());

function openReader(): LedgerReader {
  reader = new LedgerReader({
    clock,
    ask: () => answer(),
    progress: { appended: () => 0, taken: () => 0 },
    onSeen() {},
  });
  return reader;
}

async function passSeconds(count: number): Promise<void> {
  for (let second = 0; second < count; second++) {
    clock.advance(1_000);
    await settled();
  }
}

const settled = () => new Promise((turn) => setImmediate(turn));

test('sums that never came are as old as the wait for them, and those that came as their question', async () => {
  answer = async () => Promise.reject(new Error('away'));
  openReader();
  expect(reader.ageMs).toBeUndefined();
  reader.begin();
  await passSeconds(90);
  reader.begin();
  expect([reader.isKnown, reader.ageMs]).toEqual([false, 90_000]);
  answer = async () => empty;
  await passSeconds(1);
  expect([reader.isKnown, reader.ageMs]).toEqual([true, 0]);
  answer = async () => Promise.reject(new Error('away'));
  await passSeconds(70);
  expect(reader.ageMs).toBe(70_000);
});
