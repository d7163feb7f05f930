// From run to run of a leader: what goes out while a pin is there, or a gateway that reads older tables only?

import { expect, test } from 'vitest';
import type { TableContent } from '../../../gateway/contract/routing-table.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import { createVerdictNames } from '../../../operator/compile/verdict-names.ts';
import type { Reader } from '../../../operator/hold/withhold-newer.ts';
import { type BringOutParts, createBringOut, type Pin } from '../../../operator/leading/bring-out.ts';
import type { EarlierTable, Publisher } from '../../../operator/publish/publisher.ts';
import type { Cluster } from '../../../operator/watch/cluster.ts';
import type { Snapshot } from '../../../operator/watch/snapshot.ts';
import { apiKey, provider, route, secret, snapshot } from '../make.ts';

const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
const FIRST = snapshot({
  providers: [provider()],
  modelRoutes: [route()],
  apiKeys: [apiKey()],
  secrets: [secret()],
});
const tunnel = { protocol: 'http', hostname: 'proxy.test', port: 3128 } as const;

/** A leader whose publisher only remembers, in a cluster that a test changes. */
function startLeader() {
  const tables: TableContent[] = [];
  const pins: (Pin | undefined)[] = [];
  const state = {
    snapshot: FIRST,
    pin: undefined as string | undefined,
    readers: [] as Reader[],
    /** Providers are to be reached through a proxy, which needs a reader of format 2. */
    isTunnelled: false,
  };
  const publisher: Pick<
    Publisher,
    'takeOver' | 'heartbeat' | 'publish' | 'isAbsenceAccepted' | 'pin' | 'readEarlier'
  > = {
    takeOver: async () => ({ content: undefined, version: undefined, hints: [] }),
    heartbeat: async () => {},
    isAbsenceAccepted: () => false,
    pin: () => state.pin,
    async readEarlier(generation): Promise<EarlierTable> {
      const content = tables[generation - 1];
      return content === undefined
        ? { type: 'not-there', message: `table generation ${generation} is not kept` }
        : { type: 'read', content };
    },
    async publish(content) {
      const isNew = JSON.stringify(content) !== JSON.stringify(tables.at(-1));
      if (isNew) tables.push(content);
      const generation = tables.length;
      return { epoch: 1, generation, isNew, shardsWritten: 0, bytesWritten: 0, durationMs: 0 };
    },
  };
  const cluster: Pick<Cluster, 'snapshot' | 'object' | 'unreadableNamespaces' | 'wasSeenDeleted'> = {
    snapshot: () => state.snapshot,
    object: (kind, namespace, name) =>
      [...state.snapshot.providers, ...state.snapshot.modelRoutes, ...state.snapshot.apiKeys].find(
        (one) => one.kind === kind && one.metadata.namespace === namespace && one.metadata.name === name,
      ),
    unreadableNamespaces: () => new Set(),
    wasSeenDeleted: () => true,
  };
  const compile = createCompiler();
  const parts: BringOutParts = {
    publisher: publisher as Publisher,
    cluster: cluster as Cluster,
    compile(...input) {
      const result = compile(...input);
      const providers = result.table.providers.map((entry) => ({ ...entry, proxy: tunnel }));
      return state.isTunnelled ? { ...result, table: { ...result.table, providers } } : result;
    },
    namesOf: createVerdictNames(),
    isServed: () => true,
    holdMs: 3_600_000,
    readers: () => state.readers,
    unpinCommand: 'kubectl annotate …',
    wallMs: () => NOW_MS,
    breathe: async () => undefined,
    takeHints: () => [],
    onTakenOver() {},
    onPublished() {},
    onHeld() {},
    onPin: (pin) => void pins.push(pin),
  };
  const bringOut = createBringOut(parts);
  return {
    state,
    tables,
    pins,
    change(parts: Partial<Snapshot>) {
      state.snapshot = { ...state.snapshot, ...parts };
    },
    async run() {
      const run = await bringOut.run(false);
      if (run.type === 'failed') throw run.error;
      return run;
    },
  };
}

test('a pin brings the table of then out under a new number; nothing moves but keys that end; unpinned, all does', async () => {
  const { state, tables, pins, change, run } = startLeader();
  expect((await run()).generation).toBe(1);
  change({ modelRoutes: [route({ model: 'other' })] });
  expect((await run()).generation).toBe(2);

  state.pin = '1';
  const first = await run();
  expect(first.generation).toBe(3);
  expect(tables[2]).toEqual(tables[0]);
  expect(pins.at(-1)).toEqual({ type: 'pinned', generation: 1 });
  expect([...first.waits]).toEqual([
    [
      'ModelRoute/team-a/chat',
      {
        status: 'Unknown',
        reason: 'Pinned',
        message: expect.stringMatching(/^the table is pinned to generation 1; .*: kubectl annotate …$/),
      },
    ],
  ]);
  change({ providers: [provider({ displayName: 'Another' })] });
  const second = await run();
  expect(second.generation).toBe(3);
  expect([...second.waits.keys()]).toEqual(['Provider/team-a/openai', 'ModelRoute/team-a/chat']);
  change({ apiKeys: [apiKey({ disabled: true })] });
  expect((await run()).generation).toBe(4);
  expect(tables[3]).toEqual({ ...tables[0], keys: [] });

  state.pin = undefined;
  const last = await run();
  expect(last.generation).toBe(5);
  expect(last.waits.size).toBe(0);
  expect(tables[4]?.routes[0]?.model).toBe('other');
  expect(pins.at(-1)).toBeUndefined();
});

test.each(['9', 'yesterday'])('a pin to %s, which is not kept, holds the table in use', async (wanted) => {
  const { state, pins, change, run } = startLeader();
  await run();
  state.pin = wanted;
  change({ modelRoutes: [route({ model: 'other' })] });
  const { generation, waits } = await run();
  expect(generation).toBe(1);
  expect([...waits.keys()]).toEqual(['ModelRoute/team-a/chat']);
  expect(pins.at(-1)).toMatchObject({ type: 'impossible', wanted });
});

test('while a gateway reads older tables only, what needs a newer one waits alone; then it goes out by itself', async () => {
  const { state, tables, change, run } = startLeader();
  state.readers = [
    { name: 'a', maxFormat: 2 },
    { name: 'b', maxFormat: 1 },
  ];
  await run();
  state.isTunnelled = true;
  change({ modelRoutes: [route({ model: 'other' })] });
  const waiting = await run();
  expect(tables[1]?.providers).toEqual(tables[0]?.providers);
  expect(tables[1]?.routes[0]?.model).toBe('other');
  expect([...waiting.waits.keys()]).toEqual(['Provider/team-a/openai']);

  state.readers = [{ name: 'a', maxFormat: 2 }];
  const out = await run();
  expect(out.waits.size).toBe(0);
  expect(tables[2]?.providers[0]?.proxy).toEqual(tunnel);
  // An operator that has not heard anybody yet leaves it as it is.
  state.readers = [{ name: 'a', maxFormat: undefined }];
  expect((await run()).generation).toBe(3);
});
