// Does a text that people read use a private word more often than before? Comments, docs, strings, names of tests, and the titles of
// commits since the last release.
//
//   node tools/words.ts                   fails where a folder has more of them than tools/words/counts.json says
//   node tools/words.ts gateway/limits    every place in that folder
//   node tools/words.ts --tighten         writes the counts that have fallen; none rises

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { faultsOf, type Hits, hitsOf, hitsOfTitles, isCounted, type Text, tightened } from './words/count.ts';
import counts from './words/counts.json' with { type: 'json' };

const run = promisify(execFile);
const project = fileURLToPath(new URL('..', import.meta.url));
const countsFile = join(project, 'tools/words/counts.json');
const { values, positionals } = parseArgs({
  options: { tighten: { type: 'boolean', default: false } },
  allowPositionals: true,
});

const hits: Hits = new Map([...hitsOf(await texts()), ...hitsOfTitles(await titlesSinceRelease())]);

if (values.tighten) {
  const folders = tightened(hits, counts.folders);
  await writeFile(countsFile, `${JSON.stringify({ ...counts, folders }, undefined, 2)}\n`);
  console.log(`${sum(counts.folders)} private words before, ${sum(folders)} now`);
} else if (positionals.length > 0) {
  for (const line of faultsOf(new Map([...hits].filter(([name]) => positionals.includes(name))), {}))
    console.log(line);
} else {
  const faults = faultsOf(hits, counts.folders);
  for (const line of faults) console.error(line);
  if (faults.length > 0) process.exitCode = 1;
}

async function texts(): Promise<readonly Text[]> {
  const files = (await git(['ls-files', '--cached', '--others', '--exclude-standard'])).filter(isCounted);
  const read = await Promise.all(
    files.map((path) =>
      readFile(join(project, path), 'utf8').then(
        (text) => [{ path, text }],
        // Removed, and not yet committed.
        () => [],
      ),
    ),
  );
  return read.flat();
}

/** Since the last tag; before the first one, since the commit that the counts name. */
async function titlesSinceRelease(): Promise<readonly string[]> {
  const since = await git(['describe', '--tags', '--abbrev=0']).then(
    ([tag]) => tag,
    () => counts.titlesSince,
  );
  // A shallow clone may not have it.
  return git(['log', '--format=%s', `${since}..HEAD`]).catch(() => []);
}

async function git(args: readonly string[]): Promise<string[]> {
  const { stdout } = await run('git', args, { cwd: project, maxBuffer: 64 * 1024 * 1024 });
  return stdout.split('\n').filter((line) => line !== '');
}

function sum(folders: Readonly<Record<string, number>>): number {
  return Object.values(folders).reduce((a, b) => a + b, 0);
}
