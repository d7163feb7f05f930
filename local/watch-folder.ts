// Has a file of the folder changed? Told once things are quiet: editors write a file in several steps.

import { watch } from 'node:fs';

const quietMs = 50;

/** Gives a function that stops watching. */
export function watchFolder(folder: string, onChange: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(folder, () => {
    clearTimeout(timer);
    timer = setTimeout(onChange, quietMs);
  });
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}
