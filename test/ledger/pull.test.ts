// Does every record of every pod come into the ledger, once, whatever breaks on the way?

import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { JOURNAL_CURSOR_HEADER } from '../../core/contract/exchange.ts';
import { type JournalPod, openJournalClient } from '../../ledger/ask-journal.ts';
import { type PullOptions, type PullReport, type Pulls, startPulls } from '../../ledger/pull.ts';
import { readPage } from '../../ledger/read-page.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import type { LedgerStore } from '../../ledger/store/store.ts';
import { makeFakeClock } from '../support/fake-clock.ts';
import { runs } from '../support/runs.ts';
import { until } from '../support/until.ts';
import { startPod, type TestPod, token } from './journal-pod.ts';
import { makeEntry, makeLine } from './make-entry.ts';

let store: LedgerStore;
let folder: string;
let closers: (() => Promise<unknown> | undefined)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  store = await openSqliteStore(join(folder, 'ledger.sqlite'));
  closers = [() => rm(folder, { recursive: true, force: true }), () => store.close()];
});
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Reported {
  readonly failed: string[];
  readonly aside: string[];
  readonly again: string[];
  readonly recovered: string[];
  skipped: number;
}

function pull(more: Partial<PullOptions> = {}): { readonly pulls: Pulls; readonly reported: Reported } {
  const reported: Reported = { failed: [], aside: [], again: [], recovered: [], skipped: 0 };
  const report: PullReport = {
    taken(_, { skipped }) {
      reported.skipped += skipped;
    },
    quarantined: (pod, lines, reason) => reported.aside.push(`${pod.name}: ${lines}: ${reason}`),
    restarted: (pod) => reported.again.push(pod.name),
    failed: (pod, reason) => reported.failed.push(`${pod.name}: ${reason}`),
    recovered: (pod) => reported.recovered.push(pod.name),
  };
  const client = openJournalClient(systemClock);
  const options = { store, clock: systemClock, random: () => 0, ask: client.ask, tokenOf: () => token };
  const pulls = startPulls({ ...options, report, ...more });
  closers.push(async () => {
    await pulls.close();
    client.close();
  });
  return { pulls, reported };
}

async function pod(uid: string): Promise<TestPod> {
  const started = await startPod(uid);
  closers.push(() => started.close());
  return started;
}

const record = (id: string) => makeEntry({ id }).record;
const stored = async (ledger = store): Promise<string[]> =>
  (await ledger.records({ after: 0, limit: 100_000 })).map(({ line }) => JSON.parse(line).id);
const untilStored = (count: number) => until(async () => (await stored()).length === count);

test('records arrive as written, from all pods, and full files are deleted at the pods after they are stored', async () => {
  const [one, two] = [await pod('one'), await pod('two')];
  const { pulls, reported } = pull();
  pulls.setPods([one.pod, two.pod]);
  for (let at = 0; at < 30; at++) {
    await one.write(record(`one.${at}`));
    await two.write(record(`two.${at}`));
  }
  await untilStored(60);
  expect((await stored()).filter((id) => id.startsWith('one'))).toEqual(
    Array.from({ length: 30 }, (_, at) => `one.${at}`),
  );
  // Some 17 kB in files of 4 kB.
  await until(async () => (await readdir(one.folder)).filter((name) => name.endsWith('.jsonl')).length === 1);
  await until(async () => pulls.lags().every(({ lagMs }) => lagMs === 0));
  expect(reported.failed).toEqual([]);
});

test('a restarted ledger continues after its last stored record', async () => {
  const one = await pod('one');
  const first = pull();
  first.pulls.setPods([one.pod]);
  await one.write(record('a'), record('b'));
  await untilStored(2);
  await first.pulls.close();
  await one.write(record('c'));
  const added: number[] = [];
  const counting: PullReport = {
    ...noReport,
    taken: (_, taken) => added.push(taken.added + taken.duplicates),
  };
  const second = pull({ report: counting });
  second.pulls.setPods([one.pod]);
  await untilStored(3);
  expect(added).toEqual([1]);
});

test('another journal under the name of the pod is read from its oldest record on', async () => {
  const one = await pod('one');
  const { pulls, reported } = pull();
  pulls.setPods([one.pod]);
  await one.write(record('a'));
  await untilStored(1);
  pulls.setPods([]);
  const other = await pod('one');
  await other.write(record('b'));
  pulls.setPods([other.pod]);
  await untilStored(2);
  expect([reported.again, reported.failed]).toEqual([['gateway-one'], []]);
});

