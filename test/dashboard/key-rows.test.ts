// What is in the list of keys? Pure: a row out of an object, and a page out of rows.

import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { KeyRow } from '../../dashboard/api-types.ts';
import type { Cluster } from '../../dashboard/cluster.ts';
import { choiceSchema, chooseRows } from '../../dashboard/rows/choose-rows.ts';
import { openKeyLists } from '../../dashboard/rows/key-lists.ts';
import { type KeySpend, keyRowOf } from '../../dashboard/rows/key-row.ts';
import { wordsOfKey } from '../../dashboard/rows/words-of-key.ts';
import { startCpuTimer } from '../support/cpu-timer.ts';
import { makeFakeClock } from '../support/fake-clock.ts';

const metadata = {
  namespace: 'team-a',
  name: 'bot',
  uid: 'u1',
  creationTimestamp: '2026-11-01T00:00:00Z',
};
const condition = (type: string, status: string, reason = 'Because', message = 'So it is.') => ({
  type,
  status,
  reason,
  message,
});

const nowMs = Date.parse('2026-11-23T12:00:00Z');

describe('a row of the key list', () => {
  test('combines the object of a key and its figures in the ledger', () => {
    const key = {
      metadata,
      spec: {
        displayName: 'CI of the shop',
        owner: { name: 'Ada', team: 'core' },
        imports: [{ sha256: 'f'.repeat(64), hint: 'psk_…9f3a' }],
        models: { allow: ['penstock/small'] },
        limits: { requestsPerMinute: 5 },
        budgets: [
          { period: 'Month', limit: '100', action: 'Warn' },
          { period: 'Day', limit: '5' },
        ],
      },
      status: {
        expiresAt: '2027-01-01T00:00:00Z',
        conditions: [condition('Ready', 'True', 'Ready', 'Fine.'), condition('BudgetExhausted', 'True')],
        usage: { lastUsedAt: '2026-11-20T00:00:00Z', periods: [{ period: 'Month', spend: '41.2' }] },
      },
    };
    const row: KeyRow = {
      namespace: 'team-a',
      name: 'bot',
      uid: 'u1',
      displayName: 'CI of the shop',
      owner: 'Ada',
      team: 'core',
      hint: 'psk_…9f3a',
      prefix: 'psk_',
      createdAt: '2026-11-01T00:00:00Z',
      expiresAt: '2027-01-01T00:00:00Z',
      lastUsedAt: '2026-11-20T00:00:00Z',
      spend: { day: null, month: '41.2', total: null },
      budgets: [
        { period: 'Month', limit: '100', action: 'Warn', spend: '41.2' },
        { period: 'Day', limit: '5', action: 'Block', spend: null },
      ],
      limits: { requestsPerMinute: 5 },
      models: { allow: ['penstock/small'], deny: [] },
      state: 'BudgetUsedUp',
      reason: 'Because',
      message: 'So it is.',
      isImported: true,
    };
    expect(keyRowOf(key, undefined, nowMs)).toEqual(row);
    const spend = { lastUsedAt: '2026-11-22T00:00:00Z', day: '1', week: '9', month: '42', total: '50' };
    expect(keyRowOf(key, new Map([['team-a/bot', spend]]), nowMs)).toEqual({
      ...row,
      lastUsedAt: spend.lastUsedAt,
      spend: { day: '1', month: '42', total: '50' },
      budgets: [
        { period: 'Month', limit: '100', action: 'Warn', spend: '42' },
        { period: 'Day', limit: '5', action: 'Block', spend: '1' },
      ],
    });
  });

  test('shows the week of a weekly budget from the ledger, as any other period', () => {
    const week = { metadata, spec: { budgets: [{ period: 'Week', limit: '20' }] } };
    const spend = { lastUsedAt: '2026-11-22T00:00:00Z', day: '1', week: '9', month: '42', total: '50' };
    const spentOf = (ledger: ReadonlyMap<string, KeySpend>) =>
      keyRowOf(week, ledger, nowMs)?.budgets[0]?.spend;
    expect(spentOf(new Map([['team-a/bot', spend]]))).toBe('9');
    expect(spentOf(new Map())).toBe('0');
  });

  test('shows no spend for a key that was unused for a month, and its earlier spend', () => {
    const usage = { lastUsedAt: '2026-01-01T00:00:00Z', periods: [{ period: 'Total', spend: '7' }] };
    expect(keyRowOf({ metadata, status: { usage } }, new Map(), nowMs)).toMatchObject({
      lastUsedAt: '2026-01-01T00:00:00Z',
      spend: { day: '0', month: '0', total: '7' },
    });
    expect(keyRowOf({ metadata }, undefined, nowMs)).toMatchObject({ lastUsedAt: null, spend: null });
    expect(keyRowOf({ metadata }, new Map(), nowMs)?.spend).toEqual({ day: '0', month: '0', total: '0' });
    // What an older one spent before, nobody says.
    const older = { ...metadata, creationTimestamp: '2026-10-01T00:00:00Z' };
    expect(keyRowOf({ metadata: older }, new Map(), nowMs)?.spend?.total).toBeNull();
  });

  test.each([
    ['Day', '2026-11-23T00:00:00Z', '2026-11-22T00:00:00Z'],
    ['Week', '2026-11-23T00:00:00Z', '2026-11-16T00:00:00Z'],
    ['Month', '2026-11-01T00:00:00Z', '2026-10-01T00:00:00Z'],
  ])('shows no spend of a %s that is over, during an outage of the ledger', (period, present, past) => {
    const spendOf = (start: string) => {
      const status = { usage: { periods: [{ period, start, spend: '99' }] } };
      return keyRowOf({ metadata, spec: { budgets: [{ period, limit: '100' }] }, status }, undefined, nowMs)
        ?.budgets[0]?.spend;
    };
    expect([spendOf(present), spendOf(past)]).toEqual(['99', null]);
  });

  test('has a single state, the most important one', () => {
    const stateOf = (conditions: object[], spec: object = {}) =>
      keyRowOf({ metadata, spec, status: { conditions } }, undefined, nowMs)?.state;
    const [ready, disabled] = [condition('Ready', 'True', 'DisabledBySpec'), { disabled: true }];
    expect(stateOf([])).toBe('Pending');
    const failed = condition('Ready', 'False');
    expect(stateOf([failed, condition('Reconciling', 'True')])).toBe('Pending');
    expect(stateOf([failed, condition('Stalled', 'True')])).toBe('Rejected');
    expect(stateOf([ready])).toBe('Ready');
    expect(stateOf([ready], disabled)).toBe('Disabled');
    expect(stateOf([condition('Expired', 'True'), ready], disabled)).toBe('Disabled');
    expect(stateOf([condition('Expired', 'True'), failed])).toBe('Expired');
    expect(stateOf([condition('Conflicted', 'True'), ready])).toBe('Rejected');
  });

  test('is disabled only after gateways have applied that; before, it has the reason of the delay', () => {
    const rowOf = (conditions: object[], observedGeneration = 2) =>
      keyRowOf(
        {
          metadata: { ...metadata, generation: 2 },
          spec: { disabled: true },
          status: { observedGeneration, conditions },
        },
        undefined,
        nowMs,
      );
    const isOff = condition('Disabled', 'True', 'DisabledBySpec');
    const ready = condition('Ready', 'True', 'DisabledBySpec');
    const served = condition('Ready', 'True', 'Programmed');
    const pending = [
      condition('Programmed', 'False', 'Pending', 'Waiting for 1 of 3 gateway pods.'),
      condition('Ready', 'False', 'Pending', 'Waiting for 1 of 3 gateway pods.'),
    ];
    expect(rowOf([served], 1)).toMatchObject({ state: 'Disabling', message: '' });
    expect(rowOf([ready, isOff], 1)).toMatchObject({ state: 'Disabling' });
    expect(rowOf([])).toMatchObject({ state: 'Disabling' });
    expect(rowOf([isOff, ...pending])).toMatchObject({
      state: 'Disabling',
      reason: 'Pending',
      message: 'Waiting for 1 of 3 gateway pods.',
    });
    expect(rowOf([isOff, condition('Programmed', 'True'), ready])).toMatchObject({ state: 'Disabled' });
    // What else is wrong with it keeps it out of the table too.
    const out = [
      condition('Programmed', 'False', 'NotProgrammed'),
      condition('Ready', 'False', 'KeyMalformed'),
    ];
    expect(rowOf([isOff, ...out])).toMatchObject({ state: 'Disabled' });
  });

  test('exists for any object, and for objects alone', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (spec, status) => {
        expect(keyRowOf({ metadata, spec, status }, undefined, nowMs)).toMatchObject({ name: 'bot' });
        expect(wordsOfKey({ metadata, spec, status })).toBeTypeOf('string');
      }),
    );
    for (const none of [null, 'x', {}, { metadata: {} }])
      expect(keyRowOf(none, undefined, nowMs)).toBeUndefined();
  });
});

