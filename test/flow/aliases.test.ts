// What is written down of a model that has several ids?

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../../ledger/commands.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import { makeEntry } from '../ledger/make-entry.ts';
import { until } from '../support/until.ts';
import { ask } from './ask.ts';
import { type House, inHouse } from './house.ts';

/** Records of two calls, by an alias and by the model's own id. */
async function recordsOf(house: House) {
  const wall = await house.wallThat({ type: 'answer', usage: { inputTokens: 1_000_000, outputTokens: 1 } });
  const rig = await house.rigOf([{ baseUrl: wall.baseUrl }], { aliases: ['also-m'] });
  for (const model of ['also-m', 'm']) expect((await ask(rig, { more: { model } })).status).toBe(200);
  return await until(async () => rig.records.length === 2 && rig.records, 2);
}

test(
  'a call by an alias counts for the model, and its record names the alias',
  inHouse(async (house) => {
    const records = await recordsOf(house);
    expect(records.map(({ model, requestedModel }) => [model, requestedModel])).toEqual([
      ['m', 'also-m'],
      ['m', undefined],
    ]);
  }),
);

test(
  'sums and rerates of a model include all its ids',
  inHouse(async (house) => {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-aliases-'));
    house.onClose(() => rm(folder, { recursive: true, force: true }));
    const open = () => openSqliteStore(join(folder, 'ledger.sqlite'));
    const startedAt = '2026-11-01T00:00:00.000Z';
    const entries = (await recordsOf(house)).map((record) => makeEntry({ ...record, startedAt }));
    const november = { from: '2026-11-01', to: '2026-12-01' };
    const store = await open();
    await store.take({ source: 'p', cursor: 'c', entries, asides: [] }, 0);
    const sums = await store.sums({ ...november, by: ['model'], where: {}, limit: 10 });
    await store.close();
    expect(sums.map(({ group, sums: { attempts } }) => [group.model, attempts])).toEqual([['m', 2]]);

    const prices = join(folder, 'prices.json');
    await writeFile(prices, JSON.stringify({ m: { inputPerMillion: '3', outputPerMillion: '0' } }));
    let text = '';
    const words = ['rerate', '--prices', prices, '--from', november.from, '--to', november.to];
    await runCommand(words, {
      open,
      place() {
        throw new Error('it asks the store alone');
      },
      wallMs: () => 0,
      source: undefined,
      write: async (more) => {
        text += more;
      },
    });
    expect(text).toMatch(/^m +2 +2\.000004 +6 +3\.999996$/m);
  }),
);
