// Does the README work for somebody who has never seen the project? A fresh clone in an empty
// folder, its two commands, a first answer.

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningProcess, startProcess } from '../support/process.ts';

const run = promisify(execFile);
let folder: string;
let clone: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-clone-'));
  clone = join(folder, 'penstock');
  await run('git', ['clone', '--quiet', '--no-hardlinks', process.cwd(), clone]);
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: clone, maxBuffer: 64 * 1024 * 1024 });
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('a fresh clone', () => {
  test('npm start prints a key with which a stock OpenAI client gets a streamed answer after a failover', async () => {
    const startedAt = performance.now();
    const local = await startProcess('start', { command: 'npm', args: ['--silent'], cwd: clone });
    try {
      const { baseUrl, key } = await readWelcome(local);
      const client = new OpenAI({ baseURL: baseUrl, apiKey: key });
      const { data: stream, response } = await client.chat.completions
        .create({ model: 'penstock/failover', stream: true, messages: [{ role: 'user', content: 'Hello' }] })
        .withResponse();
      let text = '';
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      console.info(`first whole answer ${Math.round(performance.now() - startedAt)} ms after npm start`);
      expect(text).not.toBe('');
      expect(response.headers.get('x-penstock-attempts')).toBe('2');
    } finally {
      await local.stop();
    }
  });

  test('npm run check finds nothing', async () => {
    await run('npm', ['run', '--silent', 'check'], { cwd: clone, maxBuffer: 64 * 1024 * 1024 });
  });

  test('npm test passes', async () => {
    const { stdout } = await run('npm', ['test', '--silent'], { cwd: clone, maxBuffer: 64 * 1024 * 1024 });
    expect(stdout).toMatch(/Tests .*passed/);
    // Only against hangs: on a machine with other things to do the tests take several times as long.
  }, 2_700_000);
});

async function readWelcome(local: RunningProcess): Promise<{ baseUrl: string; key: string }> {
  const line = await local.line(/^ {2}key +psk_/);
  const served = / on (http\S+)/.exec(local.stdout());
  return { baseUrl: served?.[1] ?? '', key: line.trim().split(/\s+/)[1] ?? '' };
}
