// Has a file of the folder changed? Told once things are quiet: editors write a file in several steps.

import { type FSWatcher, statSync, watch } from 'node:fs';

const quietMs = 50;
/** A folder that is gone (another branch checked out, a build that begins anew) is looked for this often. */
const returnMs = 250;

/** Gives a function that stops watching. The folder may go and come back. */
export function watchFolder(folder: string, onChange: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let returning: NodeJS.Timeout | undefined;
  let watcher: FSWatcher | undefined;
  let watched: bigint | undefined;

  const changed = (): void => {
    // A watcher stays with the folder it was given, also when that is removed and another takes its name.
    if (identityOf(folder) !== watched) open();
    clearTimeout(timer);
    timer = setTimeout(onChange, quietMs);
  };
  const open = (): void => {
    watcher?.close();
    watcher = undefined;
    watched = identityOf(folder);
    if (watched === undefined) {
      clearTimeout(returning);
      returning = setTimeout(lookForIt, returnMs);
      return;
    }
    watcher = watch(folder, changed);
    watcher.on('error', changed);
  };
  const lookForIt = (): void => {
    if (identityOf(folder) === undefined) returning = setTimeout(lookForIt, returnMs);
    else changed();
  };

  open();
  return () => {
    clearTimeout(timer);
    clearTimeout(returning);
    watcher?.close();
  };
}

/** Undefined where there is no such folder. */
function identityOf(folder: string): bigint | undefined {
  const found = statSync(folder, { bigint: true, throwIfNoEntry: false });
  return found?.isDirectory() ? found.ino : undefined;
}