test('lines that are not records are quarantined with their reason, lines of another kind are skipped, the rest is stored', async () => {
  const one = await pod('one');
  await one.writeRaw(
    [
      makeLine({ id: 'a' }),
      // The gateway keeps what was cut off, and does not hand it on.
      '{"id":"cut',
      '{"kind":"open","id":"b"}',
      makeLine({ id: 'c', costPicodollars: -1 }),
      makeLine({ id: 'x'.repeat(201) }),
      'null',
      makeLine({ id: 'd' }),
      '',
    ].join('\n'),
  );
  const { pulls, reported } = pull();
  pulls.setPods([one.pod]);
  await untilStored(2);
  expect(await stored()).toEqual(['a', 'd']);
  expect(reported.skipped).toBe(1);
  expect(reported.aside).toEqual([expect.stringMatching(/^gateway-one: 3: costPicodollars: /)]);
  expect((await store.asides(10)).map(({ reason }) => reason).toSorted()).toEqual([
    expect.stringMatching(/^costPicodollars: /),
    'its id is longer than 200 characters',
    expect.stringMatching(/^the line: /),
  ]);
});

test('truncated records from an earlier gateway are quarantined here', () => {
  const page = readPage(Buffer.from(`{"id":"cut\n${makeLine({ id: 'a' })}\n`));
  expect(page.asides).toEqual([{ line: '{"id":"cut', reason: 'it is not JSON' }]);
  expect(page.entries).toHaveLength(1);
});

test('of the full journals of many pods four pages are in memory at a time, the others wait at their pods', async () => {
  const left = new Map(Array.from({ length: 30 }, (_, at) => [`pod-${at}`, 3]));
  const held = new Set<string>();
  let heldMax = 0;
  const { pulls, reported } = pull({
    async ask({ pod: { uid }, beforePage, signal }) {
      const pages = left.get(uid) ?? 0;
      if (pages === 0)
        return await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(new Error('ended'))),
        );
      await beforePage();
      held.add(uid);
      heldMax = Math.max(heldMax, held.size);
      left.set(uid, pages - 1);
      return { bytes: Buffer.from(`${makeLine({ id: `${uid}.${pages}` })}\n`), cursor: `c.${pages}` };
    },
    store: {
      cursorOf: (source) => store.cursorOf(source),
      async take(page, nowMs) {
        const taken = await store.take(page, nowMs);
        held.delete(page.source);
        return taken;
      },
    },
  });
  pulls.setPods([...left.keys()].map((uid) => ({ uid, name: uid, ip: '', port: 1 })));
  await untilStored(90);
  expect(heldMax).toBe(4);
  expect(reported.failed).toEqual([]);
});

test('a pod without a port is asked again until it answers; the token is read again each time', async () => {
  const one = await pod('one');
  await one.write(record('a'));
  let known: string | undefined;
  const { pulls, reported } = pull({ tokenOf: () => known });
  pulls.setPods([one.pod]);
  await until(async () => reported.failed.length === 1);
  known = 'wrong';
  await until(async () => reported.failed.length === 2);
  known = token;
  await untilStored(1);
  expect(reported.failed).toEqual([
    'gateway-one: the pointer Secret has not been read yet, and so no token is known',
    'gateway-one: it rejects the exchange token',
  ]);
  await until(async () => reported.recovered.length === 1);
});

describe('a pod that sends garbage', () => {
  const line = `${makeLine({ id: 'r' })}\n`;
  const rubbish: [string, RequestListener, RegExp][] = [
    ['an error', (_, response) => response.writeHead(500).end('secret words'), /status 500/],
    ['no cursor', (_, response) => response.end(line), /no cursor/],
    [
      'a cursor too long',
      (_, response) => response.setHeader(JOURNAL_CURSOR_HEADER, 'c'.repeat(129)).end(line),
      /no cursor/,
    ],
    [
      'a body cut short',
      (_, response) => {
        response.writeHead(200, { [JOURNAL_CURSOR_HEADER]: 'c', 'content-length': 5_000 });
        response.write(line, () => response.destroy());
      },
      /broke off|does not answer/,
    ],
    ['no start', (_, response) => response.writeHead(410).end(), /reports no start/],
    ['a reset', (request) => request.socket.destroy(), /does not answer \(ECONNRESET\)/],
  ];

  test.each(rubbish)('%s is reported, and another pod goes on', async (_, listener, reason) => {
    const server = createServer(listener).listen(0, '127.0.0.1');
    closers.push(async () => {
      server.closeAllConnections();
      server.close();
    });
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no TCP port');
    const bad: JournalPod = { uid: 'bad', name: 'bad', ip: '127.0.0.1', port: address.port };
    const one = await pod('one');
    await one.write(record('a'));
    const { pulls, reported } = pull();
    pulls.setPods([bad, one.pod]);
    await until(async () => reported.failed.length > 0 && (await stored()).length === 1);
    expect(reported.failed.join()).toMatch(reason);
    expect(reported.failed.join()).not.toContain('secret words');
    expect(await stored()).toEqual(['a']);
    expect(pulls.lags().find(({ pod: { uid } }) => uid === 'bad')?.failure).toMatch(reason);
  });

  test('records without a new cursor are not stored again and again', async () => {
    const answers = [
      { bytes: Buffer.from(line), cursor: 'c' },
      { bytes: Buffer.from(line), cursor: 'c' },
    ];
    const { reported, pulls } = pull({
      ask: async () => answers.shift() ?? new Promise(() => {}),
    });
    pulls.setPods([{ uid: 'p', name: 'p', ip: '', port: 1 }]);
    await until(async () => reported.failed.length === 1);
    expect(reported.failed).toEqual(['p: it sent records without a new cursor']);
    pulls.setPods([]);
  });
});

