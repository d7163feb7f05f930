// Has a file of the folder changed? Reported once things are quiet: editors write a file in several steps.

import { type FSWatcher, statSync, watch } from 'node:fs';

const quietMs = 50;
/** A folder that is gone (another branch checked out, a build that starts again) is looked for this often. */
const returnMs = 250;

interface FolderWatch {
  /** A file was caught while it was saved: as if it had changed. */
  lookAgain(): void;
  close(): void;
}

/** The folder may go and come back. */
export function watchFolder(folder: string, onChange: () => void): FolderWatch {
  let timer: NodeJS.Timeout | undefined;
  let returning: NodeJS.Timeout | undefined;
  let watcher: FSWatcher | undefined;
  let watched: bigint | undefined;
  let isClosed = false;

  const changed = (): void => {
    // A watcher stays with the folder it was given, also when that is removed and another takes its name.
    if (identityOf(folder) !== watched) open();
    lookAgain();
  };
  const lookAgain = (): void => {
    clearTimeout(timer);
    if (!isClosed) timer = setTimeout(onChange, quietMs);
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
  return {
    lookAgain,
    close() {
      isClosed = true;
      clearTimeout(timer);
      clearTimeout(returning);
      watcher?.close();
    },
  };
}

/** Undefined if the folder does not exist. */
function identityOf(folder: string): bigint | undefined {
  const found = statSync(folder, { bigint: true, throwIfNoEntry: false });
  return found?.isDirectory() ? found.ino : undefined;
}
