// What does a gateway know of how well it hears the ledger? Pure, but for the clock, which the test moves.

import { afterEach, expect, test } from 'vitest';
import type { SpendPage } from '../../../core/contract/spend.ts';
import { LedgerReader } from '../../../gateway/limits/ledger-reader.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';

const clock = { ...makeFakeClock(5_000), wallMs: () => 0 };
const empty: SpendPage = { sequence: 0, hasMore: false, keys: [] };
let answer: () => Promise<SpendPage> = async () => empty;
let reader: LedgerReader;
const turns: [boolean, unknown][] = [];
afterEach(() => {
  reader.close();
  turns.length = 0;
});

function openReader(): LedgerReader {
  reader = new LedgerReader({
    clock,
    ask: () => answer(),
    progress: { appended: () => 0, taken: () => 0 },
    onSeen() {},
    onTurn: (isHeard, error) => turns.push([isHeard, error]),
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

test('sums that never came are as old as the wait for them; others are as old as their request', async () => {
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

test('the reason of a lost ledger is logged once until it changes, and its return once', async () => {
  const [away, refused] = [new Error('away'), new Error('the ledger answers with status 401')];
  answer = async () => Promise.reject(away);
  openReader().begin();
  await passSeconds(3);
  answer = async () => Promise.reject(refused);
  await passSeconds(3);
  answer = async () => empty;
  await passSeconds(3);
  answer = async () => Promise.reject(away);
  await passSeconds(3);
  expect(turns).toEqual([
    [false, away],
    [false, refused],
    [true, undefined],
    [false, away],
  ]);
});

test('a ledger that answers from the start is not logged, nor is the end of asking', async () => {
  answer = async () => empty;
  openReader().begin();
  await passSeconds(3);
  const last = Promise.withResolvers<SpendPage>();
  answer = () => last.promise;
  await passSeconds(1);
  reader.close();
  last.reject(new Error('closed'));
  await passSeconds(1);
  expect(turns).toEqual([]);
  expect(clock.pending()).toEqual([]);
});

test('sums are awaited from the first request on, until they arrive or are late', async () => {
  answer = async () => Promise.reject(new Error('away'));
  openReader();
  expect(reader.isAwaited).toBe(false);
  reader.begin();
  await passSeconds(14);
  expect(reader.isAwaited).toBe(true);
  await passSeconds(1);
  expect(reader.isAwaited).toBe(false);
  answer = async () => empty;
  await passSeconds(1);
  expect(reader.isAwaited).toBe(false);
});
