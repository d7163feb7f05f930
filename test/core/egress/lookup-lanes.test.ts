// Do names that nobody answers keep others from being looked up? The resolver has few threads, and each dead name holds one for
// seconds. Here it has as many as the gateway's image gives it; on a real resolver: test/e2e/security.e2e.ts.

import { describe, expect, test } from 'vitest';
import { createLookupLanes, suspectsMaxOf } from '../../../core/egress/lookup-lanes.ts';

const deadMs = 10_000;

/** A resolver with so many threads, in a time of its own: a name that is dead holds one until `tick` has passed its time. */
function makeResolver(threads: number) {
  let nowMs = 0;
  const queue: (() => void)[] = [];
  const held: { readonly untilMs: number; end(): void }[] = [];
  const asked: string[] = [];
  const missed: string[] = [];
  const begin = (): void => {
    while (held.length < threads && queue.length > 0) queue.shift()?.();
  };
  const lanes = createLookupLanes({
    suspectsMax: suspectsMaxOf(2 * threads),
    nowMs: () => nowMs,
    onMiss: (how) => missed.push(how),
    resolve: (name) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
      queue.push(() => {
        asked.push(name);
        const isDead = name.startsWith('dead');
        const isSlow = name.startsWith('slow');
        const end = () => (isDead ? reject(new Error(`nobody answers for ${name}`)) : resolve(['192.0.2.1']));
        if (isDead || isSlow) held.push({ untilMs: nowMs + deadMs, end });
        else end();
      });
      begin();
      return promise;
    },
  });
  return {
    lanes,
    asked,
    missed,
    held: () => held.length,
    /** Time goes by; what is then due is reported. */
    async tick(ms: number): Promise<void> {
      nowMs += ms;
      for (const due of held.splice(0)) due.untilMs <= nowMs ? due.end() : held.push(due);
      begin();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

const deadNames = Array.from({ length: 50 }, (_, index) => `dead-${index}.example`);
const ignore = (question: Promise<unknown>): void => void question.catch(() => undefined);

describe('fifty dead names', () => {
  test('looked up at once leave threads to a healthy name, the first time and later', async () => {
    const { lanes, held, tick } = makeResolver(64);
    for (let round = 0; round < 4; round++) {
      for (const name of deadNames) ignore(lanes(name));
      await tick(0);
      expect(held()).toBe(round === 0 ? 50 : 32);
      expect(await lanes('healthy.example')).toEqual(['192.0.2.1']);
      await tick(deadMs);
      await tick(deadMs);
      expect(held()).toBe(0);
    }
  });

  test('that are known to fail use half of two threads, if a process has no more', async () => {
    const { lanes, asked, tick } = makeResolver(2);
    for (const name of deadNames.slice(0, 2)) ignore(lanes(name));
    await tick(deadMs);
    for (const name of deadNames.slice(0, 2)) ignore(lanes(name));
    await tick(0);
    expect(asked.slice(2)).toEqual(['dead-0.example']);
    expect(await lanes('healthy.example')).toEqual(['192.0.2.1']);
    await tick(deadMs);
    expect(asked.slice(2)).toEqual(['dead-0.example', 'healthy.example', 'dead-1.example']);
    await tick(deadMs);
  });
});

describe('a suspect name', () => {
  /** Every question is answered by hand, one at a time. */
  function makeLane() {
    const asked: string[] = [];
    const questions: { answer(): void; fail(): void }[] = [];
    const lanes = createLookupLanes({
      suspectsMax: 1,
      nowMs: () => 0,
      resolve: (name) => {
        asked.push(name);
        const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
        questions.push({
          answer: () => resolve(['192.0.2.1']),
          fail: () => reject(new Error(`nobody answers for ${name}`)),
        });
        return promise;
      },
    });
    const settle = async (how: 'answer' | 'fail'): Promise<void> => {
      questions.shift()?.[how]();
      await new Promise((resolve) => setImmediate(resolve));
    };
    const ask = (name: string): void => ignore(lanes(name));
    /** One question and its end, with nothing else in flight. */
    const know = async (name: string, ...ends: ('answer' | 'fail')[]): Promise<void> => {
      for (const end of ends) {
        ask(name);
        await settle(end);
      }
    };
    return { asked, ask, settle, know };
  }

  test('that has answered once comes before names that never have', async () => {
    const { asked, ask, settle, know } = makeLane();
    for (const name of deadNames) await know(name, 'fail');
    await know('provider.example', 'answer', 'fail');
    asked.length = 0;
    for (const name of deadNames) ask(name);
    ask('provider.example');
    await settle('fail');
    expect(asked).toEqual([deadNames[0], 'provider.example']);
    await settle('answer');
    expect(asked.slice(2), 'and the others in the order they came').toEqual([deadNames[1]]);
  });

  test('that has failed once comes before names that answered once and have failed since', async () => {
    const { asked, ask, settle, know } = makeLane();
    const names = deadNames.slice(0, 8);
    for (const name of names) await know(name, 'answer', 'fail', 'fail');
    await know('provider.example', 'answer', 'fail');
    asked.length = 0;
    for (const name of [...names, 'provider.example']) ask(name);
    await settle('fail');
    expect(asked).toEqual([names[0], 'provider.example']);
  });
});

test('a name that was slow and answers in time again is looked up at once from then on', async () => {
  let nowMs = 0;
  let running = 0;
  let most = 0;
  let takesMs = 5_000;
  const lanes = createLookupLanes({
    suspectsMax: 1,
    nowMs: () => nowMs,
    resolve: async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      nowMs += takesMs;
      running--;
      return ['192.0.2.1'];
    },
  });
  const names = ['a.example', 'b.example', 'c.example'];
  const askAll = async (): Promise<number> => {
    most = 0;
    await Promise.all(names.map(lanes));
    return most;
  };
  expect(await askAll()).toBe(3);
  takesMs = 10;
  expect(await askAll()).toBe(1);
  expect(await askAll()).toBe(3);
});

test('a name is looked up once, however many callers ask', async () => {
  const asked: string[] = [];
  const lanes = createLookupLanes({
    suspectsMax: 1,
    nowMs: () => 0,
    resolve: async (name) => {
      asked.push(name);
      return ['192.0.2.1'];
    },
  });
  expect(await Promise.all([lanes('a.example'), lanes('a.example')])).toHaveLength(2);
  expect(asked).toEqual(['a.example']);
  await lanes('a.example');
  expect(asked).toHaveLength(2);
});

test.each([
  [1, 1],
  [4, 1],
  [16, 4],
  [128, 32],
])('of %i threads, suspect names may use %i', (threads, most) => {
  expect(suspectsMaxOf(threads)).toBe(most);
});

test('each lookup that fails, or takes longer than a second, is logged once, however many callers wait for it', async () => {
  const { lanes, missed, tick } = makeResolver(64);
  const slow = [lanes('slow.example'), lanes('slow.example')];
  await lanes('healthy.example');
  for (const name of ['dead.example', 'dead.example']) ignore(lanes(name));
  await tick(deadMs);
  await Promise.all(slow);
  expect(missed.toSorted()).toEqual(['failed', 'late']);
  ignore(lanes('dead.example'));
  await tick(deadMs);
  expect(missed.toSorted()).toEqual(['failed', 'failed', 'late']);
});