describe('a page of the key list', () => {
  const plain = keyRowOf({ metadata }, undefined, nowMs) as KeyRow;
  const some = fc.record({
    name: fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 3 }),
    namespace: fc.constantFrom('team-a', 'team-b'),
    owner: fc.constantFrom('', 'Ada', 'ben', 'Cy'),
    lastUsedAt: fc.constantFrom(null, '2026-11-01T00:00:00Z', '2026-11-02T00:00:00Z'),
    expiresAt: fc.constantFrom(null, '2027-11-01T00:00:00Z', 'never'),
    spend: fc.constantFrom(
      null,
      { day: null, month: '9.5', total: null },
      { day: '1', month: '10.25', total: '11' },
    ),
    state: fc.constantFrom('Ready', 'Disabled', 'Expired'),
  });
  const rows = fc
    .uniqueArray(some, { selector: ({ namespace, name }) => `${namespace}/${name}`, maxLength: 20 })
    .map((all) => all.map((one): KeyRow => ({ ...plain, ...one }) as KeyRow));
  const sort = fc.constantFrom('name', 'owner', 'lastUsed', 'spend', 'expires');
  const order = fc.constantFrom('asc', 'desc');
  const listed = (all: readonly KeyRow[]) => all.map((row) => ({ row, words: '' }));
  const nameOf = (row: KeyRow) => `${row.namespace}/${row.name}`;

  test('after another gives every row once, in the same order for any page size', () => {
    fc.assert(
      fc.property(rows, sort, order, fc.integer({ min: 1, max: 5 }), (all, by, way, limit) => {
        const choose = (more: object) =>
          chooseRows(listed(all), choiceSchema.parse({ sort: by, order: way, ...more }));
        const whole = choose({ limit: 200 }).rows.map(nameOf);
        const paged: string[] = [];
        for (let offset = 0; offset < all.length; offset += limit)
          paged.push(...choose({ limit, offset }).rows.map(nameOf));
        expect(paged).toEqual(whole);
        expect([...whole].sort()).toEqual(all.map(nameOf).sort());
      }),
    );
  });

  test('is sorted, with missing values at the end', () => {
    fc.assert(
      fc.property(rows, order, (all, way) => {
        const values = chooseRows(listed(all), choiceSchema.parse({ sort: 'spend', order: way })).rows.map(
          ({ spend }) => (spend === null ? undefined : Number(spend.month)),
        );
        const known = values.filter((value) => value !== undefined);
        expect(values.slice(0, known.length)).toEqual(known);
        expect(known).toEqual(known.toSorted((a, b) => (way === 'asc' ? a - b : b - a)));
      }),
    );
  });

  test('has the rows with all the words, in upper or lower case', () => {
    fc.assert(
      fc.property(rows, fc.constantFrom('', 'ADA', 'team-a ada', 'team-a/a', 'b ben', 'nobody'), (all, q) => {
        const { rows: found, total } = chooseRows(listed(all), choiceSchema.parse({ q, state: 'Ready' }));
        const fits = (row: KeyRow) =>
          row.state === 'Ready' &&
          q
            .toLowerCase()
            .split(' ')
            .every((word) => `${nameOf(row)}\n${row.owner}`.toLowerCase().includes(word));
        expect(found.map(nameOf).sort()).toEqual(all.filter(fits).map(nameOf).sort());
        expect(total).toBe(found.length);
      }),
    );
  });

  test('of ten thousand keys takes a moment', () => {
    const many = Array.from({ length: 10_000 }, (_, index) => ({
      ...plain,
      name: `key-${index}`,
      owner: `o${index % 97}`,
    }));
    const choice = choiceSchema.parse({ q: 'key-9', sort: 'owner' });
    chooseRows(listed(many), choice);
    const workedMs = startCpuTimer();
    expect(chooseRows(listed(many), choice).total).toBe(1_111);
    // A generous bound: it takes some ten milliseconds.
    expect(workedMs()).toBeLessThan(500);
  });
});

