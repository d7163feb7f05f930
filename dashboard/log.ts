// How does the dashboard say what it did? JSON, one object a line; with names, numbers and messages, never with a token, a cookie or a
// key.

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
