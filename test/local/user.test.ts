// As a user: the process that `npm start` runs, what it prints, pasted as it is, and Ctrl-C.

import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { bareEnvironment } from '../support/bare-environment.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { pythonWith, runPython } from '../support/python.ts';
import { openRaw, type RawAnswer, type RawConnection, writeRequest } from '../support/raw-client.ts';
import { ask, copyQuickstart, type Folders, freePorts, listModels, makeFolders, makePages } from './rig.ts';

const root = new URL('../../', import.meta.url).pathname;
const entry = new URL('../../local/main.ts', import.meta.url).pathname;

interface User {
  readonly process: RunningProcess;
  readonly folders: Folders;
  readonly port: number;
  readonly url: string;
  readonly key: string;
}

async function startAsUser(): Promise<User> {
  const folders = await makeFolders();
  const [port, metricsPort = 0, simulatorPort = 0, dashboardPort = 0] = await freePorts(4);
  await copyQuickstart(folders, simulatorPort);
  await makePages(folders);
  const process = await startProcess(entry, {
    cwd: root,
    env: environment(folders, [port, metricsPort, simulatorPort, dashboardPort]),
    showsKey: true,
  });
  try {
    await process.line(/^Ctrl-C ends it\.$/);
    const key = /psk_\w+/.exec(process.stdout())?.[0] ?? '';
    return { process, folders, port, url: `http://127.0.0.1:${port}`, key };
  } catch (error) {
    await folders.remove();
    throw error;
  }
}

const portNames = [
  'PENSTOCK_PORT',
  'PENSTOCK_METRICS_PORT',
  'PENSTOCK_SIMULATOR_PORT',
  'PENSTOCK_DASHBOARD_PORT',
];

/** @param ports In the order of their names. */
function environment(folders: Folders, ports: readonly number[]) {
  return {
    ...Object.fromEntries(portNames.map((name, index) => [name, String(ports[index] ?? 0)])),
    // Whatever a developer has built has no part in it.
    PENSTOCK_DASHBOARD_PAGES: folders.pages,
    PENSTOCK_MANIFESTS: folders.manifests,
    PENSTOCK_STATE_DIR: folders.state,
  };
}

async function end({ process, folders }: User): Promise<void> {
  await process.stop();
  await folders.remove();
}

/** The text under a heading such as `--- curl ---`, up to the next empty line: of the terminal, else of the file that it names. */
async function printedSnippet({ process, folders }: User, heading: string): Promise<string> {
  const file = await readFile(join(folders.state, 'snippets.txt'), 'utf8');
  const [, after = ''] = `${process.stdout()}\n${file}`.split(new RegExp(`^--- ${heading}.* ---\n`, 'm'));
  const [snippet = ''] = after.split('\n\n');
  if (snippet === '') throw new Error(`nothing was printed under "${heading}"`);
  return snippet;
}

interface Ran {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(command: string, args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { cwd: root, timeout: 20_000, killSignal: 'SIGKILL' } as const;
    const child = execFile(command, [...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? (error.code ?? null) : child.exitCode, stdout, stderr });
    });
  });
}

/** Made for one test: with its own group, so that nothing it leaves behind outlives the test. */
interface Child {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly folders: Folders;
  readonly url: string;
  close(): Promise<void>;
}

const children: Child[] = [];

// Not in the tests: this is reached by one that has hung, too.
afterEach(async () => {
  for (const { close } of children.splice(0)) await close();
});

async function spawnAsUser(command: string, args: readonly string[]): Promise<Child> {
  const folders = await makeFolders();
  const [port, metricsPort = 0, simulatorPort = 0, dashboardPort = 0] = await freePorts(4);
  await copyQuickstart(folders, simulatorPort);
  await makePages(folders);
  const child = spawn(command, args, {
    cwd: root,
    env: { ...bareEnvironment(), ...environment(folders, [port, metricsPort, simulatorPort, dashboardPort]) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const closed = once(child, 'close');
  const spawned: Child = {
    child,
    folders,
    url: `http://127.0.0.1:${port}`,
    async close() {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch (error) {
        // Nobody is left.
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
      }
      await closed;
      await folders.remove();
    },
  };
  children.push(spawned);
  return spawned;
}

describe('npm start', () => {
  // npm runs a script in a shell and passes signals on to that shell alone. A shell that does not make way for
  // its last command, as dash, dies of it, and what it has started goes on serving.
  test('ends with a signal to npm, and leaves no process', async () => {
    const { child, url } = await spawnAsUser('npm', ['start']);
    let stdout = '';
    const welcome = Promise.withResolvers<void>();
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      stdout += piece;
      if (stdout.includes('Ctrl-C ends it.')) welcome.resolve();
    });
    await welcome.promise;
    expect(await listModels(url)).toEqual(['penstock/failover', 'penstock/small']);
    const exit = once(child, 'exit');
    child.kill('SIGINT');
    await exit;
    await expect(listModels(url)).rejects.toThrow('fetch failed');
  });
});

describe('with its output closed', () => {
  test('it goes on serving, and ends cleanly', async () => {
    const { child, folders, url } = await spawnAsUser(process.execPath, [entry]);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      stderr += piece;
    });
    // As `| head -1` does it: one line is read, then the pipe is closed.
    await once(child.stdout, 'data');
    child.stdout.destroy();
    // Printed into the closed pipe.
    await folders.edit('routes.yaml', 'model: penstock/small', 'model: penstock/tiny');
    // It can tell nobody when the edit is live; asking is the only way.
    while (child.exitCode === null && !(await listModels(url)).includes('penstock/tiny')) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    expect(stderr).toBe('');
  });
});

