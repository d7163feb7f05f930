// A leader whose publisher only remembers, in a cluster that a test changes.

import type { TableContent } from '../../../core/contract/routing-table.ts';
import { createCompiler } from '../../../operator/compile/compile.ts';
import { createVerdictNames } from '../../../operator/compile/verdict-names.ts';
import type { Reader } from '../../../operator/hold/withhold-newer.ts';
import { type BringOutParts, createBringOut, type Pin } from '../../../operator/leading/bring-out.ts';
import type { EarlierTable } from '../../../operator/publish/earlier-tables.ts';
import type { Publisher } from '../../../operator/publish/publisher.ts';
import type { Cluster } from '../../../operator/watch/cluster.ts';
import type { RetiredKey, Snapshot } from '../../../operator/watch/snapshot.ts';
import { snapshot } from '../make.ts';

export const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
export const tunnel = { protocol: 'http', hostname: 'proxy.test', port: 3128 } as const;

/** What another leader has left. */
export interface Found {
  readonly content: TableContent | undefined;
  readonly retired: readonly RetiredKey[];
}

/** @param first what it begins with. */
export function startLeader(first = snapshot(), found: Found = { content: undefined, retired: [] }) {
  const tables: TableContent[] = [];
  const released: string[][] = [];
  const pins: (Pin | undefined)[] = [];
  const state = {
    snapshot: first,
    pin: undefined as string | undefined,
    release: undefined as string | undefined,
    /** As they were written last. */
    retired: found.retired,
    isShut: false,
    readers: [] as Reader[],
    /** Providers are to be reached through a proxy, which needs a reader of format 2. */
    isTunnelled: false,
  };
  const publisher: Pick<
    Publisher,
    'takeOver' | 'heartbeat' | 'publish' | 'isAbsenceAccepted' | 'pin' | 'release' | 'readEarlier'
  > = {
    takeOver: async () => ({
      content: found.content,
      version: undefined,
      revoked: [],
      retired: found.retired,
      hints: [],
    }),
    heartbeat: async () => {},
    isAbsenceAccepted: () => false,
    release: () => state.release,
    pin: () => state.pin,
    async readEarlier(generation): Promise<EarlierTable> {
      const content = tables[generation - 1];
      return content === undefined
        ? { type: 'not-there', message: `table generation ${generation} is not kept` }
        : { type: 'read', content };
    },
    async publish(content, { retired = [] } = {}) {
      if (state.isShut) throw new Error('the API server is away');
      state.retired = retired;
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
    yieldNow: async () => undefined,
    takeHints: () => [],
    onTakenOver() {},
    onPublished() {},
    onHeld() {},
    onReleased: (keys) => void released.push(keys.map(({ digest }) => digest)),
    onPin: (pin) => void pins.push(pin),
  };
  const bringOut = createBringOut(parts);
  return {
    state,
    tables,
    released,
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