test('a list is read once for all requests of a person, kept for ten seconds, and never shown to another person', async () => {
  const clock = makeFakeClock();
  const asked: string[] = [];
  const clusterOf = ({ token }: { token: string }): Cluster => ({
    async call({ path }) {
      asked.push(`${token} ${path.split('/').at(-2)}`);
      if (token === 'refused') return { status: 403, body: { kind: 'Status' } };
      return { status: 200, body: { metadata: {}, items: [{ metadata }] } };
    },
    watch: () => expect.fail('nothing is watched'),
  });
  const lists = openKeyLists({ clock, clusterOf, ledger: undefined });
  const read = (token: string, namespace = 'team-a') => lists.read({ id: token, token }, namespace);
  await Promise.all([read('ada'), read('ada'), read('ben'), read('ada', 'team-b')]);
  expect(asked).toEqual(['ada team-a', 'ben team-a', 'ada team-b']);
  await read('ada');
  expect(asked).toHaveLength(3);
  // What is refused is not kept.
  await expect(read('refused')).rejects.toThrow('403');
  await expect(read('refused')).rejects.toThrow('403');
  expect(asked).toHaveLength(5);
  clock.advance(10_000);
  expect(clock.pending()).toEqual([]);
  await read('ada');
  expect(asked).toHaveLength(6);
});

