// How is it made sure that a program ends when the process that started it ends, however hard that was?

import type { ChildProcess } from 'node:child_process';
import { Writable } from 'node:stream';

/**
 * Arguments of `sh`, to be started with a pipe as file 3. The shell becomes the program, so that the id we know is the
 * program's. A reader beside it waits for the line that says the program has ended by itself; where the pipe closes without
 * one, its starter is gone, and the program is killed: `$$`, or `-$$` with all of its process group.
 */
export function leashed(command: string, args: readonly string[], target: '$$' | '-$$'): string[] {
  // A signal to the whole group must not end the reader before the program, which may take long to end, or never does.
  const reader = `(trap '' HUP INT TERM; read -r _ <&3 || kill -9 ${target}) </dev/null >/dev/null 2>&1 &`;
  return ['-c', `${reader} exec "$0" "$@" 3<&-`, command, ...args];
}

export function unleash(child: ChildProcess): void {
  const pipe = child.stdio[3];
  if (!(pipe instanceof Writable)) throw new Error('it was started without a pipe as file 3');
  // The reader may be gone already, with the whole process group at a Ctrl-C.
  pipe.on('error', () => {});
  child.once('exit', () => pipe.end('\n'));
}
