// What do the tests say when a safeguard is gone? A copy of the project, in which one file at a time is another.

import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { startProcess } from '../support/process.ts';
import type { Mutant } from './mutant.ts';

/** Far above what any of the files takes. */
const BOUND_SECONDS = 300;
/** What timeout(1) ends with where it had to end the command. */
const TIMED_OUT = 124;

/** `red`: a test failed, or it turned in a loop. `green`: none did. `broken`: no test could say anything, so nothing is known. */
export interface Saying {
  readonly verdict: 'red' | 'green' | 'broken';
  /** The first test that failed, else what the run printed. */
  readonly reported: string;
  readonly tookMs: number;
}

export interface Copy {
  /** The files as they are. */
  test(files: readonly string[]): Promise<Saying>;
  /** One of its files, with the safeguard gone. */
  testMutant(mutant: Mutant, file: string): Promise<Saying>;
  remove(): Promise<void>;
}

const root = join(import.meta.dirname, '../..');
const uncopied = ['node_modules', '.git'];

/** A real copy, no links: an import through a link reads the file as it was. */
export async function copyProject(): Promise<Copy> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-mutants-'));
  for (const name of await readdir(root))
    if (!uncopied.includes(name)) await cp(join(root, name), join(folder, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  return {
    test: (files) => runVitest(folder, files),
    async testMutant({ file, from, to }, testFile) {
      const path = join(folder, file);
      const text = await readFile(path, 'utf8');
      await writeFile(path, mutate(text, from, to));
      try {
        return await runVitest(folder, [testFile]);
      } finally {
        await writeFile(path, text);
      }
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** @throws where `from` does not stand in the text exactly once, or nothing would change. */
export function mutate(text: string, from: string, to: string): string {
  const parts = text.split(from);
  if (parts.length !== 2 || from === to) throw new Error(`it is there ${parts.length - 1} times: ${from}`);
  return parts.join(to);
}

const reportSchema = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  testResults: z.array(
    z.object({ assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })) }),
  ),
});

async function runVitest(folder: string, files: readonly string[]): Promise<Saying> {
  const beganMs = performance.now();
  const report = join(folder, 'report.json');
  await rm(report, { force: true });
  const vitest = join(folder, 'node_modules/vitest/vitest.mjs');
  const run = await startProcess('--kill-after=10', {
    // It ends the workers too, which may turn in a loop. Node learns nothing of what the image tells it, as `npm test` does: that is a
    // safeguard too, and would stand in for the one that is gone.
    command: 'timeout',
    args: [
      `${BOUND_SECONDS}`,
      process.execPath,
      vitest,
      'run',
      ...(files.some((file) => file.endsWith('.e2e.ts')) ? ['--config', 'test/e2e/vitest.config.ts'] : []),
      '--bail=1',
      '--reporter=json',
      `--outputFile=${report}`,
      ...files,
    ],
    cwd: folder,
    // As many seeds as `npm run e2e -- simulation` has.
    env: { PENSTOCK_SIMULATION_RUNS: '2000' },
  });
  const { code } = await run.exit;
  const tookMs = performance.now() - beganMs;
  if (code === TIMED_OUT)
    return { verdict: 'red', reported: `it did not end within ${BOUND_SECONDS} s`, tookMs };
  const printed = `${run.stdout()}${run.stderr()}`.slice(-2_000);
  const text = await readFile(report, 'utf8').catch(() => undefined);
  if (text === undefined) return { verdict: 'broken', reported: printed, tookMs };
  const said = reportSchema.parse(JSON.parse(text));
  const failed = said.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .find(({ status }) => status === 'failed');
  if (failed !== undefined) return { verdict: 'red', reported: failed.fullName, tookMs };
  const isGreen = code === 0 && said.numPassedTests > 0;
  return { verdict: isGreen ? 'green' : 'broken', reported: printed, tookMs };
}
