// How is a load put on gateways of this machine? By callers in a process of their own, which no test keeps from calling in time.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from '../process.ts';
import { type LoadFigures, type LoadPlan, loadFiguresSchema } from './figures.ts';

export interface RunningLoad {
  /** Settled when so many streams are open as the plan says. */
  full(): Promise<void>;
  /** Nothing new begins; settled when all that had begun has come to its end. */
  stop(): Promise<LoadFigures>;
  /** Ends it in midst of it; does nothing to one that has ended. */
  kill(): Promise<void>;
}

export async function startLoad(plan: LoadPlan): Promise<RunningLoad> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-load-'));
  const planFile = join(folder, 'plan.json');
  await writeFile(planFile, JSON.stringify(plan), { mode: 0o600 });
  const callers = await startProcess(join(import.meta.dirname, 'callers.ts'), { args: [planFile] });
  await callers.line(/^callers are ready/);
  await rm(folder, { recursive: true, force: true });
  return {
    full: async () => void (await callers.line(/^all streams are open/)),
    async stop() {
      callers.signal('SIGTERM');
      await callers.exit;
      const last = callers.stdout().trimEnd().split('\n').at(-1) ?? '';
      return loadFiguresSchema.parse(JSON.parse(last));
    },
    kill: async () => void (await callers.stop(0)),
  };
}
