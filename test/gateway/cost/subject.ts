// A process whose requests are counted: `node subject.ts floor|gateway UPSTREAM_PORT FOLDER`. Says its port over IPC, then answers
// each Ask. The floor is the least that Node can do to relay a request; the gateway has everything on but tracing.

import { createHook } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { GCProfiler, getHeapStatistics } from 'node:v8';
import { systemClock } from '../../../core/clock.ts';
import { parseRoutingTable } from '../../../core/contract/routing-table.ts';
import { openFileJournal } from '../../../gateway/meter/journal.ts';
import { startGateway } from '../../../gateway/process/start.ts';
import { TableHolder } from '../../../gateway/table/holder.ts';
import { openFileSource } from '../../../gateway/table/sources/file.ts';
import { tableWith } from '../../../tools/bench/parts/parts.ts';
import { createFloorRelay } from '../../../tools/bench/targets/floor-relay.ts';
import { benchTable } from '../../../tools/bench/targets/gateway.ts';
import type { Ask, Counts, Heard } from './counts.ts';

const [kind, upstreamPort = '', folder = ''] = process.argv.slice(2);
const tell = (heard: Heard): void => {
  process.send?.(heard);
};

const port = kind === 'floor' ? await startFloor() : await serveGateway();
const meters = { allocation: allocation(), work: work() };
process.on('message', (ask: Ask) => {
  if (ask.type === 'begin') meters[ask.meter].begin();
  tell({ type: 'counts', counts: ask.type === 'begin' ? {} : meters[ask.meter].end() });
});
process.once('disconnect', () => process.exit(0));
tell({ type: 'listening', port });

async function startFloor(): Promise<number> {
  const { server } = createFloorRelay(`http://127.0.0.1:${upstreamPort}`);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function serveGateway(): Promise<number> {
  const fail = (why: unknown): never => {
    throw new Error(`the gateway that is counted is not well: ${String(why)}`);
  };
  const tableFile = join(folder, 'table.json');
  const table = benchTable(Number(upstreamPort), ['unary', 'stream']);
  await writeFile(tableFile, JSON.stringify(parseRoutingTable(tableWith(table, ['limits', 'budgets']))));
  const holder = new TableHolder();
  const journal = openFileJournal(join(folder, 'journal'), systemClock, {
    failed: fail,
    dropped: fail,
    unacknowledged: fail,
  });
  const gateway = await startGateway({
    host: '127.0.0.1',
    port: 0,
    metricsPort: 0,
    holder,
    journal,
    showProvider: true,
    drainAcceptMs: 0,
    drainGraceMs: 0,
    exchange: { port: 0, journal, token: () => 'nobody asks' },
    onFailure: fail,
  });
  const taken = new Promise<void>((resolve) => {
    openFileSource(tableFile, holder, { taken: () => resolve(), refused: fail });
  });
  await taken;
  return Number(new URL(gateway.url).port);
}

/** Of the heap: what is allocated, not what is kept. Counts only as long as nothing is collected. */
function allocation(): { begin(): void; end(): Counts } {
  let before = 0;
  let profiler = new GCProfiler();
  return {
    begin() {
      // One of all would take shapes of objects that none is left of by now, and with them the code that was compiled for them.
      globalThis.gc?.({ type: 'minor' });
      profiler = new GCProfiler();
      profiler.start();
      before = getHeapStatistics().used_heap_size;
    },
    end() {
      const bytes = getHeapStatistics().used_heap_size - before;
      return { bytes, collections: profiler.stop().statistics.length };
    },
  };
}

function work(): { begin(): void; end(): Counts } {
  let counts = { promises: 0, timers: 0, listeners: 0, writes: 0 };
  const hook = createHook({
    init(_id, type) {
      if (type === 'PROMISE') counts.promises++;
      else if (type === 'Timeout') counts.timers++;
    },
  });
  const emitter = EventEmitter.prototype;
  const socket = Socket.prototype as unknown as { _writeGeneric(...args: unknown[]): void };
  const { on, addListener, prependListener } = emitter;
  const { _writeGeneric: write } = socket;
  return {
    begin() {
      counts = { promises: 0, timers: 0, listeners: 0, writes: 0 };
      const counted = (add: typeof on): typeof on =>
        function (this: EventEmitter, name, listener) {
          counts.listeners++;
          return add.call(this, name, listener) as never;
        };
      emitter.on = counted(on);
      emitter.addListener = counted(addListener);
      emitter.prependListener = counted(prependListener);
      socket._writeGeneric = function (this: Socket, ...args) {
        counts.writes++;
        write.apply(this, args);
      };
      hook.enable();
    },
    end() {
      hook.disable();
      Object.assign(emitter, { on, addListener, prependListener });
      socket._writeGeneric = write;
      return counts;
    },
  };
}
