// Do pods that share a budget keep to it? Any number of them, a ledger that takes over their journals and tells them its sums whenever it
// likes or not at all, pods that are killed and come back: never more is spent than is said.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Budget, periodAt, worstOvershoot } from '../../../core/contract/budget.ts';
import type { SpendPage } from '../../../core/contract/spend.ts';
import { Limiter } from '../../../gateway/limits/limiter.ts';
import type { Outcome } from '../../../gateway/limits/outcome.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';

const nanodollars = (microdollars: number): number => microdollars * 1_000;
const limitMicrodollars = 1_000;
const budget: Budget = { period: 'Total', limitMicrodollars };
const subject = { kind: 'api-key' as const, id: 'team/key', limits: {}, budgets: [budget] };
const requestMax = 100;

type Granted = Extract<Outcome, { type: 'granted' }>;

/** What the ledger has, and what it is asked. */
function makeLedger() {
  const state = { spent: 0, sequence: 0, isAway: false };
  return {
    state,
    async ask(after: number): Promise<SpendPage> {
      if (state.isAway) throw new Error('the ledger is away');
      const of = { costPicodollars: String(BigInt(state.spent) * 1_000_000n) };
      const since = (period: 'Day' | 'Week' | 'Month') => ({ since: periodAt(period, 0).start, ...of });
      const key = {
        apiKey: 'team/key',
        day: since('Day'),
        week: since('Week'),
        month: since('Month'),
        total: of,
      };
      return { sequence: state.sequence, hasMore: false, keys: state.sequence > after ? [key] : [] };
    },
  };
}

class Pod {
  readonly clock = { ...makeFakeClock(1_000), wallMs: () => 0 };
  /** Costs by record; the journal outlives the process. */
  readonly journal: number[];
  stored: number;
  private readonly start: number;
  private readonly limiter: Limiter;
  readonly inFlight: Granted[] = [];
  isCutOff = false;
  /** Of the ledger's place, as it last reported. */
  taken: number;

  constructor(ledger: ReturnType<typeof makeLedger>, pods: number, journal: number[] = [], stored = 0) {
    this.journal = journal;
    this.stored = stored;
    this.start = journal.length;
    this.taken = stored === journal.length ? 0 : -1;
    this.limiter = new Limiter({
      clock: this.clock,
      name: 'pod',
      pods: () => pods,
      onStoreError: 'LocalShare',
      events: { onLimited() {}, onCall() {}, onFailure() {}, onTurn() {} },
      ledger: {
        ask: (after) => (this.isCutOff ? Promise.reject(new Error('cut off')) : ledger.ask(after)),
        progress: { appended: () => this.journal.length - this.start, taken: () => this.taken },
      },
    });
  }

  async reserve(amount: number, most = amount): Promise<Outcome['type'] | undefined> {
    const wanted = {
      requests: 1,
      tokens: 0,
      nanodollars: nanodollars(amount),
      nanodollarsMax: nanodollars(most),
      takesPlace: true,
    };
    const asked = this.limiter.reserve([subject], wanted, 1_000_000);
    // Nobody waits for a ledger that does not answer.
    if (asked instanceof Promise) {
      await settled();
      this.clock.advance(2_000);
    }
    const outcome = await asked;
    if (outcome?.type === 'granted') this.inFlight.push(outcome);
    return outcome?.type;
  }

  finish(cost: number): boolean {
    const granted = this.inFlight.shift();
    if (granted === undefined) return false;
    this.journal.push(cost);
    granted.settle({ tokens: 0, nanodollars: nanodollars(cost) });
    return true;
  }

  /** It asks the ledger once more. */
  async hear(): Promise<void> {
    this.clock.advance(1_000);
    await settled();
  }

  /** The ledger takes everything over, and then says so. */
  pull(ledger: ReturnType<typeof makeLedger>, isAcknowledged: boolean): void {
    const fresh = this.journal.slice(this.stored);
    ledger.state.spent += fresh.reduce((sum, cost) => sum + cost, 0);
    ledger.state.sequence += fresh.length;
    this.stored = this.journal.length;
    if (isAcknowledged) this.taken = this.stored - this.start;
  }

  close(): Promise<void> {
    return this.limiter.close();
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

const pod = fc.nat(4);
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('reserve' as const),
      pod,
      /** What is known of it: each can cost the most there is. */
      amount: fc.integer({ min: 1, max: requestMax }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('finish' as const),
      pod,
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('pull' as const), pod, isAcknowledged: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('hear' as const), pod }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('cut' as const), pod, isCutOff: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('kill' as const), pod }) },
);