describe('the printed snippets work unchanged', () => {
  let user: User;
  /** The whole answer to Hello; it is the same every time. */
  let spoken: string;
  beforeAll(async () => {
    user = await startAsUser();
    const { text } = await ask(user.url, user.key, 'penstock/small');
    spoken = (JSON.parse(text) as Completion).choices[0]?.message.content ?? '';
    expect(spoken).toContain('You said "Hello"');
  });
  afterAll(() => end(user));

  test('the curl command streams an answer', async () => {
    const ran = await run('sh', ['-c', await printedSnippet(user, 'curl')]);
    if (ran.code === 127) throw new Error('This test runs the printed curl command: install curl.');
    expect(ran.code, ran.stderr).toBe(0);
    const events = ran.stdout.split('\n\n').filter((event) => event.startsWith('data: '));
    expect(events.at(-1)).toBe('data: [DONE]');
    const text = events
      .slice(0, -1)
      .map((event) => JSON.parse(event.slice('data: '.length)) as Chunk)
      .map(({ choices }) => choices[0]?.delta.content ?? '');
    expect(text.join('')).toBe(spoken);
  });

  test('and so does the same without a stream', async () => {
    const command = (await printedSnippet(user, 'curl')).replace('"stream":true,', '');
    const ran = await run('sh', ['-c', command]);
    expect((JSON.parse(ran.stdout) as Completion).choices[0]?.message.content).toBe(spoken);
  });

  test('the JavaScript snippet streams an answer', async () => {
    const snippet = await printedSnippet(user, 'JavaScript');
    const ran = await run(process.execPath, ['--input-type=module', '--eval', snippet]);
    expect(ran).toEqual({ code: 0, stdout: spoken, stderr: '' });
  });

  test('and so does its client without a stream, which lists the models too', async () => {
    const [lines = ''] = (await printedSnippet(user, 'JavaScript')).split('const stream');
    const script = `${lines}
      const answer = await client.chat.completions.create({
        model: 'penstock/small', messages: [{ role: 'user', content: 'Hello' }] });
      const models = await client.models.list();
      console.log(JSON.stringify([answer.choices[0].message.content, models.data.map(({ id }) => id)]));`;
    const ran = await run(process.execPath, ['--input-type=module', '--eval', script]);
    expect(ran.stderr).toBe('');
    expect(JSON.parse(ran.stdout)).toEqual([spoken, ['penstock/failover', 'penstock/small']]);
  });

  test('the JavaScript snippet for the Anthropic SDK streams an answer', async () => {
    const snippet = await printedSnippet(user, 'JavaScript, Anthropic SDK');
    const ran = await run(process.execPath, ['--input-type=module', '--eval', snippet]);
    expect(ran).toEqual({ code: 0, stdout: spoken, stderr: '' });
  });

  test('and so does its client without a stream', async () => {
    const [lines = ''] = (await printedSnippet(user, 'JavaScript, Anthropic SDK')).split('const stream');
    const script = `${lines}
      const answer = await client.messages.create({
        model: 'penstock/small', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello' }] });
      console.log(answer.content[0].text);`;
    const ran = await run(process.execPath, ['--input-type=module', '--eval', script]);
    expect(ran).toEqual({ code: 0, stdout: `${spoken}\n`, stderr: '' });
  });

  describe('with the Python client of Anthropic', () => {
    let python: string;
    beforeAll(async () => {
      python = await pythonWith(['anthropic==2.12.0']);
    }, 300_000);

    test('the snippet streams an answer', async () => {
      const ran = await runPython(python, await printedSnippet(user, 'Python, Anthropic SDK'));
      expect(ran).toEqual({ exitCode: 0, stdout: spoken, stderr: '' });
    });
  });

  describe('with the Python client', () => {
    let python: string;
    beforeAll(async () => {
      python = await pythonWith(['openai==3.52.0']);
    }, 300_000);

    test('the snippet streams an answer, and its client answers without a stream and lists the models too', async () => {
      const script = `${await printedSnippet(user, 'Python')}
print()
answer = client.chat.completions.create(
    model="penstock/small", messages=[{"role": "user", "content": "Hello"}])
print(answer.choices[0].message.content)
print([model.id for model in client.models.list()])
`;
      const ran = await runPython(python, script);
      expect(ran.stderr).toBe('');
      expect(ran.stdout).toBe(`${spoken}\n${spoken}\n['penstock/failover', 'penstock/small']\n`);
    });
  });

  test('models are listed with the key and without one', async () => {
    const ids = ['penstock/failover', 'penstock/small'];
    expect(await listModels(user.url, user.key)).toEqual(ids);
    expect(await listModels(user.url)).toEqual(ids);
  });

  test('no credential of a provider is printed', () => {
    expect(user.process.stdout() + user.process.stderr()).not.toContain('sk-simulator');
    expect(user.process.stderr()).toBe('');
  });
});

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[];
}

