// Is what was read longest ago removed, and only where there is too much?

import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeUnread } from './remove-unread.ts';

test('above the bound of files, the most recently read half stays', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-unread-'));
  try {
    for (const name of ['a', 'b']) {
      await mkdir(join(folder, name));
      for (const day of [1, 2, 3]) {
        const path = join(folder, name, `read-${day}`);
        await writeFile(path, '');
        // Written in the reverse order.
        await utimes(path, day * 86_400, (10 - day) * 86_400);
      }
    }
    // Folders count.
    await removeUnread(folder, 8);
    expect(await readdir(join(folder, 'a'))).toHaveLength(3);
    await removeUnread(folder, 4);
    expect(await readdir(join(folder, 'a'))).toEqual(['read-3']);
    expect(await readdir(join(folder, 'b'))).toEqual(['read-3']);
    await removeUnread(join(folder, 'c'), 4);
  } finally {
    await rm(folder, { recursive: true });
  }
});
