// A table in a file: read at start and again whenever it changes. Write it to another name first
// and rename it, so that no half file is ever read. A file of a mounted ConfigMap or Secret changes
// by another link that is renamed, `..data`.

import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { TableHolder } from '../holder.ts';
import { loadTable } from '../load.ts';
import { asLoadError } from '../load-error.ts';
import { compareVersions, describeVersion } from '../version.ts';
import type { SourceReport, TableSource } from './source.ts';

export function openFileSource(path: string, holder: TableHolder, report: SourceReport): TableSource {
  let isClosed = false;
  let reading: Promise<void> | undefined;
  let isDirty = false;

  const refuse = (error: unknown): void => {
    const { failure, message, version } = asLoadError(error);
    report.refused(message, { failure, version });
  };

  const readOnce = async (): Promise<void> => {
    try {
      const startedAt = performance.now();
      const bytes = await readFile(path, 'utf8');
      if (isClosed) return;
      const view = await loadTable(bytes);
      if (isClosed) return;
      const held = holder.current();
      if (holder.offer(view).type === 'taken') {
        const { epoch, generation } = view;
        const loadMs = performance.now() - startedAt;
        report.taken(generation, { version: { epoch, generation }, source: 'file', loadMs });
      } else if (held && compareVersions(view, held) !== 0) {
        const { epoch, generation } = view;
        report.refused(
          `the table ${describeVersion(view)} is older than ${describeVersion(held)}, which is in use`,
          { failure: 'older', version: { epoch, generation } },
        );
      }
    } catch (error) {
      if (!isClosed) refuse(error);
    }
  };

  /** Changes during a read lead to one more read. */
  const read = async (): Promise<void> => {
    do {
      isDirty = false;
      await readOnce();
    } while (isDirty && !isClosed);
    reading = undefined;
  };
  const changed = (): void => {
    isDirty = true;
    reading ??= read();
  };

  // The folder is watched, not the file: a rename puts another file in its place.
  const watcher = watch(dirname(path), (_event, name) => {
    if (name === null || name === basename(path) || name === '..data') changed();
  });
  watcher.on('error', (error) =>
    refuse(new Error(`the folder of ${path} is no longer watched: ${error.message}`)),
  );
  changed();
  return {
    started: reading ?? Promise.resolve(),
    close() {
      isClosed = true;
      watcher.close();
    },
  };
}