async function run(
  count: number,
  steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
  isHeardAtOnce: boolean,
) {
  const ledger = makeLedger();
  const pods = Array.from({ length: count }, () => new Pod(ledger, count));
  let spent = 0;
  let granted = 0;
  const at = (index: number): Pod => {
    const one = pods[index % count];
    if (one === undefined) throw new RangeError('no such pod');
    return one;
  };
  const hearAll = async () => {
    for (const one of pods) {
      one.pull(ledger, true);
    }
    for (const one of pods) await one.hear();
  };
  for (const one of steps) {
    const chosen = at(one.pod);
    switch (one.type) {
      case 'reserve':
        if ((await chosen.reserve(one.amount, requestMax)) === 'granted') granted++;
        break;
      case 'finish': {
        const cost = Math.floor(one.share * requestMax);
        if (chosen.finish(cost)) spent += cost;
        break;
      }
      case 'pull':
        chosen.pull(ledger, one.isAcknowledged);
        break;
      case 'hear':
        await chosen.hear();
        break;
      case 'cut':
        if (!isHeardAtOnce) chosen.isCutOff = one.isCutOff;
        break;
      case 'kill': {
        // The next process records what is in flight, here at its highest cost.
        for (let left = chosen.inFlight.length; left > 0; left--) {
          chosen.journal.push(requestMax);
          spent += requestMax;
        }
        await chosen.close();
        pods[one.pod % count] = new Pod(ledger, count, chosen.journal, chosen.stored);
      }
    }
    if (isHeardAtOnce) await hearAll();
  }
  for (const one of pods) {
    while (one.finish(requestMax)) spent += requestMax;
    await one.close();
  }
  return { spent, granted };
}

/** Every request may cost the most there is, whatever it was taken for: only so many at once can be wrong. */
function allowedOf(count: number, unheard: number): number {
  const { requests } = worstOvershoot({ limitMicrodollars, gateways: count, hasStore: false });
  return limitMicrodollars + unheard + requests * requestMax;
}

describe('pods that share a budget', () => {
  const reserved = fc.array(step, { minLength: 30, maxLength: 120 });

  test('never spend more than the status says, whatever they read of the ledger and whichever pod is killed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), reserved, async (count, steps) => {
        const { unheardMicrodollarsMax } = worstOvershoot({
          limitMicrodollars,
          gateways: count,
          hasStore: false,
        });
        const { spent } = await run(count, steps, false);
        expect(spent).toBeLessThanOrEqual(allowedOf(count, unheardMicrodollarsMax));
      }),
      { numRuns: 300 },
    );
  });

  test('spend at most one request each beyond it while they read the ledger', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), reserved, async (count, steps) => {
        const { spent } = await run(count, steps, true);
        expect(spent).toBeLessThanOrEqual(allowedOf(count, 0));
      }),
      { numRuns: 200 },
    );
  });

  test('spend all of it, and release unspent reservations', async () => {
    const rounds = Array.from({ length: 60 }, () => [
      ...[0, 1, 2, 3].map((of) => ({ type: 'reserve' as const, pod: of, amount: requestMax })),
      ...[0, 1, 2, 3].map((of) => ({ type: 'finish' as const, pod: of, share: 0.1 })),
    ]).flat();
    const { spent, granted } = await run(4, rounds, true);
    expect(spent).toBeGreaterThanOrEqual(limitMicrodollars);
    expect(granted).toBeGreaterThanOrEqual(limitMicrodollars / 10);
  });
});

describe('a pod', () => {
  test('refuses requests until it knows the spend, and waits a moment for that', async () => {
    const ledger = makeLedger();
    ledger.state.isAway = true;
    const one = new Pod(ledger, 1);
    expect(await one.reserve(10)).toBe('unavailable');
    ledger.state.isAway = false;
    expect(await one.reserve(10)).toBe('unavailable');
    await one.hear();
    expect(await one.reserve(10)).toBe('granted');
    await one.close();
  });

  test('goes on with its share of the rest while the ledger is away', async () => {
    const ledger = makeLedger();
    ledger.state.spent = 800;
    ledger.state.sequence = 1;
    const one = new Pod(ledger, 4);
    expect(await one.reserve(50)).toBe('granted');
    one.finish(50);
    ledger.state.isAway = true;
    await one.hear();
    expect(await one.reserve(1)).toBe('over-budget');
    ledger.state.isAway = false;
    one.pull(ledger, true);
    await one.hear();
    // 150 are left.
    expect(await one.reserve(37)).toBe('granted');
    await one.close();
  });

  test('counts its own spend until the ledger has it, however often it asks', async () => {
    const ledger = makeLedger();
    const one = new Pod(ledger, 1);
    await one.hear();
    expect(await one.reserve(100)).toBe('granted');
    one.finish(1_000);
    for (let round = 0; round < 3; round++) {
      await one.hear();
      expect(await one.reserve(100)).toBe('over-budget');
    }
    // Stored, and not yet said to be.
    one.pull(ledger, false);
    await one.hear();
    expect(await one.reserve(100)).toBe('over-budget');
    await one.close();
  });

  test('that returns waits until the ledger has its earlier spend', async () => {
    const ledger = makeLedger();
    const one = new Pod(ledger, 1);
    await one.hear();
    expect(await one.reserve(100)).toBe('granted');
    one.finish(1_000);
    await one.close();
    const again = new Pod(ledger, 1, one.journal, one.stored);
    expect(await again.reserve(100)).toBe('unavailable');
    again.pull(ledger, true);
    await again.hear();
    expect(await again.reserve(100)).toBe('over-budget');
    await again.close();
  });
});