interface Completion {
  readonly choices: readonly { readonly message: { readonly content: string } }[];
}

describe('Ctrl-C', () => {
  let user: User | undefined;
  let connection: RawConnection | undefined;
  afterEach(async () => {
    connection?.close();
    if (user) await end(user);
    connection = undefined;
    user = undefined;
  });

  /** A stream whose upstream sends an event every so often, and does not end by itself for a minute. */
  async function stream({ port, key, folders, process }: User): Promise<RawAnswer> {
    await folders.edit(
      'provider.yaml',
      'value: fault=error-503',
      `value: "pace=${paceMs},tokens=${60_000 / paceMs}"`,
    );
    await process.line(/^Live/);
    connection = await openRaw({ port });
    await connection.send(
      writeRequest({
        path: '/v1/chat/completions',
        headers: { authorization: `Bearer ${key}` },
        body: { model: 'penstock/failover', stream: true, messages: [{ role: 'user', content: 'Hello' }] },
      }),
    );
    const answer = await connection.answer();
    await answer.nextEvent();
    return answer;
  }
  const paceMs = 300;

  test('ends it cleanly, also sent twice for one press, as npm does', async () => {
    user = await startAsUser();
    user.process.signal('SIGINT');
    user.process.signal('SIGINT');
    expect(await user.process.exit).toEqual({ code: 0, signal: null });
    expect(user.process.stderr()).toBe('');
  });

  test('gives a running stream a moment, and then its error event', async () => {
    user = await startAsUser();
    const answer = await stream(user);
    user.process.signal('SIGINT');
    const { events } = await answer.finished;
    // As a client does that has read the end; the gateway would wait for it a while.
    connection?.close();
    expect(JSON.stringify(events.at(-1))).toContain('server_shutting_down');
    // It was not cut at once.
    expect(events.length).toBeGreaterThan(5);
    expect(await user.process.exit).toEqual({ code: 0, signal: null });
  });

  test('pressed again breaks streams off now, with their error event, and still ends cleanly', async () => {
    user = await startAsUser();
    const answer = await stream(user);
    user.process.signal('SIGINT');
    await user.process.line(/^Stopping/);
    // Half a second later, by events that may have been waiting, the second press cannot be taken for the first one's echo.
    const endingAt = performance.now();
    let before = 1;
    do {
      await answer.nextEvent();
      before++;
    } while (performance.now() - endingAt < 500);
    user.process.signal('SIGINT');
    const { events } = await answer.finished;
    // As a client does that has read the end; the gateway would wait for it a while.
    connection?.close();
    expect(JSON.stringify(events.at(-1))).toContain('server_shutting_down');
    // Left to itself it would have gone on for two seconds and a half.
    expect(events.length - before).toBeLessThan(7);
    expect(await user.process.exit).toEqual({ code: 0, signal: null });
  });
});

describe('a failed start ends with one sentence', () => {
  // Each of the four ports is tried in start.test.ts, without a process.
  test('where a port is in use', async () => {
    const folders = await makeFolders();
    const other = createServer().listen(0, '127.0.0.1');
    try {
      await once(other, 'listening');
      const address = other.address();
      const taken = typeof address === 'object' && address !== null ? address.port : 0;
      await makePages(folders);
      const started = await startProcess(entry, {
        cwd: root,
        env: environment(folders, [0, 0, 0, taken]),
      });
      expect(await started.exit).toEqual({ code: 1, signal: null });
      expect(started.stdout()).toBe(
        `Penstock could not start: Port ${taken} is in use by another program. Set PENSTOCK_DASHBOARD_PORT to a free port.\n`,
      );
      expect(started.stderr()).toBe('');
    } finally {
      await once(other.close(), 'close');
      await folders.remove();
    }
  });

  test('where a variable does not fit', async () => {
    const started = await startProcess(entry, { cwd: root, env: { PENSTOCK_PORT: 'eighty' } });
    expect(await started.exit).toEqual({ code: 1, signal: null });
    expect(started.stdout()).toBe(
      'Penstock could not start: Invalid settings: PENSTOCK_PORT must be a port number from 0 (any free one) to 65535.\n',
    );
  });
});