test('a pod without long polling is asked four times a second, and a failing one with backoff', async () => {
  const fake = makeFakeClock();
  const clock = { ...fake, wallMs: () => 0 };
  const asked: number[] = [];
  let isDown = false;
  const { pulls } = pull({
    clock,
    random: () => 1,
    async ask() {
      asked.push(fake.now());
      if (isDown) throw new Error('down');
      return { bytes: Buffer.alloc(0), cursor: 'c' };
    },
  });
  pulls.setPods([{ uid: 'p', name: 'p', ip: '', port: 1 }]);
  const turn = async () => {
    const before = asked.length;
    await until(async () => fake.pending().length > 0);
    fake.advance((fake.pending()[0] ?? 0) - fake.now());
    await until(async () => asked.length > before);
  };
  await until(async () => asked.length === 2);
  for (let at = 0; at < 4; at++) await turn();
  expect(asked.map((ms) => ms)).toEqual([0, 0, 250, 500, 750, 1_000]);
  isDown = true;
  const from = asked.length;
  for (let at = 0; at < 9; at++) await turn();
  const gaps = asked.slice(from).map((ms, at) => ms - (asked[from + at - 1] ?? 0));
  expect(gaps).toEqual([250, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
});

const noReport: PullReport = {
  taken() {},
  quarantined() {},
  restarted() {},
  failed() {},
  recovered() {},
};

test('any crash, before or after a page is stored, and any repeated page, give each record once', async () => {
  const fault = fc.constantFrom('none', 'none', 'before', 'after', 'restart', 'lost-cursor');
  const plan = fc.record({
    faults: fc.array(fault, { maxLength: 25 }),
    groups: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 12 }),
  });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(plan, async ({ faults, groups }) => {
      run += 1;
      const one = await startPod(`run-${run}`);
      const ledger = await openSqliteStore(join(folder, `run-${run}.sqlite`));
      const left = [...faults];
      let pulls: Pulls | undefined;
      const client = openJournalClient(systemClock);
      const start = (): void => {
        pulls = startPulls({
          clock: { ...systemClock, setTimer: (_, callback) => systemClock.setTimer(0, callback) },
          random: () => 0,
          ask: client.ask,
          tokenOf: () => token,
          report: noReport,
          waitMs: 1_000,
          store: {
            async cursorOf(source) {
              return left[0] === 'lost-cursor' && left.shift() !== undefined
                ? undefined
                : await ledger.cursorOf(source);
            },
            async take(page, nowMs) {
              const next = left.shift();
              if (next === 'before') throw new Error('killed before the commit');
              const taken = await ledger.take(page, nowMs);
              if (next === 'after') throw new Error('killed before the answer');
              if (next === 'restart') {
                const ended = pulls?.close();
                start();
                void ended;
              }
              return taken;
            },
          },
        });
        pulls.setPods([one.pod]);
      };
      try {
        start();
        let count = 0;
        for (const size of groups)
          await one.write(...Array.from({ length: size }, () => record(`r.${count++}`)));
        await until(async () => (await stored(ledger)).length >= count, 2);
        const ids = await stored(ledger);
        expect(ids.toSorted()).toEqual(Array.from({ length: count }, (_, at) => `r.${at}`).toSorted());
        const [row] = await ledger.sums({ from: '2000-01-01', to: '2100-01-01', by: [], limit: 1 });
        expect(row?.sums.attempts).toBe(count);
      } finally {
        await pulls?.close();
        client.close();
        await one.close();
        await ledger.close();
      }
    }),
    { numRuns: runs(12, 3) },
  );
});
