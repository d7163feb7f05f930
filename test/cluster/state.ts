// How does the main process of a run tell the suites that the parts of the test cluster are there? By one file, written whole.

import { watch } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const name = 'state.json';
const stateSchema = z.union([
  z.object({ failed: z.string() }),
  z.object({
    programs: z.object({
      etcd: z.string(),
      'kube-apiserver': z.string(),
      kubectl: z.string(),
      'kube-controller-manager': z.string(),
      helm: z.string(),
    }),
    etcdUrl: z.string(),
  }),
]);
export type State = z.infer<typeof stateSchema>;

export async function tellState(folder: string, state: State): Promise<void> {
  const path = join(folder, name);
  await writeFile(`${path}.unfinished`, JSON.stringify(state));
  await rename(`${path}.unfinished`, path);
}

/** Settled when it has been reported. */
export async function awaitState(folder: string): Promise<State> {
  const watcher = watch(folder);
  try {
    const text = await new Promise<string>((resolve, reject) => {
      const look = () =>
        void readFile(join(folder, name), 'utf8').then(resolve, () => {
          // Not there yet; the watcher tells when to look again.
        });
      watcher.on('change', look);
      watcher.on('error', reject);
      // After the watch began: what came before is found here, what comes later there.
      look();
    });
    return stateSchema.parse(JSON.parse(text));
  } finally {
    watcher.close();
  }
}