test('spend is requested while the keys are read, since both can take long', async () => {
  const clock = { ...makeFakeClock(), wallMs: () => nowMs };
  const isListed = Promise.withResolvers<void>();
  const clusterOf = (): Cluster => ({
    async call({ query }) {
      const isLast = query?.continue !== undefined;
      if (isLast) isListed.resolve();
      const items = [{ metadata: isLast ? { ...metadata, name: 'idle' } : metadata }];
      return { status: 200, body: { metadata: isLast ? {} : { continue: 'more' }, items } };
    },
    watch: () => expect.fail('nothing is watched'),
  });
  const ledger = {
    async ask() {
      await isListed.promise;
      const row = ['team-a/bot', nowMs, '1', '9', '42', '50'];
      return { status: 200, text: JSON.stringify({ rows: [row] }) };
    },
  };
  const { keys, spendFrom } = await openKeyLists({ clock, clusterOf, ledger }).read(
    { id: 'ada', token: 'ada' },
    'team-a',
  );
  expect(keys.map(({ row }) => [row.name, row.spend])).toEqual([
    ['bot', { day: '1', month: '42', total: '50' }],
    ['idle', { day: '0', month: '0', total: '0' }],
  ]);
  expect(spendFrom).toBe('ledger');
});

test('while the ledger does not answer, few pages wait for it, since unfinished ones need more memory', async () => {
  const clock = { ...makeFakeClock(), wallMs: () => nowMs };
  let pages = 0;
  const clusterOf = (): Cluster => ({
    async call() {
      pages += 1;
      const items = [{ metadata: { ...metadata, name: `bot-${pages}` } }];
      return { status: 200, body: { metadata: { continue: pages < 20 ? 'more' : '' }, items } };
    },
    watch: () => expect.fail('nothing is watched'),
  });
  const isAsked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const ledger = {
    async ask() {
      isAsked.resolve();
      await answer.promise;
      return { status: 200, text: JSON.stringify({ rows: [] }) };
    },
  };
  const reading = openKeyLists({ clock, clusterOf, ledger }).read({ id: 'ada', token: 'ada' }, 'team-a');
  await isAsked.promise;
  // Whatever is asked without waiting has been asked by then.
  await new Promise((resolve) => setImmediate(resolve));
  expect(pages).toBe(4);
  answer.resolve();
  expect((await reading).keys).toHaveLength(20);
});

