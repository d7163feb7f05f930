// What does the log say of an error that nobody expected? What it is and where it came about; its words only where they are our own.
// Those of the language and of node quote the values they are about: of JSON that cannot be read, for one, a piece.

export function errorInLog(error: unknown): string {
  if (!(error instanceof Error)) return `not an error, but ${typeof error}`;
  const { name, message, stack = '' } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const isOurs = error.constructor === Error && code === undefined;
  const frames = stack.split('\n').filter((line) => /^ +at /.test(line));
  return [[name, code, isOurs ? message : undefined].filter(Boolean).join(': '), ...frames].join('\n');
}
