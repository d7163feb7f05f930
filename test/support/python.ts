// Which Python has exactly these packages? A virtual environment per set of pins, made once and kept in a cache.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { bareEnvironment } from './bare-environment.ts';
import { exists } from './exists.ts';
import { withLock } from './lock.ts';

export interface PythonRun {
  stdout: string;
  stderr: string;
  /** Null when it was ended by a signal, such as at the time limit. */
  exitCode: number | null;
}

export interface PythonOptions {
  /** On top of a bare environment. */
  env?: Readonly<Record<string, string>>;
  args?: readonly string[];
  /** Default 60,000. */
  timeoutMs?: number;
}

/** Where environments are kept: `$XDG_CACHE_HOME/penstock/python`, else `~/.cache/penstock/python`. */
export function pythonCacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'penstock', 'python');
}

/**
 * The path of a Python interpreter with these packages (`openai==3.52.0`: exact pins only). The first call builds it,
 * also when several processes ask at once; later ones find it. Throws one sentence that says what is missing.
 */
export async function pythonWith(
  packages: readonly string[],
  options: {
    cacheFolder?: string;
    python?: string;
    env?: NodeJS.ProcessEnv;
    /** Take the wheels of that Python, unpacked into the folder `wheels`: what they carry is no Python. */
    wheelsOf?: string;
  } = {},
): Promise<string> {
  const loose = packages.find(
    (pin) => !/^[A-Za-z0-9._-]+(\[[A-Za-z0-9,._-]+\])?==[A-Za-z0-9.!+_-]+$/.test(pin),
  );
  if (loose !== undefined)
    throw new Error(`Python package "${loose}" needs an exact pin, such as openai==3.52.0`);
  const python = options.python ?? 'python3';
  const env = options.env ?? process.env;
  const version = await pythonVersion(python, env);
  const folder = options.cacheFolder ?? pythonCacheFolder(env);
  const pins = [...packages].sort();
  const { wheelsOf } = options;
  const flags =
    wheelsOf === undefined ? [] : ['--no-deps', '--only-binary=:all:', `--python-version=${wheelsOf}`];
  const key = createHash('sha256')
    .update([version, ...flags, ...pins].join('\n'))
    .digest('hex')
    .slice(0, 16);
  const home = join(folder, `${version}-${key}`);
  await mkdir(folder, { recursive: true });
  const interpreter = join(home, 'bin', 'python');
  if (await exists(interpreter)) return interpreter;
  await withLock(`${home}.lock`, async () => {
    if (!(await exists(interpreter))) await build(python, pins, flags, folder, home, env);
  });
  return interpreter;
}

/** Runs a script given as text. A failing script is a result, not an exception. */
export function runPython(python: string, script: string, options: PythonOptions = {}): Promise<PythonRun> {
  const args = ['-I', '-c', script, ...(options.args ?? [])];
  return run(python, args, {
    timeoutMs: options.timeoutMs ?? 60_000,
    env: { ...bareEnvironment(), ...options.env },
  });
}

async function pythonVersion(python: string, env: NodeJS.ProcessEnv): Promise<string> {
  const script = 'import sys; print("%s-%d.%d.%d" % ((sys.implementation.name,) + sys.version_info[:3]))';
  const { stdout, exitCode } = await run(python, ['-c', script], { env });
  if (exitCode !== 0) {
    throw new Error(
      `These tests need Python 3, and "${python}" could not be run: install python3 (on Debian: apt-get install python3 python3-venv)`,
    );
  }
  return stdout.trim();
}

/** Built under another name and renamed: what has the final name is complete. Console scripts are not used, so the old path in them does no harm. */
async function build(
  python: string,
  pins: readonly string[],
  flags: readonly string[],
  folder: string,
  home: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const temporary = await mkdtemp(join(folder, 'building-'));
  try {
    await createEnvironment(python, temporary, env);
    const target = flags.length === 0 ? [] : [...flags, `--target=${join(temporary, 'wheels')}`];
    if (pins.length > 0) await install(join(temporary, 'bin', 'python'), [...target, ...pins], env);
    await rename(temporary, home);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    // Another process was quicker, with the same result.
    if (!(await exists(home))) throw error;
  }
}

/** Debian's python3 has no ensurepip without the package python3-venv; virtualenv brings its own pip. */
async function createEnvironment(python: string, home: string, env: NodeJS.ProcessEnv): Promise<void> {
  const attempts = [
    ['-m', 'venv', home],
    ['-m', 'virtualenv', '--quiet', home],
  ];
  for (const args of attempts) {
    const made = await run(python, args, { timeoutMs: 120_000, env });
    if (made.exitCode === 0) return;
    await rm(home, { recursive: true, force: true });
  }
  throw new Error(
    `These tests need a Python virtual environment, and neither "${python} -m venv" nor "${python} -m virtualenv" made one: install python3-venv (on Debian: apt-get install python3-venv)`,
  );
}

async function install(
  interpreter: string,
  wanted: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', ...wanted];
  const installed = await run(interpreter, args, { timeoutMs: 300_000, env });
  if (installed.exitCode === 0) return;
  const reason = installed.stderr.trim().split('\n').at(-1) ?? '';
  throw new Error(
    `pip could not install ${wanted.filter((word) => !word.startsWith('--')).join(', ')}: is its package index reachable (PIP_INDEX_URL), and do these versions exist? It says: ${reason}`,
  );
}

function run(
  command: string,
  args: readonly string[],
  options: { timeoutMs?: number; env?: NodeJS.ProcessEnv } = {},
): Promise<PythonRun> {
  const env = options.env ?? process.env;
  return new Promise((resolve) => {
    const child = execFile(
      command,
      [...args],
      { env, timeout: options.timeoutMs ?? 30_000, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 },
      // A failure is reported by the exit code, and what the program said.
      (_error, stdout, stderr) => resolve({ stdout, stderr, exitCode: child.exitCode }),
    );
  });
}