test('no key is called unused if more keys were used than the ledger returns', async () => {
  const clock = { ...makeFakeClock(), wallMs: () => nowMs };
  const clusterOf = (): Cluster => ({
    call: async () => ({ status: 200, body: { metadata: {}, items: [{ metadata }] } }),
    watch: () => expect.fail('nothing is watched'),
  });
  const ledger = {
    async ask({ search }: { search: string }) {
      const offset = Number(new URLSearchParams(search).get('offset'));
      const rows = [[`team-a/a-${offset}`, nowMs, '1', '1', '1', '1']];
      return { status: 200, text: JSON.stringify({ rows, next: offset + 10_000 }) };
    },
  };
  const { keys, spendFrom } = await openKeyLists({ clock, clusterOf, ledger }).read(
    { id: 'ada', token: 'ada' },
    'team-a',
  );
  expect([keys.map(({ row }) => row.spend), spendFrom]).toEqual([[null], 'status']);
});

test('a key is found by its display name, team, mail address and the hint of any active secret, also after a change', async () => {
  const clock = makeFakeClock();
  const bot = (team: string) => ({
    metadata,
    spec: {
      displayName: 'Notebook with GPU',
      owner: { name: 'Ada', email: 'ada@Example.com', team },
      imports: [{ hint: 'psk_…old1' }, {}, { hint: 'psk_…leDy' }],
    },
    status: { keyHint: 'psk_…leDy' },
  });
  const items = [{ metadata: { ...metadata, name: 'other' } }, bot('Core')];
  const clusterOf = (): Cluster => ({
    call: async () => ({ status: 200, body: { metadata: {}, items } }),
    watch: () => expect.fail('nothing is watched'),
  });
  const lists = openKeyLists({ clock, clusterOf, ledger: undefined });
  const ada = { id: 'ada', token: 'ada' };
  const found = async (q: string) => {
    const { keys } = await lists.read(ada, 'team-a');
    return chooseRows(keys, choiceSchema.parse({ q })).rows.map(({ name }) => name);
  };
  for (const q of ['ada', 'notebook with', 'core', 'example.com', 'OLD1', 'ledy', 'bot core old1'])
    expect(await found(q), q).toEqual(['bot']);
  // A word does not reach from one into the next.
  for (const q of ['nobody', 'adaada']) expect(await found(q), q).toEqual([]);
  lists.change(ada, 'team-a', { type: 'MODIFIED', object: bot('Edge') });
  expect([await found('core'), await found('edge')]).toEqual([[], ['bot']]);
});

