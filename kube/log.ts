// How do the processes beside the gateway say what they did? JSON, one object a line. Never with a value of a Secret, a token, a cookie
// or a key: what is handed in are names, numbers and messages.

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
