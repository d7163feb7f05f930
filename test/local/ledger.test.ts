// Is what a laptop used in its ledger, once, also after a restart?

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import { startLocal } from '../../local/start.ts';
import { settingsFor, startLocalRig } from './rig.ts';

test('every attempt is in the ledger after local mode has ended, and only once after another run', async () => {
  const rig = await startLocalRig();
  try {
    for (let at = 0; at < 3; at++) expect((await rig.ask('penstock/small')).status).toBe(200);
    await rig.local.close();
    const path = join(rig.state, 'ledger.sqlite');
    expect((await stat(path)).mode & 0o077).toBe(0);
    const again = await startLocal(settingsFor(rig), () => {});
    await again.close();
    const store = await openSqliteStore(path);
    try {
      const [row] = await store.sums({ from: '2000-01-01', to: '2100-01-01', by: ['model'], limit: 10 });
      expect(row).toMatchObject({ group: { model: 'penstock/small' }, sums: { requests: 3 } });
      expect(await store.records({ after: 0, limit: 10 })).toHaveLength(row?.sums.attempts ?? 0);
    } finally {
      await store.close();
    }
  } finally {
    await rig.close();
  }
});
