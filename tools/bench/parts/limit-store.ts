// Is there a store that limits could be kept in? Then one of the run's own, empty, which writes nothing to disk.

import type { Launcher } from '../launcher.ts';
import { freePort } from '../targets/ports.ts';
import { programVersion } from '../targets/versions.ts';

export type LimitStore = { url: string; version: string };

/** Undefined where neither program is installed. */
export async function startLimitStore(
  launcher: Launcher,
  workFolder: string,
  core: number | undefined,
): Promise<LimitStore | undefined> {
  for (const program of ['valkey-server', 'redis-server']) {
    const version = await programVersion(program, ['--version']);
    if (version === undefined) continue;
    const port = await freePort();
    const store = await launcher.start({
      name: 'limit-store',
      command: program,
      args: `--port ${port} --bind 127.0.0.1 --dir ${workFolder} --appendonly no --save`
        .split(' ')
        .concat(''),
      ...(core === undefined ? {} : { core }),
      stdout: 'lines',
    });
    for await (const line of store.lines) {
      if (line.includes('Ready to accept connections')) return { url: `redis://127.0.0.1:${port}`, version };
    }
    throw new Error(`${program} ended while it started: ${store.logTail()}`);
  }
  return undefined;
}