test('a list at half of its age is read again in the background, and follows changes during that', async () => {
  const clock = makeFakeClock();
  const items = [{ metadata }];
  let reads = 0;
  let answer = Promise.withResolvers<void>();
  let status = 200;
  answer.resolve();
  const clusterOf = (): Cluster => ({
    async call() {
      reads++;
      const body = { metadata: {}, items: [...items] };
      await answer.promise;
      return { status, body };
    },
    watch: () => expect.fail('nothing is watched'),
  });
  const lists = openKeyLists({ clock, clusterOf, ledger: undefined });
  const ada = { id: 'ada', token: 'ada' };
  const names = async () => (await lists.read(ada, 'team-a')).keys.map(({ row }) => row.name);
  const added = (name: string) => ({ type: 'ADDED', object: { metadata: { ...metadata, name } } }) as const;
  expect(await names()).toEqual(['bot']);
  clock.advance(5_000);
  answer = Promise.withResolvers();
  expect([await names(), await names(), reads]).toEqual([['bot'], ['bot'], 2]);
  // Its question is answered already, but for the answer.
  lists.change(ada, 'team-a', added('early'));
  expect(await names()).toEqual(['bot', 'early']);
  items.push({ metadata: { ...metadata, name: 'next' } });
  // The shown list is too old, and all requests wait for the next: the list is not read twice.
  clock.advance(5_000);
  const waiting = names();
  answer.resolve();
  expect([await waiting, reads]).toEqual([['bot', 'early'], 2]);
  clock.advance(5_000);
  expect(await names()).toEqual(['bot', 'early']);
  await vi.waitFor(async () => expect(await names()).toEqual(['bot', 'next']));
  expect(reads).toBe(3);
  // What is refused now is not shown any longer.
  status = 403;
  clock.advance(5_000);
  await names();
  await vi.waitFor(() => expect(names()).rejects.toThrow('403'));
  clock.advance(10_000);
  expect(clock.pending()).toEqual([]);
});

test('changes between a list and its watch are in the next answer, which states its version', async () => {
  const clock = makeFakeClock();
  const keyOf = (name: string, version: number, owner = '') => ({
    metadata: { ...metadata, name, resourceVersion: String(version) },
    spec: { owner: { name: owner } },
  });
  let version = 5;
  const items = [keyOf('bot', 5)];
  let reads = 0;
  const clusterOf = (): Cluster => ({
    call: async () => {
      reads += 1;
      return { status: 200, body: { metadata: { resourceVersion: String(version) }, items: [...items] } };
    },
    watch: () => expect.fail('nothing is watched'),
  });
  const lists = openKeyLists({ clock, clusterOf, ledger: undefined });
  const ada = { id: 'ada', token: 'ada' };
  expect(await lists.position(ada, 'team-a')).toBeUndefined();
  const shown = async () => {
    const { keys, resourceVersion } = await lists.read(ada, 'team-a');
    return [...keys.map(({ row }) => `${row.name} ${row.owner}`.trim()), resourceVersion];
  };
  expect(await shown()).toEqual(['bot', 5]);
  items.push(keyOf('unheard', 6));
  version = 7;
  // Made beside the one that is shown, and older than the watch too.
  clock.advance(5_000);
  const beside = shown();
  lists.change(ada, 'team-a', { type: 'RESET', resourceVersion: '7' });
  await beside;
  expect(await shown()).toEqual(['bot', 'unheard', 7]);
  lists.change(ada, 'team-a', { type: 'MODIFIED', object: keyOf('bot', 9, 'Ada') });
  // By a stream that is slower than the list was.
  lists.change(ada, 'team-a', { type: 'MODIFIED', object: keyOf('bot', 6, 'Ben') });
  expect(await shown()).toEqual(['bot Ada', 'unheard', 9]);
  // A watch from there on misses nothing, so nothing is read for it.
  expect(await lists.position(ada, 'team-a')).toBe('9');
  lists.change(ada, 'team-a', { type: 'RESET', resourceVersion: '9' });
  expect([...(await shown()), reads]).toEqual(['bot Ada', 'unheard', 9, 2]);
});
