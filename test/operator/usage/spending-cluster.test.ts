// From a record in the ledger to what kubectl shows: a real ledger that answers over HTTP, a real API server, and the leader's part
// between them. Only the calendar is the test's.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type Clock, systemClock } from '../../../core/clock.ts';
import type { LedgerRecord } from '../../../core/contract/ledger-record.ts';
import type { KubeClient, KubeRequest } from '../../../core/kube/client.ts';
import { buildReadApi } from '../../../ledger/read-api/read-api.ts';
import { openSqliteStore } from '../../../ledger/store/sqlite.ts';
import type { LedgerStore } from '../../../ledger/store/store.ts';
import { createSpending, type Spending, type SpendingParts } from '../../../operator/leading/spending.ts';
import { createEventRecorder, type EventFact, type EventRecorder } from '../../../operator/status/events.ts';
import { openLedgerClient } from '../../../operator/usage/ask-ledger.ts';
import type { TenantBudgets } from '../../../operator/watch/snapshot.ts';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { installCrds } from '../../cluster/install.ts';
import { createNamespace, create as createStored, read } from '../../cluster/objects.ts';
import { makeEntry } from '../../ledger/make-entry.ts';
import { noGateways } from '../../ledger/read-house.ts';
import { until } from '../../support/until.ts';
import { apiKey } from '../make.ts';
import { watchCluster } from '../watch/stage.ts';

const plane = useControlPlane({ hasControllers: false });
const token = 'x'.repeat(43);
const dollar = 1_000_000_000_000;

/** Of the ledger and of the operator; timers go on as they do. */
let wallMs = Date.parse('2026-11-22T12:00:00Z');
const clock: Clock = { ...systemClock, wallMs: () => wallMs };

let folder: string;
let store: LedgerStore;
let server: Server;
let address: string;
let records = 0;
let namespaces = 0;
let namespace: string;
/** What is to be closed after a test. */
let started: AsyncDisposableStack;

beforeAll(async () => {
  await installCrds(plane());
}, 120_000);
beforeEach(async () => {
  started = new AsyncDisposableStack();
  wallMs = Date.parse('2026-11-22T12:00:00Z');
  namespace = `usage-${namespaces++}`;
  await createNamespace(plane().client, namespace);
  folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  await beginLedger('one');
});
afterEach(async () => {
  await started.disposeAsync();
  await endLedger();
  await rm(folder, { recursive: true, force: true });
});

