// Where does a node, or the control plane, live on this machine? In namespaces of its own: a network, mounts, and for a node also
// process ids. The first process holds them; with its end, which the end of the test brings, all of it is gone.

import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../support/until.ts';
import { type Child, startChild, untilReady } from '../child.ts';
import { type Ran, type RunOptions, run } from '../run.ts';
import { isAlive } from './processes.ts';

export interface Space {
  readonly name: string;
  /** For its files; the same path inside and outside. */
  readonly folder: string;
  /** Of its first process, as this machine counts. */
  readonly pid: number;
  /** In its network and its mounts. A failing command is a result, not an exception. */
  run(command: string, args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** @throws with what the command said where it fails. */
  mustRun(command: string, args: readonly string[], options?: RunOptions): Promise<string>;
  /** A server inside. Its `pid` is the one this machine knows. */
  start(command: string, args: readonly string[], logFile: string): Promise<Child>;
  /** Command and arguments that do `command` inside. */
  entering(command: string, args: readonly string[]): [string, string[]];
  /** SIGKILL to everything inside. */
  end(): Promise<void>;
}

export interface SpaceOptions {
  readonly name: string;
  readonly folder: string;
  /** A program that does nothing but collect the processes that nobody waits for. */
  readonly init: string;
  /** With it, whatever was started inside ends with the space, however it was started. */
  readonly hasOwnProcesses: boolean;
  /** What programs inside use to look up names. */
  readonly resolvConf?: string;
}

/**
 * Programs write to places that cannot be set: /run, below /var/lib and /var/log. There they meet a layer of the space's own, and
 * the machine's stay as they are. `/run/outer` shows the processes as the machine counts them.
 */
const setUp = `set -e
read -r pid _ </proc/self/stat
mount --make-rshared /
mount -t tmpfs run /run
mkdir /run/outer
mount --bind /proc /run/outer
mount --make-private /run/outer
for part in lib log; do
  mkdir -p "$1/$part" "$1/$part.work"
  mount -t overlay -o "lowerdir=/var/$part,upperdir=$1/$part,workdir=$1/$part.work" "$part" "/var/$part"
done
if [ "$3" = own ]; then mount -t proc proc /proc; fi
if [ -n "$4" ]; then if [ -e /etc/resolv.conf ]; then mount --bind "$4" /etc/resolv.conf; fi; fi
echo "$pid" >"$1/pid.unfinished"
mv "$1/pid.unfinished" "$1/pid"
exec "$2"
`;

export async function openSpace(options: SpaceOptions): Promise<Space> {
  const { name, folder, hasOwnProcesses } = options;
  await mkdir(folder, { recursive: true });
  const logFile = join(folder, 'space.log');
  const pidFile = join(folder, 'pid');
  const holder = await startChild(
    'unshare',
    [
      ...['--mount', '--net'],
      ...(hasOwnProcesses ? ['--pid', '--fork', '--kill-child'] : []),
      ...[
        'sh',
        '-c',
        setUp,
        'sh',
        folder,
        options.init,
        hasOwnProcesses ? 'own' : '',
        options.resolvConf ?? '',
      ],
    ],
    logFile,
  );
  let pid = 0;
  try {
    await untilReady(`the space of ${name}`, holder, logFile, async () => {
      pid = Number(await readFile(pidFile, 'utf8').catch(() => 0));
      return pid > 0;
    });
  } catch (error) {
    await holder.kill();
    throw error;
  }

  const entering = (command: string, args: readonly string[]): [string, string[]] => [
    'nsenter',
    [`--target=${pid}`, '--net', '--mount', '--', command, ...args],
  ];

  function runInside(command: string, args: readonly string[], given?: RunOptions): Promise<Ran> {
    return run(...entering(command, args), given);
  }

  return {
    name,
    folder,
    pid,
    run: runInside,
    async mustRun(command, args, given) {
      const { code, stdout, stderr } = await runInside(command, args, given);
      if (code !== 0)
        throw new Error(
          `${command} ${args.join(' ')} in ${name} ended with ${code ?? 'a signal'}: ${stderr}`,
        );
      return stdout;
    },
    async start(command, args, log) {
      if (!hasOwnProcesses) return startChild(...entering(command, args), log);
      return startAmongItsProcesses(pid, command, args, log);
    },
    entering,
    async end() {
      await holder.kill();
      // The first process inside is the last to go: what is gone with it holds no mount and no cgroup. The kernel tells its parent
      // alone of its end, and that was the holder; hence the asking.
      await until(async () => !isAlive(pid), 10);
    },
  };
}

/** Entering other process ids makes a child; what we start and wait for is only the one that entered. */
async function startAmongItsProcesses(
  space: number,
  command: string,
  args: readonly string[],
  logFile: string,
): Promise<Child> {
  const pidFile = `${logFile}.pid`;
  const tellPid =
    'read -r pid _ </run/outer/self/stat; echo "$pid" >"$0.unfinished"; mv "$0.unfinished" "$0"; exec "$@"';
  await mkdir(join(logFile, '..'), { recursive: true });
  const previous = await readFile(pidFile, 'utf8').catch(() => '');
  const entered = await startChild(
    'nsenter',
    [`--target=${space}`, '--net', '--mount', '--pid', '--', 'sh', '-c', tellPid, pidFile, command, ...args],
    logFile,
  );
  let text = '';
  await untilReady(command, entered, logFile, async () => {
    text = await readFile(pidFile, 'utf8').catch(() => '');
    return text !== '' && text !== previous;
  });
  const pid = Number(text);
  const signal = (name: NodeJS.Signals) => {
    if (!entered.isRunning()) return;
    try {
      process.kill(pid, name);
    } catch {
      // It has ended already.
    }
  };
  return {
    pid,
    exit: entered.exit,
    isRunning: entered.isRunning,
    signal,
    async kill() {
      signal('SIGKILL');
      await entered.exit;
    },
    ref: entered.ref,
    unref: entered.unref,
  };
}
