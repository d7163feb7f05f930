// Does a disk that is full, or was so when the gateway started, cost anybody an answer or a record?

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import { ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import { openFileJournal } from '../../gateway/meter/journal.ts';
import { startRig, tableOf } from '../gateway/rig.ts';
import { ask } from './ask.ts';
import { expectWhole } from './fault-matrix.ts';
import { inHouse } from './house.ts';

const run = promisify(execFile);

interface Disk {
  readonly folder: string;
  free(): Promise<void>;
  remove(): Promise<void>;
}

/** A disk of a mebibyte where one can be mounted, else a file that takes nothing: both say ENOSPC. */
async function fullDisk(): Promise<Disk> {
  const place = await mkdtemp(join(tmpdir(), 'penstock-disk-'));
  const folder = join(place, 'journal');
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', place]).then(
    () => true,
    () => false,
  );
  const obstacle = join(mounted ? place : folder, mounted ? 'filler' : 'journal.jsonl');
  if (mounted) {
    // To the last page, so that not even a folder can be made.
    await writeFile(obstacle, Buffer.alloc(2 * 1024 * 1024)).catch(() => {});
  } else {
    await mkdir(folder);
    await symlink('/dev/full', obstacle);
  }
  return {
    folder,
    free: () => rm(obstacle),
    async remove() {
      if (mounted) await run('umount', [place]);
      await rm(place, { recursive: true });
    },
  };
}

test(
  'from the start and for forty requests: all are answered, and recorded after there is space',
  inHouse(async (house) => {
    const disk = await fullDisk();
    house.onClose(() => disk.remove());
    const failures: string[] = [];
    let dropped = 0;
    const journal = openFileJournal(disk.folder, systemClock, {
      failed: (reason) => failures.push(reason),
      dropped: (records) => {
        dropped += records;
      },
    });
    const wall = await house.wallThat({ type: 'answer' });
    const rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]), { journal });
    house.onClose(() => rig.close());
    for (let n = 0; n < 20; n++) {
      expectWhole(await ask(rig, { isStream: true }), 'stream');
      expectWhole(await ask(rig), 'plain');
    }
    await journal.flush();
    expect(failures[0]).toContain('ENOSPC');
    const metrics = await (await fetch(`${rig.gateway.metricsUrl}/metrics`)).text();
    expect(Number(/^penstock_journal_write_errors_total (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);

    await disk.free();
    await journal.flush();
    const text = await readFile(join(disk.folder, 'journal.jsonl'), 'utf8');
    const records = text
      .trimEnd()
      .split('\n')
      .map((line) => ledgerRecordSchema.parse(JSON.parse(line)));
    expect(new Set(records.map(({ id }) => id)).size).toBe(40);
    expect([records.length, dropped, rig.failures]).toEqual([40, 0, []]);
  }),
);
