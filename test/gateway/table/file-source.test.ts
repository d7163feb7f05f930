// Does a table in a file come into use, now and when it changes? And what happens when the file is bad?

import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TableHolder } from '../../../gateway/table/holder.ts';
import { openFileSource } from '../../../gateway/table/sources/file.ts';
import type { TableSource } from '../../../gateway/table/sources/source.ts';
import { tableOf } from '../rig.ts';

let folder = '';
let path = '';
const sources: TableSource[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-table-'));
  path = join(folder, 'table.json');
});

afterEach(async () => {
  for (const source of sources.splice(0)) source.close();
  await rm(folder, { recursive: true });
});

/** What the source reported, in order; `next` waits until it has reported something that fits. */
function openSource(holder = new TableHolder(), file = path) {
  const reported: string[] = [];
  const waiting = new Set<() => void>();
  const tell = (event: string): void => {
    reported.push(event);
    for (const look of waiting) look();
  };
  const source = openFileSource(file, holder, {
    taken: (generation) => tell(`taken ${generation}`),
    refused: (reason) => tell(`refused: ${reason}`),
  });
  sources.push(source);
  const next = (pattern: RegExp): Promise<string> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = reported.find((event) => pattern.test(event));
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  return { source, holder, reported, next };
}

const text = (generation: number, epoch = 1): string =>
  JSON.stringify({ ...tableOf([{ baseUrl: 'https://api.upstream.test/v1' }]), generation, epoch });

async function put(content: string, to = path): Promise<void> {
  await writeFile(`${to}.next`, content);
  await rename(`${to}.next`, to);
}

describe('a table in a file', () => {
  test('is in use after the start of the source', async () => {
    await put(text(3));
    const { source, holder, reported } = openSource();
    await source.started;
    expect(reported).toEqual(['taken 3']);
    expect(holder.current()?.generation).toBe(3);
  });

  test('is replaced by renaming another file over it', async () => {
    await put(text(1));
    const { holder, next } = openSource();
    await next(/^taken 1$/);
    await put(text(2));
    await next(/^taken 2$/);
    expect(holder.current()?.generation).toBe(2);
  });

  test('may appear later', async () => {
    const { source, reported, next } = openSource();
    await source.started;
    expect(reported[0]).toMatch(/^refused: ENOENT.*table\.json/);
    await put(text(1));
    await next(/^taken 1$/);
  });

  test.each([
    ['no JSON', '{"format":', /not valid JSON/],
    ['no table', '{"format":1}', /table field/],
    ['too new', JSON.stringify({ ...JSON.parse(text(2)), minReader: 99 }), /upgrade the gateway/],
    [
      'one that does not fit together',
      JSON.stringify({ ...JSON.parse(text(2)), providers: [] }),
      /not in the table/,
    ],
  ])('stays in use when the next is %s, and the reason is reported', async (_, bad, reason) => {
    await put(text(1));
    const { holder, next } = openSource();
    await next(/^taken 1$/);
    await put(bad);
    expect(await next(/^refused/)).toMatch(reason);
    expect(holder.current()?.generation).toBe(1);
    await put(text(2));
    await next(/^taken 2$/);
  });

  test.each([
    [
      'generation',
      text(4),
      'refused: the table of epoch 1, generation 4 is older than of epoch 1, generation 5, which is in use',
    ],
    [
      'epoch',
      text(5, 0),
      'refused: the table of epoch 0, generation 5 is older than of epoch 1, generation 5, which is in use',
    ],
  ])('stays in use when the next is of an older %s', async (_, older, reason) => {
    await put(text(5));
    const { holder, next } = openSource();
    await next(/^taken 5$/);
    await put(older);
    expect(await next(/^refused/)).toBe(reason);
    expect(holder.current()).toMatchObject({ epoch: 1, generation: 5 });
  });

  test('that is written again unchanged causes no event', async () => {
    await put(text(1));
    const { reported, next } = openSource();
    await next(/^taken 1$/);
    await put(text(1));
    await put(text(2));
    await next(/^taken 2$/);
    expect(reported).toEqual(['taken 1', 'taken 2']);
  });

  test('that changes many times at once ends as the last version', async () => {
    await put(text(1));
    const { holder, reported, next } = openSource();
    await next(/^taken 1$/);
    for (let generation = 2; generation <= 50; generation++) await put(text(generation));
    await next(/^taken 50$/);
    expect(holder.current()?.generation).toBe(50);
    expect(reported.filter((event) => event.startsWith('refused'))).toEqual([]);
  });

  // The second comes while the first is still being read: its event must not be lost with that read.
  test('that changes while it is read is read again', async () => {
    const { source, holder, next } = openSource();
    await source.started;
    for (let generation = 1; generation < 10; generation += 2) {
      await put(text(generation) + ' '.repeat(20_000_000));
      await put(text(generation + 1));
      await next(new RegExp(`^taken ${generation + 1}$`));
      expect(holder.current()?.generation).toBe(generation + 1);
    }
  });

  // Kubernetes never renames the file itself: `table.json` links into `..data`, and that link is replaced.
  test('of a mounted Secret is replaced with its folder', async () => {
    const version = async (name: string, generation: number): Promise<void> => {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'table.json'), text(generation));
      await symlink(name, join(folder, '..data_tmp'));
      await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    await version('..first', 1);
    await symlink(join('..data', 'table.json'), path);
    const { next } = openSource();
    await next(/^taken 1$/);
    await version('..second', 2);
    await next(/^taken 2$/);
  });

  test('is no longer read when the source is closed', async () => {
    await put(text(1));
    const first = openSource();
    await first.next(/^taken 1$/);
    first.source.close();
    const second = openSource();
    await put(text(2));
    await second.next(/^taken 2$/);
    expect(first.reported).toEqual(['taken 1']);
    expect(first.holder.current()?.generation).toBe(1);
  });

  test('of a source that is closed at once is not used', async () => {
    await put(text(1));
    const { source, holder, reported } = openSource();
    source.close();
    await source.started;
    expect(reported).toEqual([]);
    expect(holder.current()).toBeUndefined();
  });
});
