// Do the snippets of the dashboard work as they are pasted? Their text is run as it is, with what their notes say to install: only Claude
// Code and Codex are left to `npm run e2e`.

import { execFile } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Snippet, snippetsFor } from '../../dashboard/pages/keys/snippets.ts';
import { testKey } from '../gateway/rig.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { pythonWith } from '../support/python.ts';
import { type EveryUpstream, startEveryUpstream } from './every-upstream.ts';

let stage: EveryUpstream;

beforeAll(async () => {
  stage = await startEveryUpstream();
});
afterAll(() => stage.close());

/** What runs each, given it on its standard input. */
const programs: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  curl: async () => ['sh'],
  'openai-node': async () => [process.execPath, '--input-type=module'],
  'openai-python': async () => [await pythonWith(['openai==3.52.0']), '-'],
  'anthropic-python': async () => [await pythonWith(['anthropic==2.12.0']), '-'],
};
const elsewhere = ['claude-code', 'codex'];

const ids = snippetsFor('', '', '').map(({ id }) => id);

test('each is run, here or at length', () => {
  expect(ids.toSorted()).toEqual([...Object.keys(programs), ...elsewhere].sort());
});

test.each(Object.entries(programs))('%s prints an answer', { timeout: 300_000 }, async (id, program) => {
  const find = (snippets: readonly Snippet[]) => snippets.find((snippet) => snippet.id === id)?.text ?? '';
  const [command = '', ...args] = await program();
  const text = find(snippetsFor(stage.url, testKey, stage.model('chat')));
  const { exitCode, stdout, stderr } = await run(command, args, text);
  expect([exitCode, id === 'curl' ? '' : stderr]).toEqual([0, '']);
  expect(said(stdout)).toMatch(/^This is the simulator/);
});

/** Of a stream its words one after another; what a program prints is them already. */
function said(stdout: string): string {
  const events = stdout.split('\n').flatMap((line) => /^data: (\{.*)/.exec(line)?.[1] ?? []);
  if (events.length === 0) return stdout;
  expect(stdout.trimEnd()).toMatch(/data: \[DONE\]$/);
  return events.map((event) => JSON.parse(event).choices[0]?.delta.content ?? '').join('');
}

function run(command: string, args: readonly string[], input: string) {
  return new Promise<{ exitCode: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(
      command,
      [...args],
      // Where packages of this repository are found.
      {
        cwd: new URL('../..', import.meta.url),
        env: bareEnvironment(),
        timeout: 60_000,
        killSignal: 'SIGKILL',
      },
      (_error, stdout, stderr) => resolve({ exitCode: child.exitCode, stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}
