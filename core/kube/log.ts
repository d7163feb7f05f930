// How do the processes beside the gateway say what they did? JSON, one object a line. Never with a value of a Secret, a token, a cookie
// or a key: what is handed in are names, numbers and messages.

import { errorInLog } from './error-in-log.ts';

export type Log = (
  level: 'info' | 'warn' | 'error',
  message: string,
  more?: Readonly<Record<string, unknown>>,
) => void;

/** @param write takes one line, with its end. */
export function createLog(write: (line: string) => void, wallMs: () => number): Log {
  return (level, message, more = {}) => {
    const time = new Date(wallMs()).toISOString();
    write(`${JSON.stringify({ level, time, message, ...more })}\n`);
  };
}

/** What close-with-grace says of an end that is not orderly: a second signal, a second error, too long a wait. */
export function endingLogger(log: Log): { error(what: unknown): void } {
  return {
    error(what) {
      const reason = typeof what === 'string' ? what : errorInLog(what);
      log('error', 'the process exits at once', { reason });
    },
  };
}

/** Why a process ends in order, as close-with-grace has it. */
export function logEnding(
  log: Log,
  { signal, err }: { readonly signal?: string; readonly err?: Error },
): void {
  if (err) log('error', 'the process failed and exits', { error: errorInLog(err) });
  else log('info', 'ending', { signal });
}