async function beginLedger(name: string, port = 0): Promise<void> {
  store = await openSqliteStore(join(folder, `${name}.sqlite`));
  server = buildReadApi({
    store,
    access: undefined,
    clock,
    budgets: () => undefined,
    gateways: noGateways,
    token: () => token,
    onFailure() {},
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  address = `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`;
}

async function endLedger(): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  await store.close();
}

async function spend(name: string, dollars: number, more: Partial<LedgerRecord> = {}): Promise<void> {
  const entry = makeEntry({
    id: `r.${records++}`,
    namespace,
    apiKey: `${namespace}/${name}`,
    startedAt: new Date(wallMs).toISOString(),
    costPicodollars: dollars * dollar,
    ...more,
  });
  await store.take({ source: 'pod', cursor: `c.${records}`, entries: [entry], asides: [] }, wallMs);
}

interface Term {
  readonly spending: Spending;
  /** What it asked the ledger for: what comes after these sequences. */
  readonly asked: number[];
  /** Reported by `onBudget`, in turn. */
  readonly budgets: string[];
  readonly reported: EventFact[];
  /** Writes of usages. */
  readonly writes: KubeRequest[];
}

async function lead(more: Partial<SpendingParts> = {}): Promise<Term> {
  const { client } = plane();
  const ledger = openLedgerClient({ address }, clock);
  const asked: number[] = [];
  const budgets: string[] = [];
  const reported: EventFact[] = [];
  const writes: KubeRequest[] = [];
  const counted: KubeClient = {
    ...client,
    call(request) {
      if (request.path.includes('/apikeys/')) writes.push(request);
      return client.call(request);
    },
  };
  const recorder: EventRecorder = createEventRecorder({
    client,
    clock: systemClock,
    random: Math.random,
    instance: 'operator-0',
  });
  const watched = await watchCluster(client);
  const spending = createSpending({
    client: counted,
    clock,
    random: () => 0,
    cluster: watched.cluster,
    ledger: { address },
    askLedger(call) {
      asked.push(call.after);
      return ledger.ask(call);
    },
    tenantBudgets: () => [],
    onNamespaces() {},
    gateways: () => ({ ready: 1, haveStore: false }),
    tokenOf: () => token,
    events: {
      record(object, fact) {
        reported.push(fact);
        recorder.record(object, fact);
      },
    },
    queue: { random: () => 0, onError: (_, error) => expect.unreachable(String(error)) },
    onBudget: (key) => budgets.push(key),
    onAway() {},
    onBack() {},
    ...more,
  });
  started.defer(async () => {
    await spending.close();
    ledger.close();
    await Promise.all(spending.queues.map((queue) => queue.close()));
    await recorder.close();
    await watched.close();
  });
  return { spending, asked, budgets, reported, writes };
}

async function create(name: string, spec: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const manifest = apiKey(spec, { namespace, name });
  const { uid: _, generation: __, creationTimestamp: ___, ...metadata } = manifest.metadata;
  await createStored(plane().client, { ...manifest, metadata });
}

const usageSchema = z.object({ usage: z.record(z.string(), z.unknown()).optional() }).optional();

async function usageOf(name: string): Promise<Record<string, unknown> | undefined> {
  const { status } = await read(plane().client, apiKey({}, { namespace, name }));
  return usageSchema.parse(status)?.usage;
}

/** As the platform says them of the namespace. */
function budgetsOfTenant(...budgets: TenantBudgets['budgets']): SpendingParts['tenantBudgets'] {
  const list = [{ namespace, budgets }];
  return () => list;
}

/** Rows of the table without its head, by name. */
async function columns(): Promise<Record<string, readonly string[]>> {
  const text = await plane().mustKubectl(['get', 'apikeys', '-n', namespace]);
  const [head = '', ...rows] = text.trimEnd().split('\n');
  // Columns begin below their names: an empty one is a gap.
  const starts = ['SPEND', 'LAST-USED', 'AGE'].map((name) => head.indexOf(name));
  return Object.fromEntries(
    rows.map((row) => [
      row.split(' ')[0],
      [row.slice(starts[0], starts[1]).trim(), row.slice(starts[1], starts[2]).trim()],
    ]),
  );
}

/** It asks the ledger for what comes after all of its records: with a rest since it has heard of them. */
async function hearsAll({ asked }: Term): Promise<void> {
  const { ask, close } = openLedgerClient({ address }, clock);
  const { sequence } = await ask({ token, after: 0, signal: new AbortController().signal });
  close();
  expect(sequence).toBeGreaterThan(0);
  await until(async () => asked.includes(sequence));
}

const spendOf = (name: string, wanted: string) =>
  until(async () => (await usageOf(name))?.spend === wanted, 100);

test('kubectl get apikeys shows spend, owner and last use', async () => {
  await Promise.all(['busy', 'idle'].map((name) => create(name)));
  await spend('busy', 3);
  await spend('busy', 4, { payer: 'platform' });
  await lead();
  await spendOf('busy', '3.00');
  expect(await usageOf('busy')).toEqual({
    observedAt: '2026-11-22T12:00:00Z',
    lastUsedAt: '2026-11-22T12:00:00Z',
    spend: '3.00',
    periods: [
      {
        period: 'Month',
        start: '2026-11-01T00:00:00Z',
        spend: '3.00',
        requests: 2,
        inputTokens: 100,
        cachedInputTokens: 0,
        outputTokens: 50,
      },
    ],
  });
  const shown = await columns();
  expect(shown.busy?.[0]).toBe('3.00');
  expect(shown.busy?.[1]).not.toBe('');
  expect(shown.idle).toEqual(['', '']);
});

test('usage is written once in five minutes, by its own manager, and again only after a change', async () => {
  await create('busy');
  await spend('busy', 1);
  const first = await lead();
  await spendOf('busy', '1.00');
  await spend('busy', 1);
  await hearsAll(first);
  // The next leader uses what is in the object.
  const second = await lead();
  await hearsAll(second);
  expect([first.writes.length, second.writes.length]).toEqual([1, 0]);
  wallMs += 300_000;
  await spendOf('busy', '2.00');
  const { metadata } = JSON.parse(
    await plane().mustKubectl([
      ...['get', 'apikeys.penstock.dev', 'busy', '-n', namespace, '--show-managed-fields', '-o', 'json'],
    ]),
  );
  const managers = metadata.managedFields.map(({ manager }: { manager: string }) => manager);
  expect(managers).toContain('penstock-usage');
}, 30_000);

test('a passed budget is reported at once, by an event and in the status, and ends with its period', async () => {
  await create('bot', { budgets: [{ period: 'Day', limit: '10' }] });
  const term = await lead();
  await spendOf('bot', '0.00');
  await spend('bot', 8);
  await spendOf('bot', '8.00');
  expect(term.reported.map(({ reason }) => reason)).toEqual(['BudgetWarning']);
  expect(term.budgets).toEqual([]);
  await spend('bot', 2);
  await until(async () => term.budgets.includes(`ApiKey/${namespace}/bot`));
  await spendOf('bot', '10.00');
  const { metadata } = apiKey({}, { namespace, name: 'bot' });
  const object = { metadata, spec: { budgets: [{ period: 'Day', limit: '10' }] } };
  expect(term.spending.exhausted(object)).toMatchObject([{ period: 'Day', spend: '10.00', limit: '10' }]);
  expect(term.spending.reading()?.exhaustedKeys).toBe(1);
  // Reported by its condition.
  expect(term.reported).toHaveLength(1);
  const events = await plane().mustKubectl(['get', 'events', '-n', namespace, '-o', 'json']);
  expect(JSON.parse(events).items).toMatchObject([
    { reason: 'BudgetWarning', type: 'Warning', involvedObject: { kind: 'ApiKey', name: 'bot' } },
  ]);
  wallMs = Date.parse('2026-11-23T00:00:00Z');
  expect(term.spending.exhausted(object)).toEqual([]);
});

test('an unused key shows a larger overshoot when there are more gateways', async () => {
  await Promise.all([create('bot', { budgets: [{ period: 'Total', limit: '10' }] }), create('idle')]);
  let ready = 0;
  // What waits for seconds waits for a moment.
  const setTimer: Clock['setTimer'] = (ms, fire) => clock.setTimer(ms < 60_000 ? Math.min(ms, 50) : ms, fire);
  const { spending, writes } = await lead({
    gateways: () => ({ ready, haveStore: false }),
    clock: { ...clock, setTimer },
  });
  const said = async () => {
    const usage = await usageOf('bot');
    return Array.isArray(usage?.periods) ? usage.periods[0]?.atWorst : undefined;
  };
  await spendOf('bot', '0.00');
  expect(await said()).toBeUndefined();
  for (const [count, dollars] of [
    [2, '5.00'],
    [8, '8.75'],
  ] as const) {
    wallMs += 300_000;
    ready = count;
    spending.gatewaysMoved();
    await until(async () => (await said())?.requests === count);
    expect(await said()).toEqual({ requests: count, dollars });
  }
  // Keys of other tests are there too.
  expect(writes.filter(({ path }) => path.includes(`/${namespace}/`))).toHaveLength(3);
});

test('a warning budget that is used up refuses nothing, and causes an event', async () => {
  await create('bot', { budgets: [{ period: 'Total', limit: '1', action: 'Warn' }] });
  const term = await lead();
  await spend('bot', 2);
  await spendOf('bot', '2.00');
  expect(term.reported.map(({ reason, note }) => [reason, note])).toEqual([
    ['BudgetExceeded', 'Total: $2.00 of $1 spent; the budget is used up, and calls go on (action: Warn)'],
  ]);
  expect(term.budgets).toEqual([]);
});

test('a budget of a namespace is an event of the namespace, and writes the status of no key', async () => {
  await Promise.all(['one', 'two'].map((name) => create(name)));
  await spend('one', 1);
  let looks = 0;
  const term = await lead({
    onNamespaces: () => {
      looks += 1;
    },
    tenantBudgets: budgetsOfTenant({ period: 'Month', limit: '10', action: 'Block', warnPercent: 80 }),
  });
  await spendOf('one', '1.00');
  await spend('one', 7.5);
  await until(async () => term.reported.length === 1);
  expect(term.reported[0]).toMatchObject({ reason: 'TenantBudgetWarning', type: 'Warning' });
  await spend('two', 1.5);
  await until(async () => term.reported.length === 2);
  expect([term.budgets, term.spending.reading()?.exhaustedKeys]).toEqual([[], 0]);
  expect(looks).toBeGreaterThanOrEqual(3);
  expect(term.spending.ofNamespace()?.(namespace)?.total.costPicodollars).toBe('10000000000000');
  const note =
    `the monthly budget of namespace ${namespace}: ` +
    '$10.00 of $10 spent since 2026-11-01; calls of its keys are rejected';
  expect(term.reported.slice(1)).toMatchObject([{ reason: 'TenantBudgetExhausted', note }]);
  // The API server takes it as one of the namespace.
  const reported = await until(async () => {
    const text = await plane().mustKubectl(['get', 'events', '-n', namespace, '-o', 'json']);
    const { items } = JSON.parse(text);
    return items.length === 2 && items;
  });
  expect(reported[0]).toMatchObject({ involvedObject: { kind: 'Namespace', name: namespace } });
});

test('a warning budget of a namespace is reported at its own percentage, and refuses nothing', async () => {
  await create('bot');
  await spend('bot', 1);
  const term = await lead({
    tenantBudgets: budgetsOfTenant({ period: 'Total', limit: '10', action: 'Warn', warnPercent: 50 }),
  });
  await spendOf('bot', '1.00');
  await spend('bot', 4);
  await until(async () => term.reported.length === 1);
  expect(term.reported[0]).toMatchObject({
    reason: 'TenantBudgetWarning',
    note: expect.stringContaining('more than 50 %'),
  });
  await spend('bot', 5);
  await until(async () => term.reported.length === 2);
  expect(term.reported[1]).toMatchObject({
    reason: 'TenantBudgetExhausted',
    note: expect.stringContaining('calls go on'),
  });
  expect([term.budgets, term.spending.reading()?.exhaustedKeys]).toEqual([[], 0]);
});

test('a report that failed by an internal error is made with the next answer', async () => {
  await create('bot', { budgets: [{ period: 'Day', limit: '10' }] });
  const faults: unknown[] = [];
  const reported: string[] = [];
  const fault = new TypeError('ours');
  const term = await lead({
    queue: { random: () => 0, onError: (...fact) => faults.push(fact) },
    onBudget(key) {
      if (faults.length === 0) throw fault;
      reported.push(key);
    },
  });
  await spendOf('bot', '0.00');
  await spend('bot', 10);
  await until(async () => reported.includes(`ApiKey/${namespace}/bot`));
  expect(faults).toEqual([['spend', fault, 1_000]]);
  expect(term.spending.reading()?.exhaustedKeys).toBe(1);
});

test('a ledger outage disturbs nothing; a new ledger in its place is accepted', async () => {
  await create('bot');
  await spend('bot', 5);
  const term = await lead();
  await spendOf('bot', '5.00');
  const { port } = new URL(address);
  await endLedger();
  await until(async () => (term.spending.reading()?.newsAgeMs ?? 0) > 1_500);
  expect((await usageOf('bot'))?.spend).toBe('5.00');
  await beginLedger('two', Number(port));
  await spend('bot', 7);
  // What it heard in between may have been written, and the next time is five minutes later.
  await until(async () => {
    wallMs += 300_000;
    return (await usageOf('bot'))?.spend === '7.00';
  }, 500);
}, 30_000);

test('without the address of a ledger there are no calls and no log lines', async () => {
  const { spending } = await lead({ ledger: undefined });
  expect([spending.reading(), spending.queues, spending.exhausted(apiKey())]).toEqual([
    undefined,
    [],
    undefined,
  ]);
});
